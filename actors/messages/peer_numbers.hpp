// The numbers by which nodes know each other on the data plane.
#pragma once

#include "actors/messages/view.hpp"
#include "transport/transport.hpp"

namespace muster {

// A peer keeps its number over all views: replicas their slot, loaders theirs above these.
inline constexpr PeerId kLoaderPeers = PeerId{1} << 20;

inline PeerId peer_of(const NodeName& name) {
  return name.loader ? kLoaderPeers + name.slot : name.slot;
}
inline NodeName name_of(PeerId peer) {
  return {peer >= kLoaderPeers, peer >= kLoaderPeers ? peer - kLoaderPeers : peer};
}

}  // namespace muster
