// What a reduction is told of its view.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "muster/transport/collective/algorithm.hpp"
#include "muster/transport/transport.hpp"

namespace muster {

/// One member of a view as the reduction sees it: its number for the transport, which it keeps over all
/// views, and its shards, [begin, end).
struct ReductionMember {
  PeerId peer = 0;
  std::uint64_t incarnation = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t host = 0;  ///< members with the same number are on the same host
};

struct ReductionShape {
  std::uint32_t view = 0;
  std::uint32_t self = 0;  ///< this member's place in the list
  std::uint32_t shards = 0;
  std::size_t elements = 0;  ///< float32 elements of the vector
  std::size_t chunk_elements = 128 * 1024;
  std::size_t bucket_elements = 0;  ///< what goes out as one while the rest is computed (buckets.hpp)
  bool stand_ins = false;           ///< whether a member may add nodes of another one
  Algorithm algorithm = Algorithm::direct;
  std::vector<ReductionMember> members;
};

}  // namespace muster
