// Whether a source keeps the contract of muster/source.hpp, found by reading a few samples.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "actors/contract/breach.hpp"
#include "muster/source.hpp"

namespace muster {

/// What a source is tried with. Owns nothing.
struct SourceTrial {
  Source& source;
  const char* which = "train";  ///< "train" or "test", of the Dataset
  std::uint64_t positions = 8;  ///< at random, beside the first and the last one
  std::uint32_t shards = 1;
  bool opens_generators = false;  ///< reading from a generator costs what it reads
  std::uint64_t seed = 1;
  /// Each sample, or ready-made batch, that was read. Throws what is wrong with it for the model.
  std::function<void(const Batch&)> look = nullptr;
};

/// The first broken promise. Size and fields are there; the first sample, the last and some at random can be
/// read, in any order, each twice with the same bytes; all bytes of a row are written, and none beside it;
/// the fingerprint stays. Errors of the source are broken promises, too, and so is what `look` throws, but
/// for JobError, which is thrown on with the place of the sample.
std::optional<Breach> check_source(const SourceTrial& trial, ContractLog& log);

}  // namespace muster
