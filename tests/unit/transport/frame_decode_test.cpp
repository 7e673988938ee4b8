#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "transport/frames/round_bodies.hpp"

namespace {

using namespace muster;

std::vector<std::byte> bytes_of(const Frame& bare) {
  const Frame frame = checked(bare);
  std::vector<std::byte> bytes(sizeof frame);
  std::memcpy(bytes.data(), &frame, sizeof frame);
  return bytes;
}

std::string why_refused(const std::vector<std::byte>& bytes) {
  std::string why;
  EXPECT_FALSE(decode_frame(bytes, why).has_value());
  return why;
}

TEST(FrameDecode, GivesBackWhatWasEncoded) {
  Frame frame = frame_with(ResultBody{{0, 1000, 0}});
  frame.view = 3;
  frame.from = 2;
  frame.incarnation = 0x1122334455667788;
  frame.round = 9;
  frame.bytes = kPayloadBytesMax;
  std::string why;
  const auto decoded = decode_frame(bytes_of(frame), why);
  ASSERT_TRUE(decoded.has_value()) << why;
  frame = checked(frame);
  EXPECT_EQ(std::memcmp(&*decoded, &frame, sizeof frame), 0);
  EXPECT_TRUE(why.empty());
}

TEST(FrameDecode, RefusesWhatIsNoFrameAndSaysWhy) {
  EXPECT_NE(why_refused({}).find("0 bytes"), std::string::npos);
  EXPECT_NE(why_refused(std::vector<std::byte>(63)).find("63 bytes"), std::string::npos);
  EXPECT_NE(why_refused(std::vector<std::byte>(64)).find("not a Muster frame"), std::string::npos);
  Frame frame;
  frame.version = 99;
  EXPECT_NE(why_refused(bytes_of(frame)).find("version 99"), std::string::npos);
  frame = {};
  frame.kind = static_cast<FrameKind>(77);
  EXPECT_NE(why_refused(bytes_of(frame)).find("kind 77"), std::string::npos);
  frame = {};
  frame.bytes = kPayloadBytesMax + 1;
  EXPECT_NE(why_refused(bytes_of(frame)).find("more than"), std::string::npos);
}

TEST(FrameDecode, RefusesAFrameInWhichAnyBitHasFlipped) {
  Frame frame = frame_with(ContributionBody{1, {0, 77, 0}});
  frame.view = 3;
  frame.bytes = 1 << 20;
  const std::vector<std::byte> good = bytes_of(frame);
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    auto damaged = good;
    damaged[bit / 8] ^= std::byte(1u << bit % 8);
    EXPECT_FALSE(why_refused(damaged).empty()) << bit;
  }
}

}  // namespace
