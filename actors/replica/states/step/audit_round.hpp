// The audits of one round at one replica: the shards of others that it computes as well, one after the other,
// and its own part of the round, which is complete when these are done. Pure: it says what to ask for and
// what to compute. For one thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "actors/messages/item.hpp"
#include "actors/rules/steps/audit.hpp"
#include "transport/collective/rounds/round.hpp"
#include "transport/collective/sums/accumulator.hpp"

namespace muster {

class AuditRound {
 public:
  /// What a replica adds to a round.
  struct Part {
    std::vector<NodeValue> nodes;
    std::vector<ShardMetrics> metrics;
    std::vector<AuditReport> audits;
  };

  /// Of this round; `self` is this replica's slot.
  void begin(std::vector<Audit> audits, std::uint32_t self);
  /// The round is over, or the view: nothing is audited any more.
  void give_up();
  const std::vector<Audit>& audits() const { return audits_; }
  /// Whether something is still to be audited here.
  bool is_open() const { return !left_.empty(); }
  /// The shard whose data to ask for now; nothing: all is done.
  std::optional<std::uint32_t> next();
  bool asks_for(std::uint32_t shard) const;
  /// The data of the shard that was asked for. Without samples the next shard of the same owner is asked for.
  void take(const Item& item);
  bool has_item() const { return item_.has_value(); }
  /// The replica's own shards are under way: what is audited comes behind them.
  void own_begun() { own_begun_ = true; }
  /// What to compute now, once for each item.
  std::optional<Item> start();
  std::uint32_t shard() const { return item_->shard; }  ///< of the item that is computed
  void computed(const AuditReport& out);

  void own_done(Part part) { own_ = std::move(part); }
  const Part* own() const { return own_ ? &*own_ : nullptr; }
  /// The whole part, when the replica's own shards and all audits are done; once.
  std::optional<Part> complete();

 private:
  std::vector<Audit> audits_;
  std::deque<std::deque<std::uint32_t>> left_;  // of each audit: to be tried; the first one is asked for
  std::optional<Item> item_;
  bool under_way_ = false;
  std::vector<AuditReport> shard_reports_;
  bool own_begun_ = false;
  std::optional<Part> own_;
};

}  // namespace muster
