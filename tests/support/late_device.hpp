// A GPU for tests without one: the host's arithmetic, done as late as it may be. Work waits until somebody
// waits for it, copies aside longest of all, and device memory that nobody has written holds NaN. Whoever
// reads too early, or changes what is still to be read, gets other numbers than on the host.
#pragma once

#include <deque>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "gpu/compute_device.hpp"

namespace muster::testing {

/// The arithmetic of the host, each operation as a piece of work for `put`.
class LateVectors final : public VectorOperations {
 public:
  using Put = std::function<void(std::function<void()> work)>;
  explicit LateVectors(Put put) : put_(std::move(put)) {}

  void add(std::span<const float> left, std::span<const float> right, elements::Scale by,
           std::span<float> out) override {
    put_([=, this] { host_->add(left, right, by, out); });
  }
  void scale(std::span<const float> values, elements::Scale by, std::span<float> out) override {
    put_([=, this] { host_->scale(values, by, out); });
  }
  void scale_by(std::span<const float> values, const float* factor, std::span<float> out) override {
    put_([=, this] { host_->scale_by(values, factor, out); });
  }
  void sgd(elements::From<elements::SgdFactors> factors, std::span<float> parameters,
           std::span<const float> gradient) override {
    put_([=, this] { host_->sgd(factors, parameters, gradient); });
  }
  void sgd_momentum(elements::From<elements::SgdFactors> factors, bool nesterov, std::span<float> parameters,
                    std::span<const float> gradient, std::span<float> momentum) override {
    put_([=, this] { host_->sgd_momentum(factors, nesterov, parameters, gradient, momentum); });
  }
  void foretell_sgd_momentum(elements::From<elements::SgdFactors> factors, bool nesterov,
                             std::span<float> parameters, std::span<const float> gradient,
                             std::span<const float> momentum) override {
    put_([=, this] { host_->foretell_sgd_momentum(factors, nesterov, parameters, gradient, momentum); });
  }
  void adam(elements::From<elements::AdamFactors> factors, std::span<float> parameters,
            std::span<const float> gradient, std::span<float> average, std::span<float> square) override {
    put_([=, this] { host_->adam(factors, parameters, gradient, average, square); });
  }
  void foretell_adam(elements::From<elements::AdamFactors> factors, std::span<float> parameters,
                     std::span<const float> gradient, std::span<const float> average,
                     std::span<const float> square) override {
    put_([=, this] { host_->foretell_adam(factors, parameters, gradient, average, square); });
  }
  void squared_norm(std::span<const float> values, std::span<double> space) override {
    put_([=, this] { host_->squared_norm(values, space); });
  }
  void clip_factor(const double* squared_norm, float norm_max, float* factor) override {
    put_([=, this] { host_->clip_factor(squared_norm, norm_max, factor); });
  }
  void find_not_finite(std::span<const float> values, std::uint64_t* first) override {
    put_([=, this] { host_->find_not_finite(values, first); });
  }

 private:
  Put put_;
  std::unique_ptr<VectorOperations> host_ = make_host_vectors();
};

class LateDevice final : public ComputeDevice {
 public:
  const std::string& name() const override { return name_; }
  std::string hardware() const override { return "a fake GPU on " + host_->hardware(); }
  bool is_gpu() const override { return true; }
  /// Itself: its models wait for it.
  void* stream() const override { return const_cast<LateDevice*>(this); }
  void* take(std::size_t bytes) override { return host_->take(bytes); }
  void give(void* memory) noexcept override {
    synchronize();
    host_->give(memory);
  }
  void* take_pinned(std::size_t bytes) override { return host_->take_pinned(bytes); }
  void give_pinned(void* memory) noexcept override {
    synchronize();
    host_->give_pinned(memory);
  }
  std::string pin(void* host, std::size_t bytes) override {
    if (refuses_to_pin) return "it refuses to";
    const bool is_new = ranges_.emplace(static_cast<const std::byte*>(host), bytes).second;
    MUSTER_CHECK(is_new, host);
    return {};
  }
  void unpin(void* host) noexcept override {
    synchronize();
    MUSTER_CHECK(ranges_.erase(static_cast<const std::byte*>(host)) == 1, host);
  }
  MemoryUse memory() const override { return host_->memory(); }
  MemoryUse pinned() const override {
    MemoryUse use = host_->pinned();
    for (const auto& [begin, bytes] : ranges_) use.taken_bytes += bytes;
    return use;
  }

  Mark mark() override { return Mark(shared_from_this(), new Event{put_, 0}); }
  // Asking brings the work forward by one piece, as time would.
  bool reached(const Mark& mark) override {
    if (is_over(mark)) return true;
    if (!work_.empty()) {
      run_one();
    } else if (!aside_.empty()) {
      finish(aside_.begin()->first);
    }
    return is_over(mark);
  }
  void wait(const Mark& mark) override {
    if (mark.event() == nullptr) return;
    const Event event = *static_cast<Event*>(mark.event());
    event.aside != 0 ? finish(event.aside) : run_until(event.work);
  }
  void synchronize() override {
    run_until(put_);
    while (!aside_.empty()) finish(aside_.begin()->first);
  }

  VectorOperations& vectors() override { return vectors_; }

  std::unique_ptr<RecordedWork> record(const std::function<void()>& work) override {
    struct Recorded final : RecordedWork {
      Recorded(LateDevice& to, std::vector<std::function<void()>> kept) : device(to), work(std::move(kept)) {}
      void replay() override {
        for (const auto& each : work) device.put(each);
      }
      LateDevice& device;
      std::vector<std::function<void()>> work;
    };
    std::vector<std::function<void()>> kept;
    recording_ = &kept;
    work();
    recording_ = nullptr;
    return std::make_unique<Recorded>(*this, std::move(kept));
  }

  std::size_t pieces_waiting() const { return work_.size() + aside_.size(); }

  bool refuses_to_pin = false;
  std::function<void()> works;  // called when work is put

 private:
  struct Event {
    std::uint64_t work = 0;   // passed when so many pieces are done
    std::uint64_t aside = 0;  // or: when this copy is; 0: none
  };
  struct Aside {
    Event after;
    std::function<void()> copy;
  };

  void put(std::function<void()> work) {
    if (recording_ != nullptr) return recording_->push_back(std::move(work));
    work_.push_back(std::move(work));
    ++put_;
    if (works) works();
  }
  void run_one() {
    auto work = std::move(work_.front());
    work_.pop_front();
    work();
    ++done_;
  }
  void run_until(std::uint64_t number) {
    while (done_ < number) run_one();
  }
  void finish(std::uint64_t number) {
    const auto found = aside_.find(number);
    if (found == aside_.end()) return;
    const Aside aside = std::move(found->second);
    aside_.erase(found);
    aside.after.aside != 0 ? finish(aside.after.aside) : run_until(aside.after.work);
    aside.copy();
  }
  bool is_over(const Mark& mark) const {
    if (mark.event() == nullptr) return true;
    const Event event = *static_cast<Event*>(mark.event());
    return event.aside != 0 ? !aside_.contains(event.aside) : done_ >= event.work;
  }

  bool is_pinned(const std::byte* begin, std::size_t bytes) const {
    const auto after = ranges_.upper_bound(begin);
    if (after == ranges_.begin()) return false;
    const auto range = std::prev(after);
    return begin + bytes <= range->first + range->second;
  }

  // What a GPU reads from memory that is not pinned it has read when the call returns.
  void put_copy(const void* from, void* to, std::size_t bytes, Direction direction) override {
    const auto* const begin = static_cast<const std::byte*>(from);
    auto* const out = static_cast<std::byte*>(to);
    if (direction == Direction::in && !is_pinned(begin, bytes)) {
      put([kept = std::vector<std::byte>(begin, begin + bytes), out] { std::ranges::copy(kept, out); });
    } else {
      put([=] { std::copy_n(begin, bytes, out); });
    }
  }
  Mark put_aside(const Mark& after, const void* from, void* host, std::size_t bytes) override {
    Event event;
    if (after.event() != nullptr) event = *static_cast<Event*>(after.event());
    const auto* const begin = static_cast<const std::byte*>(from);
    auto* const out = static_cast<std::byte*>(host);
    aside_[++asides_] = {event, [=] { std::copy_n(begin, bytes, out); }};
    return Mark(shared_from_this(), new Event{0, asides_});
  }
  void put_rows(const void* from, std::size_t stride, void* host, std::size_t width,
                std::size_t rows) override {
    put([=] {
      for (std::size_t i = 0; i < rows; ++i)
        std::copy_n(static_cast<const std::byte*>(from) + i * stride, width,
                    static_cast<std::byte*>(host) + i * width);
    });
  }
  // New memory is set to zeros by whoever takes it; until that is done it holds NaN.
  void put_zeros(void* to, std::size_t bytes) override {
    auto* const out = static_cast<std::byte*>(to);
    std::fill_n(out, bytes, std::byte{0xff});
    put([=] { std::fill_n(out, bytes, std::byte{0}); });
  }
  void put_value(const void* value, std::size_t bytes, void* to) override {
    const auto* const begin = static_cast<const std::byte*>(value);
    put([kept = std::vector<std::byte>(begin, begin + bytes), out = static_cast<std::byte*>(to)] {
      std::ranges::copy(kept, out);
    });
  }
  void forget(void* event) noexcept override { delete static_cast<Event*>(event); }

  std::string name_ = "cuda:0";
  std::shared_ptr<ComputeDevice> host_ = make_host_device();
  LateVectors vectors_{[this](std::function<void()> work) { put(std::move(work)); }};
  std::map<const std::byte*, std::size_t> ranges_;  // that pin() was given
  std::deque<std::function<void()>> work_;
  std::map<std::uint64_t, Aside> aside_;
  std::vector<std::function<void()>>* recording_ = nullptr;
  std::uint64_t put_ = 0, done_ = 0, asides_ = 0;
};

}  // namespace muster::testing
