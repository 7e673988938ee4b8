#include "actors/coordinator/states/checkpoints/known_checkpoints.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "actors/checkpoint/folder_copy.hpp"

namespace muster {

// As many reports as stay in the folder: the last checkpoint may be of a step whose results turn out to be
// wrong. Where the state is in parts, the one before it stays until replicas have heard that the last was
// reported.
KnownCheckpoints::KnownCheckpoints(std::shared_ptr<Disk> folder, const Job& job, std::string job_hash,
                                   const AttemptVerdicts& verdicts)
    : folder_(std::move(folder)),
      job_(job.name),
      sight_{std::move(job_hash)},
      reports_max_(std::max(job.checkpoint.keep, job.train.in_parts() ? 2u : 1u)),
      verdicts_(verdicts) {}

bool FolderSight::is_away(Disk& folder) const {
  try {
    const bool any = holds_any_checkpoint(folder, job_hash);
    return saw_any && !any;
  } catch (const DiskError&) {
    return saw_any || knows_of_one;
  }
}

std::shared_ptr<Disk> KnownCheckpoints::manifests() const {
  if (held_) return held_;
  const std::string& job_hash = sight_.job_hash;
  return read_as_one(*folder_, "manifests after change " + std::to_string(written_),
                     [job_hash](Disk& there) { return copy_of_manifests(there, job_hash); });
}

std::vector<Verdict> KnownCheckpoints::verdicts_there() const {
  try {
    return read_verdicts(*manifests(), sight_.job_hash);
  } catch (const DiskError&) {
    return {};
  }
}

void KnownCheckpoints::look() {
  if (!folder_ || sight_.saw_any) return;
  try {
    sight_.saw_any = holds_any_checkpoint(*manifests(), sight_.job_hash);
  } catch (const DiskError&) {
    // It is looked at again with the next checkpoint.
  }
}

bool KnownCheckpoints::is_away() const {
  if (!folder_) return false;
  try {
    return sight_.is_away(*manifests());
  } catch (const DiskError&) {
    return sight_.saw_any || sight_.knows_of_one;
  }
}

std::optional<std::vector<ListedCheckpoint>> KnownCheckpoints::listed() const {
  if (!folder_) return std::nullopt;
  try {
    auto all = list_checkpoints(*manifests(), sight_.job_hash);
    std::erase_if(all,
                  [&](const ListedCheckpoint& each) { return verdicts_.are_on(each.history, each.step); });
    return all;
  } catch (const DiskError&) {
    return std::nullopt;
  }
}

void KnownCheckpoints::hold() {
  held_.reset();
  if (!folder_) return;
  try {
    held_ = manifests();
  } catch (const DiskError&) {
    // Whoever asks now hears so.
  }
}

bool KnownCheckpoints::finds(const std::string& manifest) const {
  const auto all = listed();
  return all && std::ranges::any_of(*all, [&](const auto& each) { return each.manifest == manifest; });
}

bool KnownCheckpoints::is_gone(const std::string& manifest) const {
  const auto all = listed();
  if (!all || is_away() || !sight_.saw_any) return false;
  if (std::ranges::any_of(*all, [&](const auto& each) { return each.manifest == manifest; })) return false;
  try {
    std::string why;
    manifest_in(*manifests(), manifest, why);
    return true;
  } catch (const DiskError& error) {
    return !may_pass(error);
  }
}

bool KnownCheckpoints::is_missed(const std::string& manifest) const {
  if (!folder_ || is_away()) return false;
  try {
    if (finds(manifest)) return true;
    if (!holds_any_checkpoint(*manifests(), sight_.job_hash)) return true;
    std::string why;
    manifest_in(*manifests(), manifest, why);
    return false;  // there is a verdict on it, or it is damaged
  } catch (const DiskError& error) {
    return may_pass(error);  // it may be there
  }
}

std::optional<std::string> KnownCheckpoints::hidden_before(std::uint64_t step) const {
  if (!folder_) return std::nullopt;
  if (is_away()) return "the coordinator cannot list it, or it is not mounted";
  if (!sight_.saw_any && !sight_.knows_of_one) return std::nullopt;
  const auto good = good_before(step);
  try {
    return refused_between(*manifests(), job_, good ? std::optional(good->step) : std::nullopt, step,
                           [&](const std::string& manifest) { return is_passed_over(manifest); });
  } catch (const DiskError& error) {
    return error.what();
  }
}

std::optional<ListedCheckpoint> KnownCheckpoints::last_before(std::uint64_t step) const {
  std::optional<ListedCheckpoint> own, other;
  for (const ListedCheckpoint& each : listed().value_or(std::vector<ListedCheckpoint>{})) {
    if (each.step >= step || is_passed_over(each.manifest)) continue;
    (verdicts_.of_this_run(each.history) ? own : other) = each;
  }
  return own ? own : other;
}

std::optional<ListedCheckpoint> KnownCheckpoints::last_of_run_before(std::uint64_t step) const {
  auto last = last_before(step);
  if (last && !verdicts_.of_this_run(last->history)) last.reset();
  return last;
}

std::optional<Checkpointed> KnownCheckpoints::good_before(std::uint64_t step) const {
  std::optional<Checkpointed> reported;
  const auto look_at = [&](const Checkpointed& one) {
    const bool good = !one.manifest.empty() && one.step < step && !is_passed_over(one.manifest);
    if (good && (!reported || one.records > reported->records) && !is_gone(one.manifest)) reported = one;
  };
  look_at(last_);
  for (auto one = reports_.rbegin(); one != reports_.rend(); ++one) look_at(*one);  // by record
  const auto last = last_before(step);
  if (!last || (reported && (reported->records > last->records || !verdicts_.of_this_run(last->history))))
    return reported;
  return as_report(*last);
}

Checkpointed KnownCheckpoints::as_report(const ListedCheckpoint& good) const {
  return {good.manifest,      good.records, good.step, folder_->folder() + "/" + good.weights, {}, 0,
          good.weights_sha256};
}

bool KnownCheckpoints::refuses(const Checkpointed& report) {
  const auto found = passed_over_.find(report.manifest);
  if (found == passed_over_.end()) return false;
  if (report.view <= found->second) return true;
  passed_over_.erase(found);  // its steps were done again, and it is written anew
  return false;
}

void KnownCheckpoints::reported(const Checkpointed& report) {
  remember(report);
  if (report.records < last_.records) return;
  last_ = report;
  last_is_known_ = true;
}

void KnownCheckpoints::remember(const Checkpointed& report) {
  const auto same = std::ranges::find(reports_, report.step, &Checkpointed::step);
  if (same != reports_.end() && same->records > report.records) return;  // that one stays
  if (same != reports_.end()) reports_.erase(same);
  reports_.insert(std::ranges::upper_bound(reports_, report.records, {}, &Checkpointed::records), report);
  if (reports_.size() > reports_max_) reports_.pop_front();
}

void KnownCheckpoints::forget_from(std::uint64_t from) {
  std::erase_if(reports_, [&](const Checkpointed& one) { return one.step >= from; });
}

// One that was written meanwhile is better than an older one, unless it may hold wrong results.
void KnownCheckpoints::pass_over(const PartSource& source, std::uint32_t view, bool must) {
  passed_over_[source.checkpoint] = view;
  std::erase_if(reports_, [&](const Checkpointed& one) { return one.manifest == source.checkpoint; });
  const auto older = good_before(source.step);
  if (older) last_is_known_ = true;
  if (must || !any() || is_passed_over(last_.manifest)) last_ = older.value_or(Checkpointed{});
}

// What is older than the view of the journal may be what all went back behind.
void KnownCheckpoints::go_on_from(const PartSource& source, std::uint64_t history) {
  last_ = {source.checkpoint, source.records, source.step};
  const auto newest = last_of_run_before(std::numeric_limits<std::uint64_t>::max());
  if (newest && newest->history >= history && newest->records > last_.records) last_ = as_report(*newest);
  last_is_known_ = can_be_listed();
}

void KnownCheckpoints::take_newer_before(std::uint64_t step) {
  const auto newest = last_of_run_before(step);
  if (!newest) return;
  last_is_known_ = true;
  if (newest->records > last_.records) last_ = as_report(*newest);
}

}  // namespace muster
