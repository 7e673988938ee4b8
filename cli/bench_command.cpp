// muster bench: the reducer's own code path between real processes (allreduce), and the cost of a step with
// an empty model (step).
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <iostream>
#include <thread>

#include <nlohmann/json.hpp>

#include "cli/bench/bench_replica.hpp"
#include "cli/job_arguments.hpp"
#include "muster/run.hpp"
#include "transport/collective/choice/chooser.hpp"

namespace muster::cli {

namespace {

constexpr const char* kBenchUsage =
    "Usage: muster bench allreduce --ranks N [--bytes B] [--algorithm NAME|auto|all] [--iterations K] "
    "[--json]\n"
    "       muster bench step [--replicas N] [--parameters P] [--steps K] [--json]\n";

Job bench_job(std::uint32_t replicas, std::int64_t parameters) {
  Job job;
  job.name = "bench";
  job.model.name = "empty";
  job.model.options["parameters"] = Option(parameters);
  job.data.source = "synthetic";
  job.data.options["samples"] = Option(std::int64_t{4096});
  job.train.evaluate = false;
  job.train.batch = 1;
  job.train.shards = replicas;
  job.cluster.replicas = replicas;
  return job;
}

struct Summary {
  double median = 0, least = 0, most = 0;
};

// A time is the slowest rank's.
Summary summarize(const std::vector<BenchResult>& ranks) {
  std::vector<double> slowest(ranks.front().times_us.size(), 0);
  for (const BenchResult& rank : ranks) {
    for (std::size_t i = 0; i < slowest.size(); ++i) slowest[i] = std::max(slowest[i], rank.times_us.at(i));
  }
  std::sort(slowest.begin(), slowest.end());
  const std::size_t half = slowest.size() / 2;
  const double median = slowest.size() % 2 == 1 ? slowest[half] : (slowest[half - 1] + slowest[half]) / 2;
  return {median, slowest.front(), slowest.back()};
}

constexpr std::uint64_t kWarmUp = BenchOptions{}.warm_up;

struct AllreduceBench {
  std::uint32_t ranks = 2;
  std::int64_t bytes = 4 << 20;
  std::uint64_t iterations = 20;
  std::int64_t flip = -1;
  ReduceAlgorithm algorithm = ReduceAlgorithm::automatic;
};

struct AllreduceResult {
  Summary times;
  std::string transport;
  std::uint64_t within_host_bytes = 0, between_hosts_bytes = 0;  ///< payload of one all-reduce, of all ranks
  std::string failure;                                           ///< why it did not end; else empty
  bool correct = true;
};

// What `auto` chooses here, where all ranks share the host.
Algorithm algorithm_in(const AllreduceBench& bench) {
  if (bench.algorithm != ReduceAlgorithm::automatic)
    return kAlgorithms[static_cast<std::size_t>(bench.algorithm) - 1];
  return choose_algorithm(static_cast<std::size_t>(bench.bytes) / sizeof(float),
                          std::vector<std::uint32_t>(bench.ranks, 0));
}

AllreduceResult measure(const AllreduceBench& bench, const Registry& registry) {
  RunOptions run_options;
  run_options.registry = registry;
  run_options.handle_signals = true;
  run_options.node_command = {this_executable(),    "node",
                              "--bench-iterations", std::to_string(bench.iterations),
                              "--bench-flip",       std::to_string(bench.flip)};
  Job job = bench_job(bench.ranks, bench.bytes / 4);
  job.reduce.algorithm = bench.algorithm;
  const Report report = run(job, run_options);
  AllreduceResult result;
  result.transport = report.transport;
  if (!report.completed()) {
    result.failure = report.reason;
    return result;
  }
  std::vector<BenchResult> results;
  for (const auto& [slot, note] : report.notes) results.push_back(decode_bench_result(note));
  result.correct =
      std::all_of(results.begin(), results.end(), [](const BenchResult& r) { return r.correct; });
  result.times = summarize(results);
  const std::uint64_t rounds = bench.iterations + kWarmUp;
  Traffic sent;
  for (const auto& [slot, traffic] : report.traffic) sent += traffic;
  result.within_host_bytes = sent.within_host.payload_bytes / rounds;
  result.between_hosts_bytes = sent.between_hosts.payload_bytes / rounds;
  return result;
}

int failed_bench(const std::string& why) {
  std::fprintf(stderr, "muster bench: %s\n", why.c_str());
  return kFailed;
}

// The sizes of a table where none is given: 4 KiB to 64 MiB.
std::vector<std::int64_t> table_sizes() {
  std::vector<std::int64_t> sizes;
  for (std::int64_t bytes = 4 << 10; bytes <= 64 << 20; bytes *= 4) sizes.push_back(bytes);
  return sizes;
}

std::string json_of(const AllreduceBench& bench, const AllreduceResult& result) {
  const nlohmann::ordered_json line{{"ranks", bench.ranks},
                                    {"cores", std::thread::hardware_concurrency()},
                                    {"bytes", bench.bytes},
                                    {"median_us", result.times.median},
                                    {"min_us", result.times.least},
                                    {"max_us", result.times.most},
                                    {"algorithm", text_of(algorithm_in(bench))},
                                    {"transport", result.transport},
                                    {"correct", result.correct},
                                    {"within_host_bytes", result.within_host_bytes},
                                    {"between_hosts_bytes", result.between_hosts_bytes}};
  return line.dump();
}

// Every algorithm at every size, in turns.
int bench_all_algorithms(AllreduceBench bench, const std::vector<std::int64_t>& sizes, bool json,
                         const Registry& registry) {
  if (!json) {
    std::printf("median of %" PRIu64
                " all-reduces, %u ranks, in microseconds; * is what \"auto\" takes\n%10s",
                bench.iterations, bench.ranks, "bytes");
    for (const Algorithm algorithm : kAlgorithms)
      std::printf(" %17s", std::string(text_of(algorithm)).c_str());
    std::printf("\n");
  }
  bool correct = true;
  for (const std::int64_t bytes : sizes) {
    bench.bytes = bytes;
    bench.algorithm = ReduceAlgorithm::automatic;
    const Algorithm chosen = algorithm_in(bench);
    if (!json) std::printf("%10" PRId64, bytes);
    for (const Algorithm algorithm : kAlgorithms) {
      bench.algorithm = static_cast<ReduceAlgorithm>(static_cast<std::size_t>(algorithm) + 1);
      const AllreduceResult result = measure(bench, registry);
      if (!result.failure.empty()) return failed_bench(result.failure);
      correct = correct && result.correct;
      if (json) {
        std::printf("%s\n", json_of(bench, result).c_str());
      } else {
        std::printf(" %16.1f%c", result.times.median, algorithm == chosen ? '*' : ' ');
      }
      std::fflush(stdout);
    }
    if (!json) std::printf("\n");
  }
  if (!correct) std::fprintf(stderr, "muster bench: a sum was NOT CORRECT\n");
  return correct ? kCompleted : kFailed;
}

int bench_one_algorithm(const AllreduceBench& bench, bool json, const Registry& registry) {
  const AllreduceResult result = measure(bench, registry);
  if (!result.failure.empty()) return failed_bench(result.failure);
  const Summary& times = result.times;
  if (json) {
    std::printf("%s\n", json_of(bench, result).c_str());
  } else {
    std::printf(
        "allreduce of %" PRId64
        " bytes, %u ranks, %s, %s: median %.1f us, min %.1f us, max %.1f us, %.2f GB/s, %s; "
        "sent %" PRIu64 " bytes within the host, %" PRIu64 " between hosts\n",
        bench.bytes, bench.ranks, std::string(text_of(algorithm_in(bench))).c_str(), result.transport.c_str(),
        times.median, times.least, times.most, static_cast<double>(bench.bytes) / times.median / 1e3,
        result.correct ? "correct" : "NOT CORRECT", result.within_host_bytes, result.between_hosts_bytes);
  }
  return result.correct ? kCompleted : kFailed;
}

int bench_allreduce(const Arguments& arguments, const Registry& registry) {
  AllreduceBench bench;
  std::string algorithm;
  po::options_description options("Options");
  options.add_options()("ranks", po::value(&bench.ranks)->value_name("N")->default_value(bench.ranks),
                        "processes")("bytes",
                                     po::value(&bench.bytes)->value_name("N")->default_value(bench.bytes),
                                     "size of the float32 vector, a multiple of 4")(
      "algorithm", po::value(&algorithm)->value_name("NAME")->default_value("auto"),
      "auto, direct, halving_doubling, hierarchical or one_shot; all: a table of all of them, at several "
      "sizes if --bytes is not given")(
      "iterations", po::value(&bench.iterations)->value_name("N")->default_value(bench.iterations),
      "timed iterations, after 3 to warm up")("json", "print one line of JSON for each algorithm and size")(
      "flip-bit", po::value(&bench.flip)->value_name("N")->default_value(bench.flip),
      "iteration at which one bit of a result is flipped, to see the check fail")("help", "this text");
  int code = kCompleted;
  const auto given = parse("bench", kBenchUsage, arguments, options, nullptr, code);
  if (!given) return code;
  if (bench.ranks < 1 || bench.bytes < 4 || bench.bytes % 4 != 0 || bench.iterations < 1) {
    return wrong_usage("bench", "--ranks and --iterations are at least 1, --bytes a multiple of 4");
  }
  const bool json = given->count("json") > 0;
  if (algorithm == "all") {
    const bool one_size = !(*given)["bytes"].defaulted();
    return bench_all_algorithms(bench, one_size ? std::vector{bench.bytes} : table_sizes(), json, registry);
  }
  if (algorithm != "auto") {
    const auto known = algorithm_of(algorithm);
    if (!known) {
      return wrong_usage("bench",
                         "there is no algorithm '" + algorithm +
                             "'; allowed: auto, direct, halving_doubling, hierarchical, one_shot, all");
    }
    bench.algorithm = static_cast<ReduceAlgorithm>(static_cast<std::size_t>(*known) + 1);
  }
  return bench_one_algorithm(bench, json, registry);
}

int bench_step(const Arguments& arguments, const Registry& registry) {
  po::options_description options("Options");
  options.add_options()("replicas", po::value<std::uint32_t>()->value_name("N")->default_value(2),
                        "processes")("parameters",
                                     po::value<std::int64_t>()->value_name("N")->default_value(1024),
                                     "parameters of the empty model")(
      "steps", po::value<std::uint64_t>()->value_name("N")->default_value(2000), "steps")(
      "json", "print one line of JSON")("help", "this text");
  int code = kCompleted;
  const auto given = parse("bench", kBenchUsage, arguments, options, nullptr, code);
  if (!given) return code;
  Job job = bench_job((*given)["replicas"].as<std::uint32_t>(), (*given)["parameters"].as<std::int64_t>());
  job.train.steps = (*given)["steps"].as<std::uint64_t>();
  job.data.repeat = 0;
  RunOptions run_options;
  run_options.registry = registry;
  run_options.handle_signals = true;
  const Report report = run(job, run_options);
  if (!report.completed()) {
    std::fprintf(stderr, "muster bench: %s\n", report.reason.c_str());
    return kFailed;
  }
  const double step_us = report.train_seconds / static_cast<double>(report.steps) * 1e6;
  const PhaseTimes& first = report.phases.at(0);
  const double each = 1e6 / static_cast<double>(report.steps);
  if (given->count("json")) {
    const nlohmann::ordered_json line{{"replicas", report.replicas},
                                      {"steps", report.steps},
                                      {"step_us", step_us},
                                      {"wait_for_batch_us", first.wait_for_batch_s * each},
                                      {"compute_us", first.compute_s * each},
                                      {"reduce_us", first.reduce_s * each},
                                      {"update_us", first.update_s * each}};
    std::printf("%s\n", line.dump().c_str());
  } else {
    std::printf("an empty step, %u replicas: %.1f us (batch %.1f, compute %.1f, reduce %.1f, update %.1f)\n",
                report.replicas, step_us, first.wait_for_batch_s * each, first.compute_s * each,
                first.reduce_s * each, first.update_s * each);
  }
  return kCompleted;
}

}  // namespace

int bench_command(const Arguments& arguments, const Registry& registry) {
  if (arguments.empty() || arguments.front() == "--help") {
    std::cout << kBenchUsage
              << "\n'muster bench allreduce --help' and 'muster bench step --help' tell more.\n";
    return arguments.empty() ? kWrong : kCompleted;
  }
  const Arguments rest(arguments.begin() + 1, arguments.end());
  if (arguments.front() == "allreduce") return bench_allreduce(rest, registry);
  if (arguments.front() == "step") return bench_step(rest, registry);
  return wrong_usage("bench", "there is no bench '" + arguments.front() + "'; allowed: allreduce, step");
}

}  // namespace muster::cli
