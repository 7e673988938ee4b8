#include "actors/preflight/preflight.hpp"

#include <algorithm>
#include <limits>

#include "actors/contract/batch_rows.hpp"
#include "actors/contract/layout_check.hpp"
#include "actors/pipeline/memory.hpp"
#include "actors/preflight/memory_plan.hpp"
#include "actors/processes/descriptors.hpp"
#include "actors/registry/requirements.hpp"
#include "actors/trainer/trainer_state.hpp"
#include "config/notices.hpp"
#include "config/values/file_check.hpp"
#include "config/values/port_range.hpp"
#include "gpu/core_shares.hpp"
#include "gpu/device.hpp"
#include "muster/error.hpp"
#include "muster/job_file.hpp"
#include "transport/ucx/ucx_transport.hpp"

namespace muster {

namespace {

bool is_gpu(const std::string& device) {
  return gpu_number(device) >= 0;
}

void look_at_data(TrainerState& trainer, Preflight& flight) {
  const BatchReader& reader = trainer.data.reader();
  flight.facts = trainer.data.facts();
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

// The first micro-batch. A model that reads beyond its samples finds NaN there, and does not crash: the
// contract check names it. Generators are not opened.
std::shared_ptr<const Batch> first_batch(TrainerState& trainer) {
  if (!trainer.data.reader().dealing()) return nullptr;
  const Item first = trainer.data.reader().read(0, {});
  if (first.ended) return nullptr;
  return std::make_shared<const Batch>(with_margin(*first.batch, std::numeric_limits<float>::quiet_NaN()));
}

// libtorch's allocator for GPUs begins with nothing: it cuts its memory to the measure of the first pass,
// and takes more for the next ones.
constexpr int kPassesOnGpu = 3;

MeasuredMemory try_batch(TrainerState& trainer, const Batch& batch) {
  const DeviceFloats gradient(trainer.device, trainer.state.size());
  trainer.device->synchronize();
  return measure_memory(*trainer.device, [&] {
    const int passes = trainer.device->is_gpu() ? kPassesOnGpu : 1;
    for (int pass = 0; pass < passes; ++pass)
      trainer.model->gradient(trainer.state.span(), batch, {trainer.job.seed, 1, 1, 0}, gradient.span());
  });
}

// What the model throws it says again where it trains.
void try_on_host(TrainerState& trainer, const Batch& batch, Preflight& flight) {
  try {
    flight.host_batch = try_batch(trainer, batch);
  } catch (const std::exception& error) {
    flight.host_batch.how = error.what();
  }
}

// One GPU stands for all.
void try_on_gpu(const Registry& registry, const std::string& name, const Batch& batch, const Places& places,
                Preflight& flight) {
  const auto device = make_compute_device(name);
  flight.gpu_room[name] = device->memory().bound_bytes;
  flight.mistakes = check_memory(flight, places);
  if (!flight.mistakes.empty()) return;
  const auto trainer = make_trainer_state(flight.job, registry, device, true, false);
  try {
    flight.gpu_batch = try_batch(*trainer, batch);
  } catch (const Error& error) {
    flight.mistakes.push_back(mistake_at(places, "train.batch", "a micro-batch cannot be computed on " + name,
                                         error.what(), "a smaller one, if memory is short"));
  }
}

// Ends the look: the mistakes are in the Preflight.
struct TooLarge {};

// When the model is there, but no vector of its size yet. What data and a micro-batch take comes later.
void look_at_sizes(const Layout& layout, const Places& places, Preflight& flight) {
  flight.layout = layout;
  flight.optimizer_slots = make_optimizer(flight.job.train.optimizer, 1)->slots().size();
  flight.mistakes = check_memory(flight, places);
  if (!flight.mistakes.empty()) throw TooLarge{};
}

void look_at_memory(TrainerState& trainer, const Registry& registry, const Places& places, Trial trial,
                    bool computes, Preflight& flight) {
  const auto& devices = flight.placement.devices;
  const auto gpu = std::ranges::find_if(devices, is_gpu);
  const auto batch = first_batch(trainer);
  if (batch) trainer.model->check_batch(*batch);
  if (trial == Trial::nowhere) return;
  if (!batch) {
    flight.host_batch.how = flight.gpu_batch.how = "the source is not opened before the run";
  } else {
    if (!computes) flight.host_batch.how = "nothing is computed before the run (--unchecked)";
    if (computes && !std::ranges::all_of(devices, is_gpu)) try_on_host(trainer, *batch, flight);
    if (gpu != devices.end() && trial == Trial::everywhere)
      try_on_gpu(registry, *gpu, *batch, places, flight);
  }
  if (flight.mistakes.empty()) flight.mistakes = check_memory(flight, places);
}

// Ends the look, as TooLarge does.
[[noreturn]] void refuse(const Breach& breach, const ContractScope& scope) {
  const char* const hint =
      scope.tensors_max > 0 ? "" : "; `muster check` looks closer, `--unchecked` does without it";
  throw JobError(breach.key, text_of(breach) + hint);
}

void note_contract(const ContractLog& log, Preflight& flight) {
  auto& [done, left_out, took] = flight.contract;
  done.insert(done.end(), log.done().begin(), log.done().end());
  left_out.insert(left_out.end(), log.left_out().begin(), log.left_out().end());
  took += log.took();
}

void look_at_sources(TrainerState& trainer, const ContractScope& scope, Preflight& flight) {
  ContractLog log(scope.budget);
  if (const auto breach = check_sources(trainer, scope, log)) refuse(*breach, scope);
  note_contract(log, flight);
}

// Behind the look at memory, which measures a model's first computation.
void look_at_model(TrainerState& trainer, const ContractScope& scope, Preflight& flight) {
  if (!flight.mistakes.empty()) return;
  ContractLog log(scope.budget);
  const bool on_gpus_alone = std::ranges::all_of(flight.placement.devices, is_gpu);
  if (on_gpus_alone && !scope.computes_for_gpus) {
    log.leave_out("the model's contract",
                  "all replicas compute on GPUs, and this check on the CPU: `muster check` does it");
  } else if (const auto breach = check_model(trainer, scope, log)) {
    refuse(*breach, scope);
  }
  note_contract(log, flight);
}

void look_at_trainer_state(const Registry& registry, const Places& places, Trial trial,
                           const ContractScope& scope, Preflight& flight) {
  if (!flight.mistakes.empty()) trial = Trial::nowhere;
  const auto sized = [&](const Layout& layout) {
    if (const auto breach = check_layout(layout, key_of(flight.job.model))) refuse(*breach, scope);
    if (trial != Trial::nowhere) look_at_sizes(layout, places, flight);
  };
  try {
    const auto trainer = make_trainer_state(flight.job, registry, make_host_device(), true, true, sized);
    flight.layout = trainer->model->layout();
    for (const std::string& device : flight.placement.devices)
      check_requirements(flight.job, *trainer->model, device);
    flight.optimizer_slots = make_optimizer(flight.job.train.optimizer, 1)->slots().size();
    look_at_data(*trainer, flight);
    if (trial != Trial::nowhere) look_at_sources(*trainer, scope, flight);
    look_at_memory(*trainer, registry, places, trial, scope.budget.count() > 0, flight);
    if (trial != Trial::nowhere) look_at_model(*trainer, scope, flight);
  } catch (const TooLarge&) {
  } catch (const JobError& error) {
    flight.mistakes.push_back(mistake_at(places, error.key(), error.what()));
  } catch (const Error& error) {
    flight.mistakes.push_back(mistake_at(places, "", error.what()));
  }
}

// A replica's device is the first of its cores.
void share_out(const std::vector<int>& cores, Placement& placement) {
  placement.cores = share_cores(placement.devices.size());
  for (std::size_t i = 0; i < placement.cores.size(); ++i) {
    const auto first = std::ranges::find(cores, placement.cores[i].front());
    placement.devices[i] = "cpu:" + std::to_string(first - cores.begin());
  }
}

bool sums_would_lie_on_gpus(const Preflight& flight) {
  const auto& devices = flight.placement.devices;
  if (!may_sum_on_gpus(flight.job) || !std::ranges::all_of(devices, is_gpu)) return false;
  try {
    return ucx_carries_gpu_memory({.listen = flight.job.cluster.listen, .on_gpu = &is_gpu_memory});
  } catch (const Error&) {  // the replicas will say it
    return false;
  }
}

// Where nodes are started by hand, their own hosts have limits of their own.
void check_descriptors(const Places& places, Trial trial, Preflight& flight) {
  std::uint64_t needed = descriptors_of_coordinator(flight.job, false);
  if (trial != Trial::nowhere) needed = std::max(needed, descriptors_of_node(flight.job));
  if (const auto why = too_few_descriptors(needed, descriptors_allowed()))
    flight.mistakes.push_back(mistake_at(places, "cluster.replicas", *why));
}

// Of the host that keeps the journal, or that all nodes are on.
void check_checkpoint_folder(const Places& places, Preflight& flight) {
  const std::string& folder = flight.job.checkpoint.folder;
  if (folder.empty()) return;
  if (const std::string why = why_no_folder(folder); !why.empty())
    flight.mistakes.push_back(mistake_at(places, "checkpoint.folder", "no checkpoint could be written there",
                                         why, "a folder that this user can write to, or make"));
}

// Each node listens on a port of its own.
void check_data_ports(const Places& places, Trial trial, Preflight& flight) {
  const ClusterConfig& cluster = flight.job.cluster;
  const PortRange ports = parse_port_range(cluster.data_ports).value_or(PortRange{});
  const std::size_t nodes = cluster.replicas + cluster.loaders;
  const std::size_t there = std::size_t{ports.last} - ports.first + 1;
  if (trial == Trial::nowhere || ports.any() || nodes <= there) return;
  flight.mistakes.push_back(
      mistake_at(places, "cluster.data_ports",
                 "replicas and loaders on this machine take a port each: " + std::to_string(nodes),
                 cluster.data_ports + " has " + std::to_string(there),
                 "a range of at least " + std::to_string(nodes) + " ports"));
}

void add_data_notices(Preflight& flight) {
  const auto samples = static_cast<std::uint64_t>(std::max<std::int64_t>(flight.facts.samples, 0));
  for (const std::string& notice : rate_notices(flight.job, flight.facts.unit_is_batch ? 0 : samples))
    flight.placement.notices.push_back(notice);
  if (flight.facts.samples <= 0 || flight.facts.unit_is_batch) return;
  for (const std::string& notice : data_notices(flight.job, static_cast<std::uint64_t>(flight.facts.samples)))
    flight.placement.notices.push_back(notice);
}

}  // namespace

void check_contract_of_node(const Job& job, const Registry& registry, NodeWork work,
                            const ContractScope& scope) {
  if (!work.loads) return;  // what it could be tried with is elsewhere
  Preflight flight;
  flight.job = job;
  flight.placement.devices = {"cpu:0"};
  // The model's context, and what sources are compared with, need both.
  const auto trainer = make_trainer_state(job, registry, make_host_device(), true, true);
  try {
    look_at_sources(*trainer, scope, flight);
    if (work.computes) look_at_model(*trainer, scope, flight);
  } catch (const JobError& error) {  // nobody shows the key's place
    throw Error(error.key() + ": " + error.what());
  }
}

// Where nodes come by hand, more may come than the job says.
void add_key_notices(const Places& places, Trial trial, Preflight& flight) {
  const bool may_grow = trial == Trial::nowhere;
  for (const std::string& notice : idle_keys(flight.job, places, flight.facts.has_test, may_grow))
    flight.placement.notices.push_back(notice);
}

Preflight preflight(const Job& job, const Places& places, const Registry& registry, Trial trial,
                    const ContractScope& scope) {
  Preflight flight;
  flight.mistakes = check_job(job, places, registry.declarations());
  if (!flight.mistakes.empty()) return flight;
  flight.job = job;
  flight.job.model.content.clear();  // as the file is now, not as it was when the job was read
  flight.job = with_defaults(flight.job, registry.declarations());
  const DeviceInventory devices = discover_devices();
  const Inventory inventory{devices.cores, devices.cuda_devices, devices.cuda_reason};
  flight.placement = place_devices(flight.job, inventory, places, flight.mistakes);
  if (shares_out_cores(flight.job)) share_out(devices.cores, flight.placement);
  check_descriptors(places, trial, flight);
  check_data_ports(places, trial, flight);
  check_checkpoint_folder(places, flight);
  flight.sums_on_gpus = sums_would_lie_on_gpus(flight);
  flight.host_room = available_host_memory();
  for (std::size_t i = 0; i < devices.cuda_gpus.size(); ++i)
    flight.gpu_room["cuda:" + std::to_string(i)] = devices.cuda_gpus[i].memory_bytes;
  look_at_trainer_state(registry, places, trial, scope, flight);
  if (trial == Trial::nowhere) flight.placement.notices.clear();  // they are of this machine
  if (flight.mistakes.empty()) {
    add_key_notices(places, trial, flight);
    add_data_notices(flight);
  }
  return flight;
}

}  // namespace muster
