// Progress for people: one line that is written over on a terminal; else plain lines, one per epoch and event
// of note.
#pragma once

#include <chrono>
#include <cstdint>

#include "muster/actors/messages.hpp"
#include "muster/config/job.hpp"

namespace muster::cli {

/// Used by one thread at a time.
class ProgressLine {
 public:
  ProgressLine(const Job& job, bool quiet);

  void show(const Progress& progress, const DataFacts& facts);
  void show(const Event& event);

 private:
  void write_over(const std::string& text);
  void write_line(const std::string& text);

  const Job job_;
  const bool quiet_;
  const bool terminal_;
  bool partial_ = false;  // the terminal's line is not ended
  std::uint64_t first_samples_ = 0, first_step_ = 0;
  std::chrono::steady_clock::time_point rate_since_{};
  bool rate_known_ = false;
  Progress last_;
  double rate_ = 0;
  std::string left_;
};

}  // namespace muster::cli
