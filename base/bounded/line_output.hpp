// What a process prints for people while it works: lines, and one line that is written over. A terminal that
// is stopped (Ctrl-S), or a pipe that is full, holds up nobody who prints.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bounded/bounded_feed.hpp"

namespace muster {

/// Written by a thread of its own. Not by stdio, whose lock a blocked write would hold.
class LineOutput {
 public:
  static constexpr std::size_t kWaitingMax = 1000;
  /// So long the end of a process waits for what is not written yet. Less than a launcher waits for its
  /// nodes.
  static constexpr std::chrono::milliseconds kLastLinesMax{1500};

  explicit LineOutput(int descriptor, std::size_t waiting_max = kWaitingMax);

  /// Any thread; does not wait. Beyond `waiting_max` lines that wait, further ones are left out; a line in
  /// their place says how many. `line`: without its end.
  void print(std::string line) { feed_.push(std::move(line)); }
  /// A line that the next one of either kind is written over; empty: what stands there is erased. Of several
  /// that wait the last one is written.
  void print_over(std::string line) { feed_.replace(std::move(line)); }

  /// Waits until all is written, at most for so long; whether it is.
  bool written_within(std::chrono::milliseconds most) { return feed_.delivered_within(most); }

 private:
  // On the thread of the feed.
  void write_line(const std::string& line);
  void write_over(const std::string& line);
  void write(std::string_view text) const;

  const int descriptor_;
  bool over_ = false;  // the line that was written last is to be written over
  BoundedFeed<std::string, std::string> feed_;
};

/// Standard error. Made at the first call; the end of the process waits for it, if it is by exit().
LineOutput& error_output();

/// In front of _exit(): waits for what standard error has not taken.
void write_last_lines();

/// Without a thread or a lock, as a handler of a signal does: prints what standard error takes at once, or
/// within a short time.
void print_at_once(std::string_view text);

}  // namespace muster
