#include "actors/registry/job_hash.hpp"

#include <span>

#include "actors/registry/start_weights.hpp"
#include "config/job_hash.hpp"
#include "gpu/optimizer/state_hash.hpp"

namespace muster {

std::string mathematics_of(const Job& job, const Declarations& declarations) {
  const std::string start = start_content(job);
  return job_mathematics(job, declarations) + (start.empty() ? "" : "start content = " + start + "\n");
}

std::string job_hash(const Job& job, const Declarations& declarations) {
  const std::string text = mathematics_of(job, declarations);
  return sha256_hex(std::as_bytes(std::span(text)));
}

}  // namespace muster
