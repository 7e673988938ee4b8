#include <vector>

#include "actors/pipeline/batch_builder.hpp"
#include "actors/pipeline/feed.hpp"
#include "base/check.hpp"
#include "muster/error.hpp"

namespace muster {
namespace {

/// Where a shard's generator stands: `steps` micro-batches of `epoch` were taken from it.
struct Place {
  std::unique_ptr<Generator> generator;  // null: not opened yet
  std::uint64_t epoch = 0;
  std::uint64_t steps = 0;
  bool ended = false;  // next() has returned false
};

class GeneratorFeed : public Feed {
 public:
  GeneratorFeed(GeneratorSource& source, std::uint32_t shards, std::uint32_t batch, Remainder remainder)
      : source_(source), batch_(batch), remainder_(remainder), places_(shards), builder_(source.fields()) {}

  Item read(std::uint32_t shard, const Cursor& cursor) override {
    MUSTER_CHECK(shard < places_.size(), "shard", shard, "shards", places_.size());
    Place& place = places_[shard];
    if (!place.generator || place.epoch != cursor.epoch || place.steps > cursor.step) {
      open(place, shard, cursor.epoch);
    }
    while (place.steps < cursor.step && !place.ended) fill(place);
    // The end was met on the way, so this step lies beyond it; the place stays where the end was met.
    if (place.steps < cursor.step) return ended(shard, cursor, {});
    const std::uint32_t rows = fill(place);
    if (rows == 0) return ended(shard, cursor, {});
    const Range range{cursor.step * batch_, rows};
    if (rows < batch_ && remainder_ == Remainder::drop) return ended(shard, cursor, range);
    const std::uint32_t padding = remainder_ == Remainder::pad ? batch_ - rows : 0;
    return {cursor, shard, false, range, builder_.finish(rows, padding)};
  }

  std::optional<Dealing> dealing() const override { return std::nullopt; }

  std::uint64_t micro_batch_bytes_max() const override { return builder_.bytes(batch_); }

 private:
  void open(Place& place, std::uint32_t shard, std::uint64_t epoch) {
    place = Place{source_.open(shard, static_cast<std::uint32_t>(places_.size()), epoch), epoch, 0, false};
    if (!place.generator) {
      throw JobError("data.source", "the source opened no generator for shard " + std::to_string(shard));
    }
  }

  // Takes one micro-batch into the builder; returns the rows that there were.
  std::uint32_t fill(Place& place) {
    if (!place.ended) builder_.begin(batch_);
    std::uint32_t rows = 0;
    while (rows < batch_ && !place.ended) {
      if (next(place, rows)) {
        ++rows;
      } else {
        place.ended = true;
      }
    }
    ++place.steps;
    return rows;
  }

  // After a read error the generator stands in the middle of a micro-batch: a second try opens it anew.
  bool next(Place& place, std::uint32_t row) {
    try {
      return place.generator->next(builder_.row(row));
    } catch (...) {
      place.generator.reset();
      throw;
    }
  }

  static Item ended(std::uint32_t shard, const Cursor& cursor, const Range& range) {
    return {cursor, shard, true, range, nullptr};
  }

  GeneratorSource& source_;
  std::uint32_t batch_;
  Remainder remainder_;
  std::vector<Place> places_;
  BatchBuilder builder_;
};

}  // namespace

std::unique_ptr<Feed> make_generator_feed(GeneratorSource& source, std::uint32_t shards, std::uint32_t batch,
                                          Remainder remainder) {
  return std::make_unique<GeneratorFeed>(source, shards, batch, remainder);
}

}  // namespace muster
