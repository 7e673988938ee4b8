#include "muster/report.hpp"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "base/time_of_day.hpp"
#include "muster/error.hpp"

namespace muster {

using Json = nlohmann::ordered_json;

void Report::add(const Event& event) {
  ++event_counts[event.name];
  if (events.size() == kEventsMax) events.erase(events.begin() + kEventsMax / 2);
  events.push_back(event);
}

namespace {

Json ledger_json(const Report& report) {
  Json rows = Json::array();
  for (const EpochEnd& epoch : report.epochs) {
    rows.push_back({{"epoch", epoch.epoch},
                    {"complete", epoch.complete},
                    {"used", epoch.used},
                    {"repeated", epoch.repeated},
                    {"missed", epoch.missed},
                    {"dropped", epoch.dropped}});
  }
  return rows;
}

Json evaluation_json(const Report& report) {
  Json rows = Json::array();
  for (const EpochEnd& epoch : report.epochs) {
    if (epoch.evaluated)
      rows.push_back({{"epoch", epoch.epoch}, {"loss", epoch.loss}, {"accuracy", epoch.accuracy}});
  }
  return rows;
}

Json training_json(const Report& report) {
  Json rows = Json::array();
  for (const EpochEnd& epoch : report.epochs) {
    rows.push_back({{"epoch", epoch.epoch}, {"steps", epoch.steps}, {"loss", epoch.train_loss}});
  }
  return rows;
}

// All that is known of each epoch, in one row.
Json epochs_json(const Report& report) {
  Json rows = Json::array();
  for (const EpochEnd& epoch : report.epochs) {
    Json row = {{"epoch", epoch.epoch},     {"complete", epoch.complete}, {"steps", epoch.steps},
                {"samples", epoch.samples}, {"loss", epoch.train_loss},   {"test_loss", nullptr},
                {"test_accuracy", nullptr}, {"used", epoch.used},         {"repeated", epoch.repeated},
                {"missed", epoch.missed},   {"dropped", epoch.dropped}};
    if (epoch.evaluated) {
      row["test_loss"] = epoch.loss;
      row["test_accuracy"] = epoch.accuracy;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Json progress_json(const Report& report) {
  Json rows = Json::array();
  for (const ProgressRow& each : report.progress) {
    Json row = {{"time_ms", std::round(each.time_ms * 1000) / 1000},
                {"epoch", each.epoch},
                {"step", each.step},
                {"samples", each.samples},
                {"loss", each.loss},
                {"learning_rate", each.learning_rate}};
    if (each.samples_per_second > 0) row["samples_per_second"] = each.samples_per_second;
    if (each.gradient_norm > 0) row["gradient_norm"] = each.gradient_norm;
    rows.push_back(std::move(row));
  }
  return rows;
}

Json phases_json(const Report& report) {
  Json rows = Json::array();
  for (const auto& [slot, phases] : report.phases) {
    rows.push_back({{"replica", slot},
                    {"wait_for_batch_s", phases.wait_for_batch_s},
                    {"compute_s", phases.compute_s},
                    {"reduce_s", phases.reduce_s},
                    {"reduce_hidden_s", phases.reduce_hidden_s},
                    {"update_s", phases.update_s},
                    {"evaluate_s", phases.evaluate_s},
                    {"wait_for_peers_s", phases.wait_for_peers_s},
                    {"waited_most_for", phases.waited_most_for},
                    {"waited_most_s", phases.waited_most_s}});
  }
  return rows;
}

Json traffic_json(const Report& report) {
  const auto to_object = [](const Sent& sent) {
    return Json{{"payload_bytes", sent.payload_bytes},
                {"metadata_bytes", sent.metadata_bytes},
                {"other_bytes", sent.other_bytes},
                {"frames", sent.frames}};
  };
  Json rows = Json::array();
  for (const auto& [slot, traffic] : report.traffic) {
    rows.push_back({{"replica", slot},
                    {"within_host", to_object(traffic.within_host)},
                    {"between_hosts", to_object(traffic.between_hosts)}});
  }
  return rows;
}

std::string time_of(const Report& report, const Event& event) {
  if (!report.began) return {};
  const std::chrono::duration<double, std::milli> since(event.time_ms);
  return time_of_day(*report.began + std::chrono::round<std::chrono::milliseconds>(since));
}

}  // namespace

std::string to_json(const Report& report) {
  Json json;
  json["schema"] = Report::kSchema;
  json["job"] = report.job;
  json["began"] = report.began ? Json(time_of_day(*report.began)) : Json();
  json["outcome"] = report.outcome;
  json["reason"] = report.reason;
  json["replicas"] = report.replicas;
  json["shards"] = report.shards;
  json["steps"] = report.steps;
  json["samples"] = report.samples;
  json["weights_sha256"] = report.weights_sha256;
  json["ledger_unit"] = report.ledger_unit;
  json["epochs"] = epochs_json(report);
  json["ledger"] = ledger_json(report);
  json["evaluation"] = evaluation_json(report);
  json["training"] = training_json(report);
  json["progress"] = progress_json(report);
  json["samples_per_second"] = report.samples_per_second;
  json["train_seconds"] = report.train_seconds;
  json["wall_seconds"] = report.wall_seconds;
  json["phases"] = phases_json(report);
  json["algorithm"] = report.algorithm;
  json["traffic"] = traffic_json(report);
  json["checkpoint"] = report.checkpoint;
  json["transport"] = report.transport;
  json["event_counts"] = report.event_counts;
  json["events"] = Json::array();
  for (const Event& event : report.events)
    json["events"].push_back(Json::parse(to_json_line(event, time_of(report, event))));
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

void write_report(const Report& report, const std::string& path) {
  std::error_code unknown;
  const auto there = std::filesystem::status(path, unknown);
  const bool to_device = std::filesystem::exists(there) && !std::filesystem::is_regular_file(there);
  // A terminal, a pipe or /dev/null stays what it is, and a link leads where it led.
  const auto resolved = std::filesystem::weakly_canonical(path, unknown).string();
  const std::string target = unknown || to_device ? path : resolved;
  const std::string partial = to_device ? target : target + ".partial";
  const std::string text = to_json(report);
  errno = 0;
  std::ofstream file(partial, std::ios::trunc);
  file << text << '\n';
  file.close();
  if (!file || (!to_device && std::rename(partial.c_str(), target.c_str()) != 0)) {
    const std::string why = std::strerror(errno);
    if (!to_device) std::remove(partial.c_str());
    throw Error("the report could not be written to " + path + ": " + why);
  }
}

}  // namespace muster
