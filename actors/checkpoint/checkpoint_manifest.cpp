#include "actors/checkpoint/checkpoint_manifest.hpp"

#include <algorithm>
#include <charconv>

#include <nlohmann/json.hpp>

#include "muster/error.hpp"

namespace muster {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kHashDigits = 12;  // of a file's name
constexpr std::string_view kStep = "-step-";

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

Json file_json(const CheckpointFile& file) {
  return {{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}};
}

CheckpointFile parse_file(const Json& json) {
  CheckpointFile file{json.at("name").get<std::string>(), json.at("bytes").get<std::uint64_t>(),
                      json.at("sha256").get<std::string>()};
  if (file.name.empty() || file.name.find('/') != std::string::npos) {
    throw Error("a file's name is not one of its folder");
  }
  return file;
}

LedgerRow parse_row(const Json& json) {
  LedgerRow row;
  row.epoch = json.at("epoch").get<std::uint64_t>();
  row.complete = json.at("complete").get<bool>();
  row.used = json.at("used").get<std::uint64_t>();
  row.repeated = json.at("repeated").get<std::uint64_t>();
  row.missed = json.at("missed").get<std::uint64_t>();
  row.dropped = json.at("dropped").get<std::uint64_t>();
  return row;
}

Manifest parse(std::string_view text) {
  const Json json = Json::parse(text);
  if (json.at("muster_checkpoint").get<int>() != Manifest::kVersion) {
    throw Error("its format is version " + json.at("muster_checkpoint").dump() + ", this program reads " +
                std::to_string(Manifest::kVersion));
  }
  Manifest manifest;
  manifest.job = json.at("job").get<std::string>();
  manifest.job_hash = json.at("job_hash").get<std::string>();
  manifest.fingerprint = json.at("data_fingerprint").get<std::string>();
  manifest.seed = json.at("seed").get<std::uint64_t>();
  manifest.shards = json.at("shards").get<std::uint32_t>();
  manifest.epoch = json.at("epoch").get<std::uint64_t>();
  manifest.step = json.at("step").get<std::uint64_t>();
  manifest.records = json.at("records").get<std::uint64_t>();
  manifest.history = json.value("history", std::uint64_t{0});  // older ones have none
  manifest.weights_sha256 = json.at("weights_sha256").get<std::string>();
  for (const Json& row : json.at("ledger")) manifest.ledger.push_back(parse_row(row));
  const Json& files = json.at("files");
  manifest.weights = parse_file(files.at("weights"));
  manifest.optimizer = parse_file(files.at("optimizer"));
  manifest.place = parse_file(files.at("place"));
  return manifest;
}

}  // namespace

std::string to_json(const Manifest& manifest) {
  Json json;
  json["muster_checkpoint"] = Manifest::kVersion;
  json["job"] = manifest.job;
  json["job_hash"] = manifest.job_hash;
  json["data_fingerprint"] = manifest.fingerprint;
  json["seed"] = manifest.seed;
  json["shards"] = manifest.shards;
  json["epoch"] = manifest.epoch;
  json["step"] = manifest.step;
  json["records"] = manifest.records;
  json["history"] = manifest.history;
  json["weights_sha256"] = manifest.weights_sha256;
  json["ledger"] = Json::array();
  for (const LedgerRow& row : manifest.ledger) {
    json["ledger"].push_back({{"epoch", row.epoch},
                              {"complete", row.complete},
                              {"used", row.used},
                              {"repeated", row.repeated},
                              {"missed", row.missed},
                              {"dropped", row.dropped}});
  }
  json["files"] = {{"weights", file_json(manifest.weights)},
                   {"optimizer", file_json(manifest.optimizer)},
                   {"place", file_json(manifest.place)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<Manifest> parse_manifest(std::string_view text, std::string& why) {
  try {
    return parse(text);
  } catch (const Json::exception& error) {
    why = std::string("its manifest is damaged: ") + error.what();
  } catch (const Error& error) {
    why = error.what();
  }
  return std::nullopt;
}

std::string file_name_of(std::string job) {
  std::replace(job.begin(), job.end(), '/', '_');
  if (job.front() == '.') job.front() = '_';
  return job;
}

std::string checkpoint_stem(const std::string& job, std::uint64_t step, const std::string& weights_sha256,
                            std::uint64_t attempt) {
  return file_name_of(job) + std::string(kStep) + std::to_string(step) + "-" +
         weights_sha256.substr(0, kHashDigits) + (attempt > 1 ? "_" + std::to_string(attempt) : "");
}

std::optional<CheckpointName> parse_checkpoint_name(const std::string& name, const std::string& job) {
  const std::size_t at = name.rfind(kStep);
  if (at == std::string::npos || (!job.empty() && name.substr(0, at) != file_name_of(job)))
    return std::nullopt;
  CheckpointName parsed;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + at + kStep.size(), end, parsed.step);
  const auto left = static_cast<std::size_t>(end - rest);
  if (error != std::errc{} || left <= kHashDigits + 1 || *rest != '-') return std::nullopt;
  if (!is_hex({rest + 1, kHashDigits})) return std::nullopt;
  const char* after = rest + 1 + kHashDigits;
  if (*after == '_') {
    after = std::find_if_not(after + 1, end, [](char digit) { return digit >= '0' && digit <= '9'; });
    if (after == end || after[-1] == '_') return std::nullopt;
  }
  if (*after != '.' && *after != '-') return std::nullopt;
  parsed.stem = name.substr(0, static_cast<std::size_t>(after - name.data()));
  parsed.rest = name.substr(parsed.stem.size());
  return parsed;
}

}  // namespace muster
