#include "transport/collective/reduction/round_sends.hpp"

#include <gtest/gtest.h>

#include "tests/unit/transport/collective/reduction/reduction_shapes.hpp"
#include "transport/frames/round_bodies.hpp"

namespace {

using namespace muster;
using muster::testing::small_view;

class Sent final : public Transport {
 public:
  struct Send {
    PeerId peer;
    Frame frame;
    SendToken token;
  };
  std::string address() const override { return ""; }
  std::string describe() const override { return ""; }
  void set_sink(FrameSink*) override {}
  void connect(PeerId, const std::string&) override {}
  void disconnect(PeerId) override {}
  void send(PeerId peer, const Frame& frame, std::span<const std::byte>, SendToken token) override {
    sends.push_back({peer, frame, token});
  }
  bool progress() override { return false; }

  std::vector<Send> sends;
};

// Member 1 of three.
class RoundSendsTest : public ::testing::Test {
 protected:
  RoundSendsTest() { under_way_.reset(3); }

  ReductionShape shape_ = small_view(3, 1, 1);
  Sent transport_;
  Staging staging_{64, transport_};
  RoundSends sends_{shape_, transport_, staging_};
  RoundSends::UnderWay under_way_;
  const std::vector<std::byte> bytes_ = std::vector<std::byte>(24);
};

TEST_F(RoundSendsTest, EachFrameIsSignedByThisMember) {
  sends_.send(2, frame_with(KeptShardBody{5}), bytes_, 77, under_way_);
  ASSERT_EQ(transport_.sends.size(), 1u);
  const Sent::Send& sent = transport_.sends[0];
  EXPECT_EQ(sent.peer, 12u);
  EXPECT_EQ(sent.frame.kind, FrameKind::kept);
  EXPECT_EQ(sent.frame.view, shape_.view);
  EXPECT_EQ(sent.frame.from, 11u);
  EXPECT_EQ(sent.frame.incarnation, 1001u);
  EXPECT_EQ(sent.frame.round, 77u);
  EXPECT_EQ(sent.frame.bytes, 24u);
}

TEST_F(RoundSendsTest, WhatIsUnderWayIsCountedByMemberAndOverAllRounds) {
  RoundSends::UnderWay of_next;
  of_next.reset(3);
  sends_.send(0, {}, bytes_, 4, under_way_);
  sends_.send(2, {}, bytes_, 4, under_way_);
  sends_.send(2, {}, bytes_, 4, under_way_);
  sends_.send(2, {}, bytes_, 5, of_next);
  EXPECT_EQ(sends_.under_way(), 4u);
  EXPECT_EQ(under_way_.all, 3u);
  EXPECT_EQ(under_way_.to, (std::vector<std::uint32_t>{1, 0, 2}));
  EXPECT_EQ(of_next.all, 1u);
  EXPECT_EQ(sends_.ended(transport_.sends[1].token), 4u);
  under_way_.ended(2);
  EXPECT_EQ(sends_.ended(transport_.sends[3].token), 5u);
  EXPECT_EQ(sends_.under_way(), 2u);
  EXPECT_EQ(under_way_.all, 2u);
  EXPECT_EQ(under_way_.to, (std::vector<std::uint32_t>{1, 0, 1}));
  under_way_.reset(3);
  EXPECT_EQ(under_way_.all, 0u);
  EXPECT_EQ(under_way_.to, (std::vector<std::uint32_t>{0, 0, 0}));
}

TEST_F(RoundSendsTest, WhatIsHeldIsReleasedWhenTheSendHasEnded) {
  const auto hold = [&] { return staging_.hold(staging_.take(), 1); };
  const Staging::Hold first = hold(), second = hold();
  ASSERT_EQ(first, 0u) << "the lowest hold is not taken for none";
  sends_.send(0, {}, bytes_, 9, under_way_, first);
  sends_.send(2, {}, bytes_, 9, under_way_, second);
  sends_.send(2, {}, bytes_, 9, under_way_);
  EXPECT_EQ(sends_.ended(transport_.sends[2].token), 9u);
  EXPECT_EQ(staging_.taken(), 2u);
  EXPECT_EQ(sends_.ended(transport_.sends[0].token), 9u);
  EXPECT_EQ(staging_.taken(), 1u);
  EXPECT_EQ(sends_.ended(transport_.sends[1].token), 9u);
  EXPECT_EQ(staging_.taken(), 0u);
}

TEST_F(RoundSendsTest, ASendThatEndsTwiceIsABug) {
  sends_.send(0, {}, bytes_, 9, under_way_);
  sends_.ended(transport_.sends[0].token);
  EXPECT_DEATH(sends_.ended(transport_.sends[0].token), "check failed");
  under_way_.reset(3);
  EXPECT_DEATH(under_way_.ended(0), "check failed");
}

}  // namespace
