#include "actors/processes/signals.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using std::chrono::milliseconds;

TEST(SignalEchoes, TheSameSignalSoonAfterIsAnEcho) {
  SignalEchoes echoes;
  const SignalEchoes::Time start{std::chrono::hours(1)};
  EXPECT_FALSE(echoes.is_echo(SIGINT, start));
  EXPECT_TRUE(echoes.is_echo(SIGINT, start));
  EXPECT_TRUE(echoes.is_echo(SIGINT, start + milliseconds(499)));
  EXPECT_FALSE(echoes.is_echo(SIGINT, start + milliseconds(500))) << "counted from the first one";
  EXPECT_TRUE(echoes.is_echo(SIGINT, start + milliseconds(501)));
}

TEST(SignalEchoes, AnotherSignalIsNone) {
  SignalEchoes echoes;
  const SignalEchoes::Time start{std::chrono::hours(1)};
  EXPECT_FALSE(echoes.is_echo(SIGINT, start));
  EXPECT_FALSE(echoes.is_echo(SIGTERM, start));
  EXPECT_FALSE(echoes.is_echo(SIGINT, start));
}

TEST(Signals, EchoesAreNotTaken) {
  Signals signals(true);
  ::raise(SIGTERM);
  ::raise(SIGTERM);
  ::raise(SIGINT);
  EXPECT_EQ(signals.take(), SIGTERM);
  EXPECT_EQ(signals.take(), SIGINT);
  EXPECT_EQ(signals.take(), 0);
}

}  // namespace
}  // namespace muster
