#include "actors/node/children.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <vector>

namespace muster {
namespace {

constexpr int kDeadlineMs = 60000;

std::optional<Children::Ended> await_end(Children& children) {
  std::vector<pollfd> waits;
  for (const int descriptor : children.descriptors()) waits.push_back({descriptor, POLLIN, 0});
  ::poll(waits.data(), waits.size(), kDeadlineMs);
  return children.next_ended();
}

// A process of another host may have the pid of a child.
TEST(Children, AreKilledByTheNumberOfTheirStart) {
  Children children;
  const NodeName one{false, 0}, other{false, 1};
  const pid_t pid = children.start(one, {"/bin/sleep", "600"}, {}, 7);
  children.start(other, {"/bin/sleep", "600"}, {}, 8);
  children.kill(static_cast<std::uint64_t>(pid));
  children.kill(8);
  const auto ended = await_end(children);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->launched, 8u);
  EXPECT_EQ(children.names(), std::vector<NodeName>{one});
}

}  // namespace
}  // namespace muster
