// Which card the CUDA calls of a thread go to. Libraries that move a card's memory look there: UCX does, in
// every call.
#pragma once

namespace muster {

/// From now on that card is the calling thread's; it has a context then, which takes up to seconds and some
/// hundred MiB of its memory if it is the process's first one there. Error with CUDA's words if it
/// refuses. Negative, or in builds without CUDA: nothing.
void use_card(int card);

/// The same until the end of the block. Where the thread had another card before, that one is its own again.
class ThreadCard {
 public:
  explicit ThreadCard(int card);
  ~ThreadCard();
  ThreadCard(const ThreadCard&) = delete;
  ThreadCard& operator=(const ThreadCard&) = delete;

 private:
  int before_ = -1;
};

}  // namespace muster
