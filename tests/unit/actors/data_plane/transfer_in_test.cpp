#include "actors/data_plane/transfer_in.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

const std::vector<std::byte> kGiven{std::byte{1}, std::byte{2}, std::byte{3}};

template <typename Body>
Frame frame_from_member_2(const Body& body) {
  Frame frame;
  frame.view = 7;
  frame.from = 2;
  body.put_into(frame);
  return frame;
}

void expect_of_member_2(const TransferIn& in, FrameKind kind) {
  EXPECT_EQ(in.view, 7u);
  EXPECT_EQ(in.from, 2u);
  EXPECT_EQ(in.kind, kind);
  ASSERT_NE(in.payload, nullptr);
  EXPECT_EQ(*in.payload, kGiven);
}

TEST(TransferIn, OfAPieceHasItsNumberAndHowManyWait) {
  for (const FrameKind kind : {FrameKind::record, FrameKind::state}) {
    PieceBody body;
    body.of = kind;
    body.number = 41;
    body.waiting = 5;
    const TransferIn in = transfer_in(frame_from_member_2(body), kGiven);
    expect_of_member_2(in, kind);
    EXPECT_EQ(in.number, 41u);
    EXPECT_EQ(in.waiting, 5u);
  }
}

TEST(TransferIn, OfOtherKindsHasTheRecordsAndNothingWaits) {
  for (const FrameKind kind : {FrameKind::taken, FrameKind::part, FrameKind::gathered}) {
    const TransferIn in = transfer_in(frame_from_member_2(RecordsBody{kind, 41}), kGiven);
    expect_of_member_2(in, kind);
    EXPECT_EQ(in.number, 41u);
    EXPECT_EQ(in.waiting, 0u);
  }
}

}  // namespace
}  // namespace muster
