// Which card a thread works on.
#pragma once

#include <string>

namespace muster::cuda {

/// Makes a card the calling thread's again, as far as it has a context in this process: to go back to one
/// that has none would make one, which takes some hundred MiB of its memory. Nothing is said of failure.
void go_back_to(int card) noexcept;

/// The calling thread's card; -1 where CUDA cannot say.
int card_of_thread() noexcept;

/// Makes a card the calling thread's, with a context. Error if CUDA refuses.
void use(int card);

/// The calling thread's card, until the end of the block; then it is the one of before again (see
/// go_back_to). libtorch on the same thread may compute on another.
class OnCard {
 public:
  /// Error with the card's name if CUDA refuses.
  OnCard(int number, const std::string& card);
  OnCard(const OnCard&) = delete;
  OnCard& operator=(const OnCard&) = delete;
  ~OnCard() {
    if (changed_) go_back_to(before_);
  }

 private:
  int before_ = 0;
  bool changed_ = false;
};

}  // namespace muster::cuda
