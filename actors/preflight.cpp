#include "muster/actors/preflight.hpp"

#include <algorithm>

#include "muster/actors/demands.hpp"
#include "muster/actors/pipeline/memory.hpp"
#include "muster/actors/workbench.hpp"
#include "muster/config/error.hpp"
#include "muster/config/job_file.hpp"
#include "muster/gpu/device.hpp"

namespace muster {

namespace {

void look_at_data(const Workbench& bench, Preflight& flight) {
  const BatchReader& reader = *bench.reader;
  flight.facts = data_facts(bench);
  flight.micro_batch_bytes = reader.micro_batch_bytes_max();
  flight.resident_bytes = reader.resident_bytes();
  if (const auto dealing = reader.dealing()) {
    for (std::uint32_t s = 0; s < flight.job.train.shards; ++s)
      flight.samples_of_shard.push_back(dealing->shard_size(s));
  }
  const auto intervals = place_shards(flight.job.train.shards, flight.job.cluster.replicas);
  const std::uint32_t most = intervals.front().end - intervals.front().begin;
  flight.prefetch_depth = prefetch_depth({flight.job.data.memory_bytes, flight.resident_bytes,
                                          flight.micro_batch_bytes, most, flight.job.data.prefetch});
}

// Whether model and data fit each other, as far as the first micro-batch shows. Generators are not opened.
void look_at_first_batch(const Workbench& bench) {
  if (!bench.reader->dealing()) return;
  const Item first = bench.reader->read(0, {});
  if (!first.ended) bench.model->check_batch(*first.batch);
}

void look_at_workbench(const Registry& registry, const Places& places, Preflight& flight) {
  try {
    const auto bench = make_workbench(flight.job, registry, "cpu:0", true, true);
    flight.layout = bench->model->layout();
    for (const std::string& device : flight.placement.devices)
      check_demands(flight.job, *bench->model, device);
    flight.optimizer_slots = make_optimizer(flight.job.train.optimizer, 1)->slots().size();
    look_at_data(*bench, flight);
    look_at_first_batch(*bench);
  } catch (const JobError& error) {
    flight.mistakes.push_back(mistake_at(places, error.key(), error.what()));
  } catch (const Error& error) {
    flight.mistakes.push_back(mistake_at(places, "", error.what()));
  }
}

}  // namespace

Preflight preflight(const Job& job, const Places& places, const Registry& registry) {
  Preflight flight;
  flight.mistakes = check_job(job, places, registry.declarations());
  if (!flight.mistakes.empty()) return flight;
  flight.job = job;
  flight.job.model.content.clear();  // as the file is now, not as it was when the job was read
  flight.job = with_defaults(flight.job, registry.declarations());
  const DeviceInventory devices = discover_devices();
  flight.placement = place_devices(flight.job, {devices.cores, devices.cuda_devices, devices.cuda_reason},
                                   places, flight.mistakes);
  look_at_workbench(registry, places, flight);
  return flight;
}

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
  if (job.cluster.loaders == 0) plan.loading += flight.resident_bytes;
  return plan;
}

}  // namespace muster
