// Who has to be woken: a process that waits for its descriptor says so in a word of its own outboxes, and is
// poked over a socket by whoever has news for it, once for each word.
//
// Thread rule: that of the transport, which it belongs to.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "transport/shared_memory/connection.hpp"

namespace muster::shm {

class WakeUps {
 public:
  using Peers = std::map<PeerId, std::shared_ptr<Outgoing>>;

  /// There is news for the other side: if it rests, it is woken before this side does anything else for long.
  void notify(Outgoing& out, News news) {
    out.news = std::max(out.news, news);
    news_ = true;
  }
  /// Wakes those who rest, and for whom there is news.
  void poke_all(const Peers& peers) {
    if (std::exchange(news_, false)) poke(peers);
  }

  /// Tells all others whether this side rests.
  void rest(const Peers& peers, bool resting);
  bool resting() const { return resting_; }

 private:
  static void poke(const Peers& peers);

  bool news_ = false;  // for some of them
  bool resting_ = false;
  std::uint64_t rests_ = 0;  // words so far
};

}  // namespace muster::shm
