#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <set>

#include "actors/rules/steps/shard_queue.hpp"

namespace muster {
namespace {

Cursor train(std::uint64_t epoch, std::uint64_t step) {
  return {Mode::train, epoch, step};
}

Item item_at(const Cursor& cursor) {
  Item item;
  item.cursor = cursor;
  item.range = {cursor.step * 10, 10};
  item.batch = std::make_shared<Batch>();
  return item;
}

Item end_at(const Cursor& cursor, std::uint32_t dropped = 0) {
  Item item;
  item.cursor = cursor;
  item.ended = true;
  item.range.count = dropped;
  return item;
}

TEST(ShardQueue, AsksForNoMoreThanItsDepth) {
  ShardQueue queue(0, 3, {{}, 1, false});
  const auto wanted = queue.demands();
  ASSERT_EQ(wanted.size(), 3u);
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(wanted[i].cursor, train(1, i));
  EXPECT_TRUE(queue.demands().empty());
  EXPECT_FALSE(queue.need(train(1, 0)));
  const auto item = queue.delivered(wanted[0].ticket, item_at(wanted[0].cursor));
  ASSERT_TRUE(item);
  EXPECT_EQ(item->cursor, train(1, 0));
  const auto more = queue.demands();  // one credit is free again
  ASSERT_EQ(more.size(), 1u);
  EXPECT_EQ(more[0].cursor, train(1, 3));
}

TEST(ShardQueue, ItemThatIsThereIsGivenAtOnce) {
  ShardQueue queue(0, 2, {{}, 1, false});
  const auto wanted = queue.demands();
  EXPECT_FALSE(queue.delivered(wanted[1].ticket, item_at(wanted[1].cursor))) << "nobody asked";
  EXPECT_FALSE(queue.delivered(wanted[0].ticket, item_at(wanted[0].cursor)));
  EXPECT_EQ(queue.need(train(1, 0))->cursor, train(1, 0));
  EXPECT_EQ(queue.need(train(1, 1))->cursor, train(1, 1));
}

TEST(ShardQueue, EndIsSaidForEveryLaterStepAndWhatWasDroppedOnce) {
  ShardQueue queue(0, 2, {{}, 1, false});
  const auto wanted = queue.demands();
  queue.delivered(wanted[0].ticket, end_at(wanted[0].cursor, 7));
  for (std::uint64_t step = 0; step < 3; ++step) {
    const auto item = queue.need(train(1, step));
    ASSERT_TRUE(item && item->ended) << step;
    EXPECT_EQ(item->cursor, train(1, step));
    EXPECT_EQ(item->range.count, step == 0 ? 7u : 0u);
  }
  EXPECT_TRUE(queue.demands().empty()) << "the only epoch is over";
}

TEST(ShardQueue, AfterTheEndTheNextPhaseIsForeseen) {
  ShardQueue queue(0, 2, {{}, 2, true});
  auto wanted = queue.demands();
  queue.delivered(wanted[0].ticket, item_at(wanted[0].cursor));
  queue.delivered(wanted[1].ticket, end_at(wanted[1].cursor));
  wanted = queue.demands();
  ASSERT_EQ(wanted.size(), 1u);
  EXPECT_EQ(wanted[0].cursor, (Cursor{Mode::evaluate, 1, 0}));
  queue.delivered(wanted[0].ticket, end_at(wanted[0].cursor));
  wanted = queue.demands();
  ASSERT_EQ(wanted.size(), 1u);
  EXPECT_EQ(wanted[0].cursor, train(2, 0));
}

TEST(ShardQueue, JumpForgetsWhatWasForeseen) {
  ShardQueue queue(0, 2, {{}, 1, true});
  const auto old = queue.demands();
  EXPECT_FALSE(queue.need({Mode::evaluate, 1, 0}));  // train.steps cut the epoch short
  EXPECT_EQ(queue.held(), 0u);
  EXPECT_FALSE(queue.delivered(old[0].ticket, item_at(old[0].cursor))) << "an old ticket";
  const auto wanted = queue.demands();
  ASSERT_EQ(wanted.size(), 2u);
  EXPECT_EQ(wanted[0].cursor, (Cursor{Mode::evaluate, 1, 0}));
  EXPECT_GT(wanted[0].ticket, old[1].ticket);
  EXPECT_TRUE(queue.delivered(wanted[0].ticket, item_at(wanted[0].cursor)));
}

TEST(ShardQueue, TicketThatNobodyGaveIsIgnored) {
  ShardQueue queue(0, 1, {{}, 1, false});
  queue.demands();
  queue.need(train(1, 0));
  EXPECT_FALSE(queue.delivered(4711, item_at(train(1, 0))));
}

// ---- a whole job against a naive model

struct Plan {
  RoundScheduleOptions schedule;
  std::uint32_t depth = 1;
  std::vector<std::uint64_t> train_steps;  // of this shard, by epoch
  std::vector<std::uint64_t> job_steps;    // of the longest shard, by epoch; at least this shard's
  std::uint64_t test_steps = 0, test_rounds = 0;
  std::uint64_t cut_at = ~0ull;  // the job ends in the last epoch after so many of its steps
};

Plan random_plan(std::mt19937_64& random) {
  Plan plan;
  plan.depth = static_cast<std::uint32_t>(1 + random() % 4);
  const std::uint64_t epochs = 1 + random() % 3;
  plan.schedule.passes = random() % 4 == 0 ? 0 : epochs;
  plan.schedule.evaluate = random() % 2 == 0;
  for (std::uint64_t e = 0; e < epochs; ++e) {
    plan.train_steps.push_back(random() % 6);
    plan.job_steps.push_back(std::max<std::uint64_t>(plan.train_steps.back(), 1) + random() % 4);
  }
  plan.test_steps = random() % 4;
  plan.test_rounds = plan.test_steps + random() % 2;
  if (random() % 3 == 0) plan.cut_at = random() % plan.job_steps.back();
  return plan;
}

class Walk {
 public:
  Walk(Plan plan, std::uint64_t seed)
      : plan_(std::move(plan)), random_(seed), queue_(0, plan_.depth, plan_.schedule) {}

  void run() {
    for (std::uint64_t epoch = 1; epoch <= plan_.train_steps.size(); ++epoch) {
      const bool last = epoch == plan_.train_steps.size();
      const std::uint64_t end =
          last ? std::min(plan_.cut_at, plan_.job_steps[epoch - 1]) : plan_.job_steps[epoch - 1];
      // The round in which every shard has ended belongs to it, unless the epoch was cut short.
      const bool cut = last && plan_.cut_at < plan_.job_steps[epoch - 1];
      for (std::uint64_t step = 0; step < end + (cut ? 0 : 1); ++step) ask({Mode::train, epoch, step});
      for (std::uint64_t step = 0; plan_.schedule.evaluate && step <= plan_.test_rounds; ++step) {
        ask({Mode::evaluate, epoch, step});
      }
    }
  }

 private:
  std::uint64_t length(const Cursor& cursor) const {
    if (cursor.mode == Mode::evaluate) return plan_.test_steps;
    return cursor.epoch <= plan_.train_steps.size() ? plan_.train_steps[cursor.epoch - 1] : 3;
  }

  void ask(const Cursor& cursor) {
    auto item = queue_.need(cursor);
    for (int turn = 0; !item; ++turn) {
      ASSERT_LT(turn, 1000) << "the item never comes";
      collect();
      ASSERT_FALSE(asked_.empty()) << "waits, and has asked for nothing";
      item = answer_one();
    }
    // Some answers come before the replica needs them.
    for (std::uint64_t ahead = random_() % 3; ahead > 0; --ahead) {
      collect();
      if (asked_.empty()) break;
      EXPECT_FALSE(answer_one()) << "given twice, or to nobody";
    }
    EXPECT_EQ(item->cursor, cursor);
    EXPECT_EQ(item->ended, cursor.step >= length(cursor)) << cursor.epoch << ' ' << cursor.step;
    EXPECT_EQ(item->range.first, item->ended ? 0 : cursor.step * 10);
  }

  void collect() {
    for (const auto& wanted : queue_.demands()) asked_.push_back(wanted);
    EXPECT_LE(queue_.held(), plan_.depth);
  }

  // The loader answers in any order.
  std::optional<Item> answer_one() {
    const std::size_t at = random_() % asked_.size();
    const auto wanted = asked_[at];
    asked_.erase(asked_.begin() + static_cast<long>(at));
    const bool ended = wanted.cursor.step >= length(wanted.cursor);
    return queue_.delivered(wanted.ticket, ended ? end_at(wanted.cursor) : item_at(wanted.cursor));
  }

  Plan plan_;
  std::mt19937_64 random_;
  ShardQueue queue_;
  std::deque<ShardQueue::Wanted> asked_;
};

TEST(ShardQueue, EveryItemOfRandomJobsComesOnceAndInOrder) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    Walk(random_plan(random), seed).run();
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace muster
