#include "actors/coordinator/views/epoch_reports.hpp"

#include <algorithm>

#include "actors/events/event.hpp"
#include "actors/events/event_fields.hpp"

namespace muster {

void EpochReports::on(const EpochEnd& message) {
  const NodeRecord* teller = run_.membership->find({false, message.slot});
  if (teller && teller->stage == NodeStage::lost) return;
  if (run_.end.decided() || message.view < checkpoints_.back_in || run_.epochs.counts(message.epoch)) return;
  if (const auto other = run_.epochs.take(message)) {
    const std::string what = "the ledger or evaluation of epoch " + std::to_string(message.epoch) +
                             " of replica " + std::to_string(*other) + " and of replica " +
                             std::to_string(message.slot);
    port_.raise(make_event("diverged", {{"what", what}}));
    return ending_.fail("diverged: " + what + " differ");
  }
  count_epoch(message.epoch);
}

void EpochReports::count_open() {
  for (const std::uint64_t epoch : run_.epochs.open()) count_epoch(epoch);
}

// An epoch is counted when every member of the view has told of it. To a coordinator that was started anew
// each member tells of all epochs, and perhaps of one that has just ended before all have told of those
// before it.
void EpochReports::count_epoch(std::uint64_t epoch, bool all_reported) {
  if (run_.phase == CoordinatorPhase::adopting) return;
  for (const Member& member : run_.view.replicas) {
    if (!all_reported && run_.membership->alive(member.name) &&
        !run_.epochs.has_reported(epoch, member.name.slot))
      return;
  }
  const auto counted = run_.epochs.count(epoch);
  if (!counted) return;
  const EpochEnd& row = *counted;
  run_.report.steps = std::max(run_.report.steps, row.steps);
  run_.report.samples = std::max(run_.report.samples, row.samples);
  port_.raise(make_event("epoch", {{"epoch", number(row.epoch)},
                                   {"complete", row.complete},
                                   {"steps", number(row.steps)},
                                   {"samples", number(row.samples)},
                                   {"loss", row.train_loss},
                                   {"used", number(row.used)},
                                   {"repeated", number(row.repeated)},
                                   {"missed", number(row.missed)},
                                   {"dropped", number(row.dropped)}}));
  if (row.evaluated) {
    port_.raise(make_event("evaluated",
                           {{"epoch", number(row.epoch)}, {"loss", row.loss}, {"accuracy", row.accuracy}}));
  }
}

void EpochReports::on(const ReplicaDone& message) {
  if (run_.end.decided() || run_.phase != CoordinatorPhase::running ||
      !run_.membership->member({false, message.slot}))
    return;
  for (const EpochEnd& epoch : message.epochs) on(epoch);
  if (run_.end.decided()) return;
  if (const std::string reason = run_.membership->done(message); !reason.empty()) {
    port_.raise(make_event("diverged", {{"what", reason}}));
    return ending_.fail("diverged: " + reason);
  }
  run_.report.phases[message.slot] = message.phases;
  run_.report.traffic[message.slot] = message.traffic;
  run_.report.algorithm = message.algorithm;
  if (!message.note.empty()) run_.report.notes[message.slot] = message.note;
  if (!message.checkpoint.empty()) run_.report.checkpoint = message.checkpoint;
  run_.training.end(port_.now());
  if (run_.membership->all(NodeStage::done, true)) complete();
}

void EpochReports::complete() {
  // Some may have told of an epoch a coordinator that is gone, and not this one yet.
  for (const std::uint64_t epoch : run_.epochs.open()) count_epoch(epoch, true);
  const ReplicaDone& last = run_.membership->at(run_.view.replicas.front().name).done;
  run_.report.steps = last.steps;
  run_.report.samples = last.samples;
  run_.report.weights_sha256 = last.state_sha256;
  if (last.steps_asked >= 0) {
    port_.raise(make_event("exhausted", {{"scope", "job"},
                                         {"what", "train.steps"},
                                         {"asked", last.steps_asked},
                                         {"had", number(last.steps)}}));
  }
  ending_.conclude("completed", {});
}

}  // namespace muster
