// A source of ready-made batches that lie in memory: the shortest way to give Muster batches of one's own.
#pragma once

#include <vector>

#include "muster/actors/pipeline/source.hpp"

namespace muster {

/// Owns its batches and hands out copies.
class VectorBatchSource : public BatchSource {
 public:
  explicit VectorBatchSource(std::vector<Batch> batches);

  std::uint64_t size() const override { return batches_.size(); }
  Batch batch(std::uint64_t index) override { return batches_.at(index); }
  std::uint64_t resident_bytes() const override;
  std::string fingerprint() const override;

 private:
  std::vector<Batch> batches_;
};

}  // namespace muster
