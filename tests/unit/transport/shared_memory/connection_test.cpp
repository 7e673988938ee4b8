#include "transport/shared_memory/connection.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/transport/shared_memory/two_sides.hpp"
#include "transport/borrowable.hpp"

namespace {

using namespace muster;
using namespace muster::shm;

class ShmConnection : public muster::testing::TwoSides {
 protected:
  // A writes so many lines, and B reads them.
  void a_says(std::size_t lines) {
    const std::vector<std::byte> bytes(lines * kLine);
    ASSERT_EQ(a_.out->box.put(bytes, true), bytes.size());
    a_.out->box.publish();
    ASSERT_EQ(b_.in.box->unread(), bytes.size());
    b_.in.box->take(bytes.size());
  }
};

TEST_F(ShmConnection, AReaderAnswersInItsOwnOutboxOnceItHasConnected) {
  a_says(3);
  b_.in.answer();  // into nothing
  const std::size_t room = a_.out->box.room();
  a_.out->look_what_was_taken();
  EXPECT_EQ(a_.out->box.room(), room) << "the other side has not connected";
  pair(a_.in, *a_.out);
  pair(b_.in, *b_.out);  // this answers, too
  a_.out->look_what_was_taken();
  EXPECT_EQ(a_.out->box.room(), a_.out->box.capacity());
  a_says(2);
  a_.out->look_what_was_taken();
  EXPECT_EQ(a_.out->box.room(), a_.out->box.capacity() - 2 * kLine);
  b_.in.answer();
  a_.out->look_what_was_taken();
  EXPECT_EQ(a_.out->box.room(), a_.out->box.capacity());
}

TEST_F(ShmConnection, AnAnswerToAnotherStreamChangesNothing) {
  pair(a_.in, *a_.out);
  pair(b_.in, *b_.out);
  a_says(2);
  b_.in.answer();
  a_.out->stream = 12;  // it has connected anew
  a_.out->last_borrow = 1;
  a_.out->borrowed.push_back({1, 77});
  b_.out->box.head().returned.store(1);
  a_.out->look_what_was_taken();
  EXPECT_EQ(a_.out->box.room(), a_.out->box.capacity() - 2 * kLine);
  EXPECT_FALSE(a_.out->has_returned());
}

TEST_F(ShmConnection, ABorrowedBufferHasReturnedWithItsNumberOrAHigherOne) {
  pair(a_.in, *a_.out);
  pair(b_.in, *b_.out);
  EXPECT_FALSE(a_.out->has_returned()) << "nothing is borrowed";
  a_.out->last_borrow = 6;
  a_.out->borrowed.push_back({5, 77});
  a_.out->borrowed.push_back({6, 78});
  for (const auto& [number, returned] : {std::pair(4, false), std::pair(5, true), std::pair(7, false)}) {
    b_.out->box.head().returned.store(static_cast<std::uint64_t>(number));
    EXPECT_EQ(a_.out->has_returned(), returned) << number;
  }
}

TEST_F(ShmConnection, ANewPairLetsGoOfTheOldOne) {
  pair(a_.in, *a_.out);
  Incoming anew;
  anew.stream = 33;
  anew.box = std::make_unique<Inbox>(Descriptor(::dup(b_.out->box.descriptor())), b_.out->box.capacity());
  pair(anew, *a_.out);
  EXPECT_EQ(a_.in.back, nullptr);
  EXPECT_EQ(a_.out->in, &anew);
  EXPECT_EQ(anew.back, a_.out.get());
  EXPECT_EQ(a_.out->box.head().answers.load(), 33u);
}

TEST_F(ShmConnection, APayloadIsCopiedPieceByPieceToItsPlace) {
  std::vector<std::byte> payload(kPiece + 100), place(payload.size());
  for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<std::byte>(i % 251);
  Frame frame;
  frame.bytes = static_cast<std::uint32_t>(payload.size());
  b_.in.frame = frame;
  b_.in.place = place;
  a_.out->box.put(payload, true);
  a_.out->box.publish();
  EXPECT_FALSE(b_.in.copy_payload(b_.in.box->unread()));
  EXPECT_EQ(b_.in.read, kPiece);
  EXPECT_TRUE(b_.in.copy_payload(b_.in.box->unread()));
  EXPECT_EQ(place, payload);
  EXPECT_EQ(b_.in.box->unread(), 0u) << "what is left of the last line is skipped";
}

TEST_F(ShmConnection, ASegmentIsHandedOverBeforeItIsSpokenOf) {
  const FloatBuffer memory(kBorrowableBytesMin);
  const auto payload = std::as_bytes(std::span(memory.get(), kBorrowableBytesMin));
  const auto place = segment_of(payload);
  ASSERT_TRUE(place);
  EXPECT_EQ(b_.in.segment(place->segment), nullptr);
  Handed handed;
  handed.segment = place->segment;
  handed.bytes = place->bytes;
  ASSERT_TRUE(send_segment(a_.out->socket, handed, place->descriptor));
  memory.get()[3] = 4.5f;
  const auto segment = b_.in.segment(place->segment);
  ASSERT_NE(segment, nullptr);
  const auto there = segment->at(place->offset, payload.size());
  ASSERT_TRUE(there);
  EXPECT_EQ(reinterpret_cast<const float*>(there->data())[3], 4.5f);
  EXPECT_EQ(b_.in.segment(place->segment), segment) << "it is kept";
  EXPECT_EQ(b_.in.segment(place->segment + 1000), nullptr);
}

TEST_F(ShmConnection, TheOtherSideIsToldWhichSegmentsAreNotThereAnyMore) {
  auto freed = std::make_unique<FloatBuffer>(kBorrowableBytesMin);
  const FloatBuffer stays(kBorrowableBytesMin);
  const auto number_of = [](const FloatBuffer& memory) {
    return segment_of(std::as_bytes(std::span(memory.get(), 1))).value().segment;
  };
  const std::uint64_t gone = number_of(*freed);
  a_.out->freed = segments_freed();
  a_.out->handed = {gone, number_of(stays)};
  EXPECT_TRUE(a_.out->has_nothing_to_say());
  freed.reset();
  EXPECT_FALSE(a_.out->has_nothing_to_say());
  a_.out->queue.push_back({Frame{}, {}, 1, true, 0});
  a_.out->forget_freed();
  EXPECT_EQ(b_.in.box->unread(), 0u) << "not in the middle of a message";
  a_.out->queue.clear();
  a_.out->forget_freed();
  ASSERT_EQ(b_.in.box->unread(), kLine);
  Forget line;
  std::memcpy(&line, b_.in.box->next(kLine, kLine).data(), sizeof line);
  EXPECT_EQ(line.magic, kForgetMagic);
  EXPECT_EQ(line.segment, gone);
  EXPECT_EQ(a_.out->handed, std::set<std::uint64_t>{number_of(stays)});
  EXPECT_TRUE(a_.out->has_nothing_to_say());
}

}  // namespace
