#include "actors/coordinator/nodes/newcomers.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/coordinator/part_test.hpp"

namespace muster {
namespace {

// Two replicas train, and a third one has come. The last member is the donor.
class NewcomersTest : public PartTest {
 protected:
  NewcomersTest() : PartTest(std::make_unique<RunningJob>(2)) {}

  CaughtUp caught_up(std::uint32_t donor) const { return {third_, job_.run.view.number, 4, donor}; }

  NodeName third_ = newcomer(job_.membership());
  Newcomers newcomers_{job_.run, port_, actions_};
};

TEST_F(NewcomersTest, AMemberGivesTheNewcomerItsState) {
  newcomers_.feed_newcomers();
  const auto observe = port_.sent_to<Observe>(third_);
  ASSERT_EQ(observe.size(), 1u);
  EXPECT_EQ(observe[0].donor.name, kReplica1);
  EXPECT_EQ(observe[0].view.number, job_.run.view.number);
  const auto donate = port_.sent_to<Donate>(kReplica1);
  ASSERT_EQ(donate.size(), 1u);
  EXPECT_FALSE(donate[0].gives) << "the newcomer does not know its donor yet";
  newcomers_.newcomer_ready(third_);
  ASSERT_EQ(port_.sent_to<Donate>(kReplica1).size(), 2u);
  EXPECT_TRUE(port_.sent_to<Donate>(kReplica1)[1].gives);
}

TEST_F(NewcomersTest, NobodyIsFedTwice) {
  newcomers_.feed_newcomers();
  newcomers_.feed_newcomers();
  EXPECT_EQ(port_.sent_to<Observe>(third_).size(), 1u);
}

TEST_F(NewcomersTest, NobodyIsFedWhileAViewIsClosedOrTheRunEnds) {
  job_.run.phase = CoordinatorPhase::closing;
  newcomers_.feed_newcomers();
  job_.run.phase = CoordinatorPhase::running;
  job_.run.end.keep_state("interrupted", "", {});
  newcomers_.feed_newcomers();
  EXPECT_TRUE(port_.sent.empty());
}

TEST_F(NewcomersTest, TheNextViewTakesInWhoHasCaughtUp) {
  newcomers_.feed_newcomers();
  newcomers_.on(caught_up(0));
  EXPECT_EQ(actions_.all, PartTexts{}) << "that is not its donor";
  newcomers_.on(caught_up(1));
  EXPECT_EQ(actions_.all, PartTexts{"close view"});
  EXPECT_EQ(job_.membership().at(third_).stage, NodeStage::caught_up);
}

TEST_F(NewcomersTest, APausedRunMakesAViewAtOnce) {
  job_.run.phase = CoordinatorPhase::paused;
  newcomers_.feed_newcomers();
  newcomers_.on(caught_up(1));
  EXPECT_EQ(actions_.all, PartTexts{"next view"});
}

TEST_F(NewcomersTest, AViewThatGoesBackIsNotInterrupted) {
  newcomers_.feed_newcomers();
  job_.run.view.back = true;
  job_.run.took_effect = false;
  newcomers_.on(caught_up(1));
  EXPECT_EQ(actions_.all, PartTexts{});
}

TEST_F(NewcomersTest, TheDonorOfOneThatIsTurnedAwayIsTold) {
  newcomers_.feed_newcomers();
  newcomers_.turn_away(third_, "it is too slow", true);
  EXPECT_EQ(port_.names_of_events(), PartTexts{"refused"});
  ASSERT_EQ(port_.sent_to<Stop>(third_).size(), 1u);
  EXPECT_TRUE(port_.sent_to<Stop>(third_)[0].again);
  const auto donate = port_.sent_to<Donate>(kReplica1);
  ASSERT_EQ(donate.size(), 2u);
  EXPECT_TRUE(donate[1].ends);
  EXPECT_FALSE(job_.membership().alive(third_));
}

}  // namespace
}  // namespace muster
