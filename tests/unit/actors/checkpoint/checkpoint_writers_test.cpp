// Several who write into one folder, or read from it: nobody takes away what is another's.
#include <gtest/gtest.h>

#include <functional>

#include "actors/checkpoint/checkpoint_store.hpp"
#include "actors/checkpoint/checkpoint_verdicts.hpp"
#include "tests/support/faulty_disk.hpp"
#include "tests/unit/actors/checkpoint/small_checkpoints.hpp"

namespace muster {
namespace {

// Something happens behind one of the next looks into the folder.
class BusyDisk final : public FaultyDisk {
 public:
  std::vector<File> list() override {
    auto files = FaultyDisk::list();
    if (looks > 0 && --looks == 0) meanwhile();
    return files;
  }
  int looks = 0;
  std::function<void()> meanwhile;
};

std::uint64_t weights_bytes() {
  const auto disk = std::make_shared<FaultyDisk>();
  const auto saved = CheckpointStore(disk, identity()).save(snapshot_at(7), 3);
  return disk->read(saved.path.substr(std::string("disk/").size())).size();
}

TEST(CheckpointStore, WhoTakesBackLeavesWhatAnotherOneHasCompleted) {
  for (int look = 1; look <= 3; ++look) {
    const auto disk = std::make_shared<BusyDisk>();
    CheckpointStore store(disk, identity()), other(disk, identity());
    disk->set_room(weights_bytes() + 10);  // they fit, and no more
    disk->looks = look;
    disk->meanwhile = [&] {
      disk->set_room(FaultyDisk::kNever);
      try {
        other.save(snapshot_at(7), 3);
      } catch (const DiskError&) {
        other.save(snapshot_at(7), 3);  // it has seen that a file is gone, and tries again
      }
    };
    EXPECT_THROW(store.save(snapshot_at(7), 3), DiskError);
    const auto found = store.newest();
    ASSERT_TRUE(disk->looks == 0 && found.newest) << "look " << look;
    EXPECT_EQ(found.newest->manifest.step, 7u) << "look " << look;
  }
}

TEST(CheckpointStore, WhoTakesBackLeavesWhatAnotherOneHasBegun) {
  const auto disk = std::make_shared<FaultyDisk>();
  CheckpointStore store(disk, identity());
  const std::string stem = [&] {
    const auto saved = store.save(snapshot_at(7), 3);
    const std::string file = saved.path.substr(std::string("disk/").size());
    return file.substr(0, file.rfind(".safetensors"));
  }();
  for (const auto& file : disk->list()) disk->remove(file.name);
  const std::string begun = stem + ".safetensors.tmp.78";
  const std::byte byte{1};
  const std::span<const std::byte> pieces[] = {std::span(&byte, 1)};
  disk->write(begun, pieces);
  disk->set_room(10);
  EXPECT_THROW(store.save(snapshot_at(7), 3), DiskError);
  EXPECT_TRUE(disk->holds(begun));
  EXPECT_EQ(disk->list().size(), 1u);
}

TEST(CheckpointStore, OfAnotherRunTheWeightsMayDiffer) {
  const auto disk = std::make_shared<FaultyDisk>();
  CheckpointStore store(disk, identity());
  const std::uint64_t first = first_history("tiny", {});
  Snapshot of_first = snapshot_at(8), of_second = snapshot_at(8);
  of_first.history = first;
  of_second.history = first_history("tiny", {first});
  of_second.state[3] += 1;
  const auto one = store.save(of_first, 3), other = store.save(of_second, 3);
  const auto found = store.newest();
  ASSERT_TRUE(found.newest);
  EXPECT_EQ(found.newest->manifest_name, other.manifest) << "of the later run";
  EXPECT_TRUE(disk->holds(one.manifest));
}

TEST(CheckpointStore, OfTwoAttemptsOfOneRunNobodyKnowsWhichIsRight) {
  const auto disk = std::make_shared<FaultyDisk>();
  CheckpointStore store(disk, identity());
  Snapshot of_one = snapshot_at(8), of_other = snapshot_at(8);
  of_one.history = first_history("tiny", {});
  of_other.history = of_one.history + 1;
  of_other.state[3] += 1;
  const auto one = store.save(of_one, 3), other = store.save(of_other, 3);
  EXPECT_FALSE(store.newest().newest);
  EXPECT_FALSE(disk->holds(one.manifest) || disk->holds(other.manifest));
}

// A disk on which one file, or each, cannot be read.
class RefusingDisk final : public FaultyDisk {
 public:
  Bytes read(const std::string& name) override {
    if (refuses && refuses(name)) throw DiskError(EIO, "cannot read " + name + ": Input/output error");
    return FaultyDisk::read(name);
  }
  std::function<bool(const std::string&)> refuses;
};

TEST(CheckpointStore, KnowsWhetherAnOlderOneCanBeRead) {
  const auto disk = std::make_shared<RefusingDisk>();
  CheckpointStore store(disk, identity());
  const auto older = store.save(snapshot_at(7), 3);
  const auto newer = store.save(snapshot_at(8), 3);
  const std::string weights = newer.path.substr(std::string("disk/").size());
  std::string why;
  Unread unread = Unread::no;
  disk->refuses = [&](const std::string& name) { return name == weights; };
  EXPECT_FALSE(store.load(newer.manifest, why, unread));
  EXPECT_EQ(unread, Unread::refused);
  EXPECT_TRUE(store.reads_older(newer.manifest));
  EXPECT_FALSE(store.reads_older(older.manifest)) << "to a newer one nobody goes back";
  disk->refuses = [&](const std::string&) { return true; };
  EXPECT_FALSE(store.reads_older(newer.manifest));
  disk->refuses = nullptr;
  disk->remove(weights);
  EXPECT_FALSE(store.load(newer.manifest, why, unread));
  EXPECT_EQ(unread, Unread::no) << "its manifest is there: it is damaged";
  disk->remove(newer.manifest);
  EXPECT_FALSE(store.load(newer.manifest, why, unread));
  EXPECT_EQ(unread, Unread::gone);
}

}  // namespace
}  // namespace muster
