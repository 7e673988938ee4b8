// Verdicts on checkpoints, kept in their folder: which of them may hold wrong results. A replica that has not
// heard of one, because it was cut off or stood still, may write such a checkpoint long after all others went
// back before it.
//
// A history is a number. Its upper 40 bits name a run, from its beginning through all that resumes it; its
// lower 24 bits count the attempts of that run: a resume begins the next attempt, and so does going back. A
// resume under another name begins a run of its own. Each attempt goes on from the one before: so a verdict
// on one counts for those before it, too, and for no other run that writes into the same folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/disk.hpp"
#include "muster/error.hpp"

namespace muster {

constexpr unsigned kAttemptBits = 24;
constexpr std::uint64_t attempt_of(std::uint64_t history) {
  return history & ((std::uint64_t{1} << kAttemptBits) - 1);
}
constexpr bool of_one_run(std::uint64_t history, std::uint64_t other) {
  return history >> kAttemptBits == other >> kAttemptBits;
}
/// Whether both are of one run, and the first is not the later one.
constexpr bool goes_before(std::uint64_t history, std::uint64_t other) {
  return of_one_run(history, other) && history <= other;
}

/// For a run of this name that begins: none of those in `taken`.
std::uint64_t first_history(const std::string& job, const std::vector<std::uint64_t>& taken);
/// Where it cannot be read which are taken: drawn from `any`.
std::uint64_t history_of_chance(const std::string& job, std::uint64_t any);
/// For one that resumes `from`: the next attempt that is not in `taken`.
std::uint64_t history_after(std::uint64_t from, const std::vector<std::uint64_t>& taken);

/// Steps from `from_step` on, of this history and of those before it, may hold wrong results.
struct Verdict {
  std::uint64_t history = 0;
  std::uint64_t from_step = 0;

  bool operator==(const Verdict&) const = default;
};

bool is_void(const std::vector<Verdict>& verdicts, std::uint64_t history, std::uint64_t step);

/// The file of a job's verdicts.
std::string verdicts_name(const std::string& job_hash);

/// Those on the job with this hash. Blocks. Throws DiskError, also of a damaged file.
std::vector<Verdict> read_verdicts(Disk& disk, const std::string& job_hash);
/// The same; none where they cannot be read.
std::vector<Verdict> readable_verdicts(Disk& disk, const std::string& job_hash);
/// Blocks. Throws DiskError.
void add_verdict(Disk& disk, const std::string& job_hash, const Verdict& verdict);

/// A checkpoint was not written, because there is such a verdict on its step.
class VoidCheckpoint : public Error {
 public:
  explicit VoidCheckpoint(std::uint64_t step);
};

}  // namespace muster
