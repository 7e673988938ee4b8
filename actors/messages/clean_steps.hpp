// Up to which step the gradients and the weights of a replica are known to be right, by the audits and hashes
// that compared them: a pure rule. A replica that computes wrong bits from some step on has put them into no
// step up to this one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace muster {

/// It is new in the view: its gradients are in no step before that.
inline constexpr std::uint64_t kCleanUntilView = std::numeric_limits<std::uint64_t>::max();

/// Of what two have seen of one replica, the later.
constexpr std::uint64_t later_clean(std::uint64_t one, std::uint64_t other) {
  if (one == kCleanUntilView) return other;
  return other == kCleanUntilView ? one : std::max(one, other);
}

/// After all went back to a step: what was compared beyond it is done again.
constexpr std::uint64_t clean_after_going_back(std::uint64_t clean, std::uint64_t step) {
  return clean == kCleanUntilView ? clean : std::min(clean, step);
}

/// All went back to a step: what a replica did alone beyond it is done again.
constexpr std::uint64_t alone_after_going_back(std::uint64_t alone_from, std::uint64_t step) {
  return alone_from > step ? 0 : alone_from;
}

/// The first step whose weights may be wrong on a replica that was found to be wrong behind `found`. All
/// weights are compared within `window` steps; but not while it was alone, from the step `alone_from` on (0:
/// it was not, or was compared with others since).
constexpr std::uint64_t first_wrong_weights(std::uint64_t found, std::uint64_t window,
                                            std::uint64_t alone_from) {
  const std::uint64_t first = found > window ? found - window + 1 : 1;
  return alone_from == 0 ? first : std::min(first, alone_from);
}

/// The first step that may hold wrong gradients of a replica which was found to be wrong in `found`, a step
/// that is not applied; `found` itself: none does.
constexpr std::uint64_t first_unclean(std::uint64_t clean, std::uint64_t found) {
  return clean == kCleanUntilView ? found : std::min(clean + 1, found);
}

}  // namespace muster
