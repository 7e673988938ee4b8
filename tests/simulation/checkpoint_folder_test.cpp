// The folder of checkpoints while a run goes back: away from some, not mounted, with one file that cannot be
// read. What is not read now is not gone.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "actors/checkpoint/checkpoint_list.hpp"
#include "actors/registry/job_hash.hpp"
#include "actors/resume/resume.hpp"
#include "muster/job_file.hpp"
#include "tests/simulation/cluster.hpp"
#include "tests/simulation/oracle.hpp"
#include "tests/support/faulty_disk.hpp"
#include "tests/support/linear_job.hpp"
#include "tests/support/sanitized.hpp"

namespace muster::simulation {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kSeeds = kSanitized ? 6 : 20;

// Four replicas hold the optimizer in parts: where two neighbors are lost, all go back.
Job job_in_parts() {
  Job job = testing::linear_job({.samples = 61, .test_samples = 17});
  job.name = "kept";
  job.seed = 6;
  job.train.shards = 4;
  job.train.batch = 3;
  job.train.epochs = 3;
  job.train.shard_optimizer = true;
  job.train.optimizer.kind = OptimizerKind::adam;
  job.train.optimizer.learning_rate.initial = 0.03;
  job.cluster.replicas = 4;
  job.cluster.min_replicas = 1;
  job.cluster.on_loss = OnLoss::go_on;
  job.cluster.give_up_after = seconds(20);
  job.checkpoint.folder = "disk";
  job.checkpoint.every = {3, Interval::Unit::steps};
  job.checkpoint.keep = 1000;
  return with_defaults(job, builtin_registry().declarations());
}

class WatchedRun final : public Watch {
 public:
  WatchedRun(const Job& job, std::uint64_t seed, const std::shared_ptr<Disk>& disk,
             const std::shared_ptr<Disk>& spare = nullptr) {
    ClusterOptions options;
    options.seed = seed;
    options.disk = disk;
    options.spare = spare;
    options.by_hand = spare != nullptr;
    cluster_ = std::make_unique<Cluster>(job, builtin_registry(), options, this);
  }

  Cluster& cluster() { return *cluster_; }
  // The first report of a checkpoint in the spare folder is lost, and the connection breaks.
  void sent(ProcessId, ProcessId, const caf::message& message) override {
    if (!message.match_elements<Checkpointed>() || message.get_as<Checkpointed>(0).folder.empty() ||
        std::exchange(cut_, true))
      return;
    cluster_->world().after(Nanoseconds(0),
                            [this] { cluster_->disturb_coordinator("replica 0", {.blocked = true}); });
    cluster_->world().after(milliseconds(5800), [this] { cluster_->disturb_coordinator("replica 0", {}); });
  }
  bool was_cut() const { return cut_; }
  const Event& last(const std::string& name) const {
    return *std::find_if(events_.rbegin(), events_.rend(),
                         [&](const Event& event) { return event.name == name; });
  }
  void event(const Event& event) override {
    events_.push_back(event);
    if (then_) then_(event);
  }

  // Ends with the report; none: it hung.
  std::optional<Report> until_end(std::function<void(const Event&)> then) {
    then_ = std::move(then);
    cluster_->start();
    while (!cluster_->report() && cluster_->world().now() <= std::chrono::hours(1) && cluster_->step()) {
    }
    return cluster_->report();
  }
  // Both at once, behind what is told of the checkpoint.
  void lose_two() {
    cluster_->world().after(milliseconds(5), [this] {
      cluster_->crash("replica 2", true);
      cluster_->crash("replica 3", true);
    });
  }
  std::uint64_t count(const std::string& name, const std::string& words = {}) const {
    return static_cast<std::uint64_t>(std::ranges::count_if(events_, [&](const Event& event) {
      return event.name == name && (words.empty() || event.text("text").find(words) != std::string::npos);
    }));
  }

 private:
  std::unique_ptr<Cluster> cluster_;
  std::vector<Event> events_;
  std::function<void(const Event&)> then_;
  bool cut_ = false;
};

void expect_whole(const std::optional<Report>& report, const std::string& what) {
  static const OracleResult oracle = train_plainly(job_in_parts(), builtin_registry());
  ASSERT_TRUE(report) << "hung: " << what;
  ASSERT_EQ(report->outcome, "completed") << report->reason << " " << what;
  EXPECT_EQ(report->weights_sha256, oracle.weights_sha256) << what;
}

// A bad sector: the disk refuses one file for good.
class BadSector final : public FaultyDisk {
 public:
  using FaultyDisk::FaultyDisk;
  Bytes read(const std::string& name) override {
    if (name == bad) throw DiskError(EIO, "cannot read " + name + ": Input/output error");
    return FaultyDisk::read(name);
  }
  std::string bad;
};

TEST(CheckpointFolder, OneFileThatCannotBeReadForGoodIsPassedOver) {
  std::uint64_t older = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const auto disk = std::make_shared<BadSector>(seed);
    WatchedRun run(job_in_parts(), seed, disk);
    const auto report = run.until_end([&](const Event& event) {
      if (event.name != "checkpoint" || run.count("checkpoint") != 2) return;
      disk->bad = event.text("path").substr(std::string("disk/").size());
      run.lose_two();
    });
    expect_whole(report, "seed " + std::to_string(seed));
    older += run.count("notice", "Input/output error; the run goes to");
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(older, 0u) << "no two that were lost were neighbors";
}

// NFS that neither answers nor refuses.
TEST(CheckpointFolder, OneThatDoesNotAnswerIsGivenUp) {
  std::uint64_t given_up = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    WatchedRun run(job_in_parts(), seed, std::make_shared<FaultyDisk>(seed));
    const auto report = run.until_end([&](const Event& event) {
      if (event.name != "checkpoint" || run.count("checkpoint") != 2) return;
      for (const std::string& node : run.cluster().nodes()) run.cluster().freeze(node, "muster-disk");
      run.lose_two();
    });
    ASSERT_TRUE(report) << "hung: seed " << seed;
    if (run.count("went_back") == 0) continue;  // no two that were lost were neighbors
    ++given_up;
    EXPECT_EQ(run.count("notice", "it is large, or the disk does not answer"), 1u) << "seed " << seed;
    EXPECT_EQ(report->outcome, "failed") << "seed " << seed;
    EXPECT_NE(report->reason.find("the disk of checkpoint.folder does not answer"), std::string::npos)
        << report->reason << " seed " << seed;
  }
  EXPECT_GT(given_up, 0u);
}

TEST(CheckpointFolder, NoneIsResumedBeforeANewerOneWhoseFilesCannotBeReadNow) {
  const auto disk = std::make_shared<BadSector>(1);
  WatchedRun run(job_in_parts(), 1, disk);
  expect_whole(run.until_end([](const Event&) {}), "undisturbed");
  const auto newest =
      list_checkpoints(*disk, job_hash(job_in_parts(), builtin_registry().declarations())).back();
  EXPECT_EQ(find_resume(job_in_parts(), builtin_registry(), disk).manifest, newest.manifest);
  disk->bad = newest.weights;
  try {
    find_resume(job_in_parts(), builtin_registry(), disk);
    ADD_FAILURE() << "it goes on from an older one";
  } catch (const NothingToResume& error) {
    EXPECT_NE(std::string(error.what()).find(newest.manifest), std::string::npos) << error.what();
  }
}

TEST(CheckpointFolder, ReplicasLookAgainForWhatTheCoordinatorSees) {
  std::uint64_t waited = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    WatchedRun run(job_in_parts(), seed, std::make_shared<FaultyDisk>(seed));
    const auto report = run.until_end([&](const Event& event) {
      if (event.name != "checkpoint" || run.count("checkpoint") != 2) return;
      run.cluster().set_disk_away(Away::unmounted, Away::no);
      run.cluster().world().after(seconds(10), [&] { run.cluster().set_disk_away(Away::no, Away::no); });
      run.lose_two();
    });
    expect_whole(report, "seed " + std::to_string(seed));
    waited += run.count("notice", "they look again");
    if (run.count("notice", "they look again") > 0) {
      EXPECT_EQ(run.count("went_back"), 1u) << "to the one that was there, seed " << seed;
    }
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(waited, 0u) << "no two that were lost were neighbors";
}

// A disk that some replicas see before the others do.
TEST(CheckpointFolder, IsMountedOnOneHostAfterTheOther) {
  std::uint64_t waited = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    WatchedRun run(job_in_parts(), seed, std::make_shared<FaultyDisk>(seed));
    const auto report = run.until_end([&](const Event& event) {
      if (event.name != "checkpoint" || run.count("checkpoint") != 2) return;
      for (const char* one : {"replica 0", "replica 1"}) run.cluster().blind(one);
      run.cluster().world().after(seconds(3), [&] { run.cluster().blind("replica 0", false); });
      run.cluster().world().after(seconds(9), [&] { run.cluster().blind("replica 1", false); });
      run.lose_two();
    });
    expect_whole(report, "seed " + std::to_string(seed));
    if (HasFatalFailure()) return;
    if (run.count("notice", "they look again") == 0) continue;
    ++waited;
    EXPECT_EQ(run.count("lost"), 2u) << "seed " << seed;
  }
  EXPECT_GT(waited, 0u) << "no two that were lost were neighbors";
}

TEST(CheckpointFolder, WhereNoReplicaSeesItTheRunEndsAndSaysWhatToDo) {
  std::uint64_t ended = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    WatchedRun run(job_in_parts(), seed, std::make_shared<FaultyDisk>(seed));
    const auto report = run.until_end([&](const Event& event) {
      if (event.name != "checkpoint" || run.count("checkpoint") != 2) return;
      run.cluster().set_disk_away(Away::unmounted, Away::no);
      run.lose_two();
    });
    ASSERT_TRUE(report) << "hung: seed " << seed;
    if (run.count("went_back") == 0) continue;
    ++ended;
    EXPECT_EQ(report->outcome, "failed") << "seed " << seed;
    EXPECT_TRUE(report->reason.starts_with("no replica finds kept-step-")) << report->reason;
    EXPECT_NE(report->reason.find("mount the folder on every host"), std::string::npos) << report->reason;
    EXPECT_GE(run.cluster().world().now(), job_in_parts().cluster.give_up_after);
  }
  EXPECT_GT(ended, 0u) << "no two that were lost were neighbors";
}

// It cannot see what members told of, and goes on with that. One more is lost before the first step.
TEST(CheckpointFolder, ALossOnTheWayBackIsNoReasonToWaitForItOnceMore) {
  std::uint64_t again = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    WatchedRun run(job_in_parts(), seed, std::make_shared<FaultyDisk>(seed));
    bool is_lost = false;
    const auto report = run.until_end([&](const Event& event) {
      if (event.name == "checkpoint" && run.count("checkpoint") == 2) {
        run.cluster().world().after(milliseconds(4),
                                    [&] { run.cluster().set_disk_away(Away::no, Away::all); });
        run.lose_two();
      }
      if (event.name != "view" || run.count("went_back") == 0 || std::exchange(is_lost, true)) return;
      run.cluster().world().after(Nanoseconds(0), [&] { run.cluster().crash("replica 1", true); });
    });
    expect_whole(report, "seed " + std::to_string(seed));
    again += is_lost ? 1 : 0;
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(again, 0u) << "no two that were lost were neighbors";
}

// A coordinator that is started again can read the older one. The newer one may be read another time, and
// who could tell of it is lost.
TEST(CheckpointFolder, IsWaitedForWhereABetterOneCannotBeReadNow) {
  std::uint64_t waited = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const auto disk = std::make_shared<BadSector>(seed);
    Job job = job_in_parts();
    job.cluster.give_up_after = seconds(60);
    WatchedRun run(job, seed, disk, std::make_shared<FaultyDisk>());
    std::int64_t to_step = 0;
    const auto report = run.until_end([&](const Event& event) {
      if (event.name == "went_back") to_step = event.integer("to_step");
      if (event.name != "checkpoint" || run.count("checkpoint") != 2) return;
      for (const auto& file : disk->list()) {
        if (file.name.starts_with("kept-step-6-") && file.name.ends_with(".manifest.json"))
          disk->bad = file.name;
      }
      ASSERT_FALSE(disk->bad.empty());
      run.cluster().world().after(Nanoseconds(0), [&] {
        run.cluster().crash_coordinator();
        run.cluster().crash("replica 0", true);  // the writer
        run.cluster().crash("replica 1", true);
      });
      run.cluster().world().after(seconds(30), [&] { disk->bad.clear(); });
    });
    expect_whole(report, "seed " + std::to_string(seed));
    if (HasFatalFailure()) return;
    if (run.count("notice", "it is waited for") == 0) continue;
    ++waited;
    EXPECT_EQ(to_step, 6) << "seed " << seed;
  }
  EXPECT_GT(waited, 0u) << "no two that were lost were neighbors";
}

// Whoever looks finds none: that of the view is not given up for an older one, which is not there either.
TEST(CheckpointFolder, WhereItIsMountedNowhereNoneIsPassedOver) {
  std::uint64_t ended = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Job job = job_in_parts();
    job.checkpoint.every = {2, Interval::Unit::steps};
    WatchedRun run(job, seed, std::make_shared<FaultyDisk>(seed));
    const auto report = run.until_end([&](const Event& event) {
      if (event.name != "checkpoint" || run.count("checkpoint") != 3) return;
      run.cluster().set_disk_away(Away::unmounted, Away::unmounted);
      run.lose_two();
    });
    ASSERT_TRUE(report) << "hung: seed " << seed;
    if (report->completed()) continue;
    ++ended;
    EXPECT_TRUE(report->reason.starts_with("checkpoint.folder (disk) could not be read")) << report->reason;
    EXPECT_EQ(run.count("notice", "; the run goes to"), 0u) << "seed " << seed;
    EXPECT_LE(run.cluster().world().now(), 3 * job.cluster.give_up_after) << "seed " << seed;
  }
  EXPECT_GT(ended, 0u) << "no two that were lost were neighbors";
}

// It knows of the older one by a report alone.
void goes_back_further_by_report(Away from_coordinator) {
  std::uint64_t older = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const auto disk = std::make_shared<FaultyDisk>(seed);
    WatchedRun run(job_in_parts(), seed, disk);
    bool began = false;
    const auto report = run.until_end([&](const Event& event) {
      if (event.name == "view" && !std::exchange(began, true))
        run.cluster().set_disk_away(Away::no, from_coordinator);
      if (event.name != "checkpoint" || run.count("checkpoint") != 2) return;
      disk->damage(event.text("path").substr(std::string("disk/").size()), 77);
      run.lose_two();
    });
    expect_whole(report, "seed " + std::to_string(seed));
    if (::testing::Test::HasFatalFailure()) return;
    older += run.count("notice", "the run goes to kept-step-3-");
    EXPECT_EQ(run.count("notice", "the run goes to the beginning"), 0u) << "seed " << seed;
  }
  EXPECT_GT(older, 0u) << "no two that were lost were neighbors";
}

TEST(CheckpointFolder, WhatMembersToldOfIsGoneBackToWhereNoneIsShared) {
  goes_back_further_by_report(Away::unmounted);
}

TEST(CheckpointFolder, WhatMembersToldOfIsGoneBackToWhereItCannotBeListed) {
  goes_back_further_by_report(Away::all);
}

// Told to end while it waits for what may be better than a checkpoint that is damaged.
TEST(CheckpointFolder, ARunThatEndsNamesNoDamagedCheckpoint) {
  std::uint64_t ended = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const auto disk = std::make_shared<FaultyDisk>(seed);
    WatchedRun run(job_in_parts(), seed, disk);
    const auto report = run.until_end([&](const Event& event) {
      if (event.name == "checkpoint" && run.count("checkpoint") == 2) {
        disk->damage(event.text("path").substr(std::string("disk/").size()), 77);
        run.lose_two();
      }
      if (event.name == "went_back") run.cluster().set_disk_away(Away::no, Away::all);
      if (event.name == "notice" && run.count("notice", "it is waited for") == 1)
        run.cluster().world().after(milliseconds(50), [&] { run.cluster().ask_to_end(); });
    });
    ASSERT_TRUE(report) << "hung: seed " << seed;
    if (run.count("notice", "it is waited for") == 0) continue;
    ++ended;
    EXPECT_EQ(report->outcome, "interrupted") << "seed " << seed;
    ASSERT_EQ(run.count("state_kept"), 1u) << "seed " << seed;
    EXPECT_TRUE(run.last("state_kept").text("checkpoint").starts_with("kept-step-3-"))
        << run.last("state_kept").text("checkpoint");
    ASSERT_TRUE(report->kept);
    EXPECT_EQ(report->kept->step, 3u);
  }
  EXPECT_GT(ended, 0u) << "no two that were lost were neighbors";
}

// The checkpoint lies in the middle of the epoch: it is done again, and told and counted again.
TEST(CheckpointFolder, AnEpochThatIsDoneAgainIsCountedAgain) {
  std::uint64_t again = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Job job = job_in_parts();
    job.checkpoint.every = {4, Interval::Unit::steps};
    WatchedRun run(job, seed, std::make_shared<FaultyDisk>(seed));
    const auto report = run.until_end([&](const Event& event) {
      if (event.name == "epoch" && run.count("epoch") == 1) run.lose_two();
    });
    expect_whole(report, "seed " + std::to_string(seed));
    if (HasFatalFailure()) return;
    if (run.count("went_back") == 0) continue;
    ++again;
    EXPECT_EQ(run.last("went_back").integer("to_step"), 4) << "seed " << seed;
    EXPECT_EQ(run.count("epoch"), *job.train.epochs + 1) << "seed " << seed;
    EXPECT_EQ(report->epochs.size(), *job.train.epochs) << "seed " << seed;
  }
  EXPECT_GT(again, 0u) << "no two that were lost were neighbors";
}

// The report of it is lost with the connection: the run would say that nothing was kept.
TEST(CheckpointFolder, OneInTheSpareFolderIsToldAgain) {
  Job job = job_in_parts();
  job.cluster.replicas = 1;
  job.checkpoint.grace = seconds(60);
  const auto disk = std::make_shared<FaultyDisk>(), spare = std::make_shared<FaultyDisk>();
  WatchedRun run(job, 1, disk, spare);
  const auto report = run.until_end([&](const Event& event) {
    if (event.name != "epoch" || run.count("epoch") > 1) return;
    disk->set_read_only(true);
    run.cluster().ask_to_end();
  });
  ASSERT_TRUE(report);
  EXPECT_TRUE(run.was_cut());
  EXPECT_EQ(run.count("state_kept"), 1u) << report->reason;
  ASSERT_TRUE(report->kept);
  EXPECT_FALSE(report->kept->folder.empty());
}

}  // namespace
}  // namespace muster::simulation
