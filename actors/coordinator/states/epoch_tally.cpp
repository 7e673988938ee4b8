#include "actors/coordinator/states/epoch_tally.hpp"

#include <algorithm>

namespace muster {

std::optional<std::uint32_t> EpochTally::take(const EpochEnd& row) {
  auto& rows = open_[row.epoch];
  rows[row.slot] = row;
  for (const auto& [slot, other] : rows) {
    if (!other.same_as(row)) return slot;
  }
  return std::nullopt;
}

bool EpochTally::counts(std::uint64_t epoch) const {
  return std::ranges::any_of(counted_, [&](const EpochEnd& row) { return row.epoch == epoch; });
}

std::vector<std::uint64_t> EpochTally::open() const {
  std::vector<std::uint64_t> epochs;
  for (const auto& [epoch, rows] : open_) epochs.push_back(epoch);
  return epochs;
}

bool EpochTally::has_reported(std::uint64_t epoch, std::uint32_t slot) const {
  const auto rows = open_.find(epoch);
  return rows != open_.end() && rows->second.contains(slot);
}

std::optional<EpochEnd> EpochTally::count(std::uint64_t epoch) {
  const auto rows = open_.find(epoch);
  if (rows == open_.end() || rows->second.empty() || counts(epoch)) return std::nullopt;
  const EpochEnd row = rows->second.begin()->second;
  open_.erase(rows);
  const auto later =
      std::ranges::find_if(counted_, [&](const EpochEnd& other) { return other.epoch > epoch; });
  counted_.insert(later, row);
  return row;
}

void EpochTally::forget(std::uint32_t slot) {
  for (auto& [epoch, rows] : open_) rows.erase(slot);
}

void EpochTally::go_back(std::uint64_t step) {
  std::erase_if(counted_, [&](const EpochEnd& row) { return row.steps > step; });
  open_.clear();
}

}  // namespace muster
