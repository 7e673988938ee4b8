#include "actors/coordinator/facts/run_standing.hpp"

#include <algorithm>
#include <tuple>

#include "actors/rules/membership/standing_still.hpp"

namespace muster {

namespace {

constexpr const char* kTraining = "training";

std::string state_of(const NodeRecord& record, bool away) {
  if (record.leaving) return "leaves";
  if (away) return "away";
  if (record.member) return "member";
  return record.stage == NodeStage::joined ? "prepares" : "newcomer";
}

std::string texts_of(const std::vector<NodeName>& names) {
  std::string text;
  for (const NodeName& name : names) text += (text.empty() ? "" : ", ") + name.text();
  return text;
}

bool all_have_come(const Membership& membership) {
  const auto complete = [](std::pair<std::uint32_t, std::uint32_t> arrived) {
    return arrived.first >= arrived.second;
  };
  return complete(membership.admission().arrived(false)) && complete(membership.admission().arrived(true));
}

}  // namespace

RunStatus status_of(const RunFacts& run, const CheckpointFacts& checkpoints,
                    std::chrono::nanoseconds elapsed) {
  RunStatus status;
  status.job = run.setup.job.name;
  std::tie(status.state, status.detail) = how_it_stands(run);
  status.elapsed_s = std::chrono::duration<double>(elapsed).count();
  status.view = run.view.number;
  const WorkDone heard = heard_of(run, checkpoints);
  status.step = std::max(heard.steps, checkpoints.known->last().step);
  status.samples = heard.samples;
  const auto& train = run.setup.job.train;
  status.steps = train.steps.value_or(train.epochs.value_or(1) * run.view.facts.steps_per_epoch);
  if (const Progress* last = run.training.last()) {
    status.epoch = last->epoch;
    status.loss = last->loss;
    if (status.state == kTraining) status.samples_per_second = run.training.rate();
  }
  status.checkpoint = checkpoints.known->last().path;
  status.checkpoint_step = checkpoints.known->last().step;
  for (const auto& [node, record] : run.membership->nodes()) {
    if (record.stage == NodeStage::expected || gone(record)) continue;
    status.nodes.push_back({node, state_of(record, run.away.contains(node)), record.process.host,
                            record.process.address, record.process.device, record.process.pid,
                            record.last.step});
  }
  return status;
}

WorkDone heard_of(const RunFacts& run, const CheckpointFacts& checkpoints) {
  WorkDone heard{run.report.steps, run.report.samples};
  if (checkpoints.suspects.any() || run.is_going_back()) return heard;
  for (const Member& member : run.view.replicas) {
    const NodeRecord* record = run.membership->find(member.name);
    if (record && record->last.step > heard.steps) heard = {record->last.step, record->last.samples};
  }
  return heard;
}

std::string whom_it_waits_for(const RunFacts& run) {
  if (run.begun || run.end.decided() || run.membership->nodes().empty()) return {};
  std::string text;
  for (const bool loader : {false, true}) {
    const auto [here, places] = run.membership->admission().arrived(loader);
    if (places == 0) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(here) + " of " + std::to_string(places) +
            (loader ? " loaders" : " replicas") + (here == 1 ? " is here" : " are here");
  }
  return text;
}

std::pair<std::string, std::string> how_it_stands(const RunFacts& run) {
  if (run.end.decided()) return {run.report.outcome, run.report.reason};
  if (run.end.keeps_state()) return {"ending", run.end.reason() + ": a last checkpoint is written"};
  if (run.silence.lasts()) return {"paused", "no sign of life from its members"};
  switch (run.phase) {
    case CoordinatorPhase::forming: {
      if (!all_have_come(*run.membership)) return {"waiting", "for nodes: " + whom_it_waits_for(run)};
      const std::string behind = list_of(nodes_behind(run.membership->nodes()));
      return {"waiting", behind.empty() ? "" : "for " + behind + " to be ready"};
    }
    case CoordinatorPhase::adopting:
      return {"waiting",
              "was started again: for " + texts_of(run.membership->returns().missing()) + " to come back"};
    case CoordinatorPhase::paused:
      return {"paused", "waits for " + run.recovery.missing()};
    case CoordinatorPhase::noting:
      return {"paused", "the journal cannot be written"};
    case CoordinatorPhase::closing:
    case CoordinatorPhase::installing:
      return {"changing view", ""};
    case CoordinatorPhase::running:
      break;
  }
  std::string stalled;
  for (const NodeName& who :
       stalled_replicas(run.membership->nodes(), run.setup.job.cluster.straggler.stuck_after))
    stalled += (stalled.empty() ? "" : ", ") + who.text() + " " +
               what_it_does(run.membership->at(who), !run.view.loaders.empty());
  return {kTraining, stalled};
}

}  // namespace muster
