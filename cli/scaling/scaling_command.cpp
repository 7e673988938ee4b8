// muster scaling: what a step would take on many replicas, by the model of cost. Runs nothing.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "cli/job_arguments.hpp"
#include "cli/scaling/scaling_tables.hpp"

namespace muster::cli {

namespace {

constexpr const char* kScalingUsage =
    "Usage: muster scaling [--fit FILE] [--gbit LIST] [--replicas LIST] [--parameters LIST] [...]\n\n"
    "Predicts the time of a step on many replicas, for each algorithm of the reduction, without and with "
    "overlap of\nreduction and backward pass, and whether \"auto\" takes the best one. A model, not a "
    "measurement: docs/measurements/scaling.md\nsays what it knows and what it does not. Prints Markdown.\n";

constexpr std::uint32_t kReplicasMax = 1 << 16;

// The points of one transport.
struct Measured {
  std::string transport;
  std::vector<MeasuredReduction> points;
};

MeasuredReduction point_of(const nlohmann::json& line) {
  MeasuredReduction point;
  const auto algorithm = algorithm_of(line.at("algorithm").get<std::string>());
  if (!algorithm) throw std::runtime_error("there is no such algorithm");
  point.algorithm = *algorithm;
  point.members = line.at("ranks").get<std::uint32_t>();
  point.cores = line.at("cores").get<std::uint32_t>();
  point.bytes = line.at("bytes").get<double>();
  point.seconds = line.at("median_us").get<double>() * 1e-6;
  if (!std::has_single_bit(point.members) || point.members > kReplicasMax || point.cores < 1 ||
      point.bytes < 4 || !(point.seconds > 0))
    throw std::runtime_error(
        "ranks must be a power of two, at most 65536; cores, bytes and median_us more than 0");
  return point;
}

// What `muster bench allreduce --json` printed, by transport, in the order in which they come.
std::vector<Measured> read_measured(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read '" + path + "'");
  std::vector<Measured> all;
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    try {
      const auto json = nlohmann::json::parse(line);
      const auto transport = json.at("transport").get<std::string>();
      const auto known = std::find_if(all.begin(), all.end(),
                                      [&](const Measured& one) { return one.transport == transport; });
      Measured& one = known == all.end() ? all.emplace_back(Measured{transport, {}}) : *known;
      one.points.push_back(point_of(json));
    } catch (const std::exception& error) {
      throw std::runtime_error(path + ", line " + std::to_string(number) + ": " + error.what());
    }
  }
  if (all.empty()) throw std::runtime_error("'" + path + "' is empty");
  return all;
}

// "25M,1B": numbers with k, M or B behind them. Empty if some are none.
std::vector<double> numbers(const std::string& list) {
  std::vector<double> all;
  std::stringstream stream(list);
  for (std::string part; std::getline(stream, part, ',');) {
    std::size_t used = 0;
    double value = 0;
    try {
      value = std::stod(part, &used);
    } catch (const std::exception&) {
      return {};
    }
    const std::string unit = part.substr(used);
    const double factor = unit.empty() ? 1 : unit == "k" ? 1e3 : unit == "M" ? 1e6 : unit == "B" ? 1e9 : 0;
    if (!(value * factor > 0) || !std::isfinite(value)) return {};
    all.push_back(value * factor);
  }
  return all;
}

struct Given {
  std::string fit, gbit = "100,400", replicas = "8,16,64,256,1024,4096", parameters = "25M,1B,70B",
                   buckets = "4,25,100,400,1600";
  std::uint32_t per_host = 8;
  double latency_us = 3, overhead_us = 0, moves_gb = 0, tflops = 150, memory_gb = 80;
  Workload workload;
};

// What is not given stays as it was fitted.
void replace(CostParameters& parameters, const Given& given) {
  parameters.latency_between_s = given.latency_us * 1e-6;
  if (given.overhead_us > 0) parameters.overhead_s = given.overhead_us * 1e-6;
  if (given.moves_gb > 0) parameters.memory_s_per_byte = 1e-9 / given.moves_gb;
}

po::options_description options_of(Given& given) {
  po::options_description options("Options", 110);
  options.add_options()(
      "fit", po::value(&given.fit)->value_name("FILE"),
      "lines of `muster bench allreduce --algorithm all --json`: fits the model to them, prints "
      "how well it does, and takes what is fitted (of the first transport in it)")(
      "gbit", po::value(&given.gbit)->value_name("LIST")->default_value(given.gbit),
      "network of a host, Gbit/s each direction")(
      "latency-us", po::value(&given.latency_us)->value_name("N")->default_value(given.latency_us),
      "of a message between hosts")("overhead-us", po::value(&given.overhead_us)->value_name("N"),
                                    "of the thread, for each message that it sends or receives; this and the "
                                    "next in place of what is fitted")(
      "moves-gb", po::value(&given.moves_gb)->value_name("N"),
      "that the thread reads and writes in a second, GB")(
      "per-host", po::value(&given.per_host)->value_name("N")->default_value(given.per_host),
      "replicas on a host, a power of two; they share its network")(
      "replicas", po::value(&given.replicas)->value_name("LIST")->default_value(given.replicas),
      "powers of two")("parameters",
                       po::value(&given.parameters)->value_name("LIST")->default_value(given.parameters),
                       "of the models, such as 25M or 1B; float32 gradients")(
      "tokens", po::value(&given.workload.tokens)->value_name("N")->default_value(given.workload.tokens),
      "of each replica in a step; 6 operations for each and each parameter")(
      "tflops", po::value(&given.tflops)->value_name("N")->default_value(given.tflops),
      "of a replica, sustained")("memory-gb",
                                 po::value(&given.memory_gb)->value_name("N")->default_value(given.memory_gb),
                                 "of a replica")(
      "bucket-mib", po::value(&given.buckets)->value_name("LIST")->default_value(given.buckets),
      "sizes of what is reduced as one, with overlap: the best of them counts")("help", "this text");
  return options;
}

// Empty: all is well.
std::string wrong(const Given& given, ScalingTables& tables) {
  constexpr double kBucketsMax = 1e5;
  for (const double gbit : numbers(given.gbit)) tables.networks.push_back({gbit, given.per_host});
  for (const double count : numbers(given.replicas)) {
    const auto whole = static_cast<std::uint32_t>(std::min<double>(count, kReplicasMax));
    if (whole != count || !std::has_single_bit(whole))
      return "--replicas: powers of two up to 65536, with commas between";
    tables.replicas.push_back(whole);
  }
  tables.model_parameters = numbers(given.parameters);
  if (tables.networks.empty() || tables.replicas.empty() || tables.model_parameters.empty())
    return "--gbit, --replicas and --parameters are lists of numbers above 0, with commas between";
  if (!std::has_single_bit(given.per_host)) return "--per-host is a power of two";
  if (!(given.latency_us >= 0) || !(given.overhead_us >= 0) || !(given.moves_gb >= 0))
    return "--latency-us, --overhead-us and --moves-gb are not below 0";
  if (!(given.workload.tokens > 0) || !(given.tflops > 0) || !(given.memory_gb > 0))
    return "--tokens, --tflops and --memory-gb are above 0";
  for (const double mib : numbers(given.buckets)) {
    tables.bucket_bytes.push_back(mib * (1 << 20));
    for (const double count : tables.model_parameters) {
      if (4 * count / tables.bucket_bytes.back() > kBucketsMax)
        return "--bucket-mib: too small for so many parameters";
    }
  }
  if (tables.bucket_bytes.empty()) return "--bucket-mib is a list of numbers above 0, with commas between";
  return {};
}

}  // namespace

int scaling_command(const Arguments& arguments, const Registry&) {
  Given given;
  const po::options_description options = options_of(given);
  int code = kCompleted;
  const auto parsed = parse("scaling", kScalingUsage, arguments, options, nullptr, code);
  if (!parsed) return code;
  ScalingTables tables;
  if (const std::string what = wrong(given, tables); !what.empty()) return wrong_usage("scaling", what);
  std::string page;
  if (!given.fit.empty()) {
    const std::vector<Measured> all = read_measured(given.fit);
    for (const Measured& measured : all) {
      const CostFit fit = fit_cost(measured.points, tables.parameters.chunk_bytes);
      page += fit_table(measured.transport, measured.points, fit, tables.parameters.chunk_bytes);
      if (&measured == &all.front()) tables.parameters = with_fit(tables.parameters, fit);
    }
  }
  replace(tables.parameters, given);
  tables.workload = given.workload;
  tables.workload.flops_per_s = given.tflops * 1e12;
  tables.workload.memory_bytes = given.memory_gb * 1e9;
  std::cout << page << step_tables(tables) << choice_tables(tables);
  return kCompleted;
}

}  // namespace muster::cli
