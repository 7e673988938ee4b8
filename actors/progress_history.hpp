// Which of a run's steps are told of (report.progress_every), and what is kept of them for the report.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "muster/actors/event.hpp"
#include "muster/actors/messages.hpp"
#include "muster/config/job.hpp"
#include "muster/gpu/optimizer.hpp"

namespace muster {

struct ProgressRow {
  double time_ms = 0;  ///< since the run began
  std::uint64_t epoch = 0, step = 0, samples = 0;
  double loss = 0, learning_rate = 0;
  double samples_per_second = 0;  ///< since the row before; 0: not known
  double gradient_norm = 0;       ///< 0 without train.clip_norm

  bool operator==(const ProgressRow&) const = default;
};

class ProgressHistory {
 public:
  /// More rows than this are never kept: then every other one goes, and the next ones are twice as far apart.
  static constexpr std::size_t kRowsMax = 1000;

  explicit ProgressHistory(const Job& job);

  /// The row of this step, if it is to be told. Steps that are done again replace those of before.
  std::optional<ProgressRow> take(const Progress& progress, std::chrono::nanoseconds since_begin);

  const std::vector<ProgressRow>& rows() const { return rows_; }

 private:
  bool is_due(const Progress& progress, std::chrono::nanoseconds now) const;
  void keep(const ProgressRow& row);

  const ProgressEvery every_;
  const bool clips_;
  const std::unique_ptr<Schedule> schedule_;
  std::optional<ProgressRow> last_;  // that was told
  std::chrono::nanoseconds last_at_{0};
  std::vector<ProgressRow> rows_;
  std::uint64_t apart_ = 1, since_kept_ = 0;  // rows that were told
};

Event event_of(const ProgressRow& row);

}  // namespace muster
