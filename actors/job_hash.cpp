#include "muster/actors/job_hash.hpp"

#include <span>

#include "muster/config/job_hash.hpp"
#include "muster/gpu/state_hash.hpp"

namespace muster {

std::string job_hash(const Job& job, const Declarations& declarations) {
  const std::string text = job_mathematics(job, declarations);
  return sha256_hex(std::as_bytes(std::span(text)));
}

}  // namespace muster
