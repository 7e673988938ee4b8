// Two real processes: bytes both ways, a process that leaves, a process that is killed.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "tests/unit/transport/child_process.hpp"
#include "tests/unit/transport/transport_world.hpp"

namespace {

using namespace muster;
using namespace std::chrono_literals;
using muster::testing::ChildProcess;
using muster::testing::get_message;
using muster::testing::put_message;
using muster::testing::WorldNode;

constexpr PeerId kParent = 1;
constexpr PeerId kChild = 2;
constexpr PeerId kOther = 3;
constexpr std::uint64_t kMessages = 30;

std::size_t size_of(std::uint64_t message) {
  return message % 3 == 0 ? 1 << 20 : message % 3 == 1 ? 5000 : 10;
}

template <class Done>
bool progress_until(WorldNode& node, std::chrono::milliseconds limit, Done done) {
  const auto give_up = std::chrono::steady_clock::now() + limit;
  while (!done()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    if (!node.transport->progress()) sched_yield();
  }
  return true;
}

/// The same on both sides, but for the numbers.
void meet(const std::string& kind, WorldNode& node, int channel, PeerId other) {
  node.transport = muster::testing::real_transport(kind)();
  node.transport->set_sink(&node.sink);
  put_message(channel, node.transport->address());
  node.transport->connect(other, get_message(channel));
}

bool exchange(WorldNode& node, PeerId self, PeerId other) {
  for (std::uint64_t message = 0; message < kMessages; ++message)
    node.send(other, self, message, size_of(message));
  return progress_until(
      node, 20s, [&] { return node.sink.whole.size() == kMessages && node.sink.sent_ok == kMessages; });
}

/// The child's whole life: exchanges, says so, then progresses until it is killed or told to leave.
void live_as_child(const std::string& kind, int channel) {
  WorldNode node;
  meet(kind, node, channel, kParent);
  const bool ok = exchange(node, kChild, kParent);
  put_message(channel, ok ? "exchanged" : "failed");
  // What the parent sends from now on gets no place here, and the sends of the child never end.
  node.sink.refuse_places = true;
  progress_until(node, 30s, [&] { return !node.sink.failures.empty(); });
}

class TwoProcesses : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Transports, TwoProcesses,
                         ::testing::Values("ucx", "ucx_tcp", "ucx_gpus", "tcp", "shared_memory", "node"),
                         [](const auto& information) { return std::string(information.param); });

std::string this_test() {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  return std::string(test->test_suite_name()) + "." + test->name();
}

TEST_P(TwoProcesses, AKilledPeerIsNoticed) {
  if (const int channel = ChildProcess::role(); channel >= 0) return live_as_child(GetParam(), channel);
  ChildProcess child(this_test());
  WorldNode node;
  meet(GetParam(), node, child.channel(), kChild);
  EXPECT_TRUE(exchange(node, kParent, kChild));
  ASSERT_TRUE(progress_until(node, 20s, [&, said = false]() mutable {
    if (!said) {
      said = get_message(child.channel()) == "exchanged";
    }
    return said;
  }));
  child.kill();
  EXPECT_EQ(child.wait(), 128 + 9);
  const auto killed = std::chrono::steady_clock::now();
  for (std::uint64_t message = 0; message < 5; ++message) node.send(kChild, kParent, 100 + message, 4 << 20);
  EXPECT_TRUE(progress_until(node, 5s, [&] { return !node.sink.failures.empty(); }));
  const auto noticed = std::chrono::steady_clock::now() - killed;
  RecordProperty("noticed_ms",
                 static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(noticed).count()));
  EXPECT_TRUE(progress_until(node, 2s, [&] { return node.sink.tokens_back() == kMessages + 5; }));
  EXPECT_EQ(node.sink.failures, std::vector<PeerId>{kChild});
  EXPECT_EQ(node.sink.half_arrived(), 0u);
  node.transport->disconnect(kChild);
  node.transport->send(kChild, muster::testing::frame_of(kParent, 999, 0), {}, 999);
  EXPECT_EQ(node.sink.tokens.count(999), 1u);
}

TEST_P(TwoProcesses, APlaceWhoseSenderIsKilledIsDropped) {
  if (const int channel = ChildProcess::role(); channel >= 0) {
    WorldNode node;
    meet(GetParam(), node, channel, kParent);
    for (std::uint64_t message = 0; message < 8; ++message) node.send(kParent, kChild, message, 16 << 20);
    progress_until(node, 30s, [&] { return false; });
    return;
  }
  ChildProcess child(this_test());
  WorldNode node;
  meet(GetParam(), node, child.channel(), kChild);
  ASSERT_TRUE(progress_until(node, 20s, [&] { return node.sink.half_arrived() >= 1; }));
  child.kill();
  child.wait();
  EXPECT_TRUE(progress_until(node, 5s, [&] { return !node.sink.failures.empty(); }));
  EXPECT_TRUE(progress_until(node, 2s, [&] { return node.sink.half_arrived() == 0; }))
      << node.sink.half_arrived();
  node.transport->disconnect(kChild);
  progress_until(node, 50ms, [] { return false; });
  EXPECT_EQ(node.sink.half_arrived(), 0u);
  EXPECT_EQ(node.sink.failures, std::vector<PeerId>{kChild});
}

// A queue that all of them write to would be blocked for good by one of these kills now and then.
TEST(TwoProcessesOfOneHost, ASenderThatIsKilledHoldsUpNobodyElse) {
  if (const int channel = ChildProcess::role(); channel >= 0) {
    WorldNode node;
    meet("shared_memory", node, channel, kParent);
    for (std::uint64_t message = 0; message < 64; ++message) node.send(kParent, kChild, message, 1 << 20);
    progress_until(node, 30s, [&] { return false; });
    return;
  }
  WorldNode node, other;
  for (std::uint64_t time = 0; time < 8; ++time) {
    ChildProcess child(this_test());
    if (time == 0) {
      meet("shared_memory", node, child.channel(), kChild);
      other.transport = muster::testing::real_transport("shared_memory")();
      other.transport->set_sink(&other.sink);
      muster::testing::connect(node, kParent, other, kOther);
    } else {
      put_message(child.channel(), node.transport->address());
      node.transport->connect(kChild, get_message(child.channel()));
    }
    ASSERT_TRUE(progress_until(node, 20s, [&] { return node.sink.whole.size() >= 1 + 3 * time; }));
    child.kill();
    child.wait();
    other.send(kParent, kOther, 1000 + time, 1 << 22);
    EXPECT_TRUE(progress_until(node, 5s, [&] {
      other.transport->progress();
      return node.sink.whole.count({kOther, 1000 + time}) == 1 && node.sink.failures.size() == 1;
    }));
    node.transport->disconnect(kChild);
    node.sink.failures.clear();
    node.sink.whole.clear();
    progress_until(node, 50ms, [&] { return node.sink.half_arrived() == 0; });
    EXPECT_EQ(node.sink.half_arrived(), 0u);
  }
}

}  // namespace
