// Checkpoints on a disk that crashes, fills, tears and flips: the old one or the new one, never a mix, and
// never a damaged one.
#include "actors/checkpoint/checkpoint_store.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "actors/checkpoint/checkpointer.hpp"
#include "gpu/files/safetensors.hpp"
#include "gpu/optimizer/state_hash.hpp"
#include "tests/support/faulty_disk.hpp"
#include "tests/support/mounted_disk.hpp"
#include "tests/support/whole_snapshot.hpp"
#include "tests/unit/actors/checkpoint/small_checkpoints.hpp"

namespace muster {
namespace {

void expect_is(const std::optional<LoadedCheckpoint>& loaded, std::uint64_t step) {
  ASSERT_TRUE(loaded);
  Snapshot wanted = snapshot_at(step, loaded->snapshot.place.records);
  seal(wanted);
  EXPECT_EQ(encode_snapshot(loaded->snapshot), encode_snapshot(wanted));
}

std::vector<std::string> names_on(Disk& disk) {
  std::vector<std::string> names;
  for (const auto& file : disk.list()) names.push_back(file.name);
  return names;
}

TEST(CheckpointStore, WhatWasSavedIsFoundAgain) {
  auto disk = std::make_shared<FaultyDisk>();
  CheckpointStore store(disk, identity());
  EXPECT_FALSE(store.newest().newest);
  const auto saved = store.save(snapshot_at(7), 3);
  EXPECT_EQ(saved.weights_sha256, state_sha256(snapshot_at(7).state));
  const std::string stem = "tiny-step-7-" + saved.weights_sha256.substr(0, 12);
  EXPECT_EQ(saved.path, "disk/" + stem + ".safetensors");
  EXPECT_EQ(names_on(*disk),
            (std::vector<std::string>{stem + "-9.manifest.json", stem + "-9.place",
                                      stem + ".optimizer.safetensors", stem + ".safetensors"}));
  const auto found = store.newest();
  EXPECT_TRUE(found.passed_over.empty());
  expect_is(found.newest, 7);
  EXPECT_EQ(found.newest->manifest.epoch, 2u);
  EXPECT_EQ(found.newest->manifest.ledger.size(), 1u);
  std::uint64_t bytes = 0;
  for (const auto& file : disk->list()) bytes += file.bytes;
  EXPECT_EQ(saved.bytes, bytes);
}

// Another writer of the same checkpoint, whose disk refuses it, takes back what it had written.
class SharedDisk final : public FaultyDisk {
 public:
  void rename(const std::string& from, const std::string& to) override {
    FaultyDisk::rename(from, to);
    if (!to.ends_with(".manifest.json") || std::exchange(other_is_gone_, true)) return;
    remove(to.substr(0, to.rfind("-9.manifest")) + ".safetensors");
  }

 private:
  bool other_is_gone_ = false;
};

TEST(CheckpointStore, NoneIsSaidToBeThereOfWhichAFileIsGone) {
  auto disk = std::make_shared<SharedDisk>();
  CheckpointStore store(disk, identity());
  EXPECT_THROW(store.save(snapshot_at(7), 3), DiskError);
  EXPECT_FALSE(store.newest().newest);
  store.save(snapshot_at(7), 3);
  expect_is(store.newest().newest, 7);
}

TEST(CheckpointStore, WeightsAndOptimizerAreTensorsByName) {
  auto disk = std::make_shared<FaultyDisk>();
  CheckpointStore store(disk, identity());
  store.save(snapshot_at(4), 3);
  const auto found = store.newest().newest;
  ASSERT_TRUE(found);
  const auto weights = parse_safetensors(disk->read(found->manifest.weights.name), "weights");
  ASSERT_EQ(weights.entries.size(), 3u);
  EXPECT_EQ(weights.entries[1].name, "layer.bias");
  EXPECT_EQ(weights.metadata.at("step"), "4");
  const auto optimizer = parse_safetensors(disk->read(found->manifest.optimizer.name), "optimizer");
  ASSERT_EQ(optimizer.entries.size(), 4u);
  EXPECT_EQ(optimizer.entries[2].name, "exp_avg_sq.layer.weight");
  EXPECT_EQ(optimizer.entries[2].shape, (std::vector<std::int64_t>{2, 2}));
}

TEST(CheckpointStore, TheHighestCountsAndTheLastAreKept) {
  auto disk = std::make_shared<FaultyDisk>();
  CheckpointStore store(disk, identity());
  for (const std::uint64_t step : {1u, 2u, 9u, 10u, 11u}) store.save(snapshot_at(step), 3);
  expect_is(store.newest().newest, 11);
  EXPECT_EQ(disk->list().size(), 12u);
  for (const auto& name : names_on(*disk)) {
    EXPECT_GE(parse_checkpoint_name(name, "tiny")->step, 9u) << name;
  }
}

TEST(CheckpointStore, NobodyPrunesWhatCannotBeReadNow) {
  const auto disk = std::make_shared<FaultyDisk>();
  const auto blind = std::make_shared<bool>(false);
  CheckpointStore store(std::make_shared<MountedDisk>(disk, blind, std::make_shared<Away>(Away::no)),
                        identity());
  for (const std::uint64_t step : {1, 2, 3}) store.save(snapshot_at(step), 9);
  *blind = true;
  store.save(snapshot_at(4), 2);
  *blind = false;
  EXPECT_EQ(list_checkpoints(*disk, identity().job_hash).size(), 4u);
  EXPECT_EQ(disk->list().size(), 16u);
  store.save(snapshot_at(5), 2);
  EXPECT_EQ(list_checkpoints(*disk, identity().job_hash).size(), 2u) << "now they can be read";
}

// Of one name, and the mathematics differ in what has not changed the weights yet.
TEST(CheckpointStore, AnotherJobsOfTheSameWeightsStays) {
  auto disk = std::make_shared<FaultyDisk>();
  CheckpointIdentity other = identity();
  other.job_hash[0] = other.job_hash[0] == 'f' ? 'e' : 'f';
  CheckpointStore first(disk, identity()), second(disk, other);
  for (int times = 0; times < 2; ++times) {
    first.save(snapshot_at(7), 3);
    second.save(snapshot_at(7), 3);
  }
  expect_is(first.newest().newest, 7);
  expect_is(second.newest().newest, 7);
  EXPECT_EQ(disk->list().size(), 8u);
}

TEST(CheckpointStore, OfAStepThatOfTheLastAttemptStays) {
  auto disk = std::make_shared<FaultyDisk>();
  CheckpointStore store(disk, identity());
  Snapshot before = snapshot_at(7, 10), now = snapshot_at(7, 9), next = snapshot_at(8, 11);
  before.history = 1;  // ended there, with an evaluation
  now.history = next.history = 2;
  for (const Snapshot* each : {&before, &now, &next}) store.save(*each, 2);
  const auto left = list_checkpoints(*disk, identity().job_hash);
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left.front().history, 2u);
  EXPECT_EQ(left.front().records, 9u);
}

TEST(CheckpointStore, NobodyPrunesWhatIsNewerThanItsOwnStep) {
  auto disk = std::make_shared<FaultyDisk>();
  CheckpointStore store(disk, identity());
  for (const std::uint64_t step : {5u, 50u}) store.save(snapshot_at(step), 1);
  store.save(snapshot_at(20), 1);
  EXPECT_EQ(disk->list().size(), 8u);  // of 20 and 50
  expect_is(store.newest().newest, 50);
}

TEST(CheckpointStore, NobodyGoesOnFromWhatWasSetAside) {
  auto disk = std::make_shared<FaultyDisk>();
  CheckpointStore store(disk, identity());
  CheckpointStore other(disk, identity(std::string(64, 'b')));
  for (const std::uint64_t step : {2, 4, 6}) store.save(snapshot_at(step), 5);
  other.save(snapshot_at(8), 5);
  store.set_aside(3, 0);
  store.set_aside(3, 0);  // another replica does the same
  expect_is(store.newest().newest, 2);
  expect_is(other.newest().newest, 8);
  EXPECT_EQ(list_checkpoints(*disk, identity().job_hash).size(), 1u);
  const auto names = names_on(*disk);
  EXPECT_EQ(std::count_if(names.begin(), names.end(), [](const auto& n) { return n.ends_with(kSetAside); }),
            2);
  store.save(snapshot_at(6), 5);
  expect_is(store.newest().newest, 6);
  for (const std::string& name : names_on(*disk)) EXPECT_FALSE(name.ends_with(kSetAside)) << name;
}

TEST(CheckpointStore, OrphansAndTemporaryFilesOfOlderOnesGo) {
  auto disk = std::make_shared<FaultyDisk>();
  CheckpointStore store(disk, identity());
  const std::span<const std::byte> nothing[] = {std::span<const std::byte>{}};
  for (const char* name :
       {"tiny-step-3-0123456789ab.safetensors", "tiny-step-3-0123456789ab.safetensors.tmp.77",
        "tiny-step-99-0123456789ab.safetensors.tmp.77", "other-step-3-0123456789ab.safetensors",
        "tiny.journal", "tiny-step-x-0123456789ab.place", "notes"}) {
    disk->write(name, nothing);
  }
  store.save(snapshot_at(7), 3);
  EXPECT_FALSE(disk->holds("tiny-step-3-0123456789ab.safetensors"));
  EXPECT_FALSE(disk->holds("tiny-step-3-0123456789ab.safetensors.tmp.77"));
  EXPECT_EQ(disk->list().size(), 4u + 5u);
}

TEST(CheckpointStore, OfTwoOfTheSameStepTheLaterCounts) {
  auto disk = std::make_shared<FaultyDisk>();
  CheckpointStore store(disk, identity());
  store.save(snapshot_at(7, 8), 1);
  store.save(snapshot_at(7, 11), 1);
  const auto found = store.newest();
  ASSERT_TRUE(found.newest);
  EXPECT_EQ(found.newest->snapshot.place.records, 11u);
  EXPECT_EQ(disk->list().size(), 6u) << "the weights and the optimizer are the same";
}

// The machine stops at every operation of a save, in several ways each: what is found is the old checkpoint
// or the new one, whole.
void crash_everywhere(std::uint64_t new_step, std::uint64_t new_records, std::uint32_t keep) {
  std::uint64_t old_found = 0, new_found = 0, operations = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (std::uint64_t at = 0;; ++at) {
      auto disk = std::make_shared<FaultyDisk>(seed * 1000 + at);
      CheckpointStore store(disk, identity());
      store.save(snapshot_at(5), keep);
      store.save(snapshot_at(6), keep);
      disk->start_again();  // counts from 0
      disk->crash_at(at);
      try {
        store.save(snapshot_at(new_step, new_records), keep);
      } catch (const DiskError&) {
      }
      if (disk->operations() <= at) {
        operations = at;
        break;
      }
      disk->start_again();
      const auto found = store.newest();
      ASSERT_TRUE(found.newest) << "stopped at " << at << " seed " << seed;
      const auto& place = found.newest->snapshot.place;
      const bool is_new = place.records == new_records;
      is_new ? ++new_found : ++old_found;
      expect_is(found.newest, is_new ? new_step : 6);
      EXPECT_TRUE(is_new || place.records == 8) << place.records;
      // And the next save works, and leaves nothing behind.
      store.save(snapshot_at(30), 1);
      EXPECT_EQ(disk->list().size(), 4u) << "stopped at " << at << " seed " << seed;
      expect_is(store.newest().newest, 30);
    }
  }
  EXPECT_GT(operations, 15u);
  EXPECT_GT(old_found, 100u);
  EXPECT_GT(new_found, 20u);
}

TEST(CheckpointStore, ACrashAtAnyOperationLeavesTheOldOrTheNew) {
  crash_everywhere(7, 9, 1);
  crash_everywhere(7, 9, 3);
}

TEST(CheckpointStore, ACrashWhileTheSameStepIsReplacedLeavesOneOfTheTwo) {
  crash_everywhere(6, 12, 1);
}

TEST(CheckpointStore, AFullDiskKeepsTheOldOnes) {
  for (std::uint64_t room = 0; room < 3000; room += 37) {
    auto disk = std::make_shared<FaultyDisk>(room);
    CheckpointStore store(disk, identity());
    store.save(snapshot_at(5), 3);
    const auto before = names_on(*disk);
    disk->set_room(room);
    try {
      store.save(snapshot_at(6), 3);
      expect_is(store.newest().newest, 6);
    } catch (const DiskError& error) {
      EXPECT_EQ(error.code(), ENOSPC);
      EXPECT_NE(advice_for(error).find("free space"), std::string::npos);
      expect_is(store.newest().newest, 5);
      EXPECT_EQ(names_on(*disk), before) << "what was begun takes room, and is of no use";
    }
    disk->set_room(1 << 20);
    store.save(snapshot_at(7), 1);
    expect_is(store.newest().newest, 7);
    EXPECT_EQ(disk->list().size(), before.size()) << room;
  }
}

TEST(CheckpointStore, AReadOnlyDiskIsSaidToBeOne) {
  auto disk = std::make_shared<FaultyDisk>();
  CheckpointStore store(disk, identity());
  store.save(snapshot_at(5), 3);
  disk->set_read_only(true);
  try {
    store.save(snapshot_at(6), 3);
    FAIL() << "it was written";
  } catch (const DiskError& error) {
    EXPECT_EQ(error.code(), EROFS);
    EXPECT_NE(advice_for(error).find("writable"), std::string::npos);
  }
  expect_is(store.newest().newest, 5);
}

TEST(CheckpointStore, DamageInAnyFileIsSeenAndTheOneBeforeIsTaken) {
  for (int which = 0; which < 4; ++which) {
    for (std::uint64_t bit = 0; bit < 4000; bit += 53) {
      auto disk = std::make_shared<FaultyDisk>();
      CheckpointStore store(disk, identity());
      store.save(snapshot_at(5), 3);
      store.save(snapshot_at(6), 3);
      const auto newest = store.newest().newest;
      ASSERT_TRUE(newest);
      const std::string victim = which == 0   ? newest->manifest.weights.name
                                 : which == 1 ? newest->manifest.optimizer.name
                                 : which == 2 ? newest->manifest.place.name
                                              : newest->manifest_name;
      if (bit == 0) {
        disk->tear(victim);
      } else {
        disk->flip(victim, bit);
      }
      const auto found = store.newest();
      ASSERT_TRUE(found.newest) << victim;
      // A flip in the manifest may hit a word that means nothing for the files; all it names is whole then.
      const auto step = found.newest->snapshot.place.steps;
      EXPECT_TRUE(step == 5 || which == 3) << victim << " bit " << bit;
      expect_is(found.newest, step);
      if (step == 5) {
        ASSERT_EQ(found.passed_over.size(), 1u) << victim;
        EXPECT_FALSE(found.passed_over[0].why.empty());
      }
    }
  }
}

TEST(CheckpointStore, OfAnotherJobOrOtherDataIsPassedOver) {
  auto disk = std::make_shared<FaultyDisk>();
  CheckpointStore(disk, identity(std::string(64, 'b'))).save(snapshot_at(50), 3);
  CheckpointIdentity other_data = identity();
  other_data.fingerprint = "data 2";
  CheckpointStore(disk, other_data).save(snapshot_at(40), 3);
  CheckpointStore store(disk, identity());
  auto found = store.newest();
  EXPECT_FALSE(found.newest);
  ASSERT_EQ(found.passed_over.size(), 2u);
  EXPECT_NE(found.passed_over[0].why.find("another job"), std::string::npos);
  EXPECT_NE(found.passed_over[1].why.find("other content"), std::string::npos);
  store.save(snapshot_at(7), 1);
  expect_is(store.newest().newest, 7);
  EXPECT_EQ(disk->list().size(),
            12u);  // nothing of the others is removed: one is newer, one is of another job
}

// Each replica whose coordinator is gone writes what it holds.
TEST(CheckpointStore, OfOneStepWithOtherWeightsNoneIsGoneOnFrom) {
  const auto disk = std::make_shared<FaultyDisk>();
  CheckpointStore store(disk, identity());
  store.save(snapshot_at(4), 3);
  store.save(snapshot_at(8), 3);
  Snapshot wrong = snapshot_at(8);
  wrong.state[3] += 1;
  wrong.place.records += 1;  // an epoch's end, say
  const auto flipped = store.save(wrong, 3);
  EXPECT_EQ(store.newest(nullptr, false).newest->manifest.step, 8u);
  const auto found = store.newest();
  expect_is(found.newest, 4);
  ASSERT_EQ(found.passed_over.size(), 2u);
  for (const PassedOver& each : found.passed_over) EXPECT_TRUE(each.differs) << each.why;
  EXPECT_EQ(std::ranges::count(names_on(*disk), flipped.manifest + kSetAside), 1);
  EXPECT_EQ(list_checkpoints(*disk, identity().job_hash).size(), 1u);
  store.save(snapshot_at(8), 3);
  expect_is(store.newest().newest, 8);
}

TEST(CheckpointStore, WhatAReadOnlyFolderKeepsIsNotSaidToBeSetAside) {
  const auto disk = std::make_shared<FaultyDisk>();
  CheckpointStore store(disk, identity());
  Snapshot wrong = snapshot_at(8);
  wrong.state[3] += 1;
  wrong.place.records += 1;
  store.save(snapshot_at(8), 3);
  store.save(wrong, 3);
  disk->set_read_only(true);
  const auto kept = store.newest();
  EXPECT_FALSE(kept.newest);
  ASSERT_EQ(kept.passed_over.size(), 2u);
  for (const PassedOver& each : kept.passed_over)
    EXPECT_NE(each.why.find("it stays, for"), std::string::npos);
  disk->set_read_only(false);
  const auto moved = store.newest();
  ASSERT_EQ(moved.passed_over.size(), 2u);
  for (const PassedOver& each : moved.passed_over)
    EXPECT_NE(each.why.find("it is set aside"), std::string::npos);
}

TEST(CheckpointStore, ADamagedOneSaysNothingAgainstTheOtherOfItsPlace) {
  const auto disk = std::make_shared<FaultyDisk>();
  CheckpointStore store(disk, identity());
  Snapshot wrong = snapshot_at(8);
  wrong.state[3] += 1;
  const auto flipped = store.save(wrong, 3);
  store.save(snapshot_at(8), 3);
  disk->flip(parse_checkpoint_name(flipped.manifest, "")->stem + ".safetensors", 300);
  expect_is(store.newest().newest, 8);
}

TEST(CheckpointStore, OnARealDisk) {
  std::string pattern = (std::filesystem::temp_directory_path() / "muster-checkpoint-XXXXXX").string();
  const std::filesystem::path folder = ::mkdtemp(pattern.data());
  const auto disk = open_disk((folder / "deep" / "er").string());
  CheckpointStore store(disk, identity());
  EXPECT_FALSE(store.newest().newest);  // there is no folder yet
  for (const std::uint64_t step : {1u, 2u, 3u}) store.save(snapshot_at(step), 2);
  expect_is(store.newest().newest, 3);
  EXPECT_EQ(disk->list().size(), 8u);
  EXPECT_EQ(
      read_safetensors(store.newest().newest->manifest.weights.name.insert(0, disk->folder() + "/")).state,
      snapshot_at(3).state);
  std::filesystem::remove_all(folder);
}

TEST(CheckpointName, IsReadBack) {
  const std::string stem = checkpoint_stem("a-step-b", 12, "0123456789abcdef", 1);
  EXPECT_EQ(stem, "a-step-b-step-12-0123456789ab");
  const auto parsed = parse_checkpoint_name(stem + "-13.manifest.json", "a-step-b");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->stem, stem);
  EXPECT_EQ(parsed->step, 12u);
  EXPECT_TRUE(parsed->is_manifest());
  EXPECT_FALSE(parse_checkpoint_name(stem + ".manifest.json", "a"));
  EXPECT_FALSE(parse_checkpoint_name("a-step-b-step-12-0123456789aX.place", ""));
  EXPECT_FALSE(parse_checkpoint_name("a-step-99999999999999999999999-0123456789ab.place", ""));
  EXPECT_FALSE(parse_checkpoint_name("a-step-1-0123456789ab", ""));
  EXPECT_EQ(checkpoint_stem("../up", 1, "0123456789abcdef", 1), "_._up-step-1-0123456789ab");
  const std::string second = checkpoint_stem("a", 12, "0123456789abcdef", 2);
  EXPECT_EQ(second, "a-step-12-0123456789ab_2");
  EXPECT_EQ(parse_checkpoint_name(second + "-13.manifest.json", "a")->stem, second);
  EXPECT_FALSE(parse_checkpoint_name("a-step-12-0123456789ab_.place", ""));
  EXPECT_FALSE(parse_checkpoint_name("a-step-12-0123456789ab_2", ""));
}

// Runs what was submitted when it is told to.
class HandExecutor final : public Executor {
 public:
  void submit(std::function<void()> job) override { jobs_.push_back(std::move(job)); }
  void run_all() {
    for (auto& job : std::exchange(jobs_, {})) job();
  }

 private:
  std::vector<std::function<void()>> jobs_;
};

// A replica is told to end while it writes: its results from step 5 on may be wrong.
TEST(Checkpointer, LeavesNoCheckpointThatIsWithdrawn) {
  const auto disk = std::make_shared<FaultyDisk>();
  const auto thread = std::make_shared<HandExecutor>();
  const auto store = std::make_shared<CheckpointStore>(disk, identity());
  Checkpointer checkpointer(
      thread, [thread] { return thread; }, store, store, {}, false);
  std::vector<std::uint64_t> told;
  for (const std::uint64_t step : {4, 5, 6}) {
    checkpointer.write(std::make_shared<Snapshot>(snapshot_at(step)), {}, [&](const Written& written) {
      told.push_back(written.step);
      if (written.step == 4) checkpointer.withdraw(5);
    });
  }
  thread->run_all();
  EXPECT_EQ(told, std::vector<std::uint64_t>{4});
  expect_is(store->newest().newest, 4);
  EXPECT_TRUE(store->newest().passed_over.empty());
}

// Some replicas may be on their way back to the first, when another one writes the second.
TEST(CheckpointStore, AnEpochThatEndsBehindAStepReplacesNothing) {
  const auto disk = std::make_shared<FaultyDisk>();
  CheckpointStore store(disk, identity());
  const auto of_step = store.save(snapshot_at(4), Keep(1, 4));
  Snapshot ended = snapshot_at(4);
  ++ended.place.records;
  const auto of_epoch = store.save(ended, Keep(1, 4));
  EXPECT_NE(of_step.manifest, of_epoch.manifest);
  std::string why;
  const auto first = store.load(of_step.manifest, why);
  const auto second = store.load(of_epoch.manifest, why);
  ASSERT_TRUE(first && second) << why;
  EXPECT_EQ(first->manifest.records + 1, second->manifest.records);
  EXPECT_EQ(store.newest().newest->manifest.records, second->manifest.records);
  store.save(snapshot_at(5), Keep(2, 5));
  const auto left = list_checkpoints(*disk, identity().job_hash);
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left.front().manifest, of_epoch.manifest) << "the step's is too old now";
}

TEST(CheckpointStore, OneIsSetAsideByItsManifest) {
  const auto disk = std::make_shared<FaultyDisk>();
  CheckpointStore store(disk, identity());
  store.save(snapshot_at(4), 3);
  const auto wrong = store.save(snapshot_at(5), 3);
  store.set_aside(wrong.manifest);
  expect_is(store.newest().newest, 4);
  EXPECT_TRUE(disk->holds(wrong.manifest + kSetAside));
  store.set_aside(wrong.manifest);  // another one was quicker
  expect_is(store.newest().newest, 4);
}

}  // namespace
}  // namespace muster
