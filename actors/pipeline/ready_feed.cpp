#include <algorithm>
#include <utility>

#include "actors/pipeline/batch_check.hpp"
#include "actors/pipeline/feed.hpp"
#include "muster/error.hpp"

namespace muster {
namespace {

class ReadyFeed : public Feed {
 public:
  ReadyFeed(BatchSource& source, const Cut& cut, const Dealing& dealing)
      : source_(source), cut_(cut), dealing_(dealing) {
    if (cut_.count > 0) load(0);  // measures the first, so that memory can be planned before the first step
  }

  Item read(std::uint32_t shard, const Cursor& cursor) override {
    Item item{cursor, shard, false, {}, nullptr};
    const auto range = dealing_.range(shard, cursor.step);
    if (!range) {
      item.ended = true;
      return item;
    }
    item.range = *range;
    item.batch = std::make_shared<const Batch>(load(dealing_.position(shard, range->first)));
    return item;
  }

  std::optional<Dealing> dealing() const override { return dealing_; }

  std::uint64_t micro_batch_bytes_max() const override { return bytes_max_; }

 private:
  Batch load(std::uint64_t position) {
    const std::uint64_t index = cut_.begin + position;
    Batch batch = source_.batch(index);
    if (const auto mistake = batch_mistake(batch); !mistake.empty()) {
      throw JobError("data.source", "batch " + std::to_string(index) + " cannot be used: " + mistake);
    }
    bytes_max_ = std::max<std::uint64_t>(bytes_max_, batch.bytes());
    return batch;
  }

  BatchSource& source_;
  Cut cut_;
  Dealing dealing_;
  std::uint64_t bytes_max_ = 0;
};

}  // namespace

std::unique_ptr<Feed> make_ready_feed(BatchSource& source, const Cut& cut, const Dealing& dealing) {
  return std::make_unique<ReadyFeed>(source, cut, dealing);
}

}  // namespace muster
