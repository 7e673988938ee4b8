// The folder of checkpoints as the coordinator sees it: what is there to go back to, and whether it is to be
// waited for. One that could be read before, and cannot be now or is empty, is away: its server cannot be
// reached, or it is not mounted. One that was empty all the time may be another host's: there only reports of
// members count.
#include <algorithm>
#include <limits>

#include "actors/checkpoint/checkpoint_verdicts.hpp"
#include "actors/coordinator/coordinator.hpp"
#include "actors/events/event.hpp"
#include "actors/messages/disk_retry.hpp"
#include "base/canary.hpp"

namespace muster {

void CoordinatorState::look_at_folder() {
  if (!setup_.checkpoints || saw_checkpoints_) return;
  try {
    saw_checkpoints_ = holds_any_checkpoint(*setup_.checkpoints, setup_.job_hash);
  } catch (const DiskError&) {
    // It is looked at again with the next checkpoint.
  }
}

bool CoordinatorState::folder_is_away() const {
  if (!setup_.checkpoints) return false;
  try {
    const bool any = holds_any_checkpoint(*setup_.checkpoints, setup_.job_hash);
    return saw_checkpoints_ && !any;
  } catch (const DiskError&) {
    return saw_checkpoints_ || knows_of_one_;
  }
}

// What the disk says where one may be there before this step that is better than those that are known.
std::optional<std::string> CoordinatorState::hidden_before(std::uint64_t step) const {
  if (!setup_.checkpoints) return std::nullopt;
  if (folder_is_away()) return "the coordinator cannot list it, or it is not mounted";
  if (!saw_checkpoints_ && !knows_of_one_) return std::nullopt;
  const auto good = good_before(step);
  try {
    return refused_between(*setup_.checkpoints, setup_.job.name,
                           good ? std::optional(good->step) : std::nullopt, step,
                           [&](const std::string& manifest) { return unreadable_.contains(manifest); });
  } catch (const DiskError& error) {
    return error.what();
  }
}

// Those with no verdict on them; nothing where the folder cannot be read now.
std::optional<std::vector<ListedCheckpoint>> CoordinatorState::listed() const {
  if (!setup_.checkpoints) return std::nullopt;
  try {
    auto all = seen_ ? *seen_ : list_checkpoints(*setup_.checkpoints, setup_.job_hash);
    std::erase_if(all,
                  [&](const ListedCheckpoint& each) { return verdicts_.are_on(each.history, each.step); });
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
    (verdicts_.of_this_run(each.history) ? own : other) = each;
  }
  return own ? own : other;
}

// A newer one has taken its place, of which nobody told; or there is a verdict on it.
bool CoordinatorState::is_gone(const std::string& manifest) const {
  const auto all = listed();
  if (!all || folder_is_away() || !saw_checkpoints_) return false;
  if (std::ranges::any_of(*all, [&](const auto& each) { return each.manifest == manifest; })) return false;
  try {
    std::string why;
    manifest_in(*setup_.checkpoints, manifest, why);
    return true;
  } catch (const DiskError& error) {
    return !may_pass(error);
  }
}

// The same, or what members have told of, if that is newer: the coordinator may not be able to read it.
std::optional<Checkpointed> CoordinatorState::good_before(std::uint64_t step) const {
  std::optional<Checkpointed> told;
  const auto look_at = [&](const Checkpointed& one) {
    const bool good = !one.manifest.empty() && one.step < step && !unreadable_.contains(one.manifest);
    if (good && (!told || one.records > told->records) && !is_gone(one.manifest)) told = one;
  };
  look_at(kept_);
  for (auto one = told_.rbegin(); one != told_.rend(); ++one) look_at(*one);  // by record
  const auto last = last_before(step);
  if (!last || (told && (told->records > last->records || !verdicts_.of_this_run(last->history))))
    return told;
  return kept_by(*last);
}

// As many as stay in the folder: the last may be of a step whose results turn out to be wrong. Where the
// state is in parts, the one before it stays until replicas have heard that the last was told of.
void CoordinatorState::remember_reported(const Checkpointed& message) {
  const auto same = std::ranges::find(told_, message.step, &Checkpointed::step);
  if (same != told_.end() && same->records > message.records) return;  // that one stays
  if (same != told_.end()) told_.erase(same);
  told_.insert(std::ranges::upper_bound(told_, message.records, {}, &Checkpointed::records), message);
  const std::uint32_t least = setup_.job.train.in_parts() ? 2 : 1;
  if (told_.size() > std::max(setup_.job.checkpoint.keep, least)) told_.pop_front();
}

Checkpointed CoordinatorState::kept_by(const ListedCheckpoint& good) const {
  return {good.manifest, good.records,       good.step, setup_.checkpoints->folder() + "/" + good.weights, {},
          view_.number,  good.weights_sha256};
}

// What a view is made with, in more than one look.
void CoordinatorState::see_folder() {
  seen_.reset();
  seen_ = listed();
}

bool CoordinatorState::finds(const std::string& manifest) const {
  const auto all = listed();
  return all && std::ranges::any_of(*all, [&](const auto& each) { return each.manifest == manifest; });
}

// It was there: whoever finds it not does not see the folder.
bool CoordinatorState::is_missed() const {
  if (!setup_.checkpoints || folder_is_away()) return false;
  try {
    if (finds(view_.source.checkpoint)) return true;
    if (!holds_any_checkpoint(*setup_.checkpoints, setup_.job_hash)) return true;
    std::string why;
    manifest_in(*setup_.checkpoints, view_.source.checkpoint, why);
    return false;  // there is a verdict on it, or it is damaged
  } catch (const DiskError& error) {
    return may_pass(error);  // it may be there
  }
}

void CoordinatorState::make_again_at(const View& view, Time when) {
  phase_ = CoordinatorPhase::noting;
  unnoted_since_.reset();
  unnoted_ = Unnoted{view, when, false, false};
}

// A view that goes back is made with the folder at hand: what cannot be read for a while is not gone. Members
// keep what they hold.
bool CoordinatorState::waits_for_folder(const View& view, bool parts_lost) {
  const bool goes_back = parts_lost || suspects_.any() || goes_further_ || !suspects_.can_be_settled_in(view);
  const std::uint64_t before = suspects_.good_before();
  const auto look = [&] { return hidden_before(goes_further_ ? view_.source.step : before); };
  auto hidden = goes_back ? look() : std::nullopt;
  if (goes_back && !hidden) see_folder(), hidden = look();  // it may have gone meanwhile
  if (!hidden || canary("folder-is-not-waited-for")) return folder_away_since_.reset(), false;
  seen_.reset();
  const auto now = self_->clock().now();
  const auto give_up = setup_.job.cluster.give_up_after;
  if (!folder_away_since_) {
    folder_away_since_ = now;
    folder_wait_ = kDiskAgainMin;
    raise(make_event(
        "notice",
        {{"text", "not all of checkpoint.folder (" + setup_.checkpoints->folder() + ") can be read (" +
                      *hidden + "), and the run is to go back to a checkpoint: it is waited for, " +
                      std::to_string(give_up.count()) + " ms (cluster.give_up_after)"}}));
  }
  const bool over = now - *folder_away_since_ >= give_up;
  // Members have told of a good one, and their hosts may see the folder; or only some of it cannot be read.
  const auto last = last_before(before);
  const bool known = kept_is_known_ || (last && verdicts_.of_this_run(last->history));
  if (over && !goes_further_ && known && good_before(before)) return false;
  const bool of_no_use = going_back_.any_has_read() || is_gone(view_.source.checkpoint);
  if (over && goes_further_ && of_no_use && good_before(view_.source.step)) {
    goes_further_ = false;
    return go_back_further(), true;
  }
  if (over) return fail_without_folder(*hidden), true;
  make_again_at(view,
                now + std::min<std::chrono::nanoseconds>(folder_wait_, *folder_away_since_ + give_up - now));
  folder_wait_ = disk_back_off(folder_wait_);
  return true;
}

// It has not found the file, and others have: the folder is mounted on one host after the other, or it was
// away when this one looked.
bool CoordinatorState::may_find_it(std::uint32_t slot) const {
  if (!setup_.checkpoints || going_back_.unread(slot) != Unread::gone) return false;
  if (!missed_) return true;
  if (missed_->by_all) return missed_->again < missed_->since + setup_.job.cluster.give_up_after;
  return !missed_->looked.contains(slot);
}

// No replica finds the checkpoint of this view, and the coordinator does, or finds none at all: their folder
// is not mounted. Or only these do not.
void CoordinatorState::wait_for_mounts(bool by_all, const std::vector<std::uint32_t>& slots) {
  const auto now = self_->clock().now();
  const auto give_up = setup_.job.cluster.give_up_after;
  const std::string none = (by_all ? "no replica finds " : "some replicas do not find ") +
                           view_.source.checkpoint + " in checkpoint.folder (" +
                           setup_.checkpoints->folder() + "), to which the run is to go back" +
                           (by_all && finds(view_.source.checkpoint) ? ", and the coordinator does" : "");
  if (!missed_ || (by_all && !missed_->by_all)) {
    missed_ = Missed{by_all, now, kDiskAgainMin, now, {}};
    const std::string look =
        by_all ? ": they look again, for " + std::to_string(give_up.count()) + " ms (cluster.give_up_after)"
               : ", and others do: they look once more";
    raise(make_event("notice", {{"text", none + look}}));
  }
  missed_->looked.insert(slots.begin(), slots.end());
  const Time until = missed_->since + give_up;
  if (missed_->by_all && missed_->again >= until)  // none found it then
    return fail(none + "; mount the folder on every host, and go on with --resume");
  missed_->again = std::max<Time>(now, std::min<Time>(now + missed_->wait, until));
  missed_->wait = disk_back_off(missed_->wait);
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
