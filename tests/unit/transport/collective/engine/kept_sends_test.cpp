#include "transport/collective/engine/kept_sends.hpp"

#include <gtest/gtest.h>

namespace {

using namespace muster;

TEST(KeptSends, KeepTheBytesUntilTheSendHasEnded) {
  KeptSends sends;
  Frame frame;
  frame.kind = FrameKind::batch;
  frame.view = 4;
  std::vector<std::byte> bytes(100, std::byte{6});
  const std::byte* const where = bytes.data();
  const KeptSends::Begun begun = sends.add(20, frame, std::move(bytes));
  EXPECT_EQ(begun.payload.data(), where) << "nothing is copied";
  EXPECT_EQ(begun.payload.size(), 100u);
  EXPECT_EQ(sends.size(), 1u);
  const auto ended = sends.take(begun.token);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->to, 20u);
  EXPECT_EQ(ended->frame.view, 4u);
  EXPECT_FALSE(ended->let_go);
  EXPECT_EQ(sends.size(), 0u);
  EXPECT_FALSE(sends.take(begun.token)) << "it ends once";
}

TEST(KeptSends, TheirTokensAreNoneOfAReduction) {
  KeptSends sends;
  const SendToken first = sends.add(20, {}, {}).token, second = sends.add(20, {}, {}).token;
  EXPECT_NE(first, second);
  EXPECT_TRUE(KeptSends::has(first));
  EXPECT_TRUE(KeptSends::has(second));
  EXPECT_FALSE(KeptSends::has(0));
  EXPECT_FALSE(KeptSends::has((SendToken{1} << 63) - 1));
}

TEST(KeptSends, ACutConnectionLetsGoOfWhatIsUnderWayToItsPeer) {
  KeptSends sends;
  const SendToken cut = sends.add(20, {}, {}).token, stays = sends.add(30, {}, {}).token;
  sends.let_go(20);
  const SendToken later = sends.add(20, {}, {}).token;
  EXPECT_TRUE(sends.take(cut)->let_go);
  EXPECT_FALSE(sends.take(stays)->let_go);
  EXPECT_FALSE(sends.take(later)->let_go) << "it goes over a new connection";
}

}  // namespace
