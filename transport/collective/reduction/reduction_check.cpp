// Whether the members of a round have the same bits; what follows where they have not.
#include "transport/collective/reduction/reduction.hpp"

namespace muster {

// Whether the round goes on. What is found is said once in a view.
bool Reduction::goes_on(const std::optional<Unlike>& found) {
  if (!found) return true;
  const bool goes_on = shape_.goes_on_unlike && hooks_.unlike;
  if (!hooks_.unlike) {
    fail("diverged: " + found->text());
    return false;
  }
  if (!goes_on) close();
  if (!std::exchange(unlike_said_, true)) hooks_.unlike(*found);
  return goes_on;
}

bool Reduction::alike(const Slot& current) {
  return goes_on(unlike_headers(current.headers, peers_));
}

bool Reduction::audits_agree(const Slot& current) {
  const RoundHeader& mine = *current.headers[shape_.self];
  return goes_on(unlike_gradients(current.audits, peers_, mine.step));
}

}  // namespace muster
