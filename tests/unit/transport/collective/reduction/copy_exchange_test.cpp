#include "transport/collective/reduction/copy_exchange.hpp"

#include <gtest/gtest.h>

#include <map>

#include "tests/unit/transport/collective/reduction/reduction_shapes.hpp"

namespace {

using namespace muster;
using muster::testing::small_view;

constexpr std::size_t kElements = CarriedBody::kElementsMax + 10;  // two pieces

class States final : public ShardCopies {
 public:
  std::span<const float> made(std::uint32_t) const override { return made_; }
  std::span<float> copy(std::uint32_t shard) override {
    auto& copy = copies[shard];
    copy.resize(kElements);
    return copy;
  }
  void kept(std::uint32_t shard, std::uint64_t step) override { steps[shard] = step; }
  void abandoned(std::uint32_t) override {}

  std::map<std::uint32_t, std::vector<float>> copies;
  std::map<std::uint32_t, std::uint64_t> steps;

 private:
  std::vector<float> made_ = std::vector<float>(kElements, 1.5f);
};

// Member 0 has the shards 0 and 1 and backs up member 1, with the shards 2 and 3, and the other way round.
class CopyExchangeTest : public ::testing::Test {
 protected:
  static ReductionShape shape(std::shared_ptr<ShardCopies> copies) {
    ReductionShape shape = small_view(2, 2, 0);
    shape.members[0].buddy = 1;
    shape.members[1].buddy = 0;
    shape.copies = std::move(copies);
    shape.copy_elements = kElements;
    return shape;
  }
  CopyExchange::Send sender(bool goes_on = true) {
    return [this, goes_on](std::uint32_t to, const Frame& frame, std::span<const std::byte> bytes) {
      EXPECT_EQ(to, 1u);
      sent_.push_back(frame);
      sent_.back().bytes = static_cast<std::uint32_t>(bytes.size());
      return goes_on;
    };
  }
  // A piece of member 1.
  static Frame piece(std::uint32_t shard, std::uint64_t first, std::size_t count) {
    Frame frame = frame_with(CarriedBody{shard, first});
    frame.from = 1;
    frame.bytes = static_cast<std::uint32_t>(count * sizeof(float));
    return frame;
  }
  static Frame answer(std::uint32_t shard, std::uint32_t from = 1) {
    Frame frame = frame_with(KeptShardBody{shard});
    frame.from = from;
    return frame;
  }

  std::shared_ptr<States> states_ = std::make_shared<States>();
  ReductionShape shape_ = shape(states_);
  CopyExchange exchange_{shape_};
  std::vector<Frame> sent_;
};

TEST_F(CopyExchangeTest, GivesThePresentOwnShardsInPiecesOnce) {
  exchange_.give(true, {false, true, true, true}, sender());
  EXPECT_TRUE(exchange_.given());
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(CarriedBody::from(sent_[0]), (CarriedBody{1, 0}));
  EXPECT_EQ(CarriedBody::from(sent_[1]), (CarriedBody{1, CarriedBody::kElementsMax}));
  EXPECT_EQ(sent_[1].bytes, 10 * sizeof(float));
  exchange_.give(true, {true, true, true, true}, sender());
  EXPECT_EQ(sent_.size(), 2u);
}

TEST_F(CopyExchangeTest, WaitsUntilTheBuddyHasAllThatItWasGiven) {
  EXPECT_TRUE(exchange_.all_kept()) << "nothing was given";
  exchange_.give(true, {true, true, true, true}, sender());
  EXPECT_FALSE(exchange_.all_kept());
  EXPECT_TRUE(exchange_.kept(answer(0)));
  EXPECT_FALSE(exchange_.all_kept());
  EXPECT_TRUE(exchange_.kept(answer(1)));
  EXPECT_TRUE(exchange_.all_kept());
  EXPECT_TRUE(exchange_.kept(answer(1))) << "an answer that comes twice counts once";
}

TEST_F(CopyExchangeTest, BelievesNoAnswerToWhatItHasNotGiven) {
  EXPECT_FALSE(exchange_.kept(answer(0))) << "nothing was given";
  exchange_.give(true, {true, false, true, true}, sender());
  EXPECT_FALSE(exchange_.kept(answer(1))) << "it is not present";
  EXPECT_FALSE(exchange_.kept(answer(2))) << "a shard of the buddy";
  EXPECT_FALSE(exchange_.kept(answer(99)));
  EXPECT_FALSE(exchange_.kept(answer(0, 0))) << "not from the buddy";
}

TEST_F(CopyExchangeTest, GivesNothingInARoundThatMakesNoStates) {
  exchange_.give(false, {true, true, true, true}, sender());
  EXPECT_TRUE(exchange_.given());
  EXPECT_TRUE(sent_.empty());
  EXPECT_TRUE(exchange_.all_kept());
}

TEST_F(CopyExchangeTest, StopsWhereTheRoundHasEnded) {
  exchange_.give(true, {true, true, true, true}, sender(false));
  EXPECT_EQ(sent_.size(), 1u);
}

TEST_F(CopyExchangeTest, TakesAStateWhenItsLastPieceIsThere) {
  const Frame first = piece(2, 0, CarriedBody::kElementsMax), last = piece(2, CarriedBody::kElementsMax, 10);
  EXPECT_EQ(exchange_.place(last).size(), last.bytes);
  EXPECT_EQ(exchange_.place(first).data(), reinterpret_cast<std::byte*>(states_->copies[2].data()));
  EXPECT_EQ(exchange_.arrived(last, 9), std::nullopt);
  EXPECT_TRUE(exchange_.place(last).empty()) << "it is here";
  EXPECT_EQ(exchange_.arrived(first, 9), 2u);
  EXPECT_EQ(states_->steps, (std::map<std::uint32_t, std::uint64_t>{{2, 9}}));
  EXPECT_EQ(exchange_.arrived(first, 9), std::nullopt) << "it came twice";
}

TEST_F(CopyExchangeTest, PlacesNothingThatCannotBe) {
  EXPECT_FALSE(exchange_.place(piece(2, 0, CarriedBody::kElementsMax)).empty());
  EXPECT_TRUE(exchange_.place(piece(1, 0, CarriedBody::kElementsMax)).empty()) << "an own shard";
  EXPECT_TRUE(exchange_.place(piece(4, 0, CarriedBody::kElementsMax)).empty());
  EXPECT_TRUE(exchange_.place(piece(2, 1, CarriedBody::kElementsMax)).empty());
  EXPECT_TRUE(exchange_.place(piece(2, 0, 10)).empty());
  EXPECT_TRUE(exchange_.place(piece(2, 2 * CarriedBody::kElementsMax, 10)).empty());
  shape_.members[1].buddy = 1;
  EXPECT_TRUE(CopyExchange(shape_).place(piece(2, 0, CarriedBody::kElementsMax)).empty());
}

TEST_F(CopyExchangeTest, BeginsTheNextRoundWithNothing) {
  exchange_.give(true, {true, true, true, true}, sender());
  exchange_.place(piece(2, 0, CarriedBody::kElementsMax));
  exchange_.arrived(piece(2, 0, CarriedBody::kElementsMax), 9);
  exchange_.reset();
  EXPECT_FALSE(exchange_.given());
  EXPECT_TRUE(exchange_.all_kept());
  EXPECT_FALSE(exchange_.place(piece(2, 0, CarriedBody::kElementsMax)).empty());
}

TEST(CopyExchange, DoesNothingWhereShardsHaveNoStates) {
  const ReductionShape shape = small_view(2, 2, 0);
  CopyExchange exchange(shape);
  exchange.give(true, {true, true, true, true}, nullptr);
  EXPECT_TRUE(exchange.all_kept());
  Frame frame = frame_with(CarriedBody{2, 0});
  frame.from = 1;
  EXPECT_TRUE(exchange.place(frame).empty());
}

}  // namespace
