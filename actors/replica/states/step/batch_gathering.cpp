#include "actors/replica/states/step/batch_gathering.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace muster {

void BatchGathering::enter(std::uint32_t begin, std::uint32_t end) {
  begin_ = begin;
  items_.assign(end - begin, Item{});
}

void BatchGathering::begin(const Cursor& cursor) {
  cursor_ = cursor;
  arrived_ = 0;
}

void BatchGathering::skip(std::uint32_t shard) {
  items_[shard - begin_] = Item{cursor_, shard, true, {}, nullptr};
  ++arrived_;
}

void BatchGathering::take(const Item& item) {
  MUSTER_CHECK(item.cursor == cursor_, item.shard);
  items_[item.shard - begin_] = item;
  ++arrived_;
}

bool BatchGathering::all_ended() const {
  return std::all_of(items_.begin(), items_.end(), [](const Item& item) { return item.ended; });
}

}  // namespace muster
