#include "actors/trainer/gpu_sums.hpp"

#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "gpu/pinned_range.hpp"
#include "transport/borrowable.hpp"

namespace muster {
namespace {

/// A vector on the host that the GPU copies to by itself. Other processes of the host read it where it lies,
/// unless it is small or the system does not let shared memory be pinned: then it is copied on its way there.
class Twin {
 public:
  Twin(const std::shared_ptr<ComputeDevice>& device, std::size_t elements) {
    if (elements * sizeof(float) >= kBorrowableBytesMin) {
      borrowable_.emplace(elements);
      pin_ = PinnedRange(device, {borrowable_->get(), elements});
      if (!pin_) borrowable_.reset();
    }
    if (!borrowable_) pinned_ = PinnedFloats(device, elements);
  }

  float* data() const { return borrowable_ ? borrowable_->get() : pinned_.data(); }

 private:
  std::optional<FloatBuffer> borrowable_;
  PinnedRange pin_;  // ends before its memory does
  PinnedFloats pinned_;
};

class GpuSums final : public SumMemory {
 public:
  GpuSums(std::shared_ptr<ComputeDevice> device, std::size_t elements, bool in_place)
      : device_(std::move(device)), elements_(elements), in_place_(in_place) {}

  // Copies that are under way write to the memory that goes with it.
  ~GpuSums() override {
    try {
      finished(true);
    } catch (const std::exception&) {  // the GPU has failed: nothing is under way any more
    }
  }

  float* make() override { return owned_.emplace_back(device_, elements_).data(); }

  void add_up(std::span<float* const> operands, ElementRange elements) override {
    for (std::size_t i = 1; i < operands.size(); ++i)
      device_->vectors().add(part(operands[i], elements), part(operands[i - 1], elements), {},
                             part(operands[i], elements));
  }

  void finish(std::span<float* const> sums, ElementRange elements) override {
    Mark added = device_->mark();
    std::vector<Mark> ends;
    for (float* const values : in_place_ ? std::span<float* const>{} : sums)
      ends.push_back(device_->copy_out_aside(added, part(values, elements), part(twin(values), elements)));
    if (in_place_) ends.push_back(std::move(added));
    under_way_.push_back(std::move(ends));
  }

  std::size_t finished(bool wait) override {
    while (!under_way_.empty() && is_over(under_way_.front(), wait)) {
      under_way_.pop_front();
      ++finished_;
    }
    return finished_;
  }

  const float* readable(float* sums) override { return in_place_ ? sums : twin(sums); }

  // A step that was given up may have left copies behind.
  void start() override {
    finished(true);
    finished_ = 0;
  }

 private:
  static std::span<float> part(float* values, ElementRange elements) {
    return {values + elements.begin, elements.count()};
  }

  bool is_over(const std::vector<Mark>& ends, bool wait) {
    for (const Mark& end : ends) {
      if (wait) {
        device_->wait(end);
      } else if (!device_->reached(end)) {
        return false;
      }
    }
    return true;
  }

  float* twin(float* sums) { return twins_.try_emplace(sums, device_, elements_).first->second.data(); }

  std::shared_ptr<ComputeDevice> device_;
  std::size_t elements_;
  bool in_place_;
  std::vector<DeviceFloats> owned_;
  std::map<float*, Twin> twins_;  // of those that were ever finished
  std::deque<std::vector<Mark>> under_way_;
  std::size_t finished_ = 0;
};

}  // namespace

std::unique_ptr<SumMemory> make_gpu_sums(std::shared_ptr<ComputeDevice> device, std::size_t elements) {
  return std::make_unique<GpuSums>(std::move(device), elements, false);
}

std::unique_ptr<SumMemory> make_gpu_sums_in_place(std::shared_ptr<ComputeDevice> device,
                                                  std::size_t elements) {
  return std::make_unique<GpuSums>(std::move(device), elements, true);
}

}  // namespace muster
