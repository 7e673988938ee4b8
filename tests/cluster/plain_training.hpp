// The same job as one plain loop: no actors, no transport, no reducer. What a run must give the bits of.
#pragma once

#include <string>
#include <vector>

namespace muster::cluster_test {

/// SHA-256 of the state after the job in `file` with these overrides.
struct PlainResult {
  std::string weights_sha256;
  std::uint64_t steps = 0;
  std::uint64_t samples = 0;
};

/// Micro-batches and gradients come through the seams of source and model; the sum is a recursion, the update
/// a loop of its own for SGD, and the library's for Adam.
PlainResult train_plainly(const std::string& file, const std::vector<std::string>& sets);

}  // namespace muster::cluster_test
