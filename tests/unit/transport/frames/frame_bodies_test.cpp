// Bodies of frames: what each kind says, where it lies on the wire, and what no frame can say.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <vector>

#include "transport/frames/loading_bodies.hpp"
#include "transport/frames/round_bodies.hpp"
#include "transport/frames/status_body.hpp"
#include "transport/frames/transfer_bodies.hpp"

namespace {

using namespace muster;

constexpr std::uint64_t kLong = 0xf1f2f3f4f5f6f7f8;
constexpr std::uint32_t kShort = 0xe1e2e3e4;

/// What a body may say of each of its fields, one at a time.
template <typename Body>
using Changes = std::vector<std::function<void(Body&)>>;

// Alone, each says nothing of the others; together, none hides another.
template <typename Body>
void expect_every_field_crosses(const Changes<Body>& changes, FrameKind kind) {
  Body all;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Body one;
    changes[i](one);
    EXPECT_FALSE(one == Body{}) << "field " << i;
    EXPECT_TRUE(Body::from(frame_with(one)) == one) << "field " << i;
    changes[i](all);
  }
  const Frame frame = frame_with(all);
  EXPECT_EQ(frame.kind, kind);
  EXPECT_TRUE(Body::from(frame) == all);

  Frame used;  // by another body, of which nothing may be left
  RawWords{kLong, kShort, kShort, kLong}.put_into(used);
  used.round = frame.round;
  all.put_into(used);
  EXPECT_EQ(std::memcmp(&used, &frame, sizeof frame), 0);
}

TEST(FrameBodies, MetricsCrossWithEveryField) {
  expect_every_field_crosses<MetricsBody>(
      {[](auto& body) { body.tree_node = kShort; }, [](auto& body) { body.audits = kLong; }},
      FrameKind::metrics);
}

TEST(FrameBodies, ContributionsCrossWithEveryField) {
  expect_every_field_crosses<ContributionBody>(
      {[](auto& body) { body.tree_node = kShort; }, [](auto& body) { body.elements.sum = kShort; },
       [](auto& body) { body.elements.first = kLong; }, [](auto& body) { body.elements.sparse = kLong; }},
      FrameKind::contribution);
}

TEST(FrameBodies, ResultsCrossWithEveryField) {
  expect_every_field_crosses<ResultBody>(
      {[](auto& body) { body.elements.sum = kShort; }, [](auto& body) { body.elements.first = kLong; },
       [](auto& body) { body.elements.sparse = kLong; }},
      FrameKind::result);
}

TEST(FrameBodies, ReducedElementsCrossWithEveryField) {
  expect_every_field_crosses<ReducedBody>({[](auto& body) { body.first_element = kLong; }},
                                          FrameKind::reduced);
}

TEST(FrameBodies, CarriedElementsCrossWithEveryField) {
  expect_every_field_crosses<CarriedBody>(
      {[](auto& body) { body.shard = kShort; }, [](auto& body) { body.first_element = kLong; }},
      FrameKind::carried);
}

TEST(FrameBodies, BothAnswersOfABuddyCrossWithEveryField) {
  expect_every_field_crosses<KeptElementsBody>(
      {[](auto& body) { body.first_element = kLong; }, [](auto& body) { body.elements = kLong; }},
      FrameKind::kept);
  expect_every_field_crosses<KeptShardBody>({[](auto& body) { body.shard = kShort; }}, FrameKind::kept);
}

TEST(FrameBodies, DemandsAndBatchesCrossWithEveryField) {
  expect_every_field_crosses<DemandBody>(
      {[](auto& body) { body.shard = kShort; }, [](auto& body) { body.ticket = kLong; },
       [](auto& body) { body.epoch = kLong; }, [](auto& body) { body.phase = kShort; },
       [](auto& body) { body.step = kLong; }},
      FrameKind::demand);
  expect_every_field_crosses<BatchBody>(
      {[](auto& body) { body.shard = kShort; }, [](auto& body) { body.ticket = kLong; }}, FrameKind::batch);
}

TEST(FrameBodies, StatusesCrossWithEveryField) {
  expect_every_field_crosses<StatusBody>(
      {[](auto& body) { body.activity = kShort; }, [](auto& body) { body.shard = kShort; },
       [](auto& body) { body.counter = kLong; }, [](auto& body) { body.owed_demands = kLong; }},
      FrameKind::status);
}

TEST(FrameBodies, PiecesOfRecordsAndStatesCrossWithEveryField) {
  for (const FrameKind of : {FrameKind::record, FrameKind::state}) {
    expect_every_field_crosses<PieceBody>({[of](auto& body) { body.of = of, body.number = kLong; },
                                           [of](auto& body) { body.of = of, body.first_byte = kLong; },
                                           [of](auto& body) { body.of = of, body.bytes = kShort; },
                                           [of](auto& body) { body.of = of, body.whole_bytes = kLong; },
                                           [of](auto& body) { body.of = of, body.check = kShort; },
                                           [of](auto& body) { body.of = of, body.waiting = kShort; }},
                                          of);
  }
}

TEST(FrameBodies, AnswersToPiecesCrossWithEveryField) {
  expect_every_field_crosses<ReceivedBody>(
      {[](auto& body) { body.of = FrameKind::state; }, [](auto& body) { body.number = kLong; },
       [](auto& body) { body.first_byte = kLong; }},
      FrameKind::received);
}

TEST(FrameBodies, NumbersOfRecordsCrossInEachOfTheirKinds) {
  for (const FrameKind kind : {FrameKind::taken, FrameKind::part, FrameKind::gathered})
    expect_every_field_crosses<RecordsBody>({[kind](auto& body) { body.kind = kind, body.records = kLong; }},
                                            kind);
}

struct OnTheWire {
  Frame frame;
  std::uint64_t round;  // at byte 24
  RawWords words;       // at bytes 32, 48, 52 and 56
};

// As all nodes of protocol version 26 read them.
TEST(FrameBodies, LieWhereTheProtocolSays) {
  const Elements elements{11, 12, 13};
  const OnTheWire all[] = {
      {Frame{}, 0, {0, 0, 0, 0}},
      {frame_with(MetricsBody{1, 2}), 0, {0, 1, 0, 2}},
      {frame_with(ContributionBody{1, elements}), 0, {12, 1, 11, 13}},
      {frame_with(ResultBody{elements}), 0, {12, 0, 11, 13}},
      {frame_with(ReducedBody{1}), 0, {1, 0, 0, 0}},
      {frame_with(CarriedBody{1, 2}), 0, {2, 1, 0, 0}},
      {frame_with(KeptElementsBody{1, 2}), 0, {1, 0, 0, 2}},
      {frame_with(KeptShardBody{1}), 0, {0, 1, 0, 0}},
      {frame_with(DemandBody{1, 2, 3, 4, 5}), 2, {5, 1, 4, 3}},
      {frame_with(BatchBody{1, 2}), 2, {0, 1, 0, 0}},
      {frame_with(StatusBody{1, 2, 3, 4}), 0, {4, 1, 2, 3}},
      {frame_with(PieceBody{FrameKind::state, 1, 2, 3, 4, 5, 6}), 1, {2, 5, 6, 4}},
      {frame_with(ReceivedBody{FrameKind::state, 1, 2}), 1, {2, 8, 0, 0}},
      {frame_with(RecordsBody{FrameKind::part, 1}), 1, {0, 0, 0, 0}},
  };
  for (const OnTheWire& one : all) {
    std::byte bytes[sizeof(Frame)];
    std::memcpy(bytes, &one.frame, sizeof bytes);
    const auto is_at = [&](std::size_t at, auto value) {
      EXPECT_EQ(std::memcmp(bytes + at, &value, sizeof value), 0)
          << "kind " << static_cast<unsigned>(one.frame.kind) << ", byte " << at;
    };
    is_at(6, one.frame.kind);
    is_at(24, one.round);
    is_at(32, one.words.at_32);
    is_at(48, one.words.at_48);
    is_at(52, one.words.at_52);
    is_at(56, one.words.at_56);
  }
}

TEST(FrameBodies, ElementsAreReadOfEveryKindThatBringsSome) {
  EXPECT_EQ(elements_in(frame_with(ContributionBody{9, {1, 2, 3}})), (Elements{1, 2, 3}));
  EXPECT_EQ(elements_in(frame_with(ResultBody{{1, 2, 3}})), (Elements{1, 2, 3}));
  EXPECT_EQ(elements_in(frame_with(ReducedBody{2})), (Elements{0, 2, 0}));
}

TEST(FrameBodies, OfAnotherKindAreNotRead) {
  EXPECT_DEATH(BatchBody::from(frame_with(DemandBody{})), "check failed");
  EXPECT_DEATH(elements_in(Frame{}), "check failed");
  EXPECT_DEATH(RecordsBody::from(frame_with(PieceBody{})), "check failed");
}

TEST(FrameBodies, CarriedElementsKnowTheirPiece) {
  EXPECT_EQ((CarriedBody{1, 0}).piece(), 0u);
  EXPECT_EQ((CarriedBody{1, 3 * CarriedBody::kElementsMax}).piece(), 3u);
}

TEST(FrameBodies, SayWhatTheyCannotSay) {
  EXPECT_EQ((MetricsBody{0, 4}).invalid(), "4 audits behind the losses, at most 3 are sent");
  EXPECT_EQ((ContributionBody{0, {}}).invalid(), "elements of tree node 0; the root is node 1");
  EXPECT_EQ((CarriedBody{1, 7}).invalid(),
            "elements of a state from 7 on; pieces begin at multiples of 262144");
  EXPECT_EQ((KeptElementsBody{8, 0}).invalid(), "the buddy keeps 0 elements");
  EXPECT_EQ((DemandBody{1, 1, 1, 2, 1}).invalid(), "a demand for phase 2, there are 2");
  EXPECT_EQ((StatusBody{6, 0, 0, 0}).invalid(), "activity 6, there are 6");
  EXPECT_EQ((ReceivedBody{FrameKind::ping, 1, 0}).invalid(),
            "an answer to a piece of kind 9, which does not come in pieces");
}

TEST(FrameBodies, SayThatAPieceLiesOutsideOfTheWhole) {
  const auto invalid = [](std::uint64_t first_byte, std::uint32_t bytes, std::uint64_t whole_bytes) {
    return PieceBody{FrameKind::state, 7, first_byte, bytes, whole_bytes, 0, 0}.invalid();
  };
  EXPECT_EQ(invalid(0, 10, 10), "");
  EXPECT_EQ(invalid(5, 6, 10), "6 bytes from byte 5 on of 10");
  EXPECT_EQ(invalid(10, 1, 10), "1 bytes from byte 10 on of 10");
  EXPECT_EQ(invalid(0, 0, 10), "0 bytes from byte 0 on of 10");
  EXPECT_EQ(invalid(~std::uint64_t{0}, 1, ~std::uint64_t{0}).empty(), false);
}

TEST(FrameBodies, AKindThatDoesNotFitIsOfNoPiece) {
  Frame frame = frame_with(ReceivedBody{FrameKind::record, 1, 2});
  EXPECT_EQ(ReceivedBody::from(frame).invalid(), "");
  RawWords{2, 0x10007, 0, 0}.put_into(frame);  // its lower half is the kind of a record
  EXPECT_NE(ReceivedBody::from(frame).invalid(), "");
}

TEST(FrameBodies, SayNothingWhereAllCanBe) {
  EXPECT_EQ((MetricsBody{5, 3}).invalid(), "");
  EXPECT_EQ((ContributionBody{1, {}}).invalid(), "");
  EXPECT_EQ((ResultBody{}).invalid(), "");
  EXPECT_EQ((ReducedBody{}).invalid(), "");
  EXPECT_EQ((CarriedBody{1, 2 * CarriedBody::kElementsMax}).invalid(), "");
  EXPECT_EQ((KeptElementsBody{0, 1}).invalid(), "");
  EXPECT_EQ((KeptShardBody{}).invalid(), "");
  EXPECT_EQ((DemandBody{0, 0, 0, 1, 0}).invalid(), "");
  EXPECT_EQ((BatchBody{}).invalid(), "");
  EXPECT_EQ((StatusBody{5, 0, 0, 0}).invalid(), "");
  EXPECT_EQ((ReceivedBody{FrameKind::state, 1, 0}).invalid(), "");
  EXPECT_EQ((RecordsBody{}).invalid(), "");
}

}  // namespace
