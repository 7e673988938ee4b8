#include "transport/collective/tree_sum/sum_inputs.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/unit/transport/collective/reduction/reduction_shapes.hpp"

namespace {

using namespace muster;
using muster::testing::small_view;

// It has lent out buffers of one owner, and may have taken one back.
class Lender final : public Transport {
 public:
  std::string address() const override { return ""; }
  std::string describe() const override { return "lends"; }
  void set_sink(FrameSink*) override {}
  void connect(PeerId, const std::string&) override {}
  void disconnect(PeerId) override {}
  void send(PeerId, const Frame&, std::span<const std::byte>, SendToken) override {}
  bool progress() override { return false; }
  bool stands(BorrowedBuffer borrow) const override { return borrow.number != revoked; }
  void give_back(BorrowedBuffer borrow) override { given_back.insert(borrow.number); }

  std::uint64_t revoked = 0;
  std::multiset<std::uint64_t> given_back;
};

// Two members with two shards each. Member 0 owns piece 0, and adds there its own node 2 and the node 3 of
// member 1; piece 1 is member 1's.
class SumInputsTest : public ::testing::Test {
 protected:
  static constexpr NodeId kMine = 2, kTheirs = 3;

  std::size_t input(NodeId node, std::uint32_t from) const {
    return inputs_.input_of(plan_.pieces()[0], node, from).value();
  }
  // A buffer of the staging with the node of member 1.
  SumInputs::Staged buffer() {
    float* const values = staging_.take();
    return {values, staging_.hold(values, 1)};
  }
  SumInputs::Staged borrowed(std::uint64_t number) {
    return {values_.data(), staging_.hold(BorrowedBuffer{1, number}, 1)};
  }

  Lender lender_;
  SumPlan plan_{small_view(2, 2, 0)};
  Staging staging_{64, lender_};
  SumInputs inputs_{plan_, staging_};
  std::vector<float> values_ = std::vector<float>(64, 2.5f);
};

TEST_F(SumInputsTest, AnInputIsANodeThatComesFromTheMemberOfThePlan) {
  ASSERT_EQ(plan_.pieces().size(), 2u);
  EXPECT_TRUE(inputs_.input_of(plan_.pieces()[0], kMine, 0));
  EXPECT_TRUE(inputs_.input_of(plan_.pieces()[0], kTheirs, 1));
  EXPECT_NE(input(kMine, 0), input(kTheirs, 1));
  EXPECT_FALSE(inputs_.input_of(plan_.pieces()[0], kTheirs, 0)) << "from somebody else";
  EXPECT_FALSE(inputs_.input_of(plan_.pieces()[0], NodeId{1}, 1)) << "no input";
  EXPECT_FALSE(inputs_.input_of(plan_.pieces()[1], kTheirs, 1)) << "another member adds this piece";
}

TEST_F(SumInputsTest, ABackupWorkerMaySendANodeOfAnotherMember) {
  ReductionShape shape = small_view(2, 2, 0);
  shape.backup_workers = true;
  const SumPlan plan(shape);
  const SumInputs inputs(plan, staging_);
  EXPECT_TRUE(inputs.input_of(plan.pieces()[0], kTheirs, 0));
}

TEST_F(SumInputsTest, OwnNodesLieWhereTheyWereComputed) {
  inputs_.set_own({{kMine, values_.data()}});
  inputs_.set_own({{kMine, nullptr}});  // the first call counts
  EXPECT_EQ(inputs_.arrived(0), 0u) << "they are not computed for this piece yet";
  inputs_.take_own(0);
  inputs_.take_own(0);
  inputs_.take_own(1);
  EXPECT_EQ(inputs_.arrived(0), 1u);
  EXPECT_EQ(inputs_.arrived(1), 0u) << "another member adds this piece";
  EXPECT_EQ(inputs_.elements_from(0), plan_.pieces()[0].count);
  EXPECT_EQ(inputs_.values(plan_.pieces()[0], input(kMine, 0)), values_.data() + plan_.pieces()[0].begin);
}

TEST_F(SumInputsTest, WhatAMemberDoesNotHaveIsNotTaken) {
  inputs_.set_own({{kTheirs, values_.data()}});
  inputs_.take_own(0);
  EXPECT_EQ(inputs_.arrived(0), 0u);
}

TEST_F(SumInputsTest, TheFirstAnswerCountsAndASecondOneIsReleased) {
  const std::size_t theirs = input(kTheirs, 1);
  const SumInputs::Staged first = buffer();
  EXPECT_TRUE(inputs_.all_await({0, 1}, kTheirs, 1));
  EXPECT_FALSE(inputs_.all_await({0, 2}, kTheirs, 1)) << "another member adds piece 1";
  EXPECT_TRUE(inputs_.stage(0, theirs, first));
  EXPECT_FALSE(inputs_.all_await({0, 1}, kTheirs, 1));
  EXPECT_FALSE(inputs_.stage(0, theirs, buffer()));
  EXPECT_EQ(staging_.taken(), 1u);
  EXPECT_EQ(inputs_.values(plan_.pieces()[0], theirs), first.values);
  EXPECT_EQ(inputs_.arrived(0), 1u);
  EXPECT_EQ(inputs_.elements_from(1), plan_.pieces()[0].count);
  EXPECT_TRUE(inputs_.drop(0, theirs));
  EXPECT_EQ(staging_.taken(), 0u);
  EXPECT_TRUE(inputs_.drop(0, theirs)) << "there is nothing left that could be released";
}

TEST_F(SumInputsTest, APieceThatIsAddedIsNotLookedAtAgain) {
  inputs_.stage(0, input(kTheirs, 1), buffer());
  inputs_.added(0);
  EXPECT_EQ(inputs_.arrived(0), 0u);
  EXPECT_FALSE(inputs_.all_await({0, 1}, kTheirs, 1)) << "its input has come for all that";
}

TEST_F(SumInputsTest, WhatWasReadOfARevokedBufferDoesNotCount) {
  const std::size_t theirs = input(kTheirs, 1);
  inputs_.stage(0, theirs, borrowed(7));
  lender_.revoked = 7;
  EXPECT_FALSE(inputs_.drop(0, theirs));
  EXPECT_EQ(lender_.given_back, std::multiset<std::uint64_t>{7});
}

TEST_F(SumInputsTest, BorrowedBuffersGoBackBeforeBuffersThatMayStillBeWrittenTo) {
  inputs_.stage(0, input(kTheirs, 1), borrowed(3));
  inputs_.stage(0, input(kMine, 0), buffer());  // a backup worker's
  inputs_.give_back_borrowed();
  EXPECT_EQ(lender_.given_back, std::multiset<std::uint64_t>{3});
  EXPECT_EQ(staging_.taken(), 1u);
  inputs_.reset();
  EXPECT_EQ(lender_.given_back.size(), 1u) << "not twice";
  EXPECT_EQ(staging_.taken(), 0u);
}

TEST_F(SumInputsTest, AResetForgetsTheRound) {
  inputs_.set_own({{kMine, values_.data()}});
  inputs_.take_own(0);
  inputs_.stage(0, input(kTheirs, 1), buffer());
  inputs_.reset();
  EXPECT_TRUE(inputs_.own().empty());
  EXPECT_EQ(inputs_.arrived(0), 0u);
  EXPECT_EQ(inputs_.elements_from(0) + inputs_.elements_from(1), 0u);
  EXPECT_TRUE(inputs_.all_await({0, 1}, kTheirs, 1));
}

}  // namespace
