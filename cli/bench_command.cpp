// muster bench: the reducer's own code path between real processes (allreduce), and the cost of a step with
// an empty model (step).
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <iostream>

#include <nlohmann/json.hpp>

#include "muster/actors/run.hpp"
#include "muster/cli/bench_replica.hpp"
#include "muster/cli/job_arguments.hpp"

namespace muster::cli {

namespace {

constexpr const char* kUsage =
    "Usage: muster bench allreduce --ranks N --bytes B [--iterations K] [--json]\n"
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
Summary summarise(const std::vector<BenchResult>& ranks) {
  std::vector<double> slowest(ranks.front().times_us.size(), 0);
  for (const BenchResult& rank : ranks) {
    for (std::size_t i = 0; i < slowest.size(); ++i) slowest[i] = std::max(slowest[i], rank.times_us.at(i));
  }
  std::sort(slowest.begin(), slowest.end());
  const std::size_t half = slowest.size() / 2;
  const double median = slowest.size() % 2 == 1 ? slowest[half] : (slowest[half - 1] + slowest[half]) / 2;
  return {median, slowest.front(), slowest.back()};
}

int bench_allreduce(const Arguments& arguments, const Registry& registry) {
  po::options_description options("Options");
  options.add_options()("ranks", po::value<std::uint32_t>()->default_value(2), "processes")(
      "bytes", po::value<std::int64_t>()->default_value(4 << 20),
      "size of the float32 vector, a multiple of 4")(
      "iterations", po::value<std::uint64_t>()->default_value(20), "timed iterations, after 3 to warm up")(
      "json", "print one line of JSON")(
      "flip-bit", po::value<std::int64_t>()->default_value(-1),
      "iteration at which one bit of a result is flipped, to see the check fail")("help", "this text");
  int code = kCompleted;
  const auto given = parse("bench", kUsage, arguments, options, nullptr, code);
  if (!given) return code;
  const auto ranks = (*given)["ranks"].as<std::uint32_t>();
  const auto bytes = (*given)["bytes"].as<std::int64_t>();
  const auto iterations = (*given)["iterations"].as<std::uint64_t>();
  if (ranks < 1 || bytes < 4 || bytes % 4 != 0 || iterations < 1) {
    return wrong_usage("bench", "--ranks and --iterations are at least 1, --bytes a multiple of 4");
  }

  RunOptions run_options;
  run_options.registry = registry;
  run_options.handle_signals = true;
  run_options.node_command = {this_executable(),    "node",
                              "--bench-iterations", std::to_string(iterations),
                              "--bench-flip",       std::to_string((*given)["flip-bit"].as<std::int64_t>())};
  const Report report = run(bench_job(ranks, bytes / 4), run_options);
  if (!report.completed()) {
    std::fprintf(stderr, "muster bench: %s\n", report.reason.c_str());
    return kFailed;
  }
  std::vector<BenchResult> results;
  for (const auto& [slot, note] : report.notes) results.push_back(decode_bench_result(note));
  const bool correct =
      std::all_of(results.begin(), results.end(), [](const BenchResult& r) { return r.correct; });
  const Summary times = summarise(results);
  if (given->count("json")) {
    const nlohmann::ordered_json line{{"ranks", ranks},
                                      {"bytes", bytes},
                                      {"median_us", times.median},
                                      {"min_us", times.least},
                                      {"max_us", times.most},
                                      {"algorithm", "direct"},
                                      {"transport", report.transport},
                                      {"correct", correct}};
    std::printf("%s\n", line.dump().c_str());
  } else {
    std::printf("allreduce of %" PRId64
                " bytes, %u ranks, %s: median %.1f us, min %.1f us, max %.1f us, %.2f GB/s, %s\n",
                bytes, ranks, report.transport.c_str(), times.median, times.least, times.most,
                static_cast<double>(bytes) / times.median / 1e3, correct ? "correct" : "NOT CORRECT");
  }
  return correct ? kCompleted : kFailed;
}

int bench_step(const Arguments& arguments, const Registry& registry) {
  po::options_description options("Options");
  options.add_options()("replicas", po::value<std::uint32_t>()->default_value(2), "processes")(
      "parameters", po::value<std::int64_t>()->default_value(1024), "parameters of the empty model")(
      "steps", po::value<std::uint64_t>()->default_value(2000), "steps")("json", "print one line of JSON")(
      "help", "this text");
  int code = kCompleted;
  const auto given = parse("bench", kUsage, arguments, options, nullptr, code);
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
  const Phases& first = report.phases.at(0);
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
    std::cout << kUsage << "\n'muster bench allreduce --help' and 'muster bench step --help' tell more.\n";
    return arguments.empty() ? kWrong : kCompleted;
  }
  const Arguments rest(arguments.begin() + 1, arguments.end());
  if (arguments.front() == "allreduce") return bench_allreduce(rest, registry);
  if (arguments.front() == "step") return bench_step(rest, registry);
  return wrong_usage("bench", "there is no bench '" + arguments.front() + "'; allowed: allreduce, step");
}

}  // namespace muster::cli
