#include "actors/preflight/preflight_text.hpp"

#include <nlohmann/json.hpp>

#include "muster/error.hpp"
#include "muster/job_file.hpp"

namespace muster {

namespace {

using Json = nlohmann::json;

Json to_json(const Mistake& mistake) {
  return {{"key", mistake.key},
          {"what", mistake.what},
          {"found", mistake.found},
          {"allowed", mistake.allowed},
          {"nearest", mistake.nearest}};
}

Mistake mistake_of(const Json& json) {
  Mistake mistake;
  mistake.key = json.at("key");
  mistake.what = json.at("what");
  mistake.found = json.at("found");
  mistake.allowed = json.at("allowed");
  mistake.nearest = json.at("nearest");
  return mistake;
}

Json to_json(const Placement& placement) {
  return {{"devices", placement.devices},
          {"cores", placement.cores},
          {"notices", placement.notices},
          {"compute_threads", placement.compute_threads},
          {"loader_threads", placement.loader_threads}};
}

Placement placement_of(const Json& json) {
  return {json.at("devices"), json.at("cores"), json.at("notices"), json.at("compute_threads"),
          json.at("loader_threads")};
}

Json to_json(const DataFacts& facts) {
  return {{"samples", facts.samples},       {"unit_is_batch", facts.unit_is_batch},
          {"has_test", facts.has_test},     {"dropped", facts.dropped},
          {"steps", facts.steps_per_epoch}, {"take_asked", facts.take_asked},
          {"take_had", facts.take_had},     {"fingerprint", facts.fingerprint}};
}

DataFacts facts_of(const Json& json) {
  return {json.at("samples"), json.at("unit_is_batch"), json.at("has_test"), json.at("dropped"),
          json.at("steps"),   json.at("take_asked"),    json.at("take_had"), json.at("fingerprint")};
}

Json to_json(const Layout& layout) {
  Json entries = Json::array();
  for (const LayoutEntry& entry : layout.entries)
    entries.push_back(
        {{"name", entry.name}, {"shape", entry.shape}, {"offset", entry.offset}, {"count", entry.count}});
  return {{"entries", entries}, {"parameters", layout.parameters}, {"buffers", layout.buffers}};
}

Layout layout_of(const Json& json) {
  Layout layout;
  for (const Json& entry : json.at("entries"))
    layout.entries.push_back({entry.at("name"), entry.at("shape"), entry.at("offset"), entry.at("count")});
  layout.parameters = json.at("parameters");
  layout.buffers = json.at("buffers");
  return layout;
}

Json to_json(const MeasuredMemory& memory) {
  return {{"known", memory.known}, {"bytes", memory.bytes}, {"how", memory.how}};
}

MeasuredMemory memory_of(const Json& json) {
  return {json.at("known"), json.at("bytes"), json.at("how")};
}

Json to_json(const ContractDone& contract) {
  Json left_out = Json::array();
  for (const auto& each : contract.left_out) left_out.push_back({{"check", each.check}, {"why", each.why}});
  return {{"done", contract.done}, {"left_out", left_out}, {"took_ms", contract.took.count()}};
}

ContractDone contract_of(const Json& json) {
  ContractDone contract;
  contract.done = json.at("done").get<std::vector<std::string>>();
  for (const Json& each : json.at("left_out"))
    contract.left_out.push_back({each.at("check"), each.at("why")});
  contract.took = std::chrono::milliseconds(json.at("took_ms").get<std::int64_t>());
  return contract;
}

Job job_of(const std::string& toml, const Declarations& declarations) {
  ParsedJob parsed = read_job_text(toml, "", {}, declarations);
  if (!parsed.job) throw Error("a job that was written is not read again: " + render(parsed.mistakes));
  return *parsed.job;
}

std::optional<NodeWork> node_work_of(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return NodeWork{json.at("computes"), json.at("loads")};
}

template <class Read>
auto read_json(const std::string& text, Read&& read) {
  try {
    return read(Json::parse(text));
  } catch (const Json::exception& error) {
    throw Error("what a preflight in another process says is not understood: " + std::string(error.what()));
  }
}

}  // namespace

std::string to_text(const PreflightRequest& request) {
  const ContractScope& scope = request.scope;
  return Json{
      {"job", to_toml(request.job)},
      {"trial", static_cast<int>(request.trial)},
      {"budget_ms", scope.budget.count()},
      {"positions", scope.positions},
      {"rows_max", scope.rows_max},
      {"tensors_max", scope.tensors_max},
      {"opens_generators", scope.opens_generators},
      {"computes_for_gpus", scope.computes_for_gpus},
      {"node",
       request.node ? Json{{"computes", request.node->computes}, {"loads", request.node->loads}} : Json()}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

PreflightRequest preflight_request(const std::string& text, const Declarations& declarations) {
  return read_json(text, [&](const Json& json) {
    return PreflightRequest{job_of(json.at("job"), declarations),
                            static_cast<Trial>(json.at("trial").get<int>()),
                            {std::chrono::milliseconds(json.at("budget_ms").get<std::int64_t>()),
                             json.at("positions"), json.at("rows_max"), json.at("tensors_max"),
                             json.at("opens_generators"), json.at("computes_for_gpus")},
                            node_work_of(json.at("node"))};
  });
}

std::string to_text(const Preflight& flight) {
  Json mistakes = Json::array();
  for (const Mistake& mistake : flight.mistakes) mistakes.push_back(to_json(mistake));
  if (!flight.mistakes.empty())
    return Json{{"mistakes", mistakes}}.dump(-1, ' ', false, Json::error_handler_t::replace);
  return Json{{"mistakes", mistakes},
              {"job", to_toml(flight.job)},
              {"placement", to_json(flight.placement)},
              {"facts", to_json(flight.facts)},
              {"samples_of_shard", flight.samples_of_shard},
              {"micro_batch_bytes", flight.micro_batch_bytes},
              {"resident_bytes", flight.resident_bytes},
              {"prefetch_depth", flight.prefetch_depth},
              {"layout", to_json(flight.layout)},
              {"optimizer_slots", flight.optimizer_slots},
              {"sums_on_gpus", flight.sums_on_gpus},
              {"host_batch", to_json(flight.host_batch)},
              {"gpu_batch", to_json(flight.gpu_batch)},
              {"host_room", {{"bytes", flight.host_room.bytes}, {"bound", flight.host_room.bound}}},
              {"gpu_room", flight.gpu_room},
              {"contract", to_json(flight.contract)}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

Preflight preflight_of_text(const std::string& text, const Declarations& declarations) {
  return read_json(text, [&](const Json& json) {
    Preflight flight;
    for (const Json& mistake : json.at("mistakes")) flight.mistakes.push_back(mistake_of(mistake));
    if (!flight.mistakes.empty()) return flight;
    flight.job = job_of(json.at("job"), declarations);
    flight.placement = placement_of(json.at("placement"));
    flight.facts = facts_of(json.at("facts"));
    flight.samples_of_shard = json.at("samples_of_shard").get<std::vector<std::uint64_t>>();
    flight.micro_batch_bytes = json.at("micro_batch_bytes");
    flight.resident_bytes = json.at("resident_bytes");
    flight.prefetch_depth = json.at("prefetch_depth");
    flight.layout = layout_of(json.at("layout"));
    flight.optimizer_slots = json.at("optimizer_slots");
    flight.sums_on_gpus = json.at("sums_on_gpus");
    flight.host_batch = memory_of(json.at("host_batch"));
    flight.gpu_batch = memory_of(json.at("gpu_batch"));
    flight.host_room = {json.at("host_room").at("bytes"), json.at("host_room").at("bound")};
    flight.gpu_room = json.at("gpu_room").get<std::map<std::string, std::uint64_t>>();
    flight.contract = contract_of(json.at("contract"));
    return flight;
  });
}

}  // namespace muster
