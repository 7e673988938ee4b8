#include "actors/preflight/memory_plan.hpp"

#include <algorithm>
#include <map>

#include "actors/rules/steps/audit.hpp"
#include "actors/trainer/trainer_state.hpp"
#include "base/units.hpp"

namespace muster {

namespace {

bool is_on_gpu(const Preflight& flight, std::uint32_t replica) {
  return flight.placement.devices[replica].starts_with("cuda");
}

// The gradient comes back through the host, and so do the sums of the cover, in pinned memory; unless they go
// from GPU to GPU, where what comes of others lies, too. What proves that two replicas compute alike
// (probe.hpp) takes two vectors of the GPU before the sums do.
void move_to_host(MemoryPlan& plan, std::size_t cover, bool sums_on_gpus) {
  plan.on_host = plan.state + plan.loading;
  plan.accumulator = std::max(plan.accumulator, 2 * plan.state);
  plan.loading = 0;
  if (sums_on_gpus) return;
  plan.on_host += cover * plan.state + plan.staging;
  plan.staging = 0;
}

}  // namespace

MemoryPlan memory_of(const Preflight& flight, std::uint32_t replica) {
  const Job& job = flight.job;
  const auto intervals = place_shards(job.train.shards, job.cluster.replicas);
  const auto [begin, end] = intervals[replica];
  MemoryPlan plan;
  plan.state = flight.layout.total() * sizeof(float);
  const ReducedElements elements = reduced_elements(job, flight.layout);
  const std::size_t reduced = elements.most();
  plan.gradient = plan.state;
  if (job.train.compression.kind == CompressionKind::powersgd)
    plan.gradient = 2 * plan.state + (elements.sketch + elements.step) *
                                         sizeof(float);  // and q, and what follows from the sums
  // Of a shard that it audits; a GPU computes it where the mean comes.
  if (may_audit(job) && job.cluster.replicas > 1 && !is_on_gpu(flight, replica)) plan.gradient += plan.state;
  if (job.train.clip_norm) plan.gradient += Clipping::bytes(flight.layout.parameters);
  plan.optimizer = flight.optimizer_slots * flight.layout.parameters * sizeof(float);
  if (job.train.shard_optimizer) {  // the own part and another one, with the last gradient of both
    const std::uint64_t copies = job.cluster.replicas > 1 ? 2 : 1;
    plan.optimizer = (plan.optimizer + plan.state) * copies / job.cluster.replicas;
  }
  if (job.train.shards_have_state()) {  // what counts, and what the step under way makes
    const auto [others_begin, others_end] = intervals[(replica + intervals.size() - 1) % intervals.size()];
    const std::uint64_t copies = intervals.size() > 1 ? others_end - others_begin : 0;
    plan.shard_states = 2 * (end - begin + copies) * flight.layout.parameters * sizeof(float);
  }
  plan.accumulator = Accumulator::bytes_max(job.train.shards, begin, end, reduced);
  std::size_t remote_nodes = 0;
  for (std::uint32_t other = 0; other < intervals.size(); ++other) {
    if (other == replica) continue;
    remote_nodes += cover(tree_height(job.train.shards), intervals[other].begin, intervals[other].end).size();
  }
  plan.staging = 2 * remote_nodes * (reduced * sizeof(float) / job.cluster.replicas);
  plan.loading = std::uint64_t{flight.prefetch_depth} * (end - begin) * flight.micro_batch_bytes;
  if (job.cluster.replicas_load()) plan.loading += flight.resident_bytes;
  plan.batch = (is_on_gpu(flight, replica) ? flight.gpu_batch : flight.host_batch).bytes;
  if (is_on_gpu(flight, replica))
    move_to_host(plan, cover(tree_height(job.train.shards), begin, end).size(), flight.sums_on_gpus);
  return plan;
}

std::string text_of(const MemoryPlan& plan) {
  std::string text = human_size(plan.total()) + " (state " + human_size(plan.state) + ", gradients " +
                     human_size(plan.gradient + plan.accumulator) + ", optimizer " +
                     human_size(plan.optimizer);
  const auto part = [&](const char* name, std::uint64_t bytes) {
    if (bytes > 0) text += std::string(", ") + name + " " + human_size(bytes);
  };
  part("states of shards", plan.shard_states);
  part("a micro-batch", plan.batch);
  part("staging", plan.staging);
  part("loading", plan.loading);
  text += ")";
  if (plan.on_host > 0) text += ", and " + human_size(plan.on_host) + " of the host";
  return text;
}

namespace {

struct Taken {
  std::uint32_t replicas = 0;
  std::uint64_t bytes = 0;
  MemoryPlan largest;

  void add(const MemoryPlan& plan, std::uint64_t more) {
    ++replicas;
    bytes += more;
    if (plan.total() > largest.total()) largest = plan;
  }
};

constexpr const char* kRemedies =
    "; a smaller train.batch with more train.shards, or a smaller model, takes less";

Mistake too_much(const Places& places, const std::string& key, const std::string& device, const Taken& taken,
                 std::uint64_t room) {
  return mistake_at(
      places, key, "more memory than there is on " + device,
      human_size(taken.bytes) + " for " + std::to_string(taken.replicas) + " replica" +
          (taken.replicas == 1 ? "" : "s") + ", one takes " + text_of(taken.largest),
      "at most " + human_size(room) + (taken.replicas == 1 ? "" : ", so fewer replicas on it") + kRemedies);
}

}  // namespace

std::vector<Mistake> check_memory(const Preflight& flight, const Places& places) {
  std::vector<Mistake> mistakes;
  Taken of_host;
  std::map<std::string, Taken> of_gpus;
  const std::uint64_t bound = flight.job.cluster.device_memory_bytes;
  for (std::uint32_t replica = 0; replica < flight.placement.devices.size(); ++replica) {
    const MemoryPlan plan = memory_of(flight, replica);
    const bool gpu = is_on_gpu(flight, replica);
    of_host.add(plan, gpu ? plan.on_host : plan.total());
    if (!gpu) continue;
    of_gpus[flight.placement.devices[replica]].add(plan, plan.total());
    if (bound == 0 || plan.total() <= bound) continue;
    mistakes.push_back(mistake_at(places, "cluster.device_memory", "too little for a replica",
                                  format_size(bound),
                                  "at least what it takes, which is " + text_of(plan) + kRemedies));
    return mistakes;
  }
  const HostMemoryRoom& room = flight.host_room;
  if (room.bytes > 0 && of_host.bytes > room.bytes) {
    const std::string where =
        room.bound.empty() ? "" : " within the limit of its control group " + room.bound;
    mistakes.push_back(too_much(places, "cluster.replicas", "this machine" + where, of_host, room.bytes));
  }
  for (const auto& [gpu, taken] : of_gpus) {
    const auto known = flight.gpu_room.find(gpu);
    if (known != flight.gpu_room.end() && taken.bytes > known->second)
      mistakes.push_back(too_much(places, "cluster.devices", gpu, taken, known->second));
  }
  return mistakes;
}

}  // namespace muster
