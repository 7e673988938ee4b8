// How a view is made of what the membership proposes: where it begins, and what else its members are told.
// Pure functions: whoever calls them reads the folder before, and writes the journal behind them.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "actors/messages/checkpoint_messages.hpp"
#include "actors/messages/view.hpp"

namespace muster {

/// Its members read the state from a checkpoint.
bool reads_checkpoint(const View& view, bool in_parts);

// --- where it begins

/// What the coordinator knows when it decides where a view begins.
struct ViewStartFacts {
  bool parts_lost = false;           ///< owner and buddy of a part of the state are both lost
  bool source_is_void = false;       ///< nobody could go back to the checkpoint that is proposed
  Checkpointed last;                 ///< the last checkpoint; no manifest: the beginning
  bool suspects = false;             ///< steps may hold wrong results
  std::optional<Checkpointed> good;  ///< the last checkpoint before them
  std::uint32_t took = 0;            ///< the latest view of which a member has taken a record
};

enum class ViewStart {
  goes_on,          ///< with what its members hold, or with the checkpoint that is proposed
  keeps_suspects,   ///< the same, though it may be wrong: there is nothing to go back to
  before_suspects,  ///< all go back to the last good checkpoint
  anew,             ///< all go back to the beginning
  again,            ///< all go back, as in the view before, which has not taken effect
};

/// Writes it into the view, which follows `before`.
ViewStart decide_start(View& view, const View& before, const ViewStartFacts& facts);
/// With the last checkpoint.
void begin_with(View& view, const Checkpointed& last);

// --- what its members are told besides

struct ViewFacts {
  std::uint64_t term = 0, history = 0;
  Dropping dropping;
  std::pair<std::uint64_t, std::uint64_t> doubted;  ///< in the view before, as in View
  /// Steps in which all are compared from now on.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> compared;
  Checkpointed last;        ///< the last checkpoint
  std::uint64_t steps = 0;  ///< that were done
  bool in_parts = false;    ///< parts of the state are held by some members only
};
View complete_view(View view, const ViewFacts& facts);

/// Every replica of the view is compared with others at its first step.
void doubt_all(View& view, std::pair<std::uint64_t, std::uint64_t> steps);
/// What was compared beyond that step is done again.
void went_back_to(std::uint64_t step, Member& member);
/// Of each member, who gave it what it holds (Member::holds_of), as far as this view does.
void name_givers(View& view, bool in_parts);

}  // namespace muster
