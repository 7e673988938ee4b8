// muster plan: what would run, and where. Runs nothing.
#include <cinttypes>
#include <cstdio>

#include "muster/actors/preflight.hpp"
#include "muster/cli/job_arguments.hpp"
#include "muster/config/units.hpp"

namespace muster::cli {

namespace {

constexpr const char* kUsage =
    "Usage: muster plan JOB.toml [--replicas N] [--set table.key=value]...\n\n"
    "Opens the data, builds the model, and prints steps, shards, devices, threads and memory. Starts no "
    "process.\n";

std::string count(std::uint64_t value, bool known) {
  return known ? std::to_string(value) : "unknown";
}

void print_data(const Preflight& flight) {
  const Job& job = flight.job;
  const bool known = flight.facts.samples >= 0;
  const char* unit = flight.facts.unit_is_batch ? "batches" : "samples";
  std::printf("job %s: model %s, %zu parameters, %zu buffers\n", job.name.c_str(), job.model.name.c_str(),
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
    const MemoryPlan memory = memory_of(flight, replica);
    std::printf(
        "replica %u on %s: shards %u-%u (%s an epoch), memory %s (state %s, gradients %s, optimizer %s, "
        "staging %s, "
        "loading %s)\n",
        replica, flight.placement.devices[replica].c_str(), begin, end - 1,
        count(samples, !flight.samples_of_shard.empty()).c_str(), human_size(memory.total()).c_str(),
        human_size(memory.state).c_str(), human_size(memory.gradient + memory.accumulator).c_str(),
        human_size(memory.optimizer).c_str(), human_size(memory.staging).c_str(),
        human_size(memory.loading).c_str());
  }
}

void print_shards(const Preflight& flight) {
  constexpr std::size_t kShown = 64;
  const auto& samples = flight.samples_of_shard;
  for (std::size_t s = 0; s < samples.size() && s < kShown; ++s) {
    std::printf("shard %zu: %" PRIu64 " an epoch\n", s, samples[s]);
  }
  if (samples.size() > kShown) std::printf("... %zu more shards\n", samples.size() - kShown);
}

}  // namespace

int plan_command(const Arguments& arguments, const Registry& registry) {
  po::options_description options("Options");
  add_job_options(options);
  int code = kCompleted;
  const auto given = parse("plan", kUsage, arguments, options, "JOB.toml", code);
  if (!given) return code;
  const ParsedJob parsed = read_job(*given, registry);
  if (!parsed.job) return kWrong;
  const Preflight flight = preflight(*parsed.job, parsed.places, registry);
  if (!flight.mistakes.empty()) {
    std::fprintf(stderr, "%s", render(flight.mistakes).c_str());
    return kWrong;
  }
  print_data(flight);
  print_replicas(flight);
  print_shards(flight);
  std::printf(
      "threads on this node: %u compute, %u loader, %u loader processes; %u micro-batches ready a shard\n",
      flight.placement.compute_threads, flight.placement.loader_threads, flight.job.cluster.loaders,
      flight.prefetch_depth);
  for (const std::string& notice : flight.placement.notices) std::printf("notice: %s\n", notice.c_str());
  return kCompleted;
}

}  // namespace muster::cli
