#include <algorithm>

#include "actors/pipeline/batch_builder.hpp"
#include "actors/pipeline/feed.hpp"
#include "actors/pipeline/permutation.hpp"

namespace muster {
namespace {

class IndexedFeed : public Feed {
 public:
  IndexedFeed(IndexedSource& source, const Cut& cut, const Dealing& dealing,
              std::optional<std::uint64_t> shuffle_seed)
      : source_(source),
        cut_(cut),
        dealing_(dealing),
        shuffle_seed_(shuffle_seed),
        builder_(source.fields()) {}

  Item read(std::uint32_t shard, const Cursor& cursor) override {
    Item item{cursor, shard, false, {}, nullptr};
    const auto range = dealing_.range(shard, cursor.step);
    if (!range) {
      item.ended = true;
      return item;
    }
    item.range = *range;
    const bool pads = dealing_.remainder == Remainder::pad;
    const std::uint32_t padding = pads ? dealing_.batch - range->count : 0;
    builder_.begin(range->count + padding);
    if (shuffle_seed_) {
      const Permutation order(dealing_.samples, *shuffle_seed_, cursor.epoch);
      fill(shard, *range, [&](std::uint64_t position) { return order.at(position); });
    } else {
      fill(shard, *range, [](std::uint64_t position) { return position; });
    }
    item.batch = builder_.finish(range->count, padding);
    return item;
  }

  std::optional<Dealing> dealing() const override { return dealing_; }

  std::uint64_t micro_batch_bytes_max() const override {
    if (dealing_.remainder == Remainder::pad) return builder_.bytes(dealing_.batch);
    return builder_.bytes(std::min<std::uint64_t>(dealing_.batch, dealing_.shard_size(0)));
  }

 private:
  template <class Order>
  void fill(std::uint32_t shard, const Range& range, Order&& order) {
    for (std::uint32_t row = 0; row < range.count; ++row) {
      const std::uint64_t position = dealing_.position(shard, range.first + row);
      source_.read(cut_.begin + order(position), builder_.row(row));
    }
  }

  IndexedSource& source_;
  Cut cut_;
  Dealing dealing_;
  std::optional<std::uint64_t> shuffle_seed_;
  BatchBuilder builder_;
};

}  // namespace

std::unique_ptr<Feed> make_indexed_feed(IndexedSource& source, const Cut& cut, const Dealing& dealing,
                                        std::optional<std::uint64_t> shuffle_seed) {
  return std::make_unique<IndexedFeed>(source, cut, dealing, shuffle_seed);
}

}  // namespace muster
