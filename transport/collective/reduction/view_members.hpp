// The members of a reduction's view: as places in its list, and as peers of the transport.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "transport/collective/sums/reduction_shape.hpp"
#include "transport/transport.hpp"

namespace muster {

class ViewMembers {
 public:
  /// Outlives this object.
  explicit ViewMembers(const ReductionShape& shape) : shape_(shape) {
    for (std::uint32_t member = 0; member < shape.members.size(); ++member) {
      peers_.push_back(shape.members[member].peer);
      places_[shape.members[member].peer] = member;
    }
  }

  const std::vector<PeerId>& peers() const { return peers_; }  ///< by place
  /// Nothing if the peer is no member.
  std::optional<std::uint32_t> place_of(PeerId peer) const {
    const auto found = places_.find(peer);
    return found == places_.end() ? std::nullopt : std::optional(found->second);
  }
  /// All but this one.
  std::vector<PeerId> others() const {
    std::vector<PeerId> all;
    for (std::uint32_t member = 0; member < peers_.size(); ++member) {
      if (member != shape_.self) all.push_back(peers_[member]);
    }
    return all;
  }

  /// A frame that has come, with its sender as a place in the list, while this round is the open or the next
  /// one. Nothing if it is of another view, of a dead incarnation or of a round that cannot be: it changes
  /// nothing.
  std::optional<Frame> received(const Frame& frame, std::uint64_t round) const;

 private:
  const ReductionShape& shape_;
  std::vector<PeerId> peers_;
  std::map<PeerId, std::uint32_t> places_;
};

}  // namespace muster
