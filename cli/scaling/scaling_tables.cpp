#include "cli/scaling/scaling_tables.hpp"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <limits>
#include <map>
#include <utility>

#include "base/text.hpp"
#include "transport/collective/choice/chooser.hpp"

namespace muster::cli {
namespace {

[[gnu::format(printf, 1, 2)]] std::string text(const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  return line;
}

// Three digits, without an exponent.
std::string digits(double value) {
  const int after = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return text("%.*f", after, value);
}

std::string time_text(double seconds) {
  if (seconds >= 1) return digits(seconds) + " s";
  return seconds >= 1e-3 ? digits(seconds * 1e3) + " ms" : digits(seconds * 1e6) + " µs";
}

std::string count_text(double count) {
  if (count >= 1e9) return text("%g B", count / 1e9);
  return count >= 1e6 ? text("%g M", count / 1e6) : text("%g", count);
}

std::string size_text(double bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit < 3; ++unit) bytes /= 1024;
  return text("%g %s", bytes, units[unit]);
}

std::string row(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += " " + cell + " |";
  return line + "\n";
}

std::string head(const std::vector<std::string>& cells) {
  return row(cells) + row(std::vector<std::string>(cells.size(), "---"));
}

std::string name_of(Algorithm algorithm) {
  return "`" + std::string(text_of(algorithm)) + "`";
}

std::vector<std::string> with_algorithms(std::vector<std::string> cells) {
  for (const Algorithm algorithm : kAlgorithms) cells.push_back(name_of(algorithm));
  return cells;
}

CostParameters on(CostParameters parameters, const Network& network) {
  parameters.wire_s_per_byte = 8 / (network.gbit_per_s * 1e9);
  return parameters;
}

Cluster cluster_of(std::uint32_t members, const Network& network) {
  return {members, std::min(members, network.per_host)};
}

Algorithm chosen(double bytes, const Cluster& cluster) {
  std::vector<std::uint32_t> hosts;
  for (std::uint32_t member = 0; member < cluster.members; ++member)
    hosts.push_back(member / cluster.per_host);
  return choose_algorithm(static_cast<std::size_t>(bytes) / sizeof(float), hosts);
}

using Times = std::map<Algorithm, double>;

Algorithm quickest(const Times& times) {
  return std::min_element(times.begin(), times.end(), [](auto& a, auto& b) { return a.second < b.second; })
      ->first;
}

// What `auto` takes, and how much longer that is than the best.
std::string choice_text(Algorithm choice, const Times& times) {
  const double factor = times.at(choice) / times.at(quickest(times));
  return name_of(choice) + (factor < 1.005 ? "" : text(", %.2f", factor));
}

double step_s(const ScalingTables& tables, const Network& network, std::uint32_t members, Algorithm algorithm,
              const StepShape& shape) {
  return simulate_step(algorithm, cluster_of(members, network), on(tables.parameters, network), shape)
      .total_s;
}

// Small buckets begin early, large ones take fewer messages: the best of those that are given.
double overlapped_s(const ScalingTables& tables, const Network& network, std::uint32_t members,
                    Algorithm algorithm, StepShape shape) {
  shape.overlap = true;
  double least_s = std::numeric_limits<double>::infinity();
  for (const double bytes : tables.bucket_bytes) {
    shape.bucket_bytes = bytes;
    least_s = std::min(least_s, step_s(tables, network, members, algorithm, shape));
  }
  return least_s;
}

std::string step_row(const ScalingTables& tables, const Network& network, std::uint32_t members,
                     const StepShape& shape) {
  Times apart, along;
  for (const Algorithm algorithm : kAlgorithms) {
    apart[algorithm] = step_s(tables, network, members, algorithm, shape);
    along[algorithm] = overlapped_s(tables, network, members, algorithm, shape);
  }
  std::vector<std::string> cells{text("%u", members)};
  for (const Algorithm algorithm : kAlgorithms) {
    const auto marked = [&](const Times& times) {
      const std::string time = time_text(times.at(algorithm));
      return time == time_text(times.at(quickest(times))) ? "**" + time + "**" : time;
    };
    cells.push_back(marked(apart) + " / " + marked(along));
  }
  cells.push_back(choice_text(chosen(shape.gradient_bytes, cluster_of(members, network)), apart));
  return row(cells);
}

// Whether there is a cache line for every member: with less, some own nothing.
bool covers(double bytes, std::uint32_t members) {
  return bytes >= 64.0 * members;
}

}  // namespace

StepShape step_of(const Workload& workload, double model_parameters) {
  StepShape shape;
  shape.gradient_bytes = 4 * model_parameters;
  shape.forward_s = 2 * model_parameters * workload.tokens / workload.flops_per_s;
  shape.backward_s = 2 * shape.forward_s;
  shape.update_s = 7 * 4 * model_parameters / workload.memory_bytes_per_s;
  return shape;
}

double bytes_held(double model_parameters) {
  return 16 * model_parameters;
}

std::string fit_table(const std::string& transport, const std::vector<MeasuredReduction>& points,
                      const CostFit& fit, double chunk_bytes) {
  const CostParameters found = with_fit({}, fit);
  std::string about =
      "### The fit: " + transport + "\n\n" +
      text("%zu points: latency of a hop %s, a switch between processes %s, overhead of a message %s, ",
           points.size(), time_text(fit.seconds[0]).c_str(), time_text(fit.seconds[1]).c_str(),
           time_text(found.overhead_s).c_str());
  about += text("%.1f GB/s moved through memory. ", 1e-9 / found.memory_s_per_byte);
  about += text("A point is off by a factor of %.2f (root mean square of the logarithms).\n\n",
                fit.typical_factor);
  std::string page = wrapped(about);
  std::map<std::pair<std::uint32_t, double>, std::map<Algorithm, std::string>> rows;
  for (const MeasuredReduction& point : points) {
    const double model_s = predicted(fit, point, chunk_bytes);
    rows[{point.members, point.bytes}][point.algorithm] =
        text("%s, %s (%.2f)", digits(point.seconds * 1e6).c_str(), digits(model_s * 1e6).c_str(),
             model_s / point.seconds);
  }
  page += head(with_algorithms({"processes", "size"}));
  for (const auto& [key, cells] : rows) {
    std::vector<std::string> line{text("%u", key.first), size_text(key.second)};
    for (const Algorithm algorithm : kAlgorithms) {
      const auto cell = cells.find(algorithm);
      line.push_back(cell == cells.end() ? "" : cell->second);
    }
    page += row(line);
  }
  return page + "\n";
}

std::string step_tables(const ScalingTables& tables) {
  std::string page;
  for (const Network& network : tables.networks) {
    page +=
        text("### A step, %g Gbit/s a host, %u replicas on each\n\n", network.gbit_per_s, network.per_host);
    for (const double count : tables.model_parameters) {
      const StepShape shape = step_of(tables.workload, count);
      const double held = bytes_held(count);
      std::string about = text("**%s parameters**: %s forward, %s backward, %s update; a gradient of %g GB. ",
                               count_text(count).c_str(), time_text(shape.forward_s).c_str(),
                               time_text(shape.backward_s).c_str(), time_text(shape.update_s).c_str(),
                               shape.gradient_bytes / 1e9);
      about += held <= tables.workload.memory_bytes
                   ? text("A replica holds %g GB, and activations.\n\n", held / 1e9)
                   : text(
                         "**Does not fit**: a replica would hold %g GB and activations, and has %g GB. The "
                         "times are what the reduction would take if it did.\n\n",
                         held / 1e9, tables.workload.memory_bytes / 1e9);
      page += wrapped(about);
      std::vector<std::string> columns = with_algorithms({"replicas"});
      columns.push_back("`auto`");
      page += head(columns);
      for (const std::uint32_t members : tables.replicas) page += step_row(tables, network, members, shape);
      page += "\n";
    }
  }
  return page;
}

std::string choice_tables(const ScalingTables& tables) {
  std::string page = "### The reduction alone: what `auto` takes\n\n";
  for (const Network& network : tables.networks) {
    for (const std::uint32_t per_host : {network.per_host, 1u}) {
      const Network hosts{network.gbit_per_s, per_host};
      page += text("%g Gbit/s a host, %u replica%s on each:\n\n", hosts.gbit_per_s, per_host,
                   per_host == 1 ? "" : "s");
      std::vector<std::string> columns{"replicas"};
      std::vector<double> sizes;
      for (double bytes = 16 << 10; bytes <= 1 << 30; bytes *= 16) sizes.push_back(bytes);
      for (const double bytes : sizes) columns.push_back(size_text(bytes));
      page += head(columns);
      for (const std::uint32_t members : tables.replicas) {
        const Cluster cluster = cluster_of(members, hosts);
        std::vector<std::string> cells{text("%u", members)};
        for (const double bytes : sizes) {
          Times times;
          for (const Algorithm algorithm : kAlgorithms)
            times[algorithm] = reduction_seconds(algorithm, cluster, on(tables.parameters, hosts), bytes);
          const Algorithm best = quickest(times), choice = chosen(bytes, cluster);
          const bool right = times[choice] < 1.005 * times[best];
          cells.push_back(!covers(bytes, members) ? ""
                          : right                 ? name_of(choice)
                                                  : name_of(best) + "; " + choice_text(choice, times));
        }
        page += row(cells);
      }
      page += "\n";
      if (network.per_host == 1) break;
    }
  }
  return page;
}

}  // namespace muster::cli
