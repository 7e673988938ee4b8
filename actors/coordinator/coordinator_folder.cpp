// A folder of checkpoints that cannot be read now, at the coordinator or at replicas, and is waited for.
#include <algorithm>

#include "actors/coordinator/coordinator.hpp"
#include "actors/events/event.hpp"
#include "base/canary.hpp"

namespace muster {

void CoordinatorState::make_again_at(const View& view, Time when) {
  phase_ = CoordinatorPhase::noting;
  pending_.make_at(view, when);
}

// A view that goes back is made with the folder at hand: what cannot be read for a while is not gone. Members
// keep what they hold.
bool CoordinatorState::waits_for_folder(const View& view, bool parts_lost) {
  const bool goes_back = parts_lost || suspects_.any() || goes_further_ || !suspects_.can_be_settled_in(view);
  const std::uint64_t before = suspects_.good_before();
  const auto look = [&] { return checkpoints_->hidden_before(goes_further_ ? view_.source.step : before); };
  auto hidden = goes_back ? look() : std::nullopt;
  if (goes_back && !hidden) checkpoints_->hold(), hidden = look();  // it may have gone meanwhile
  if (!hidden || canary("folder-is-not-waited-for")) return folder_wait_.end(), false;
  checkpoints_->look_anew();
  const auto now = self_->clock().now();
  const auto give_up = setup_.job.cluster.give_up_after;
  if (folder_wait_.refused(now)) {
    raise(make_event(
        "notice",
        {{"text", "not all of checkpoint.folder (" + setup_.checkpoints->folder() + ") can be read (" +
                      *hidden + "), and the run is to go back to a checkpoint: it is waited for, " +
                      std::to_string(give_up.count()) + " ms (cluster.give_up_after)"}}));
  }
  const auto wait = folder_wait_.next(now, give_up);
  const bool over = !wait;
  // Members have told of a good one, and their hosts may see the folder; or only some of it cannot be read.
  const auto last = checkpoints_->last_of_run_before(before);
  const bool known = checkpoints_->last_is_known() || last;
  if (over && !goes_further_ && known && checkpoints_->good_before(before)) return false;
  const bool of_no_use = going_back_.any_has_read() || checkpoints_->is_gone(view_.source.checkpoint);
  if (over && goes_further_ && of_no_use && checkpoints_->good_before(view_.source.step)) {
    goes_further_ = false;
    return go_back_further(), true;
  }
  if (over) return fail_without_folder(*hidden), true;
  make_again_at(view, now + *wait);
  folder_wait_.back_off();
  return true;
}

// No replica finds the checkpoint of this view, and the coordinator does, or finds none at all: their folder
// is not mounted. Or only these do not.
void CoordinatorState::wait_for_mounts(bool by_all, const std::vector<std::uint32_t>& slots) {
  const auto now = self_->clock().now();
  const auto give_up = setup_.job.cluster.give_up_after;
  const std::string none =
      (by_all ? "no replica finds " : "some replicas do not find ") + view_.source.checkpoint +
      " in checkpoint.folder (" + setup_.checkpoints->folder() + "), to which the run is to go back" +
      (by_all && checkpoints_->finds(view_.source.checkpoint) ? ", and the coordinator does" : "");
  if (mounts_.missed(by_all, now)) {
    const std::string look =
        by_all ? ": they look again, for " + std::to_string(give_up.count()) + " ms (cluster.give_up_after)"
               : ", and others do: they look once more";
    raise(make_event("notice", {{"text", none + look}}));
  }
  if (!mounts_.look_again(slots, now, give_up))
    return fail(none + "; mount the folder on every host, and go on with --resume");
  close_view();
}

// A good checkpoint may be there: neither the beginning nor what may be wrong is better.
void CoordinatorState::fail_without_folder(const std::string& why) {
  fail("checkpoint.folder (" + setup_.checkpoints->folder() +
       ") could not be read, or not all of it, within cluster.give_up_after, and the run was to go back to a "
       "checkpoint (" +
       why + "); make it readable, and go on with --resume");
}

}  // namespace muster
