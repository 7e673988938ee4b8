#include "transport/collective/reduction/reduction_end.hpp"

#include <utility>

namespace muster {

void ReductionEnd::close() {
  reached_ = true;
  close_();
}

void ReductionEnd::fail(const std::string& reason) {
  if (reached_) return;
  close();
  hooks_.failed(reason);
}

void ReductionEnd::fail_here(const std::string& reason) {
  if (reached_) return;
  close();
  (hooks_.broke ? hooks_.broke : hooks_.failed)(reason);
}

void ReductionEnd::blame(PeerId peer, const std::string& what) {
  if (reached_) return;
  if (!hooks_.wrong) return fail("replica " + std::to_string(peer) + " sent " + what);
  close();
  hooks_.wrong(peer, "it sent " + what);
}

bool ReductionEnd::goes_on(const std::optional<Unlike>& found) {
  if (!found) return true;
  if (!hooks_.unlike) {
    fail("diverged: " + found->text());
    return false;
  }
  if (!goes_on_unlike_) close();
  if (!std::exchange(unlike_told_, true)) hooks_.unlike(*found);
  return goes_on_unlike_;
}

}  // namespace muster
