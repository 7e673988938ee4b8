#include "actors/checkpoint/checkpoint_choice.hpp"

#include "actors/rules/steps/round_schedule.hpp"
#include "actors/rules/stragglers/straggler_policy.hpp"

namespace muster {

FoundCheckpoint newest_on_its_way(CheckpointStore& store, const Job& job, bool has_test,
                                  const std::function<std::string(const Snapshot&)>& refuse) {
  // With these, two runs may differ by right.
  const bool may_differ = !straggler_policy(job.cluster).same_bits ||
                          job.cluster.on_corruption == OnCorruption::report ||
                          job.cluster.reproducible == Reproducible::loose;
  return store.newest(
      [&](const Snapshot& snapshot) {
        const std::string why = refuse ? refuse(snapshot) : std::string{};
        if (!why.empty()) return why;
        const ReplicaPlace& place = snapshot.place;
        return RoundSchedule(round_schedule_options(job, has_test))
            .resume(place.cursor, place.steps, place.finished, place.ledger.rows(), place.deferred);
      },
      !may_differ);
}

}  // namespace muster
