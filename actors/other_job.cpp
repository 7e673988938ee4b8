#include "muster/actors/other_job.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>

#include "muster/actors/checkpoint_list.hpp"
#include "muster/actors/checkpoint_store.hpp"
#include "muster/actors/job_hash.hpp"
#include "muster/actors/resume.hpp"
#include "muster/actors/shard_states.hpp"
#include "muster/actors/workbench.hpp"
#include "muster/gpu/optimizer.hpp"
#include "muster/gpu/state_hash.hpp"

namespace muster {

namespace {

constexpr const char* kNotGiven = "not given";
const std::string kRateTable = "train.optimizer.learning_rate";
const std::string kRate = kRateTable + ".";

std::string text_name(const std::string& job_hash) {
  return "mathematics-" + job_hash.substr(0, 12) + ".txt";
}

std::map<std::string, std::string> values_of(const std::string& text) {
  std::map<std::string, std::string> values;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto equals = line.find(" = ");
    if (equals != std::string::npos) values[line.substr(0, equals)] = line.substr(equals + 3);
  }
  return values;
}

struct Found {
  std::string manifest;
  Manifest content;
};

// The newest one of each kind.
struct Newest {
  std::optional<Found> own, others;
};

Newest newest_in(Disk& disk, const Job& job, const std::string& hash) {
  Newest newest;
  const auto order = [](const Found& found) { return std::tuple(found.content.step, found.content.records); };
  for (const auto& file : disk.list()) {
    const auto name = parse_checkpoint_name(file.name, job.name);
    if (!name || !name->is_manifest()) continue;
    std::string why;
    auto manifest = read_manifest(disk, file.name, why);
    if (!manifest) continue;
    auto& best = manifest->job_hash == hash ? newest.own : newest.others;
    Found found{file.name, std::move(*manifest)};
    if (!best || order(*best) < order(found)) best = std::move(found);
  }
  return newest;
}

std::optional<std::string> text_in(Disk& disk, const std::string& name) {
  try {
    const auto bytes = disk.read(name);
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  } catch (const DiskError&) {
    return std::nullopt;
  }
}

// Of a hash its first digits.
std::string shown(const std::string& value) {
  constexpr std::size_t kHashDigits = 64, kShown = 12;
  return value.size() == kHashDigits ? value.substr(0, kShown) : value;
}

std::string list_of(const std::vector<Difference>& all) {
  std::string text;
  for (const Difference& each : all)
    text += "\n  " + each.key + ": " + shown(each.there) + " there, " + shown(each.here) + " in this job";
  return text;
}

bool is_accepted(const std::string& key, const std::vector<std::string>& accepted) {
  return std::ranges::any_of(
      accepted, [&](const std::string& each) { return key == each || key.starts_with(each + "."); });
}

// Why the run cannot go on from it, or not yet; empty if it can.
std::string objection(const std::vector<Difference>& all, const std::vector<std::string>& accepted) {
  std::string fixed, missing;
  for (const Difference& each : all) {
    if (!may_change(each.key)) fixed += (fixed.empty() ? "" : ", ") + each.key;
    const std::string& name = each.key.starts_with(kRate) ? kRateTable : each.key;
    const std::string option = " --accept " + name;
    const bool said = missing.find(option) != std::string::npos;
    if (!is_accepted(each.key, accepted) && !said) missing += option;
  }
  if (!fixed.empty())
    return "with another value of " + fixed +
           " no run can go on from it; checkpoint.start_from begins a new run with its weights";
  return missing.empty() ? "" : "to go on from it with this job's values add" + missing;
}

// The optimiser's, not those of shards or of compression.
bool has_vectors_of(const Job& job, const Snapshot& snapshot) {
  const auto optimizer = make_optimizer(job.train.optimizer, 1);
  std::set<std::string> wanted, held;
  for (const auto& slot : optimizer->slots()) wanted.insert(slot.name);
  for (const auto& slot : snapshot.slots) {
    if (!is_state_slot(slot.name) && !slot.name.starts_with("powersgd.")) held.insert(slot.name);
  }
  return wanted == held;
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

std::string accept_other_job(const Job& job, const Registry& registry, std::shared_ptr<Disk> disk,
                             const std::vector<std::string>& accepted) {
  const std::string hash = job_hash(job, registry.declarations());
  const auto [own, others] = newest_in(*disk, job, hash);
  const bool own_is_newest = own && (!others || own->content.step >= others->content.step);
  if (!others || own_is_newest || (own && accepted.empty())) return {};
  const std::string what = "the newest checkpoint in " + disk->folder() + ", of step " +
                           std::to_string(others->content.step) + ", is of another job";
  const auto text = text_in(*disk, text_name(others->content.job_hash));
  if (!text)
    throw NothingToResume(what + "; in what it differs is not known, for the run that wrote it has left no " +
                          text_name(others->content.job_hash));
  if (sha256_hex(std::as_bytes(std::span(*text))) != others->content.job_hash)
    throw NothingToResume(what + "; in what it differs is not known, for " +
                          text_name(others->content.job_hash) + " is damaged");
  const auto unlike = differences(*text, mathematics_of(job, registry.declarations()));
  const std::string why = objection(unlike, accepted);
  if (!why.empty() && own) return {};
  if (!why.empty())
    throw NothingToResume(what + ", which differs from this one in" + list_of(unlike) + "\n" + why);
  const auto bench = make_workbench(job, registry, "cpu:0", true, true);
  const Layout& layout = bench->model->layout();
  const std::string fingerprint = data_facts(*bench).fingerprint;
  const auto found =
      CheckpointStore(disk, checkpoint_identity(job, others->content.job_hash, layout, fingerprint)).newest();
  expect_all_read(found.passed_over);
  if (!found.newest)
    throw NothingToResume(what + ", and none of that one can be gone on from:" + list_of(found.passed_over));
  if (!has_vectors_of(job, found.newest->snapshot))
    throw NothingToResume(what +
                          ", and its optimiser holds other vectors: with momentum it has one, without none;"
                          " checkpoint.start_from begins a new run with its weights");
  constexpr std::uint32_t kAll = 1 << 20;
  CheckpointStore(disk, checkpoint_identity(job, hash, layout, fingerprint))
      .save(found.newest->snapshot, Keep(kAll));
  return "goes on from step " + std::to_string(found.newest->manifest.step) +
         " of a job with other values:" + list_of(unlike);
}

}  // namespace muster
