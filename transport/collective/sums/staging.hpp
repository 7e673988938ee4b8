// What has come from others and waits to be added, or was added and waits to be sent: in buffers of one chunk
// each, or borrowed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "transport/borrowable.hpp"
#include "transport/collective/sums/fold_unit.hpp"
#include "transport/transport.hpp"

namespace muster {

/// One thread. Grows to the most that was ever needed at once, and allocates nothing after that. What was
/// given back last is taken first: it is still in the processor's cache.
class Staging {
 public:
  /// A buffer or a borrowed buffer in use, by number: it is free again after as many releases as it was taken
  /// for.
  using Hold = std::uint32_t;
  static constexpr Hold kNone = ~Hold{0};

  /// Buffers are memory of `unit`, where there is one; else borrowable.
  Staging(std::size_t chunk_elements, Transport& transport, FoldUnit* unit = nullptr)
      : chunk_elements_(chunk_elements), transport_(transport), unit_(unit) {}

  float* take() {
    ++taken_;
    if (free_.empty()) {
      free_.reserve(++made_);
      if (unit_ != nullptr) return unit_->make(chunk_elements_);
      return owned_.emplace_back(chunk_elements_).get();
    }
    float* buffer = free_.back();
    free_.pop_back();
    return buffer;
  }
  void give_back(float* buffer) {
    --taken_;
    free_.push_back(buffer);
  }

  Hold hold(float* buffer, std::uint32_t uses) { return add({{}, buffer, uses}); }
  Hold hold(BorrowedBuffer borrow, std::uint32_t uses) { return add({borrow, nullptr, uses}); }
  void release(Hold hold) {
    Held& held = holds_[hold];
    MUSTER_CHECK(held.uses > 0, hold);
    if (--held.uses > 0) return;
    unused_.push_back(hold);
    if (held.buffer != nullptr) return give_back(std::exchange(held.buffer, nullptr));
    transport_.give_back(held.borrow);
  }
  /// Whether what was read of it counts.
  bool stands(Hold hold) const { return !is_borrowed(hold) || transport_.stands(holds_[hold].borrow); }
  bool is_borrowed(Hold hold) const { return holds_[hold].buffer == nullptr; }

  /// Buffers that were taken, and not given back.
  std::size_t taken() const { return taken_; }
  std::size_t bytes() const { return made_ * chunk_elements_ * sizeof(float); }

 private:
  struct Held {
    BorrowedBuffer borrow;
    float* buffer = nullptr;  // null: a borrowed buffer
    std::uint32_t uses = 0;
  };
  Hold add(Held held) {
    if (unused_.empty()) {
      holds_.push_back(held);
      unused_.reserve(holds_.capacity());
      return static_cast<Hold>(holds_.size() - 1);
    }
    const Hold number = unused_.back();
    unused_.pop_back();
    holds_[number] = held;
    return number;
  }

  const std::size_t chunk_elements_;
  Transport& transport_;
  FoldUnit* const unit_;
  std::size_t made_ = 0;            // buffers
  std::vector<FloatBuffer> owned_;  // those of the host
  std::vector<float*> free_;
  std::size_t taken_ = 0;
  std::vector<Held> holds_;
  std::vector<Hold> unused_;
};

}  // namespace muster
