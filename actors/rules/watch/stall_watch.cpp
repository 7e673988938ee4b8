#include "actors/rules/watch/stall_watch.hpp"

#include "actors/events/event_fields.hpp"
#include "actors/rules/stragglers/straggler_policy.hpp"

#include <algorithm>
#include <utility>

namespace muster {

namespace {

std::string no_frame_for(std::chrono::nanoseconds time) {
  return "no frame of it for " +
         std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()) + " ms";
}

// When it is said again who is late: for a coordinator that could not judge, and so that it sees that it goes
// on.
std::chrono::nanoseconds again_after(const StragglerOptions& options, std::chrono::nanoseconds heartbeat) {
  constexpr int kHeartbeatsMin = 4;
  return std::min(options.link_patience, std::max(options.patience, kHeartbeatsMin * heartbeat));
}

std::optional<std::chrono::nanoseconds> given_patience(const StragglerConfig& straggler) {
  if (straggler.patience == std::chrono::milliseconds(0)) return std::nullopt;
  return straggler.patience;
}

}  // namespace

StallWatch::Findings StallWatch::of(const RoundSight& sight, bool complains) {
  median_step_ = sight.median_step;
  const StragglerOptions options{straggler_patience(given_patience(cluster_.straggler), sight.median_step),
                                 cluster_.detect.patience, cluster_.straggler.stuck_after};
  Findings findings;
  for (const Lateness& late : who_is_late(sight, options)) {
    const NodeName name{false, self_}, peer{false, late.slot};
    // Again after each further patience: the coordinator forgets what it cannot judge.
    const std::int64_t patiences = complains && late.link_broken ? late.silent / options.link_patience : 0;
    if (patiences != std::exchange(complained_[{sight.view, late.slot}], patiences) && patiences > 0)
      findings.complaints.push_back({name, sight.view, true, peer, no_frame_for(late.silent)});
    const bool past = late.waited >= options.patience || late.stuck;
    if (!past || sight.kind == RoundKind::greeting) continue;
    if (!said_.is_news(sight.view, sight.round, late, again_after(options, cluster_.detect.heartbeat)))
      continue;
    findings.held_up.push_back({name, sight.view, sight.round, sight.record, sight.step, late.slot,
                                text_of(late.cause), late.waited_for, milliseconds(late.waited), late.stuck,
                                late.link_broken, late.ready});
  }
  return findings;
}

// A late replica whose header is there has its data, and so do others: what it computes can be computed
// elsewhere. Every member that waits decides by itself; should two take the same backup task, the bits are
// the same.
std::vector<BackupTask> StallWatch::backup_tasks(const RoundSight& sight, const std::vector<Member>& replicas,
                                                 std::uint32_t shards) {
  if (!straggler_policy(cluster_).backup_tasks || sight.kind != RoundKind::train) return {};
  if (std::exchange(backup_tasks_of_, {sight.view, sight.round}) != std::pair{sight.view, sight.round})
    backup_tasks_.clear();
  const auto patience = straggler_patience(given_patience(cluster_.straggler), sight.median_step);
  std::vector<LateReplica> late;
  std::vector<Helper> helpers{{self_, 0}};
  for (const PeerSight& peer : sight.peers) {
    if (peer.metrics_in) helpers.push_back({peer.peer, 0});
    if (!peer.header_in || peer.metrics_in || sight.now - sight.waiting_since < patience) continue;
    for (const Member& member : replicas) {
      if (member.name.slot == peer.peer) late.push_back({peer.peer, member.begin, member.end});
    }
  }
  std::vector<BackupTask> own;
  for (const BackupTask& backup_task : assign_backup_tasks(shards, late, helpers)) {
    if (backup_task.helper == self_ && backup_tasks_.insert(backup_task.node).second)
      own.push_back(backup_task);
  }
  return own;
}

std::optional<HeldUp> StallWatch::of_self(const ProgressStatus& status, std::uint32_t view,
                                          std::uint64_t step, Time now) {
  if (status != last_) {
    last_ = status;
    since_ = now;
    told_ = false;
    return std::nullopt;
  }
  const auto patience = straggler_patience(given_patience(cluster_.straggler), median_step_);
  if (status.activity != Activity::loading || told_ || now - since_ < patience) return std::nullopt;
  told_ = true;
  const NodeName name{false, self_};
  return HeldUp{name,
                view,
                0,
                0,
                step,
                self_,
                text_of(LateCause::data),
                "micro-batches of its shards",
                milliseconds(now - since_),
                false,
                false,
                false};
}

}  // namespace muster
