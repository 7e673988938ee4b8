// The folder of checkpoints as the coordinator sees it: what is there to go back to, and whether it is to be
// waited for. One that could be read before, and cannot be now or is empty, is away: its server cannot be
// reached, or it is not mounted. One that was empty all the time may be another host's: there only words of
// members count.
#include <algorithm>
#include <limits>

#include "muster/actors/checkpoint_verdicts.hpp"
#include "muster/actors/coordinator.hpp"
#include "muster/actors/rules/disk_retry.hpp"
#include "muster/config/canary.hpp"

namespace muster {

void CoordinatorState::look_at_folder() {
  if (!parts_.checkpoints || saw_checkpoints_) return;
  try {
    saw_checkpoints_ = holds_any_checkpoint(*parts_.checkpoints, parts_.job_hash);
  } catch (const DiskError&) {
    // It is looked at again with the next checkpoint.
  }
}

bool CoordinatorState::folder_is_away() const {
  if (!parts_.checkpoints) return false;
  try {
    const bool any = holds_any_checkpoint(*parts_.checkpoints, parts_.job_hash);
    return saw_checkpoints_ && !any;
  } catch (const DiskError&) {
    return saw_checkpoints_ || told_of_one_;
  }
}

// Those with no verdict on them; nothing where the folder cannot be read now.
std::optional<std::vector<ListedCheckpoint>> CoordinatorState::listed() const {
  if (!parts_.checkpoints) return std::nullopt;
  try {
    auto all = list_checkpoints(*parts_.checkpoints, parts_.job_hash);
    std::erase_if(all,
                  [&](const ListedCheckpoint& each) { return is_void(verdicts_, each.history, each.step); });
    return all;
  } catch (const DiskError&) {
    return std::nullopt;
  }
}

// The newest checkpoint that does not hold this step: of this run, or else of one that it may have gone on
// from.
std::optional<ListedCheckpoint> CoordinatorState::last_before(std::uint64_t step) const {
  std::optional<ListedCheckpoint> own, other;
  for (const ListedCheckpoint& each : listed().value_or(std::vector<ListedCheckpoint>{})) {
    if (each.step >= step || unreadable_.contains(each.manifest)) continue;
    (of_one_run(each.history, history_) ? own : other) = each;
  }
  return own ? own : other;
}

// A newer one has taken its place, of which nobody told; or there is a verdict on it.
bool CoordinatorState::is_gone(const std::string& manifest) const {
  const auto all = listed();
  if (!all || folder_is_away() || !saw_checkpoints_) return false;
  return std::ranges::none_of(*all, [&](const auto& each) { return each.manifest == manifest; });
}

// The same; where it cannot be listed, by what members have told.
std::optional<Checkpointed> CoordinatorState::good_before(std::uint64_t step) const {
  if (const auto last = last_before(step)) return kept_by(*last);
  const bool known = !kept_.manifest.empty() && kept_.step < step && !unreadable_.contains(kept_.manifest);
  return known && !is_gone(kept_.manifest) ? std::optional(kept_) : std::nullopt;
}

Checkpointed CoordinatorState::kept_by(const ListedCheckpoint& good) const {
  return {good.manifest, good.records, good.step, parts_.checkpoints->folder() + "/" + good.weights, {},
          view_.number};
}

// A view that goes back is made with the folder at hand: what cannot be read for a while is not gone. Members
// keep what they hold.
bool CoordinatorState::waits_for_folder(const View& view, bool parts_lost) {
  const bool reads = is_going_back() && !view_.source.checkpoint.empty();
  const bool goes_back = parts_lost || suspect_from_ || reads || !can_be_settled_in(view);
  if (!goes_back || !folder_is_away() || canary("folder-is-not-waited-for"))
    return folder_away_since_.reset(), false;
  const auto now = self_->clock().now();
  const auto give_up = parts_.job.cluster.give_up_after;
  if (!folder_away_since_) {
    folder_away_since_ = now;
    raise(make_event("notice",
                     {{"text", "checkpoint.folder (" + parts_.checkpoints->folder() +
                                   ") cannot be read, and the run is to go back to a checkpoint: it is "
                                   "waited for, " +
                                   std::to_string(give_up.count()) + " ms (cluster.give_up_after)"}}));
  }
  const bool over = now - *folder_away_since_ >= give_up;
  // Members have told of a good one, and their hosts may see the folder.
  const bool good =
      good_before(suspect_from_.value_or(std::numeric_limits<std::uint64_t>::max())).has_value();
  if (over && !reads && good) return false;
  if (over) return fail_without_folder("the coordinator cannot list it"), true;
  phase_ = Phase::noting;
  unnoted_ = Unnoted{view, now + kDiskAgainMin, false, false};
  return true;
}

// A good checkpoint may be there: neither the beginning nor what may be wrong is better.
void CoordinatorState::fail_without_folder(const std::string& why) {
  fail("checkpoint.folder (" + parts_.checkpoints->folder() +
       ") could not be read within cluster.give_up_after, and the run was to go back to a checkpoint (" +
       why + "); make it readable, and go on with --resume");
}

}  // namespace muster
