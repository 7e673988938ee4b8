#include "base/bounded/bounded_calls.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "tests/support/gate.hpp"

namespace muster {
namespace {

using Outcome = BoundedCalls::Outcome;
using std::chrono::milliseconds;

constexpr milliseconds kShort{1};
constexpr milliseconds kLong{300'000};  // longer than any test is allowed to run

class BoundedCallsTest : public ::testing::Test {
 protected:
  ~BoundedCallsTest() override { gate_->open(); }

  // A call that stands at the gate, and notes that it has passed. It may outlive the test.
  BoundedCalls::Call at_gate(int number) {
    return [gate = gate_, last = last_, number] {
      gate->pass();
      *last = number;
    };
  }

  const std::shared_ptr<testing::Gate> gate_ = std::make_shared<testing::Gate>();
  const std::shared_ptr<std::atomic<int>> last_ = std::make_shared<std::atomic<int>>(0);
};

TEST_F(BoundedCallsTest, ACallThatReturnsIsWaitedFor) {
  BoundedCalls calls(kLong);
  EXPECT_EQ(calls.make(at_gate(1), kLong), Outcome::returned);
  EXPECT_EQ(*last_, 1);
  EXPECT_TRUE(calls.idle());
  EXPECT_EQ(calls.not_returned_for(), milliseconds(0));
}

TEST_F(BoundedCallsTest, ACallThatDoesNotReturnIsLeftAlone) {
  gate_->close();
  BoundedCalls calls(kLong);
  EXPECT_EQ(calls.make(at_gate(1), kShort), Outcome::under_way);
  EXPECT_FALSE(calls.idle());
  EXPECT_GE(calls.not_returned_for(), kShort);
  gate_->open();
}

TEST_F(BoundedCallsTest, NoFurtherCallIsMadeMeanwhile) {
  gate_->close();
  {
    BoundedCalls calls(kLong);
    calls.make(at_gate(1), kShort);
    EXPECT_EQ(calls.make(at_gate(2), kLong), Outcome::not_begun);
    gate_->open();
  }
  EXPECT_EQ(*last_, 1);
}

TEST_F(BoundedCallsTest, OfThoseThatAreToFollowTheLastIsMade) {
  gate_->close();
  const auto made = std::make_shared<std::atomic<int>>(0);
  const auto count = [made](int number) { return [made, number] { *made = 10 * *made + number; }; };
  {
    BoundedCalls calls(kLong);
    calls.make(at_gate(1), kShort);
    calls.make_next(count(2));
    calls.make_next(count(3));
    gate_->open();
  }
  EXPECT_EQ(*made, 3);
}

TEST_F(BoundedCallsTest, TheThreadIsLeftBehindWithWhatItsCallsOwn) {
  gate_->close();
  const std::weak_ptr<std::atomic<int>> owned = last_;
  {
    BoundedCalls calls(kShort);
    calls.make(at_gate(1), kShort);
    gate_->await_someone();
  }
  EXPECT_GT(owned.use_count(), 1);
}

}  // namespace
}  // namespace muster
