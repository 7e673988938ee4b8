// muster plan: what would run, and where. Runs nothing.
#include <cinttypes>
#include <cstdio>

#include "actors/preflight/memory_plan.hpp"
#include "actors/preflight/preflight_apart.hpp"
#include "actors/trainer/trainer_state.hpp"
#include "base/units.hpp"
#include "cli/job_arguments.hpp"
#include "gpu/core_shares.hpp"
#include "gpu/optimizer/compression.hpp"
#include "muster/run.hpp"
#include "transport/collective/choice/chooser.hpp"
#include "transport/collective/choice/cost.hpp"

namespace muster::cli {

namespace {

constexpr const char* kPlanUsage =
    "Usage: muster plan JOB.toml [--replicas N] [--per-host M] [--set table.key=value]...\n\n"
    "Opens the data, builds the model, computes one micro-batch to see what memory that takes, and prints\n"
    "steps, shards, devices, threads and memory, and what a step sends. Starts no process.\n";

std::string count(std::uint64_t value, bool known) {
  return known ? std::to_string(value) : "unknown";
}

void print_data(const Preflight& flight) {
  const Job& job = flight.job;
  const bool known = flight.facts.samples >= 0;
  const char* unit = flight.facts.unit_is_batch ? "batches" : "samples";
  std::printf("job %s: model %s, %zu parameters, %zu buffers\n", job.name.c_str(), job.model.shown().c_str(),
              flight.layout.parameters, flight.layout.buffers);
  std::printf("data %s: %s %s an epoch, %s steps an epoch, %" PRIu64 " dropped\n", job.data.source.c_str(),
              count(static_cast<std::uint64_t>(flight.facts.samples), known).c_str(), unit,
              count(flight.facts.steps_per_epoch, flight.facts.steps_per_epoch > 0).c_str(),
              flight.facts.dropped);
  if (flight.facts.take_asked >= 0) {
    std::printf("data.take asks for %lld, there are %lld: the run will say `exhausted` and complete\n",
                static_cast<long long>(flight.facts.take_asked),
                static_cast<long long>(flight.facts.take_had));
  }
  if (job.train.steps) {
    std::printf("ends after %" PRIu64 " steps, or %s passes over the data\n", *job.train.steps,
                job.data.repeat.value_or(1) == 0 ? "any number of"
                                                 : std::to_string(job.data.repeat.value_or(1)).c_str());
  } else {
    const std::uint64_t epochs = job.train.epochs.value_or(1);
    std::printf("ends after %" PRIu64 " epochs: %s steps\n", epochs,
                count(epochs * flight.facts.steps_per_epoch, flight.facts.steps_per_epoch > 0).c_str());
  }
}

void print_replicas(const Preflight& flight) {
  const auto intervals = place_shards(flight.job.train.shards, flight.job.cluster.replicas);
  for (std::uint32_t replica = 0; replica < intervals.size(); ++replica) {
    const auto [begin, end] = intervals[replica];
    std::uint64_t samples = 0;
    for (std::uint32_t s = begin; s < end && s < flight.samples_of_shard.size(); ++s)
      samples += flight.samples_of_shard[s];
    std::printf("replica %u on %s: shards %u-%u (%s an epoch), memory %s\n", replica,
                flight.placement.devices[replica].c_str(), begin, end - 1,
                count(samples, !flight.samples_of_shard.empty()).c_str(),
                text_of(memory_of(flight, replica)).c_str());
  }
}

// By how a micro-batch's memory is known.
void print_trials(const Preflight& flight) {
  for (const auto& [where, trial] :
       {std::pair("the host", &flight.host_batch), std::pair("the GPU", &flight.gpu_batch)}) {
    if (trial->known) {
      std::printf("a micro-batch was computed on %s, and took %s at most (%s)\n", where,
                  human_size(trial->bytes).c_str(), trial->how.c_str());
    } else if (!trial->how.empty()) {
      std::printf("notice: what a micro-batch takes on %s is not known: %s\n", where, trial->how.c_str());
    }
  }
}

void print_cores(const Preflight& flight) {
  const auto& cores = flight.placement.cores;
  if (cores.empty()) return;
  std::printf("each replica's process stays on cores of its own:");
  for (std::size_t replica = 0; replica < cores.size(); ++replica)
    std::printf("%s replica %zu on %s", replica == 0 ? "" : ",", replica,
                text_of_cores(cores[replica]).c_str());
  std::printf("\n");
}

void print_shards(const Preflight& flight) {
  constexpr std::size_t kShown = 64;
  const auto& samples = flight.samples_of_shard;
  for (std::size_t s = 0; s < samples.size() && s < kShown; ++s) {
    std::printf("shard %zu: %" PRIu64 " an epoch\n", s, samples[s]);
  }
  if (samples.size() > kShown) std::printf("... %zu more shards\n", samples.size() - kShown);
}

// What compression changes in it.
void print_compression(const Preflight& flight, std::uint32_t per_host) {
  const TrainConfig& train = flight.job.train;
  if (!train.shards_have_state()) return;
  const std::size_t parameters = flight.layout.parameters;
  if (train.compression.kind == CompressionKind::top_k) {
    std::printf(
        "each shard adds %zu of %zu parameters to a step; between hosts at most as much is sent as above\n",
        TopK(parameters, train.compression.ratio).kept(), parameters);
  } else {
    const PowerSgd powersgd(flight.layout, train.compression.rank);
    std::printf("each shard adds %zu numbers to a step instead of %zu: %zu, then %zu\n",
                powersgd.first() + powersgd.second(), flight.layout.total(), powersgd.first(),
                powersgd.second());
  }
  const bool alone = per_host == 1 && train.compression.second_copy == SecondCopy::same_host;
  const bool anywhere = train.compression.second_copy == SecondCopy::any_host;
  const bool between = anywhere && per_host < flight.job.cluster.replicas;
  if (between)
    std::printf("second copies of what shards left out: %s more between hosts each step\n",
                human_size(std::uint64_t{train.shards} * parameters * sizeof(float)).c_str());
  if (alone || flight.job.cluster.replicas == 1)
    std::printf(
        "notice: what shards left out has no second copy: a lost replica leads back to the last "
        "checkpoint (train.compression.second_copy)\n");
}

// What a step sends with each algorithm, where hosts have `per_host` replicas each.
void print_reduction(const Preflight& flight, std::uint32_t per_host) {
  constexpr std::uint32_t kReplicasMax = 256;  // beyond it takes too long to count
  const Job& job = flight.job;
  const std::uint32_t replicas = job.cluster.replicas;
  if (replicas < 2 || replicas > kReplicasMax) return;
  ReductionShape shape;
  shape.shards = job.train.shards;
  const ReducedElements elements = reduced_elements(job, flight.layout);
  shape.wire = wire_of(job);
  shape.bucket_elements = bucket_elements(job, elements.most(), replicas);
  shape.sharded = job.train.shard_optimizer;
  std::vector<std::uint32_t> hosts;
  for (const auto [begin, end] : place_shards(job.train.shards, replicas)) {
    hosts.push_back(static_cast<std::uint32_t>(hosts.size()) / per_host);
    shape.members.push_back({0, 0, begin, end, hosts.back()});
  }
  const Algorithm taken = job.reduce.algorithm == ReduceAlgorithm::automatic
                              ? choose_algorithm(std::min(elements.most(), shape.bucket_elements), hosts)
                              : kAlgorithms[static_cast<std::size_t>(job.reduce.algorithm) - 1];
  std::printf("a step sends, with %u replicas on %s (sums and results of %zu elements):\n", replicas,
              hosts.back() == 0 ? "1 host" : (std::to_string(hosts.back() + 1) + " hosts").c_str(),
              elements.sketch + elements.step);
  for (const Algorithm algorithm : kAlgorithms) {
    if (shape.sharded && adds_everywhere(algorithm)) continue;
    shape.algorithm = algorithm;
    ReductionCost cost;
    for (const std::size_t round : {elements.sketch, elements.step}) {
      if (round == 0) continue;
      shape.elements = round;
      const ReductionCost of_round = cost_of(shape);
      cost.hops += of_round.hops;
      cost.bytes += of_round.bytes;
      cost.bytes_between_hosts += of_round.bytes_between_hosts;
    }
    std::printf("  %-16s %2zu hops, %zu bytes, of these %zu between hosts%s\n",
                std::string(text_of(algorithm)).c_str(), cost.hops, cost.bytes, cost.bytes_between_hosts,
                algorithm == taken ? "  <- taken" : "");
  }
}

}  // namespace

int plan_command(const Arguments& arguments, const Registry& registry) {
  po::options_description options("Options");
  add_job_options(options);
  std::uint32_t per_host = 0;
  options.add_options()("per-host", po::value(&per_host),
                        "replicas on each host, for what a step sends; without it all are on one");
  int code = kCompleted;
  const auto given = parse("plan", kPlanUsage, arguments, options, "JOB.toml", code);
  if (!given) return code;
  if (given->count("per-host") > 0 && per_host == 0) return wrong_usage("plan", "--per-host is at least 1");
  const ParsedJob parsed = read_job(*given, registry);
  if (!parsed.job) return kWrong;
  const Preflight flight = preflight_apart(*parsed.job, parsed.places, registry, Trial::everywhere, {},
                                           {this_executable(), "node"});
  if (!flight.mistakes.empty()) {
    std::fprintf(stderr, "%s", render(flight.mistakes).c_str());
    return kWrong;
  }
  print_data(flight);
  print_replicas(flight);
  print_trials(flight);
  print_shards(flight);
  std::printf(
      "threads on this node: %u compute, %u loader, %u loader processes; %u micro-batches ready a shard\n",
      flight.placement.compute_threads, flight.placement.loader_threads, flight.job.cluster.loaders,
      flight.prefetch_depth);
  print_cores(flight);
  print_reduction(flight, per_host > 0 ? per_host : flight.job.cluster.replicas);
  print_compression(flight, per_host > 0 ? per_host : flight.job.cluster.replicas);
  std::printf("the contracts of model and data were checked in %lld ms (docs/guides/contract.md)\n",
              static_cast<long long>(flight.contract.took.count()));
  for (const auto& each : flight.contract.left_out)
    std::printf("not checked: %s (%s)\n", each.check.c_str(), each.why.c_str());
  for (const std::string& notice : flight.placement.notices) std::printf("notice: %s\n", notice.c_str());
  return kCompleted;
}

}  // namespace muster::cli
