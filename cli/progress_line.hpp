// Progress for people: one line that is written over on a terminal; else plain lines, one per epoch and event
// of note.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "actors/messages/messages.hpp"
#include "muster/job.hpp"

namespace muster::cli {

/// Used by one thread at a time.
class ProgressLine {
 public:
  /// `by_hand`: its nodes are started by others, so that it is news when one comes.
  ProgressLine(const Job& job, bool quiet, bool by_hand);

  void show(const Progress& progress, const DataFacts& facts);
  void show(const Event& event);
  /// What comes next is printed at the beginning of a line.
  void end();

 private:
  // Rate and time left, from the first figure of the run that was seen.
  void measure(std::uint64_t samples, std::uint64_t step);
  void write_epoch(const Event& event);
  bool is_last(const Event& epoch) const;
  void write_over(const std::string& text);
  void write_line(const std::string& text);

  const Job job_;
  const bool quiet_;
  const bool by_hand_;
  const bool terminal_;
  bool run_ends_ = false;          // it was told to: what it prints last is to stay
  bool all_leave_ = false;         // the last epoch has ended
  std::uint64_t total_steps_ = 0;  // 0: not known
  std::uint64_t first_samples_ = 0, first_step_ = 0;
  std::chrono::steady_clock::time_point since_{};
  bool begun_ = false;
  std::string rate_, left_;  // empty until they are known
};

}  // namespace muster::cli
