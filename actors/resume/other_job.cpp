#include "actors/resume/other_job.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "actors/checkpoint/checkpoint_choice.hpp"
#include "actors/checkpoint/checkpoint_list.hpp"
#include "actors/checkpoint/checkpoint_store.hpp"
#include "actors/registry/job_hash.hpp"
#include "actors/registry/mathematics_text.hpp"
#include "actors/resume/resume.hpp"
#include "actors/trainer/shard_states.hpp"
#include "actors/trainer/trainer_state.hpp"
#include "gpu/optimizer/optimizer.hpp"

namespace muster {

namespace {

/// The checkpoints of one job, by the newest of them.
struct JobFound {
  std::string hash;
  std::uint64_t step = 0;
  std::uint64_t records = 0;
  std::vector<Difference> unlike = {};
  std::string unknown = {};    ///< why it is not known in what it differs
  std::string objection = {};  ///< why the run cannot go on from it, or not yet
};

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
  return std::ranges::any_of(accepted, [&](const std::string& each) {
    return key == each || key.starts_with(each + ".") || accepted_as(key) == each;
  });
}

std::string objection_to(const std::vector<Difference>& all, const std::vector<std::string>& accepted) {
  std::string fixed;
  std::vector<std::string> missing;
  for (const Difference& each : all) {
    if (!may_change(each.key)) fixed += (fixed.empty() ? "" : ", ") + each.key;
    const std::string name = accepted_as(each.key);
    const bool named = std::ranges::find(missing, name) != missing.end();
    if (!is_accepted(each.key, accepted) && !named) missing.push_back(name);
  }
  if (!fixed.empty())
    return "with another value of " + fixed +
           " no run can go on from it; checkpoint.start_from begins a new run with its weights";
  std::string options;
  for (const std::string& name : missing) options += " --accept " + name;
  return options.empty() ? "" : "to go on from it with this job's values add" + options;
}

// Of runs of this name, the newest first.
std::vector<JobFound> jobs_in(Disk& disk, const Job& job) {
  std::map<std::string, JobFound> by_hash;
  for (const auto& file : disk.list()) {
    const auto name = parse_checkpoint_name(file.name, job.name);
    if (!name || !name->is_manifest()) continue;
    std::string why;
    const auto manifest = read_manifest(disk, file.name, why);
    if (!manifest) continue;
    JobFound& found = by_hash.try_emplace(manifest->job_hash, JobFound{manifest->job_hash}).first->second;
    std::tie(found.step, found.records) =
        std::max(std::tuple(found.step, found.records), std::tuple(manifest->step, manifest->records));
  }
  std::vector<JobFound> all;
  for (const auto& [hash, found] : by_hash) all.push_back(found);
  std::ranges::stable_sort(all, std::greater<>{},
                           [](const JobFound& each) { return std::tuple(each.step, each.records); });
  return all;
}

void compare(JobFound& found, Disk& disk, const std::string& mathematics,
             const std::vector<std::string>& accepted) {
  const auto text = kept_mathematics(disk, found.hash, found.unknown);
  if (!text) {
    found.objection = "in what it differs is not known, for " + found.unknown;
    return;
  }
  found.unlike = differences(*text, mathematics);
  found.objection = objection_to(found.unlike, accepted);
}

std::string told(const JobFound& other) {
  return other.unknown.empty()
             ? "is of a job that differs from this one in" + list_of(other.unlike) + "\n" + other.objection
             : "is of another job; " + other.objection;
}

// The optimizer's, not those of shards or of compression.
bool has_vectors_of(const Job& job, const Snapshot& snapshot) {
  const auto optimizer = make_optimizer(job.train.optimizer, 1);
  std::set<std::string> wanted, held;
  for (const auto& slot : optimizer->slots()) wanted.insert(slot.name);
  for (const auto& slot : snapshot.slots) {
    if (!is_state_slot(slot.name) && !slot.name.starts_with("powersgd.")) held.insert(slot.name);
  }
  return wanted == held;
}

/// Reads checkpoints of this name as if they were this job's.
class StateReader {
 public:
  StateReader(const Job& job, const Registry& registry, std::shared_ptr<Disk> disk)
      : job_(job),
        disk_(std::move(disk)),
        trainer_(make_trainer_state(job, registry, "cpu:0", true, true)),
        facts_(trainer_->data.facts()) {}

  FoundCheckpoint newest(const std::string& hash) const {
    auto found = newest_on_its_way(*store(hash), job_, facts_.has_test, [&](const Snapshot& snapshot) {
      return has_vectors_of(job_, snapshot)
                 ? std::string{}
                 : "its optimizer holds other vectors: with momentum it has one, without none;"
                   " checkpoint.start_from begins a new run with its weights";
    });
    expect_all_read(found.passed_over);
    return found;
  }
  void save(const std::string& hash, const Snapshot& snapshot) const {
    constexpr std::uint32_t kAll = 1 << 20;
    store(hash)->save(snapshot, Keep(kAll));
  }

 private:
  std::unique_ptr<CheckpointStore> store(const std::string& hash) const {
    return std::make_unique<CheckpointStore>(
        disk_, checkpoint_identity(job_, hash, trainer_->model->layout(), facts_.fingerprint));
  }

  const Job& job_;
  std::shared_ptr<Disk> disk_;
  std::shared_ptr<TrainerState> trainer_;
  DataFacts facts_;
};

using Loaded = std::optional<LoadedCheckpoint>;

std::tuple<std::uint64_t, std::uint64_t> order(const Loaded& each) {
  return {each->manifest.step, each->manifest.records};
}

/// What can be gone on from: this job's own, or that of one of `jobs` to which there is no objection.
struct Choice {
  Loaded best = {};
  const JobFound* job = nullptr;  ///< whose it is; null: this job's
  std::vector<PassedOver> passed_over = {};
};

Choice choose(const StateReader& reader, const std::optional<JobFound>& own,
              const std::vector<JobFound>& jobs) {
  Choice choice;
  if (own) choice.best = reader.newest(own->hash).newest;
  for (const JobFound& each : jobs) {
    if (!each.objection.empty()) continue;
    auto found = reader.newest(each.hash);
    std::ranges::move(found.passed_over, std::back_inserter(choice.passed_over));
    if (!found.newest || (choice.best && order(found.newest) <= order(choice.best))) continue;
    choice.best = std::move(found.newest);
    choice.job = &each;
  }
  return choice;
}

std::string why_not(const JobFound& other, const std::vector<PassedOver>& passed_over) {
  return other.objection.empty() ? "is of another job, and cannot be gone on from:" + list_of(passed_over)
                                 : told(other);
}

// Where none of another job is taken.
std::string stays(const JobFound& own, const std::vector<JobFound>& jobs, const Choice& choice,
                  bool any_accepted) {
  const std::string its_own = "goes on from the newest checkpoint of this very job";
  if (!jobs.empty() && jobs.front().step > own.step)
    return its_own + ", of step " + std::to_string(own.step) + "; a newer one, of step " +
           std::to_string(jobs.front().step) + ", " + why_not(jobs.front(), choice.passed_over);
  return any_accepted ? its_own + "; --accept had nothing to accept" : "";
}

}  // namespace

std::string accept_other_job(const Job& job, const Registry& registry, std::shared_ptr<Disk> disk,
                             const std::vector<std::string>& accepted) {
  const std::string hash = job_hash(job, registry.declarations());
  auto jobs = jobs_in(*disk, job);
  const auto mine = std::ranges::find(jobs, hash, &JobFound::hash);
  const std::optional<JobFound> own = mine == jobs.end() ? std::nullopt : std::optional(*mine);
  std::erase_if(jobs, [&](const JobFound& each) { return each.hash == hash; });
  const std::string mathematics = mathematics_of(job, registry.declarations());
  for (JobFound& each : jobs) compare(each, *disk, mathematics, accepted);
  Choice choice;
  if (std::ranges::any_of(jobs, [](const JobFound& each) { return each.objection.empty(); })) {
    const StateReader reader(job, registry, disk);
    choice = choose(reader, own, jobs);
    if (choice.job) {
      reader.save(hash, choice.best->snapshot);
      return "goes on from step " + std::to_string(choice.best->manifest.step) +
             " of a job with other values:" + list_of(choice.job->unlike);
    }
  }
  if (own) return stays(*own, jobs, choice, !accepted.empty());
  if (jobs.empty()) return {};
  throw NothingToResume("the newest checkpoint in " + disk->folder() + ", of step " +
                        std::to_string(jobs.front().step) + ", " + why_not(jobs.front(), choice.passed_over));
}

}  // namespace muster
