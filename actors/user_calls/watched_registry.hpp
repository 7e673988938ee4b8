// A registry whose models and sources are watched: calls into them are noted while they last, and what they
// throw names the call.
#pragma once

#include <memory>
#include <utility>

#include "muster/registry.hpp"

namespace muster {

struct WatchedRegistry {
  /// From now on each call of a model or source that is made there is noted while it lasts.
  static void note_calls(Registry& registry, std::shared_ptr<CallNote> note) {
    registry.note_ = std::move(note);
  }
  /// From now on what a model or source that is made there throws is an Error that names the call, whatever
  /// its type. So it is with note_calls, too; here any number of threads may call.
  static void guard_calls(Registry& registry) { registry.guarded_ = true; }
};

}  // namespace muster
