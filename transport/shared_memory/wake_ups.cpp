#include "transport/shared_memory/wake_ups.hpp"

#include <atomic>

namespace muster::shm {
namespace {

// Whoever rests is woken, once: it looks at everything then.
void wake(Outgoing& out, News news) {
  if (!out.socket) return;
  const bool only_room = news == News::room;
  if (out.in == nullptr) {  // it has not connected, and cannot say that it rests
    if (!only_room) shm::poke(out.socket);
    return;
  }
  const RestWord word{out.in->box->head().rest.load(std::memory_order_relaxed)};
  if (!word.resting() || (only_room && !word.wants_room()) || word.word == out.poked) return;
  out.poked = word.word;
  shm::poke(out.socket);
}

}  // namespace

// The fence waits until all that was written has left this core: once for all messages, and never while
// nothing is said.
void WakeUps::poke(const Peers& peers) {
  std::atomic_thread_fence(std::memory_order_seq_cst);  // what was written is seen before the word is read
  for (const auto& [peer, out] : peers) {
    if (const News news = std::exchange(out->news, News::none); news != News::none) wake(*out, news);
  }
}

void WakeUps::rest(const Peers& peers, bool resting) {
  resting_ = resting;
  ++rests_;
  for (const auto& [peer, out] : peers) {
    const RestWord word = RestWord::of(rests_, resting, !out->queue.empty() || !out->borrowed.empty());
    out->box.head().rest.store(word.word, std::memory_order_relaxed);
  }
}

}  // namespace muster::shm
