#include "actors/checkpoint/checkpoint_verdicts.hpp"

#include <algorithm>
#include <cerrno>
#include <span>

#include <nlohmann/json.hpp>

#include "base/canary.hpp"
#include "gpu/optimizer/state_hash.hpp"

namespace muster {

namespace {

// What was marked before would be forgotten with the next one.
[[noreturn]] void damaged(const Disk& disk, const std::string& name) {
  throw DiskError(EIO, disk.folder() + "/" + name +
                           " is damaged: it says which checkpoints may hold wrong results; remove it if you "
                           "know that none does");
}

}  // namespace

bool is_void(const std::vector<Verdict>& verdicts, std::uint64_t history, std::uint64_t step) {
  if (canary("verdicts-are-forgotten")) return false;
  return std::ranges::any_of(verdicts, [&](const Verdict& verdict) {
    return goes_before(history, verdict.history) && step >= verdict.from_step;
  });
}

// Two runs of one name do not write at the same time (folder_lease.hpp); those of different names are told
// apart by it.
std::uint64_t first_history(const std::string& job, const std::vector<std::uint64_t>& taken) {
  constexpr unsigned kCounterBits = 16;
  constexpr std::uint64_t kCounterMask = (std::uint64_t{1} << kCounterBits) - 1;
  std::uint64_t last = 0;
  for (const std::uint64_t each : taken) last = std::max(last, (each >> kAttemptBits) & kCounterMask);
  const std::uint64_t name = std::stoull(sha256_hex(std::as_bytes(std::span(job))).substr(0, 6), nullptr, 16);
  const std::uint64_t run = name << kCounterBits | ((last + 1) & kCounterMask);
  return run << kAttemptBits | 1;
}

std::uint64_t history_of_chance(const std::string& job, std::uint64_t any) {
  const std::string digits = sha256_hex(std::as_bytes(std::span(&any, 1))).substr(0, 4);
  return first_history(job, {std::stoull(digits, nullptr, 16) << kAttemptBits});
}

std::uint64_t history_after(std::uint64_t from, const std::vector<std::uint64_t>& taken) {
  for (const std::uint64_t each : taken) {
    if (goes_before(from, each)) from = each;
  }
  return from + 1;
}

std::string verdicts_name(const std::string& job_hash) {
  return "verdicts-" + job_hash.substr(0, 12) + ".json";
}

std::vector<Verdict> read_verdicts(Disk& disk, const std::string& job_hash) {
  Disk::Bytes bytes;
  try {
    bytes = disk.read(verdicts_name(job_hash));
  } catch (const DiskError& error) {
    if (error.code() == ENOENT) return {};
    throw;
  }
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  std::vector<Verdict> verdicts;
  try {
    const auto json = nlohmann::json::parse(text, text + bytes.size());
    for (const auto& each : json.at("verdicts"))
      verdicts.push_back({each.at("history"), each.at("from_step")});
  } catch (const nlohmann::json::exception&) {
    damaged(disk, verdicts_name(job_hash));
  }
  return verdicts;
}

std::vector<Verdict> readable_verdicts(Disk& disk, const std::string& job_hash) {
  try {
    return read_verdicts(disk, job_hash);
  } catch (const DiskError&) {
    return {};
  }
}

void add_verdict(Disk& disk, const std::string& job_hash, const Verdict& verdict) {
  std::vector<Verdict> verdicts = read_verdicts(disk, job_hash);
  if (is_void(verdicts, verdict.history, verdict.from_step)) return disk.sync_folder();  // it failed, perhaps
  std::erase_if(verdicts, [&](const Verdict& each) {
    return goes_before(each.history, verdict.history) && each.from_step >= verdict.from_step;
  });
  verdicts.push_back(verdict);
  nlohmann::json json;
  json["verdicts"] = nlohmann::json::array();
  for (const Verdict& each : verdicts)
    json["verdicts"].push_back(
        nlohmann::json::object({{"history", each.history}, {"from_step", each.from_step}}));
  const std::string text = json.dump() + "\n";
  const std::span<const std::byte> pieces[] = {std::as_bytes(std::span(text))};
  replace_file(disk, verdicts_name(job_hash), pieces);
  disk.sync_folder();
}

VoidCheckpoint::VoidCheckpoint(std::uint64_t step)
    : Error("the run has gone back before step " + std::to_string(step) +
            ": no checkpoint of what was done before that is kept") {}

}  // namespace muster
