// What one shard holds ready, and what it asks its loader for: a pure rule. At most `depth` micro-batches are
// asked for or held at any time; that is the credit which bounds loading.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "actors/rules/steps/round_schedule.hpp"

namespace muster {

class ShardQueue {
 public:
  /// `ticket`: those that it gives are higher. Two queues of one shard in one view share no ticket.
  ShardQueue(std::uint32_t shard, std::uint32_t depth, RoundScheduleOptions schedule,
             std::uint64_t ticket = 0)
      : shard_(shard), depth_(depth), schedule_(schedule), next_(Cursor{}), ticket_(ticket) {}

  struct Wanted {
    Cursor cursor;
    std::uint64_t ticket = 0;
  };

  /// What to ask the loader for now. Each call gives what was not asked for before.
  std::vector<Wanted> demands();

  /// The replica needs this item. Given at once if it is there; else `delivered` will give it.
  std::optional<Item> need(const Cursor& cursor);

  /// The loader's answer. Gives the item that the replica waits for, if this is it. Old tickets are ignored.
  std::optional<Item> delivered(std::uint64_t ticket, Item item);

  std::size_t held() const { return slots_.size(); }

 private:
  struct Slot {
    Cursor cursor;
    std::uint64_t ticket;
    std::optional<Item> item;
  };
  using ModeKey = std::pair<std::uint64_t, Mode>;  // epoch, phase

  std::optional<Item> answer();
  std::optional<Cursor> mode_after(const Cursor& cursor) const;
  void mark_ended(const Item& item);
  void jump(const Cursor& cursor);

  std::uint32_t shard_;
  std::uint32_t depth_;
  RoundScheduleOptions schedule_;
  std::optional<Cursor> next_;  // to ask for; none after the last epoch
  std::deque<Slot> slots_;
  std::map<ModeKey, Item> ended_;  // first ended item of a phase
  std::optional<Cursor> waiting_;
  std::uint64_t ticket_;
};

}  // namespace muster
