#include "actors/pipeline/memory.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "muster/error.hpp"

namespace muster {
namespace {

constexpr std::uint64_t kSaturated = std::numeric_limits<std::uint64_t>::max();

std::uint64_t multiply(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kSaturated : product;
}

std::uint64_t add(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? kSaturated : sum;
}

std::string mebibytes_up(std::uint64_t bytes) {
  constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
  return std::to_string(bytes / kMebibyte + (bytes % kMebibyte != 0 ? 1 : 0)) + "MiB";
}

}  // namespace

std::uint64_t memory_needed(const ReaderMemory& reader, std::uint32_t depth) {
  return add(reader.resident_bytes, multiply(multiply(reader.micro_batch_bytes, reader.shards), depth));
}

std::uint32_t prefetch_depth(const ReaderMemory& reader) {
  const std::uint64_t least = memory_needed(reader, 1);
  if (least > reader.memory_bytes) {
    throw JobError("data.memory", std::to_string(reader.memory_bytes) + " bytes are too few: at least " +
                                      mebibytes_up(least) + " (" + std::to_string(least) +
                                      " bytes) are needed: " + std::to_string(reader.resident_bytes) +
                                      " for the source and " + std::to_string(reader.micro_batch_bytes) +
                                      " for one micro-batch of each of " + std::to_string(reader.shards) +
                                      " shards");
  }
  const std::uint64_t round = multiply(reader.micro_batch_bytes, reader.shards);
  const std::uint32_t wanted = std::max<std::uint32_t>(reader.prefetch, 1);
  if (round == 0) return wanted;
  const std::uint64_t fits = (reader.memory_bytes - reader.resident_bytes) / round;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, fits));
}

}  // namespace muster
