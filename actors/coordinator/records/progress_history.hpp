// Which of a run's steps are told of (report.progress_every), and what is kept of them for the report.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "actors/events/event.hpp"
#include "actors/messages/messages.hpp"
#include "gpu/optimizer/optimizer.hpp"
#include "muster/job.hpp"

namespace muster {

/// Rows in the order of their steps.
class ProgressRows {
 public:
  /// More than this are never kept: then every other one goes, and the next ones are twice as far apart.
  static constexpr std::size_t kMax = 1000;

  /// Steps that are done again replace those of before.
  void keep(const ProgressRow& row);
  const std::vector<ProgressRow>& all() const { return rows_; }

 private:
  std::vector<ProgressRow> rows_;
  std::uint64_t apart_ = 1, since_kept_ = 0;  // rows that were given
};

class ProgressHistory {
 public:
  explicit ProgressHistory(const Job& job);

  /// The row of this step, if it is to be told.
  std::optional<ProgressRow> take(const Progress& progress, std::chrono::nanoseconds since_begin);

  const std::vector<ProgressRow>& rows() const { return rows_.all(); }

 private:
  bool is_due(const Progress& progress, std::chrono::nanoseconds now) const;

  const ProgressEvery every_;
  const bool clips_;
  const std::unique_ptr<Schedule> schedule_;
  std::optional<ProgressRow> last_;  // that was told
  std::uint32_t last_took_ = 0;      // Progress::took of it
  std::chrono::nanoseconds last_at_{0};
  ProgressRows rows_;
};

Event event_of(const ProgressRow& row);
/// The row that an event `progress` tells of.
ProgressRow progress_row(const Event& event);

}  // namespace muster
