// The rows of a run's progress, kept in its checkpoint folder: the report of a run that goes on has those of
// before, too. One JSON object a line. They are as good as their disk: nothing in the run waits for them.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "actors/coordinator/records/progress_history.hpp"
#include "actors/events/event.hpp"
#include "base/mutex.hpp"

namespace muster {

class ProgressFile {
 public:
  using Time = std::chrono::system_clock::time_point;

  /// The file is made anew when it has come to so many lines.
  static constexpr std::size_t kLinesMax = 10 * ProgressRows::kMax;

  /// Reads what is there; what cannot be read is passed over. `began`: the zero of the events' time_ms.
  /// `on_failure` is called once, from tell(), if the file cannot be written; then it is left as it is.
  ProgressFile(std::filesystem::path path, Time began, std::function<void(const std::string&)> on_failure);

  /// All events of the run, on one thread at a time. Blocks for the disk. A run that neither goes on from a
  /// checkpoint nor is found again by its coordinator forgets what is there, as soon as it makes progress.
  void report(const Event& event);

  /// The rows of the run up to `steps`: those of before, whose time_ms is negative, and `now`, those since it
  /// began. At most ProgressRows::kMax. Any thread.
  std::vector<ProgressRow> all(const std::vector<ProgressRow>& now, std::uint64_t steps) const;

 private:
  void read() MUSTER_EXCLUDES(mutex_);
  void forget() MUSTER_EXCLUDES(mutex_);
  void append(ProgressRow row);
  void write_anew();

  const std::filesystem::path path_;
  const double began_ms_;  // since 1970, as are the times of all rows here
  const std::function<void(const std::string&)> on_failure_;
  ProgressRows rows_;
  std::size_t lines_ = 0;
  bool begun_ = false, failed_ = false;
  mutable Mutex mutex_;
  std::vector<ProgressRow> before_ MUSTER_GUARDED_BY(mutex_);
  bool goes_on_ MUSTER_GUARDED_BY(mutex_) = false;
};

}  // namespace muster
