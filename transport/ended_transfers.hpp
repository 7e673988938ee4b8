// What a `disconnect` has ended, until the sink is told of it: by the next `progress`, never within the call.
// Of the transports that have sockets of their own.
//
// Thread rule: that of the transport, which it belongs to.
#pragma once

#include <utility>
#include <vector>

#include "transport/transport.hpp"

namespace muster {

class EndedTransfers {
 public:
  /// A send to this peer.
  void add(PeerId peer, SendToken token) { sends_.emplace_back(peer, token); }
  /// A frame whose payload was arriving.
  void add(const Frame& frame) { frames_.push_back(frame); }
  bool empty() const { return sends_.empty() && frames_.empty(); }

  /// Tells the sink, which may end more meanwhile: that is for the next call. Returns whether there was
  /// something.
  bool report(FrameSink& sink) {
    if (empty()) return false;
    for (const auto& [peer, token] : std::exchange(sends_, {})) sink.sent(peer, token, false);
    for (const Frame& frame : std::exchange(frames_, {})) sink.dropped(frame);
    return true;
  }

 private:
  std::vector<std::pair<PeerId, SendToken>> sends_;
  std::vector<Frame> frames_;
};

}  // namespace muster
