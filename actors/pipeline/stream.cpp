#include "actors/pipeline/stream.hpp"

#include <algorithm>
#include <string>

#include "base/check.hpp"
#include "muster/error.hpp"

namespace muster {
namespace {

std::string counted(std::uint64_t count, const std::string& unit) {
  return std::to_string(count) + " " + unit + (count == 1 ? "" : unit.back() == 'h' ? "es" : "s");
}

// A job that would train on nothing is a mistake, told before anything starts.
Cut checked_cut(std::uint64_t size, const DataConfig& data, const std::string& unit) {
  const Cut cut = cut_source(size, data.skip, data.take);
  if (size == 0) throw JobError("data.source", "the source has no " + unit + " to train on");
  if (cut.had == 0) {
    throw JobError("data.skip", "skips " + std::to_string(data.skip) + " of " + counted(size, unit) +
                                    ": nothing is left to train on");
  }
  if (cut.count == 0) throw JobError("data.take", "takes nothing: there is nothing to train on");
  return cut;
}

Dealing checked_dealing(const Cut& cut, const TrainConfig& train, std::uint32_t batch,
                        const std::string& unit) {
  const Dealing dealing{cut.count, train.shards, batch, train.remainder};
  if (dealing.steps_per_epoch() == 0) {
    throw JobError("train.remainder", "\"drop\" leaves nothing to train on: " + counted(cut.count, unit) +
                                          ", and one full step needs " +
                                          std::to_string(std::uint64_t{train.shards} * batch));
  }
  return dealing;
}

void refuse_shuffle(const DataConfig& data, const std::string& kind) {
  if (data.shuffle.value_or(false)) {
    throw JobError("data.shuffle", "true, but " + kind +
                                       " come in an order of their own; only a source with random access to "
                                       "its samples can be shuffled");
  }
}

void refuse_cut(const DataConfig& data) {
  const std::string why = "generators are not cut, their length is unknown; cut where they are made";
  if (data.skip != 0) throw JobError("data.skip", why);
  if (data.take) throw JobError("data.take", why);
}

std::unique_ptr<Feed> make_test_feed(const Job& job, Source* source) {
  if (source == nullptr) return nullptr;
  const std::uint32_t shards = job.train.shards;
  if (auto* indexed = source->indexed()) {
    const Cut all = cut_source(indexed->size(), 0, std::nullopt);
    return make_indexed_feed(*indexed, all, {all.count, shards, job.train.batch, Remainder::keep},
                             std::nullopt);
  }
  if (auto* batches = source->batches()) {
    const Cut all = cut_source(batches->size(), 0, std::nullopt);
    return make_ready_feed(*batches, all, {all.count, shards, 1, Remainder::keep});
  }
  throw JobError("data.source",
                 "the test source is a generator; it must be indexed or of ready-made batches");
}

}  // namespace

BatchReader::BatchReader(const Job& job, Dataset& data)
    : data_(data), shards_(job.train.shards), unit_("sample") {
  MUSTER_CHECK(job.train.shards > 0 && job.train.batch > 0, "shards", job.train.shards, "batch",
               job.train.batch);
  if (!data.train) throw JobError("data.source", "the source has nothing to train on");
  if (auto* indexed = data.train->indexed()) {
    cut_ = checked_cut(indexed->size(), job.data, "sample");
    const bool shuffles = job.data.shuffle.value_or(true);
    train_ = make_indexed_feed(*indexed, *cut_, checked_dealing(*cut_, job.train, job.train.batch, "sample"),
                               shuffles ? std::optional(job.seed) : std::nullopt);
  } else if (auto* batches = data.train->batches()) {
    refuse_shuffle(job.data, "ready-made batches");
    if (job.train.remainder == Remainder::pad) {
      throw JobError("train.remainder",
                     "\"pad\", but ready-made batches are never changed; allowed: \"keep\", "
                     "\"drop\"");
    }
    unit_ = "batch";
    cut_ = checked_cut(batches->size(), job.data, "batch");
    train_ = make_ready_feed(*batches, *cut_, checked_dealing(*cut_, job.train, 1, "batch"));
  } else {
    auto* generators = data.train->generators();
    MUSTER_CHECK(generators != nullptr);
    refuse_shuffle(job.data, "generators");
    refuse_cut(job.data);
    train_ = make_generator_feed(*generators, shards_, job.train.batch, job.train.remainder);
  }
  test_ = make_test_feed(job, data.test.get());
}

Item BatchReader::read(std::uint32_t shard, const Cursor& cursor) {
  MUSTER_CHECK(shard < shards_, "shard", shard, "shards", shards_);
  Feed* from = cursor.mode == Mode::train ? train_.get() : test_.get();
  if (from == nullptr) return {cursor, shard, true, {}, nullptr};
  return from->read(shard, cursor);
}

std::optional<std::uint64_t> BatchReader::samples(Mode mode) const {
  const auto dealt = dealing(mode);
  return dealt ? std::optional(dealt->samples) : std::nullopt;
}

std::optional<std::uint64_t> BatchReader::steps_per_epoch(Mode mode) const {
  const auto dealt = dealing(mode);
  return dealt ? std::optional(dealt->steps_per_epoch()) : std::nullopt;
}

std::optional<Dealing> BatchReader::dealing(Mode mode) const {
  const Feed* from = feed(mode);
  if (from == nullptr) return Dealing{0, shards_, 1, Remainder::keep};
  return from->dealing();
}

std::uint64_t BatchReader::micro_batch_bytes_max() const {
  return std::max(train_->micro_batch_bytes_max(), test_ ? test_->micro_batch_bytes_max() : 0);
}

std::uint64_t BatchReader::resident_bytes() const {
  return data_.train->resident_bytes() + (data_.test ? data_.test->resident_bytes() : 0);
}

}  // namespace muster
