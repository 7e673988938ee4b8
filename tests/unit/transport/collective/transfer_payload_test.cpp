// Transfers in pieces: cut by one side, put together by the other; nothing that is damaged or out of place is
// taken.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/transport/transport_world.hpp"
#include "transport/collective/transfer/intake.hpp"

namespace {

using namespace muster;
using muster::testing::pattern;

constexpr std::size_t kPiece = 100;

// Parts of all lengths, some of its own.
std::shared_ptr<const TransferPayload> transfer_of(const std::shared_ptr<const std::vector<std::byte>>& bytes,
                                                   std::uint64_t seed) {
  std::mt19937_64 random(seed);
  auto transfer = std::make_shared<TransferPayload>(bytes);
  for (std::size_t at = 0; at < bytes->size();) {
    const auto part =
        std::span(*bytes).subspan(at, std::min<std::size_t>(random() % 170, bytes->size() - at));
    if (random() % 2 == 0) {
      transfer->add(part);
    } else {
      transfer->add(std::vector<std::byte>(part.begin(), part.end()));
    }
    at += part.size();
  }
  return transfer;
}

Frame piece_of(const std::vector<std::byte>& bytes, std::size_t number) {
  PieceBody piece;
  piece.of = FrameKind::state;
  piece.number = 7;
  piece.first_byte = number * kPiece;
  piece.bytes = static_cast<std::uint32_t>(std::min(kPiece, bytes.size() - piece.first_byte));
  piece.whole_bytes = bytes.size();
  piece.check = piece_check(std::span(bytes).subspan(piece.first_byte, piece.bytes));
  Frame frame = frame_with(piece);
  frame.view = 3;
  frame.from = 1;
  return frame;
}

// As a transport does; `flipped`: a bit is, on the way.
Intake::Taken put(Intake& intake, const std::vector<std::byte>& bytes, std::size_t number,
                  bool flipped = false) {
  const Frame frame = piece_of(bytes, number);
  const auto place = intake.place(frame, bytes.size()).bytes;
  EXPECT_EQ(place.size(), frame.bytes);
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(number * kPiece), place.size(), place.begin());
  if (flipped) place[place.size() / 2] ^= std::byte{4};
  return intake.arrived(frame, place);
}

TEST(TransferPayload, AnyPieceIsWhatItsPartsAre) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const auto bytes = std::make_shared<const std::vector<std::byte>>(pattern(seed, 1 + seed * 37));
    const auto transfer = transfer_of(bytes, seed);
    ASSERT_EQ(transfer->bytes(), bytes->size());
    for (std::size_t at = 0; at <= bytes->size(); at += 13) {
      for (const std::size_t length : {std::size_t{0}, std::size_t{1}, kPiece, bytes->size()}) {
        std::vector<std::byte> piece(std::min(length, bytes->size() - at));
        transfer->copy(at, piece);
        ASSERT_TRUE(std::equal(piece.begin(), piece.end(), bytes->begin() + static_cast<std::ptrdiff_t>(at)));
      }
    }
  }
}

TEST(TransferPayload, HoldsMoreThanFourGibibytes) {
  const auto part = std::make_shared<const std::vector<std::byte>>(pattern(1, std::size_t{1} << 20));
  TransferPayload transfer(part);
  for (int i = 0; i < 5 << 10; ++i) transfer.add(std::span<const std::byte>(*part));
  ASSERT_EQ(transfer.bytes(), std::uint64_t{5} << 30);
  std::vector<std::byte> piece(1000);
  transfer.copy((std::uint64_t{4} << 30) + (std::uint64_t{3} << 20) - 500, piece);
  EXPECT_TRUE(std::equal(piece.begin(), piece.begin() + 500, part->end() - 500));
  EXPECT_TRUE(std::equal(piece.begin() + 500, piece.end(), part->begin()));
  EXPECT_DEATH(transfer.copy(transfer.bytes() - 999, piece), "check failed");
}

PieceBody piece(std::uint64_t first_byte, std::uint32_t bytes, std::uint64_t whole_bytes) {
  PieceBody made;
  made.first_byte = first_byte;
  made.bytes = bytes;
  made.whole_bytes = whole_bytes;
  return made;
}

TEST(TransferPayload, APieceBeginsAtAMultipleOfItsSizeAndEndsThereOrWithTheWhole) {
  EXPECT_TRUE(fits(piece(0, 100, 250), kPiece));
  EXPECT_TRUE(fits(piece(200, 50, 250), kPiece));
  EXPECT_TRUE(fits(piece(std::uint64_t{5} << 32, 50, (std::uint64_t{5} << 32) + 50), std::size_t{1} << 20));
  EXPECT_FALSE(fits(piece(50, 100, 250), kPiece));
  EXPECT_FALSE(fits(piece(0, 50, 250), kPiece));
  EXPECT_FALSE(fits(piece(200, 100, 250), kPiece));
  EXPECT_FALSE(fits(piece(300, 0, 250), kPiece));
  EXPECT_FALSE(fits(piece(0, 0, 0), kPiece));
  EXPECT_FALSE(fits(piece(~std::uint64_t{0} - 15, 100, ~std::uint64_t{0}), kPiece));
}

TEST(Intake, PiecesInAnyOrderMakeTheWhole) {
  std::mt19937_64 random(5);
  for (std::size_t size = 1; size < 1500; size += 77) {
    Intake intake(kPiece);
    const auto bytes = pattern(size, size);
    std::vector<std::size_t> order((size + kPiece - 1) / kPiece);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Intake::Taken taken = put(intake, bytes, order[i]);
      ASSERT_TRUE(taken.known && taken.wrong.empty());
      ASSERT_EQ(taken.whole.has_value(), i + 1 == order.size());
      if (taken.whole) {
        EXPECT_EQ(*taken.whole, bytes);
      }
    }
  }
}

TEST(Intake, ADamagedPieceIsRefusedAndTheRestWithIt) {
  Intake intake(kPiece);
  const auto bytes = pattern(1, 250);
  ASSERT_TRUE(put(intake, bytes, 0).known);
  const Intake::Taken damaged = put(intake, bytes, 2, true);
  EXPECT_EQ(damaged.wrong, "bytes 200 to 250 of 250 of the state after record 7 are not as they were sent");
  for (const std::size_t number : {0u, 1u, 2u}) {  // from the beginning, it is taken
    EXPECT_EQ(put(intake, bytes, number).whole.has_value(), number == 2);
  }
}

TEST(Intake, WhatCannotBeAPieceIsRefusedWithAReason) {
  Intake intake(kPiece);
  const auto bytes = pattern(1, 250);
  const auto wrong = [&](auto change, std::uint64_t most = 250) {
    Frame frame = piece_of(bytes, 1);
    auto piece = PieceBody::from(frame);
    change(piece);
    piece.put_into(frame);
    const Intake::Place place = intake.place(frame, most);
    EXPECT_TRUE(place.bytes.empty());
    return place.wrong;
  };
  EXPECT_NE(wrong([](PieceBody&) {}, 249).find("at most 249 bytes were agreed"), std::string::npos);
  EXPECT_NE(wrong([](PieceBody& piece) { ++piece.first_byte; }).find("is no piece of it"), std::string::npos);
  EXPECT_NE(wrong([](PieceBody& piece) { --piece.bytes; }).find("is no piece of it"), std::string::npos);
  EXPECT_NE(wrong([](PieceBody& piece) { piece.first_byte = 300; }).find("is no piece of it"),
            std::string::npos);
}

TEST(Intake, APieceThatCameTwiceIsTakenOnce) {
  Intake intake(kPiece);
  const auto bytes = pattern(1, 250);
  ASSERT_TRUE(put(intake, bytes, 1).known);
  const Intake::Place again = intake.place(piece_of(bytes, 1), 250);
  EXPECT_TRUE(again.bytes.empty() && again.had && again.wrong.empty());
}

TEST(Intake, TransfersAreBounded) {
  Intake intake(kPiece);
  const auto bytes = pattern(1, 250);
  for (std::size_t i = 0; i <= Intake::kTransfersMax; ++i) {
    Frame frame = piece_of(bytes, 0);
    frame.round = i;
    const Intake::Place place = intake.place(frame, 250);
    EXPECT_EQ(place.bytes.empty(), i == Intake::kTransfersMax);
    EXPECT_EQ(place.wrong.empty(), i < Intake::kTransfersMax);
  }
}

TEST(Intake, WhatIsForgottenWhileItComesIsNotGiven) {
  Intake intake(kPiece);
  const auto bytes = pattern(1, 250);
  const Frame frame = piece_of(bytes, 0);
  const auto place = intake.place(frame, 250).bytes;
  intake.forget();
  const auto fresh = intake.place(frame, 250).bytes;  // of the same, given anew
  ASSERT_FALSE(fresh.empty());
  EXPECT_NE(fresh.data(), place.data());
  std::copy_n(bytes.begin(), place.size(), place.begin());
  EXPECT_FALSE(intake.arrived(frame, place).known);
  std::copy_n(bytes.begin(), fresh.size(), fresh.begin());
  EXPECT_TRUE(intake.arrived(frame, fresh).known);
  EXPECT_FALSE(put(intake, bytes, 1).whole);
  EXPECT_TRUE(put(intake, bytes, 2).whole);
}

TEST(Intake, WhatMayStillBeWrittenToIsNeverUsedAgain) {
  Intake intake(kPiece);
  const auto bytes = pattern(1, 250);
  const Frame first = piece_of(bytes, 0), second = piece_of(bytes, 1);
  const auto one = intake.place(first, 250).bytes;
  const auto two = intake.place(second, 250).bytes;
  intake.dropped(first, true);
  std::fill(one.begin(), one.end(), std::byte{1});  // as a transfer that has lost its owner does
  intake.dropped(second, false);
  std::fill(two.begin(), two.end(), std::byte{1});
  for (const std::size_t number : {0u, 1u, 2u})
    EXPECT_EQ(put(intake, bytes, number).whole.has_value(), number == 2);
}

}  // namespace
