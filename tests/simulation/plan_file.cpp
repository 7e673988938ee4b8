#include "tests/simulation/plan_file.hpp"
#include "tests/simulation/sources.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "muster/job_file.hpp"
#include "muster/registry.hpp"

namespace muster::simulation {

namespace {

using Json = nlohmann::ordered_json;

// Each field is named once, for reading and for writing.
class Writer {
 public:
  explicit Writer(Json& json) : json_(json) {}
  template <class T>
  void operator()(const char* name, const T& value) {
    json_[name] = value;
  }
  void operator()(const char* name, const Nanoseconds& value) { json_[name] = value.count(); }
  void operator()(const char* name, const std::vector<Nanoseconds>& values) {
    if (values.empty()) return;
    for (const Nanoseconds& each : values) json_[name].push_back(each.count());
  }

 private:
  Json& json_;
};

class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}
  template <class T>
  void operator()(const char* name, T& value) {
    if (json_.contains(name)) value = json_[name].get<T>();
  }
  void operator()(const char* name, Nanoseconds& value) {
    if (json_.contains(name)) value = Nanoseconds(json_[name].get<std::int64_t>());
  }
  void operator()(const char* name, std::vector<Nanoseconds>& values) {
    if (!json_.contains(name)) return;
    for (const auto& each : json_[name]) values.emplace_back(each.template get<std::int64_t>());
  }

 private:
  const Json& json_;
};

template <class Fields, class Options>
void network_fields(Fields&& field, Options& network) {
  field("delay_min", network.delay_min);
  field("delay_max", network.delay_max);
  field("bandwidth", network.bandwidth);
  field("at_once_bytes", network.at_once_bytes);
  field("notice_max", network.notice_max);
  field("again_max", network.again_max);
  field("stall_min", network.stall_min);
  field("stall_max", network.stall_max);
  field("window_bytes", network.window_bytes);
  field("lends", network.supports_borrowing);
}

template <class Fields, class Options>
void control_fields(Fields&& field, Options& control) {
  field("delay_min", control.delay_min);
  field("delay_max", control.delay_max);
  field("again_max", control.again_max);
  field("stall_min", control.stall_min);
  field("stall_max", control.stall_max);
}

template <class Fields, class Options>
void pace_fields(Fields&& field, Options& pace) {
  field("compute_max", pace.compute_max);
  field("loading_max", pace.loading_max);
  field("disk_max", pace.disk_max);
  field("slower", pace.slower);
}

template <class Fields, class Options>
void cluster_fields(Fields&& field, Options& cluster) {
  field("lag_max", cluster.lag_max);
  field("by_hand", cluster.by_hand);
  field("start_is_bounded", cluster.start_is_bounded);
  field("come_after", cluster.come_after);
  field("reaps", cluster.reaps);
  field("cards", cluster.gpus);
  field("carries_cards", cluster.carries_gpu_memory);
}

template <class Fields, class TheFault>
void fault_fields(Fields&& field, TheFault& fault) {
  field("kind", fault.kind);
  field("moment", fault.moment.what);
  field("nth", fault.moment.nth);
  field("later", fault.moment.later);
  field("a", fault.a);
  field("b", fault.b);
  field("lasts", fault.lasts);
  field("strength", fault.strength);
  field("both", fault.both);
  field("costs", fault.costs);
}

Json written(const Plan& plan, const std::string& found) {
  Json json;
  if (!found.empty()) json["found"] = found;
  Writer top(json);
  top("seed", plan.cluster.seed);
  top("patience", plan.patience);
  top("disk", plan.disk);
  top("completes", plan.completes);
  top("keeps", plan.keeps);
  top("gpu_direct", plan.job.reduce.gpu_direct);
  cluster_fields(Writer(json["cluster"]), plan.cluster);
  pace_fields(Writer(json["cluster"]["pace"]), plan.cluster.pace);
  network_fields(Writer(json["cluster"]["network"]), plan.cluster.network);
  control_fields(Writer(json["cluster"]["control"]), plan.cluster.control);
  json["faults"] = Json::array();
  for (const Fault& fault : plan.faults) fault_fields(Writer(json["faults"].emplace_back()), fault);
  std::istringstream lines(to_toml(plan.job));
  for (std::string line; std::getline(lines, line);) json["job"].push_back(line);
  return json;
}

Job read_job(const Json& lines, const std::string& file_name) {
  std::string text;
  for (const Json& line : lines) text += line.get<std::string>() + "\n";
  const ParsedJob parsed = read_job_text(text, file_name, {}, simulation_registry().declarations());
  if (!parsed.job) throw std::runtime_error(file_name + ": its job is wrong:\n" + render(parsed.mistakes));
  return *parsed.job;
}

Plan read_fields(const Json& json, const std::string& file_name) {
  Plan plan;
  Reader top(json);
  top("seed", plan.seed);
  top("patience", plan.patience);
  top("disk", plan.disk);
  plan.keeps = json.value("keeps", false);
  plan.completes = json.value("completes", false);  // not in older plans
  plan.cluster.seed = plan.seed;
  const Json& cluster = json.at("cluster");
  cluster_fields(Reader(cluster), plan.cluster);
  pace_fields(Reader(cluster.at("pace")), plan.cluster.pace);
  network_fields(Reader(cluster.at("network")), plan.cluster.network);
  control_fields(Reader(cluster.at("control")), plan.cluster.control);
  for (const Json& each : json.at("faults")) {
    Fault fault;
    fault_fields(Reader(each), fault);
    if (!has_fault_kind(fault.kind))
      throw std::runtime_error(file_name + ": there is no fault '" + fault.kind + "'");
    plan.faults.push_back(std::move(fault));
  }
  plan.job = read_job(json.at("job"), file_name);
  plan.job.reduce.gpu_direct = plan.cluster.carries_gpu_memory;  // as in plans from before the key
  top("gpu_direct", plan.job.reduce.gpu_direct);
  return plan;
}

}  // namespace

std::string to_json(const Plan& plan, const std::string& found) {
  return written(plan, found).dump(1) + "\n";
}

std::string to_json_line(const Plan& plan) {
  return written(plan, "").dump();
}

ReadPlan read_plan(const std::string& text, const std::string& file_name) {
  try {
    const Json json = Json::parse(text);
    return {read_fields(json, file_name), json.value("found", std::string())};
  } catch (const Json::exception& error) {
    throw std::runtime_error(file_name + " is not a plan: " + error.what());
  }
}

ReadPlan read_plan_file(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  if (!(text << in.rdbuf())) throw std::runtime_error("cannot read the plan " + path);
  return read_plan(text.str(), path);
}

std::string save_plan(const Plan& plan, const std::string& found, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::string path = folder + "/seed-" + std::to_string(plan.cluster.seed) + ".plan";
  std::ofstream out(path);
  if (!(out << to_json(plan, found)) || !out.flush())
    throw std::runtime_error("cannot write the plan " + path);
  return path;
}

}  // namespace muster::simulation
