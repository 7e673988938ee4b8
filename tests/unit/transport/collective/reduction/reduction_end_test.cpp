#include "transport/collective/reduction/reduction_end.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace {

using namespace muster;
using Told = std::vector<std::string>;

// All that is done and told, in its order.
class ReductionEndTest : public ::testing::Test {
 protected:
  ReductionEndTest() {
    hooks_.failed = [this](const std::string& reason) { told_.push_back("failed: " + reason); };
  }
  void add_broke() {
    hooks_.broke = [this](const std::string& reason) { told_.push_back("broke: " + reason); };
  }
  void add_wrong() {
    hooks_.wrong = [this](PeerId peer, const std::string& reason) {
      told_.push_back("wrong: " + std::to_string(peer) + ", " + reason);
    };
  }
  void add_unlike() {
    hooks_.unlike = [this](const Unlike& found) { told_.push_back("unlike: " + std::to_string(found.step)); };
  }
  ReductionEnd end(bool goes_on_unlike = false) {
    return {hooks_, goes_on_unlike, [this] { told_.push_back("close"); }};
  }
  static Unlike unlike(std::uint64_t step) {
    Unlike found;
    found.step = step;
    found.opinions = {{10, 0}, {11, 1}};
    return found;
  }

  ReductionHooks hooks_;
  Told told_;
};

TEST_F(ReductionEndTest, TheFirstFailureIsToldAndNothingFollows) {
  ReductionEnd end = this->end();
  EXPECT_FALSE(end.reached());
  end.fail("one");
  EXPECT_TRUE(end.reached());
  end.fail("two");
  end.fail_here("three");
  end.blame(20, "four");
  EXPECT_EQ(told_, (Told{"close", "failed: one"}));
}

TEST_F(ReductionEndTest, AnErrorOfThisMemberAloneIsToldAsOneWhereSomebodyAsks) {
  ReductionEnd(this->end()).fail_here("no memory");
  add_broke();
  ReductionEnd(this->end()).fail_here("no memory");
  EXPECT_EQ(told_, (Told{"close", "failed: no memory", "close", "broke: no memory"}));
}

TEST_F(ReductionEndTest, AMemberIsBlamedByItsNumber) {
  ReductionEnd(this->end()).blame(20, "sums that cannot be");
  add_wrong();
  ReductionEnd(this->end()).blame(20, "sums that cannot be");
  EXPECT_EQ(told_, (Told{"close", "failed: replica 20 sent sums that cannot be", "close",
                         "wrong: 20, it sent sums that cannot be"}));
}

TEST_F(ReductionEndTest, AClosedOneTellsNothingOfFailures) {
  add_broke();
  add_wrong();
  ReductionEnd end = this->end();
  end.close();
  end.fail("one");
  end.fail_here("two");
  end.blame(20, "three");
  EXPECT_EQ(told_, (Told{"close"}));
}

TEST_F(ReductionEndTest, ARoundGoesOnWhereTheBitsOfAllAreAlike) {
  ReductionEnd end = this->end();
  EXPECT_TRUE(end.goes_on(std::nullopt));
  EXPECT_FALSE(end.reached());
}

TEST_F(ReductionEndTest, OtherBitsAreAFailureWhereNobodyIsToldOfThem) {
  ReductionEnd end = this->end(true);
  EXPECT_FALSE(end.goes_on(unlike(7)));
  EXPECT_TRUE(end.reached());
  ASSERT_EQ(told_.size(), 2u);
  EXPECT_EQ(told_[1], "failed: diverged: " + unlike(7).text());
}

TEST_F(ReductionEndTest, OtherBitsEndTheViewUnlessItGoesOnWithThem) {
  add_unlike();
  ReductionEnd stops = this->end();
  EXPECT_FALSE(stops.goes_on(unlike(7)));
  EXPECT_TRUE(stops.reached());
  ReductionEnd goes_on = this->end(true);
  EXPECT_TRUE(goes_on.goes_on(unlike(8)));
  EXPECT_TRUE(goes_on.goes_on(unlike(9))) << "told of once in a view";
  EXPECT_FALSE(goes_on.reached());
  EXPECT_EQ(told_, (Told{"close", "unlike: 7", "unlike: 8"}));
}

}  // namespace
