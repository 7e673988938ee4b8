// Where samples come from. A user's own source implements one of the three kinds below; the loader does the
// rest (skip and take, shuffle, dealing to shards, batching, padding).
//
// Thread rules: a source is used by one thread at a time. A read error is thrown as muster::Error; it is
// never skipped.
//
//   #include "muster/source.hpp"
//
//   class Squares : public muster::IndexedSource {
//    public:
//     std::uint64_t size() const override { return 1000; }
//     const std::vector<muster::Field>& fields() const override { return fields_; }
//     void read(std::uint64_t index, muster::Row row) override {
//       const float square = static_cast<float>(index) * static_cast<float>(index);
//       std::memcpy(row[0].data(), &square, sizeof(square));
//     }
//     std::string fingerprint() const override { return "squares below 1000"; }
//
//    private:
//     std::vector<muster::Field> fields_{{muster::DType::float32, {}}};  // a scalar
//   };
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "muster/tensors.hpp"

namespace muster {

/// One row of each field of a batch under construction: write fields()[k].bytes() bytes to row[k].
using Row = std::span<const std::span<std::byte>>;

class IndexedSource;
class BatchSource;
class GeneratorSource;

/// A training or test set. Derive from one of the three kinds below, not from this class.
class Source {
 public:
  virtual ~Source() = default;

  /// A hash of the content (length and bytes of what the source declares), equal on every node that reads the
  /// same data.
  virtual std::string fingerprint() const = 0;

  /// Bytes that the source itself keeps in memory; counted against `data.memory`.
  virtual std::uint64_t resident_bytes() const { return 0; }

  /// This source as one of random access; null if it is of another kind. Exactly one of the three is not
  /// null.
  virtual IndexedSource* indexed() { return nullptr; }
  /// This source as one of ready-made batches, or null.
  virtual BatchSource* batches() { return nullptr; }
  /// This source as one of generators, or null.
  virtual GeneratorSource* generators() { return nullptr; }
};

/// Random access to single samples. The common case: shuffled, cut and dealt by position.
class IndexedSource : public Source {
 public:
  IndexedSource* indexed() final { return this; }
  /// Number of samples; constant.
  virtual std::uint64_t size() const = 0;
  /// What a sample consists of; constant.
  virtual const std::vector<Field>& fields() const = 0;
  /// Writes every byte of sample `index`, which is below size(), and nothing else. The same index gives the
  /// same bytes each time, on every node. Throws Error if the sample cannot be read.
  virtual void read(std::uint64_t index, Row row) = 0;
};

/// Ready-made batches. Batch i is the micro-batch of shard (i mod S) at step (i div S) of the epoch; never
/// split or merged.
class BatchSource : public Source {
 public:
  BatchSource* batches() final { return this; }
  /// Number of batches; constant.
  virtual std::uint64_t size() const = 0;
  /// Batch `index`, which is below size(): the same bytes each time, on every node. Throws Error if it cannot
  /// be read.
  virtual Batch batch(std::uint64_t index) = 0;
};

/// Ready-made batches that lie in memory. Owns its batches and hands out copies.
class VectorBatchSource : public BatchSource {
 public:
  /// Takes the batches over. The fingerprint is made of their content.
  explicit VectorBatchSource(std::vector<Batch> batches);

  std::uint64_t size() const override { return batches_.size(); }
  Batch batch(std::uint64_t index) override { return batches_.at(index); }
  std::uint64_t resident_bytes() const override;
  std::string fingerprint() const override;

 private:
  std::vector<Batch> batches_;
};

/// A stream of samples of unknown length.
class Generator {
 public:
  virtual ~Generator() = default;
  /// Writes the next sample, or returns false at the end (and ever after).
  virtual bool next(Row row) = 0;
};

/// One generator per shard; deterministic: open(shard, shards, epoch) yields the same samples each time it is
/// called.
class GeneratorSource : public Source {
 public:
  GeneratorSource* generators() final { return this; }
  /// What a sample consists of; constant.
  virtual const std::vector<Field>& fields() const = 0;
  /// A new stream of one shard in one epoch (from 1), from its first sample. The caller owns it, and
  /// destroys it before the source.
  virtual std::unique_ptr<Generator> open(std::uint32_t shard, std::uint32_t shards, std::uint64_t epoch) = 0;
};

/// What a job trains on, and what it is evaluated on after each epoch (null: no evaluation). `test` is an
/// IndexedSource or a BatchSource.
struct Dataset {
  std::unique_ptr<Source> train;  ///< never null
  std::unique_ptr<Source> test;   ///< null: nothing to evaluate on
};

}  // namespace muster
