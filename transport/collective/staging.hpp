// Buffers of one chunk each, for what has come from others and waits to be added.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace muster {

/// One thread. Grows to the most that was ever needed at once, and allocates nothing after that. What was
/// given back last is taken first: it is still in the processor's cache.
class Staging {
 public:
  explicit Staging(std::size_t chunk_elements) : chunk_elements_(chunk_elements) {}

  float* take() {
    if (free_.empty()) {
      owned_.push_back(std::make_unique_for_overwrite<float[]>(chunk_elements_));
      free_.reserve(owned_.size());
      return owned_.back().get();
    }
    float* buffer = free_.back();
    free_.pop_back();
    return buffer;
  }
  void give_back(float* buffer) { free_.push_back(buffer); }

  /// Buffers that were taken, and not given back.
  std::size_t taken() const { return owned_.size() - free_.size(); }
  std::size_t bytes() const { return owned_.size() * chunk_elements_ * sizeof(float); }

 private:
  const std::size_t chunk_elements_;
  std::vector<std::unique_ptr<float[]>> owned_;
  std::vector<float*> free_;
};

}  // namespace muster
