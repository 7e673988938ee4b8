#include "actors/resume/resume.hpp"

#include <algorithm>
#include <limits>

#include "actors/checkpoint/checkpoint_choice.hpp"
#include "actors/checkpoint/checkpoint_list.hpp"
#include "actors/checkpoint/checkpoint_verdicts.hpp"
#include "actors/registry/job_hash.hpp"

namespace muster {

std::string list_of(const std::vector<PassedOver>& passed_over) {
  std::string text;
  for (const PassedOver& one : passed_over) text += "\n  " + one.manifest + ": " + one.why;
  return text;
}

void expect_all_read(const std::vector<PassedOver>& passed_over) {
  const auto refused = std::ranges::find(passed_over, Unread::refused, &PassedOver::unread);
  if (refused == passed_over.end()) return;
  throw NothingToResume("the newest checkpoint may be " + refused->manifest +
                        ", and it cannot be read now: " + refused->why +
                        "; make it readable, or move its manifest away to go on from an older one");
}

Resume find_resume(const Job& job, const Registry& registry, std::shared_ptr<Disk> disk) {
  if (job.checkpoint.folder.empty()) {
    throw NothingToResume("--resume needs checkpoint.folder, which the job does not set");
  }
  const auto trainer = make_trainer_state(job, registry, "cpu:0", true, true);
  const DataFacts facts = trainer->data.facts();
  CheckpointStore store(disk, checkpoint_identity(job, job_hash(job, registry.declarations()),
                                                  trainer->model->layout(), facts.fingerprint));
  auto found = newest_on_its_way(store, job, facts.has_test);
  expect_all_read(found.passed_over);
  if (!found.newest) {
    const auto files = disk->list();
    const bool aside =
        std::ranges::any_of(files, [](const auto& file) { return file.name.ends_with(kSetAside); });
    throw NothingToResume(
        "there is no checkpoint of this job in " + disk->folder() +
        (aside ? " but some that were set aside, for they may hold wrong results; to go on from one "
                 "that you trust, take the suffix " +
                     std::string(kSetAside) + " off its manifest's name, and remove " +
                     verdicts_name(job_hash(job, registry.declarations()))
               : "") +
        (found.passed_over.empty() ? "" : "; passed over:" + list_of(found.passed_over)));
  }
  const LoadedCheckpoint& newest = *found.newest;
  const ReplicaPlace& place = newest.snapshot.place;
  // Another job's of the same step is the one that this was made of (accept_other_job), or no better.
  std::erase_if(found.passed_over,
                [&](const PassedOver& one) { return one.of_other_job && *one.of_other_job <= place.steps; });
  if (const auto refused =
          refused_between(*disk, job.name, place.steps, std::numeric_limits<std::uint64_t>::max(),
                          [](const std::string&) { return false; }))
    throw NothingToResume("a newer checkpoint than that of step " + std::to_string(place.steps) +
                          " may be there, and cannot be read now: " + *refused +
                          "; make it readable, or move it away");
  return {newest.manifest_name,
          disk->folder() + "/" + newest.manifest.weights.name,
          place.records,
          place.steps,
          place.cursor.epoch,
          place.samples,
          place.told,
          std::move(found.passed_over),
          newest.manifest.weights_sha256};
}

std::shared_ptr<const Snapshot> load_resume(const TrainerState& trainer, const std::string& job_hash,
                                            std::shared_ptr<Disk> disk, const std::string& manifest) {
  const std::string folder = disk->folder();
  CheckpointStore store(std::move(disk),
                        checkpoint_identity(trainer.job, job_hash, trainer.model->layout(), {}));
  std::string why;
  auto loaded = store.load(manifest, why);
  if (!loaded) {
    throw Error("the checkpoint " + folder + "/" + manifest + " cannot be gone on from: " + why +
                "; every replica must see the folder");
  }
  return std::make_shared<const Snapshot>(std::move(loaded->snapshot));
}

}  // namespace muster
