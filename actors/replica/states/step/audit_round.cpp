#include "actors/replica/states/step/audit_round.hpp"

#include <utility>

#include "actors/trainer/trainer_state.hpp"

namespace muster {

void AuditRound::begin(std::vector<Audit> audits, std::uint32_t self) {
  give_up();
  own_begun_ = false;
  audits_ = std::move(audits);
  for (const Audit& audit : audits_) {
    if (audit.auditor == self) left_.emplace_back(audit.shards.begin(), audit.shards.end());
  }
}

void AuditRound::give_up() {
  left_.clear();
  item_.reset();
  under_way_ = false;
  shard_reports_.clear();
  own_.reset();
}

std::optional<std::uint32_t> AuditRound::next() {
  while (!left_.empty() && left_.front().empty()) left_.pop_front();
  if (left_.empty()) return std::nullopt;
  return left_.front().front();
}

bool AuditRound::asks_for(std::uint32_t shard) const {
  return !left_.empty() && !left_.front().empty() && left_.front().front() == shard;
}

void AuditRound::take(const Item& item) {
  if (has_rows(item)) {
    item_ = item;
  } else {
    left_.front().pop_front();
  }
}

std::optional<Item> AuditRound::start() {
  if (!own_begun_ || !item_ || std::exchange(under_way_, true)) return std::nullopt;
  return item_;
}

void AuditRound::computed(const AuditReport& out) {
  shard_reports_.push_back(out);
  left_.pop_front();
  item_.reset();
  under_way_ = false;
}

std::optional<AuditRound::Part> AuditRound::complete() {
  if (!own_ || is_open()) return std::nullopt;
  Part part = *std::exchange(own_, std::nullopt);
  part.audits.insert(part.audits.end(), shard_reports_.begin(), shard_reports_.end());
  shard_reports_.clear();
  return part;
}

}  // namespace muster
