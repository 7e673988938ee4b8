// The peers of an engine: those that it is connected to, with the incarnation in which each belongs to the
// view, and those whose failure was reported.
//
// Thread rule: that of the engine, which it belongs to.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "transport/transport.hpp"

namespace muster {

struct ViewPeer {
  PeerId number = 0;
  std::uint64_t incarnation = 0;
  std::string address;
  std::uint32_t since = 0;  ///< the view from which on this node and the peer are both members
};

class ViewPeers {
 public:
  /// The view begins, with this node as `self`. Connections stay. Returns the view before it.
  std::uint32_t enter(std::uint32_t view, PeerId self, std::uint64_t incarnation);
  /// 0 before the first.
  std::uint32_t view() const { return view_; }

  /// The peer belongs to the view, and is connected unless it is already. Of no effect for this node itself.
  /// Throws Error if its address is of no use.
  void connect(const ViewPeer& peer, Transport& transport) {
    if (peer.number == self_) return;
    if (connected_.insert(peer.number).second) transport.connect(peer.number, peer.address);
    incarnations_[peer.number] = peer.incarnation;
  }
  /// Its frames change nothing from now on. Returns whether it was connected: then the caller cuts that.
  bool remove(PeerId peer) {
    incarnations_.erase(peer);
    return connected_.erase(peer) > 0;
  }
  bool is_connected(PeerId peer) const { return connected_.contains(peer); }
  const std::set<PeerId>& connected() const { return connected_; }

  /// Whether a frame is of this view and of a peer of it, as it lives now.
  bool knows(const Frame& frame) const {
    const auto peer = incarnations_.find(frame.from);
    return frame.view == view_ && peer != incarnations_.end() && peer->second == frame.incarnation;
  }
  /// Makes it a frame of this node in this view.
  void sign(Frame& frame) const {
    frame.view = view_;
    frame.from = self_;
    frame.incarnation = incarnation_;
  }

  /// Returns whether it is the first failure of this peer in the view.
  bool blame(PeerId peer) { return blamed_.insert(peer).second; }
  /// It is a new one of this number.
  void forgive(PeerId peer) { blamed_.erase(peer); }

 private:
  std::uint32_t view_ = 0;
  PeerId self_ = 0;
  std::uint64_t incarnation_ = 0;
  std::map<PeerId, std::uint64_t> incarnations_;
  std::set<PeerId> connected_;
  std::set<PeerId> blamed_;
};

inline std::uint32_t ViewPeers::enter(std::uint32_t view, PeerId self, std::uint64_t incarnation) {
  const std::uint32_t left = view_;
  view_ = view;
  self_ = self;
  incarnation_ = incarnation;
  blamed_.clear();
  return left;
}

}  // namespace muster
