#include "tests/simulation/checkpoint_check.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>

#include "actors/registry/job_hash.hpp"
#include "actors/resume/resume.hpp"
#include "tests/support/faulty_disk.hpp"

namespace muster::simulation {

namespace {

constexpr std::uint64_t kNoStep = std::numeric_limits<std::uint64_t>::max();
constexpr const char* kLookedAt = "looked at";
constexpr const char* kOptimizer = " has not the oracle's optimizer";
constexpr const char* kShardStates = " has not the oracle's states of shards";

Wrong compared(const Snapshot& snapshot, const OracleResult& oracle, bool has_states) {
  const ReplicaPlace& place = snapshot.place;
  const std::string name = "the checkpoint of step " + std::to_string(place.steps);
  if (place.records == 0 || place.records > oracle.records.size())
    return {8, name + " has " + std::to_string(place.records) + " records; the job has " +
                   std::to_string(oracle.records.size())};
  const OracleRecord& record = oracle.records[place.records - 1];
  if (record.step != place.steps)
    return {8, name + " is of step " + std::to_string(record.step) + " by its records"};
  if (fingerprint_of(snapshot.state) != record.state) return {8, name + " has not the oracle's weights"};
  std::vector<float> optimizer, shard_states;
  for (const Snapshot::Slot& slot : snapshot.slots) {
    if (slot.name.starts_with("error_feedback."))
      shard_states.insert(shard_states.end(), slot.values.begin(), slot.values.end());
    if (slot.name == "momentum" || slot.name == "exp_avg" || slot.name == "exp_avg_sq")
      optimizer.insert(optimizer.end(), slot.values.begin(), slot.values.end());
  }
  if (fingerprint_of(optimizer) != record.optimizer) return {8, name + kOptimizer};
  if (has_states && fingerprint_of(shard_states) != record.shard_states) return {8, name + kShardStates};
  return {};
}

}  // namespace

CheckpointsChecked check_checkpoints(const Job& job, const Registry& registry, std::shared_ptr<Disk> disk,
                                     const OracleResult& oracle) {
  CheckpointsChecked checked;
  const auto* faulty = dynamic_cast<const FaultyDisk*>(disk.get());
  const auto model = registry.make_model(job.model.name, job.model.options, {"cpu", 1});
  CheckpointStore store(
      std::move(disk), checkpoint_identity(job, job_hash(job, registry.declarations()), model->layout(), {}));
  std::map<std::uint64_t, std::set<decltype(OracleRecord::state)>> weights;  // by step
  const auto look_at = [&](const Snapshot& snapshot) {
    ++checked.looked_at;
    weights[snapshot.place.steps].insert(fingerprint_of(snapshot.state));
    const Wrong wrong = compared(snapshot, oracle, job.train.shards_have_state());
    const bool has_weights = wrong.what.ends_with(kOptimizer) || wrong.what.ends_with(kShardStates);
    if (wrong) checked.wrong.push_back({wrong, snapshot.place.steps, has_weights});
    return std::string(kLookedAt);  // so that the next one is read, too
  };
  const FoundCheckpoint found = store.newest(look_at, false);
  checked.differing = static_cast<std::uint64_t>(
      std::ranges::count_if(weights, [](const auto& of_step) { return of_step.second.size() > 1; }));
  for (WrongCheckpoint& each : checked.wrong) each.differs = weights[each.step].size() > 1;
  for (const PassedOver& passed_over : found.passed_over) {
    const auto name = parse_checkpoint_name(passed_over.manifest, "");
    if (faulty && name && faulty->is_damaged(name->stem + ".safetensors")) continue;
    if (passed_over.is_void) ++checked.of_no_worth;
    if (passed_over.why == kLookedAt || passed_over.is_void) continue;
    checked.wrong.push_back(
        {{8, passed_over.manifest + " cannot be gone on from: " + passed_over.why}, kNoStep});
  }
  return checked;
}

}  // namespace muster::simulation
