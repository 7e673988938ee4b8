// What has come from others and waits to be added: in buffers of one chunk each, or on loan.
#pragma once

#include <cstddef>
#include <vector>

#include "muster/transport/lendable.hpp"
#include "muster/transport/transport.hpp"

namespace muster {

/// Elements of one node: in a buffer of the staging, or where their sender has them.
struct Staged {
  const float* values = nullptr;  ///< null: nothing is there
  Loan loan{};                    ///< lender 0: a buffer
  bool lent() const { return loan.lender != 0; }
};

/// One thread. Grows to the most that was ever needed at once, and allocates nothing after that. What was
/// given back last is taken first: it is still in the processor's cache.
class Staging {
 public:
  explicit Staging(std::size_t chunk_elements) : chunk_elements_(chunk_elements) {}

  float* take() {
    if (free_.empty()) {
      owned_.emplace_back(chunk_elements_);
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
  std::vector<FloatBuffer> owned_;
  std::vector<float*> free_;
};

}  // namespace muster
