#include "actors/registry/mathematics_text.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <sstream>

#include "actors/registry/job_hash.hpp"
#include "gpu/optimizer/state_hash.hpp"

namespace muster {

namespace {

constexpr const char* kNotGiven = "not given";
const std::string kRateTable = "train.optimizer.learning_rate";
const std::string kRate = kRateTable + ".";

std::string text_name(const std::string& job_hash) {
  return "mathematics-" + job_hash.substr(0, 12) + ".txt";
}

// "model option hidden" is "model.hidden" in a job file.
std::string key_of(const std::string& name) {
  if (name == "start content") return "checkpoint.start_from (its content)";
  if (name == "model content") return "model (the content of its files)";
  const std::string option = " option ";
  const auto at = name.find(option);
  return at == std::string::npos ? name : name.substr(0, at) + "." + name.substr(at + option.size());
}

std::map<std::string, std::string> values_of(const std::string& text) {
  std::map<std::string, std::string> values;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto equals = line.find(" = ");
    if (equals != std::string::npos) values[key_of(line.substr(0, equals))] = line.substr(equals + 3);
  }
  return values;
}

std::optional<std::string> text_in(Disk& disk, const std::string& name) {
  try {
    const auto bytes = disk.read(name);
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  } catch (const DiskError&) {
    return std::nullopt;
  }
}

}  // namespace

std::vector<Difference> differences(const std::string& there, const std::string& here) {
  const auto old_values = values_of(there), values = values_of(here);
  std::map<std::string, Difference> all;
  for (const auto& [key, value] : old_values) all[key] = {key, value, kNotGiven};
  for (const auto& [key, value] : values) {
    auto& each = all.try_emplace(key, Difference{key, kNotGiven, {}}).first->second;
    each.here = value;
  }
  std::vector<Difference> unlike;
  for (auto& [key, each] : all) {
    if (each.there != each.here) unlike.push_back(std::move(each));
  }
  return unlike;
}

bool may_change(const std::string& key) {
  static constexpr std::array kMay{"train.optimizer.weight_decay",
                                   "train.optimizer.momentum",
                                   "train.optimizer.nesterov",
                                   "train.optimizer.beta1",
                                   "train.optimizer.beta2",
                                   "train.optimizer.epsilon",
                                   "train.clip_norm",
                                   "train.threads",
                                   "train.precision",
                                   "train.wire",
                                   "train.wire_exponent"};
  return key.starts_with(kRate) || std::ranges::find(kMay, key) != kMay.end();
}

std::string accepted_as(const std::string& key) {
  if (key.starts_with(kRate)) return kRateTable;
  return key == "train.wire_exponent" ? "train.wire" : key;
}

void keep_mathematics(Disk& disk, const Job& job, const Declarations& declarations) {
  const std::string name = text_name(job_hash(job, declarations));
  const std::string text = mathematics_of(job, declarations);
  const auto bytes = std::as_bytes(std::span(text));
  try {
    if (text_in(disk, name) != text) replace_file(disk, name, std::span(&bytes, 1));
  } catch (const DiskError&) {
    // What is wrong with the folder is told when a checkpoint is due.
  }
}

std::optional<std::string> kept_mathematics(Disk& disk, const std::string& job_hash, std::string& why) {
  const std::string name = text_name(job_hash);
  auto text = text_in(disk, name);
  if (!text) {
    why = "the run that wrote it has left no " + name;
  } else if (sha256_hex(std::as_bytes(std::span(*text))) != job_hash) {
    why = name + " is damaged";
    text.reset();
  }
  return text;
}

}  // namespace muster
