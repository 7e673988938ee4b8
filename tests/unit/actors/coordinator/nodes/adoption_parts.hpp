// All parts that Adoption needs, for its tests: two replicas of a run whose journal is in memory.
#pragma once

#include <gtest/gtest.h>

#include "actors/checkpoint/checkpoint_store.hpp"
#include "actors/coordinator/nodes/adoption.hpp"
#include "actors/rules/watch/return_time.hpp"
#include "tests/support/faulty_disk.hpp"
#include "tests/support/idle_nodes.hpp"
#include "tests/support/mounted_disk.hpp"
#include "tests/support/tiny_checkpoint.hpp"
#include "tests/unit/actors/coordinator/part_test.hpp"

namespace muster {

class AdoptionFixture : public PartTest {
 protected:
  AdoptionFixture() : PartTest(std::make_unique<StartingJob>(2)) {
    has_a_journal();
    connections_.caller = nodes_.add();
  }
  /// What a coordinator before this one wrote: term 4, view 3 of both replicas, which began with a
  /// checkpoint.
  static JournalEntry entry_of_view_3() {
    View view;
    StartingJob job(2);
    for (const NodeName& who : {kReplica0, kReplica1}) {
      job.membership().admission().join(join_of(who));
      job.membership().admission().prepared(prepared_of(who));
    }
    view = job.membership().views().first();
    view.term = 4;
    view.number = 3;
    view.records = 6;
    view.source.checkpoint = "tiny-4";
    view.source.records = view.source.step = 4;
    return {"hash", 4, view, {2, 0}};
  }
  /// The same before its first view: it had given these numbers.
  static JournalEntry entry_without_view(const FreeNumbers& given) { return {"hash", 4, View{}, given}; }

  /// The job has a folder of checkpoints, with one of step 4 in it.
  void has_a_folder() {
    job_.run.setup.job.name = "tiny";
    job_.run.setup.job_hash = kFolderHash;
    job_.run.setup.checkpoints = mounted_;
    job_.checkpoints.known = std::make_unique<KnownCheckpoints>(mounted_, job_.run.setup.job, kFolderHash,
                                                                job_.checkpoints.verdicts);
    Snapshot snapshot;
    snapshot.history = job_.checkpoints.verdicts.history();
    snapshot.state.assign(4, 1.f);
    snapshot.place.records = snapshot.place.steps = 4;
    snapshot.place.cursor = {Mode::train, 1, 4};
    CheckpointStore(disk_, testing::tiny_identity(kFolderHash)).save(snapshot, 100);
  }

  static inline const std::string kFolderHash = std::string(64, 'a');
  std::shared_ptr<FaultyDisk> disk_ = std::make_shared<FaultyDisk>();
  std::shared_ptr<Away> away_ = std::make_shared<Away>(Away::no);
  std::shared_ptr<MountedDisk> mounted_ =
      std::make_shared<MountedDisk>(disk_, std::make_shared<bool>(false), away_);
  testing::IdleNodes nodes_;
  Readiness readiness_{job_.run, arrivals_, port_, actions_, actions_};
  Adoption adoption_{
      job_.run, job_.checkpoints, {keeper_, suspects_, rollback_, arrivals_, readiness_}, ports_};
};

/// A coordinator was started again with a journal of view 3: its two members are to come back.
class AdoptionTest : public AdoptionFixture {
 protected:
  AdoptionTest() { starts_with(entry_of_view_3()); }

  void starts_with(const JournalEntry& entry) {
    journal_->entry = entry;
    adoption_.look_into_journal();
    log_.all.clear();
  }
  Adopt adopt_of(const NodeName& who) const {
    Adopt adopt;
    adopt.join = join_of(who);
    adopt.prepared = prepared_of(who);
    adopt.term = 4;
    adopt.view = entry_of_view_3().view;
    adopt.begun = true;
    adopt.job_hash = "hash";
    return adopt;
  }
  /// Over a connection of its own.
  void comes_back(const Adopt& adopt) {
    connections_.caller = nodes_.add();
    adoption_.on(adopt);
  }
  void both_come_back() {
    comes_back(adopt_of(kReplica0));
    comes_back(adopt_of(kReplica1));
  }
  const Stop& answer() const { return connections_.answers.back(); }
};

}  // namespace muster
