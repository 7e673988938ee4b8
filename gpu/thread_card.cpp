#include "gpu/thread_card.hpp"

#ifdef MUSTER_WITH_CUDA
#include "gpu/on_card.hpp"
#endif

namespace muster {

#ifdef MUSTER_WITH_CUDA

void use_card(int card) {
  if (card >= 0) cuda::use(card);
}

ThreadCard::ThreadCard(int card) {
  if (card < 0) return;
  before_ = cuda::card_of_thread();
  cuda::use(card);
}

ThreadCard::~ThreadCard() {
  if (before_ >= 0) cuda::go_back_to(before_);
}

#else

void use_card(int) {}
ThreadCard::ThreadCard(int) {}
ThreadCard::~ThreadCard() = default;

#endif

}  // namespace muster
