// The borrowable memory of this process (borrowable.hpp), and how another process reads it: the whole segment
// is handed over once, as a descriptor that only reads; from then on a place in it is named.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "transport/shared_memory/descriptor.hpp"

namespace muster::shm {

/// Where a payload lies.
struct SegmentPlace {
  std::uint64_t segment = 0;  ///< its number, never used again in this process
  std::uint64_t offset = 0;
  std::size_t bytes = 0;  ///< of the segment
  int descriptor = -1;    ///< to read with; good for as long as the payload's memory is
};

/// Nothing if the payload does not lie in one segment. Any thread.
std::optional<SegmentPlace> segment_of(std::span<const std::byte> payload);

/// Whether the segment has not been freed. Any thread.
bool segment_lives(std::uint64_t segment);
/// Changes when a segment is freed. Any thread.
std::uint64_t segments_freed();

/// A segment of another process, mapped to be read.
class ForeignSegment {
 public:
  /// Throws Error if the memory is not of this size, or could be taken away.
  ForeignSegment(const Descriptor& memory, std::size_t bytes);

  /// Nothing if it does not lie within.
  std::optional<std::span<const std::byte>> at(std::uint64_t offset, std::size_t bytes) const;

 private:
  Mapping memory_;
  std::size_t bytes_;
};

}  // namespace muster::shm
