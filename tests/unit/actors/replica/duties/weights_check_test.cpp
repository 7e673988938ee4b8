#include "actors/replica/duties/weights_check.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/replica/duties/duty_context.hpp"

namespace muster::weights_check_test {
namespace {

using testing::DutyContext;
using testing::last_as;

constexpr WeightsHash kHash{3, WeightsHash::kWhole, 77};

struct Checking : DutyContext {
  StepTimes times;
  WeightsCheck check{context, times};
};

TEST(WeightsCheck, OpensItsRoundWithTheHashOfAllWeights) {
  Checking replica;
  replica.check.begin();
  EXPECT_EQ(replica.jobs->size(), 1u);
  replica.check.on(Weighed{0, kHash, {}});
  const auto* open = last_as<Open>(replica.sent.reducer);
  ASSERT_TRUE(open);
  EXPECT_EQ(open->header.kind, RoundKind::check);
  EXPECT_EQ(open->header.weights, kHash);
  EXPECT_FALSE(replica.check.comparison().known(5, 0)) << "the others have not said theirs";
  replica.check.compared(RoundRecord{});
  EXPECT_EQ(replica.check.comparison().known(5, 0), kHash);
}

TEST(WeightsCheck, AHashThatComesLateOpensNothing) {
  Checking replica;
  replica.check.on(Weighed{1, kHash, {}});
  replica.context.phase.halt();
  replica.check.on(Weighed{0, kHash, {}});
  EXPECT_TRUE(replica.sent.reducer.empty());
}

TEST(WeightsCheck, AnErrorIsTrouble) {
  Checking replica;
  replica.check.on(Weighed{0, {}, "no memory"});
  const auto* trouble = last_as<Trouble>(replica.sent.node);
  ASSERT_TRUE(trouble);
  EXPECT_EQ(trouble->reason, "the weights could not be hashed: no memory");
}

}  // namespace
}  // namespace muster::weights_check_test
