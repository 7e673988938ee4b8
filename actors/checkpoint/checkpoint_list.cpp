#include "actors/checkpoint/checkpoint_list.hpp"

#include <algorithm>
#include <cerrno>
#include <tuple>
#include <utility>

#include "actors/checkpoint/checkpoint_verdicts.hpp"

namespace muster {

namespace {

std::string without_suffix(const std::string& name, const std::string& suffix) {
  return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : name;
}

// Of this job, by file. With those that were set aside, or without.
std::vector<std::pair<std::string, Manifest>> manifests(Disk& disk, const std::string& job_hash,
                                                        bool with_set_aside) {
  std::vector<std::pair<std::string, Manifest>> all;
  std::optional<DiskError> refused;
  bool any = false;
  for (const auto& file : disk.list()) {
    const auto name =
        parse_checkpoint_name(with_set_aside ? without_suffix(file.name, kSetAside) : file.name, "");
    if (!name || !name->is_manifest()) continue;
    std::string why;
    std::optional<Manifest> manifest;
    try {
      manifest = manifest_in(disk, file.name, why);
    } catch (const DiskError& error) {
      if (may_pass(error)) refused = error;
    }
    any |= manifest.has_value();
    if (manifest && manifest->job_hash == job_hash) all.emplace_back(file.name, std::move(*manifest));
  }
  if (refused && !any) throw DiskError(*refused);
  return all;
}

// With a verdict on them or not.
std::vector<ListedCheckpoint> list_all(Disk& disk, const std::string& job_hash) {
  std::vector<ListedCheckpoint> all;
  for (const auto& [name, manifest] : manifests(disk, job_hash, false)) all.push_back(listed(name, manifest));
  std::sort(all.begin(), all.end(), [](const ListedCheckpoint& a, const ListedCheckpoint& b) {
    return std::tie(a.step, a.records, a.manifest) < std::tie(b.step, b.records, b.manifest);
  });
  return all;
}

}  // namespace

ListedCheckpoint listed(const std::string& name, const Manifest& manifest) {
  return {name,
          manifest.step,
          manifest.records,
          manifest.weights.name,
          manifest.weights_sha256,
          manifest.history};
}

bool may_pass(const DiskError& error) {
  return error.code() != ENOENT;
}

std::optional<Manifest> manifest_in(Disk& disk, const std::string& name, std::string& why) {
  const Disk::Bytes bytes = disk.read(name);
  if (bytes.size() <= kManifestBytesMax)
    return parse_manifest({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, why);
  why = "its manifest is too large to be one";
  return std::nullopt;
}

std::optional<Manifest> read_manifest(Disk& disk, const std::string& name, std::string& why) {
  try {
    return manifest_in(disk, name, why);
  } catch (const DiskError& error) {
    why = error.what();
    return std::nullopt;
  }
}

std::optional<std::string> refused_between(Disk& disk, const std::string& job,
                                           std::optional<std::uint64_t> above, std::uint64_t before,
                                           const std::function<bool(const std::string&)>& is_passed_over) {
  for (const Disk::File& file : disk.list()) {
    const auto name = parse_checkpoint_name(file.name, job);
    if (!name || !name->is_manifest() || (above && name->step <= *above) || name->step >= before) continue;
    if (is_passed_over(file.name)) continue;
    try {
      std::string why;
      manifest_in(disk, file.name, why);
    } catch (const DiskError& error) {
      if (may_pass(error)) return error.what();
    }
  }
  return std::nullopt;
}

bool holds_any_checkpoint(Disk& disk, const std::string& job_hash) {
  return !manifests(disk, job_hash, true).empty();
}

std::uint64_t next_history(Disk& disk, const std::string& job, const std::string& job_hash,
                           const std::string& resumed) {
  std::vector<std::uint64_t> taken;
  std::optional<std::uint64_t> from;
  for (const Verdict& verdict : readable_verdicts(disk, job_hash)) taken.push_back(verdict.history);
  for (const auto& [name, manifest] : manifests(disk, job_hash, true)) {
    taken.push_back(manifest.history);
    if (name == resumed && manifest.job == job) from = manifest.history;
  }
  return from ? history_after(*from, taken) : first_history(job, taken);
}

std::vector<ListedCheckpoint> list_checkpoints(Disk& disk, const std::string& job_hash) {
  std::vector<ListedCheckpoint> all = list_all(disk, job_hash);
  const auto verdicts = readable_verdicts(disk, job_hash);
  std::erase_if(all,
                [&](const ListedCheckpoint& each) { return is_void(verdicts, each.history, each.step); });
  return all;
}

// Several replicas may do so at once: what is gone is no mistake.
void set_checkpoints_aside(Disk& disk, const std::string& job_hash, std::uint64_t step,
                           std::uint64_t history) {
  for (const ListedCheckpoint& each : list_all(disk, job_hash)) {
    if (each.step <= step || !goes_before(each.history, history)) continue;
    try {
      disk.rename(each.manifest, each.manifest + kSetAside);
    } catch (const DiskError&) {
      const auto left = list_all(disk, job_hash);
      if (std::any_of(left.begin(), left.end(),
                      [&](const auto& one) { return one.manifest == each.manifest; }))
        throw;
    }
  }
  disk.sync_folder();
}

}  // namespace muster
