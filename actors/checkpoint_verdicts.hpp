// Verdicts on checkpoints, kept in their folder: which of them may hold wrong results. A replica that has not
// heard of one, because it was cut off or stood still, may write such a checkpoint long after all others went
// back before it.
//
// A run begins with a new history, and with another one each time when it goes back before wrong results.
// Each history goes on from the one before: so a verdict on one counts for all before it, too.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "muster/actors/disk.hpp"
#include "muster/config/error.hpp"

namespace muster {

/// Steps from `from_step` on, of this history and of those before it, may hold wrong results.
struct Verdict {
  std::uint64_t history = 0;
  std::uint64_t from_step = 0;

  bool operator==(const Verdict&) const = default;
};

bool is_void(const std::vector<Verdict>& verdicts, std::uint64_t history, std::uint64_t step);

/// The file of a job's verdicts.
std::string verdicts_name(const std::string& job_hash);

/// Those on the job with this hash; of a damaged file none. Blocks. Throws DiskError.
std::vector<Verdict> read_verdicts(Disk& disk, const std::string& job_hash);
/// Blocks. Throws DiskError.
void add_verdict(Disk& disk, const std::string& job_hash, const Verdict& verdict);

/// A checkpoint was not written, because there is such a verdict on its step.
class VoidCheckpoint : public Error {
 public:
  explicit VoidCheckpoint(std::uint64_t step);
};

}  // namespace muster
