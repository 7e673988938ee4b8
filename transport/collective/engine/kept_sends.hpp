// What an engine sends by itself, not for its reduction: micro-batches, demands, statuses and pieces of
// states. It keeps their bytes until they are sent.
//
// Thread rule: that of the engine, which it belongs to.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "transport/transport.hpp"

namespace muster {

class KeptSends {
 public:
  struct Send {
    PeerId to = 0;
    Frame frame;
    std::vector<std::byte> payload;
    bool let_go = false;  ///< its connection was cut by this side
  };
  struct Begun {
    SendToken token = 0;
    std::span<const std::byte> payload;  ///< stays where it is until the send is taken
  };

  /// Whether a token is of one of these; all others are a reduction's.
  static bool has(SendToken token) { return token >= kFirst; }

  Begun add(PeerId to, const Frame& frame, std::vector<std::byte> payload) {
    const SendToken token = next_++;
    Send& send = sends_[token] = {to, frame, std::move(payload), false};
    return {token, send.payload};
  }
  /// It has ended. Nothing if it has ended before.
  std::optional<Send> take(SendToken token) {
    auto ended = sends_.extract(token);
    return ended ? std::optional(std::move(ended.mapped())) : std::nullopt;
  }
  /// The connection to this peer was cut: what is under way to it will fail.
  void let_go(PeerId peer) {
    for (auto& [token, send] : sends_) send.let_go |= send.to == peer;
  }
  std::size_t size() const { return sends_.size(); }

 private:
  static constexpr SendToken kFirst = SendToken{1} << 63;

  std::map<SendToken, Send> sends_;
  SendToken next_ = kFirst;
};

}  // namespace muster
