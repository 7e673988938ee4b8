#include "actors/rules/steps/shard_queue.hpp"

#include <algorithm>

namespace muster {

std::vector<ShardQueue::Wanted> ShardQueue::demands() {
  std::vector<Wanted> wanted;
  while (next_ && slots_.size() < depth_) {
    slots_.push_back({*next_, ++ticket_, std::nullopt});
    wanted.push_back({*next_, ticket_});
    ++next_->step;
  }
  return wanted;
}

std::optional<Item> ShardQueue::need(const Cursor& cursor) {
  waiting_ = cursor;
  // Epochs that the replica has left behind are forgotten.
  ended_.erase(ended_.begin(), ended_.lower_bound({cursor.epoch, Mode::train}));
  return answer();
}

std::optional<Item> ShardQueue::answer() {
  if (!waiting_) return std::nullopt;
  const Cursor cursor = *waiting_;
  if (const auto ended = ended_.find({cursor.epoch, cursor.mode});
      ended != ended_.end() && cursor.step >= ended->second.cursor.step) {
    Item item = ended->second;
    if (cursor.step > item.cursor.step) item.range.count = 0;  // what was dropped is told once
    item.cursor = cursor;
    waiting_.reset();
    return item;
  }
  const bool asked = !slots_.empty() && slots_.front().cursor == cursor;
  const bool next = slots_.empty() && next_ == cursor;
  if (!asked && !next) {
    jump(cursor);
    return std::nullopt;
  }
  if (!asked || !slots_.front().item) return std::nullopt;
  Item item = std::move(*slots_.front().item);
  slots_.pop_front();
  waiting_.reset();
  return item;
}

// The replica goes elsewhere than was foreseen (train.steps cut the epoch short): what is under way is of no
// use.
void ShardQueue::jump(const Cursor& cursor) {
  slots_.clear();
  next_ = cursor;
}

std::optional<Item> ShardQueue::delivered(std::uint64_t ticket, Item item) {
  const auto slot =
      std::find_if(slots_.begin(), slots_.end(), [&](const Slot& s) { return s.ticket == ticket; });
  if (slot == slots_.end()) return std::nullopt;
  if (item.ended) {
    mark_ended(item);
  } else {
    slot->item = std::move(item);
  }
  return answer();
}

void ShardQueue::mark_ended(const Item& item) {
  const ModeKey key{item.cursor.epoch, item.cursor.mode};
  const auto [known, fresh] = ended_.try_emplace(key, item);
  if (!fresh && item.cursor.step < known->second.cursor.step) known->second = item;
  std::erase_if(slots_, [&](const Slot& slot) {
    return slot.cursor.epoch == key.first && slot.cursor.mode == key.second &&
           slot.cursor.step >= item.cursor.step;
  });
  if (next_ && next_->epoch == key.first && next_->mode == key.second) next_ = mode_after(item.cursor);
}

std::optional<Cursor> ShardQueue::mode_after(const Cursor& cursor) const {
  if (cursor.mode == Mode::train && schedule_.evaluate) return Cursor{Mode::evaluate, cursor.epoch, 0};
  if (!RoundSchedule::has_epoch_after(schedule_, cursor.epoch)) return std::nullopt;
  return Cursor{Mode::train, cursor.epoch + 1, 0};
}

}  // namespace muster
