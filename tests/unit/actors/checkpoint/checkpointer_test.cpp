// What the disk's thread writes and removes around a change of the view.
#include "actors/checkpoint/checkpointer.hpp"

#include <gtest/gtest.h>

#include <deque>

#include "tests/support/faulty_disk.hpp"
#include "tests/unit/actors/checkpoint/small_checkpoints.hpp"

namespace muster {
namespace {

// Does nothing until it is told to.
class SlowDisk final : public Executor {
 public:
  void submit(std::function<void()> job) override { jobs_.push_back(std::move(job)); }
  void catch_up() {
    for (; !jobs_.empty(); jobs_.pop_front()) jobs_.front()();
  }

 private:
  std::deque<std::function<void()>> jobs_;
};

class AroundAView : public ::testing::Test {
 protected:
  AroundAView() { CheckpointStore(disk_, identity()).save(snapshot_at(4), 1); }

  void write(std::uint64_t step, bool parting = false) {
    Written written;
    written.parting = parting;
    checkpointer_.write(std::make_shared<const Snapshot>(snapshot_at(step)), written,
                        [](const Written& done) { EXPECT_EQ(done.error, ""); });
  }
  std::vector<std::uint64_t> steps_there() {
    thread_->catch_up();
    std::vector<std::uint64_t> steps;
    for (const auto& each : list_checkpoints(*disk_, identity().job_hash)) steps.push_back(each.step);
    return steps;
  }
  static CheckpointConfig keep_one() {
    CheckpointConfig config;
    config.keep = 1;
    return config;
  }

  std::shared_ptr<FaultyDisk> disk_ = std::make_shared<FaultyDisk>();
  std::shared_ptr<SlowDisk> thread_ = std::make_shared<SlowDisk>();
  std::shared_ptr<CheckpointStore> store_ = std::make_shared<CheckpointStore>(disk_, identity());
  Checkpointer checkpointer_{thread_, [this] { return thread_; }, store_, store_, keep_one(), false};
};

using Steps = std::vector<std::uint64_t>;

TEST_F(AroundAView, WhatIsTooOldIsRemoved) {
  write(5);
  EXPECT_EQ(steps_there(), Steps{5});
}

TEST_F(AroundAView, AWriteThatIsLateRemovesNothingThatMembersMayGoBackTo) {
  write(5);
  checkpointer_.hold();
  checkpointer_.release();  // what was submitted before it comes before it
  EXPECT_EQ(steps_there(), (Steps{4, 5}));
  write(6);
  EXPECT_EQ(steps_there(), Steps{6});
}

// A run may just go on from the older one with --resume.
TEST_F(AroundAView, WhoPartsRemovesNothing) {
  write(5, true);
  EXPECT_EQ(steps_there(), (Steps{4, 5}));
}

TEST_F(AroundAView, TheBeginningOfOneViewReleasesNothingThatTheEndOfTheNextHolds) {
  checkpointer_.hold();
  checkpointer_.release();
  write(5);
  checkpointer_.hold();
  EXPECT_EQ(steps_there(), (Steps{4, 5}));
}

}  // namespace
}  // namespace muster
