// A process that has no file descriptor left lets nobody in for a while: it does not spin, says so once, and
// goes on when there are some again.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>

#include <chrono>
#include <functional>

#include "tests/unit/transport/transport_world.hpp"
#include "transport/accept_pause.hpp"
#include "transport/shared_memory/shared_memory_transport.hpp"
#include "transport/tcp/tcp_transport.hpp"

namespace {

using namespace muster;
using namespace std::chrono_literals;
using muster::testing::WorldNode;

constexpr PeerId kA = 10;
constexpr PeerId kB = 20;

/// What is open stays open; nothing new can be opened.
class NoDescriptors {
 public:
  NoDescriptors() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit none{3, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoDescriptors() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }

 private:
  rlimit before_{};
};

bool tells_of_something(const Transport& transport) {
  pollfd one{transport.event_descriptor(), POLLIN, 0};
  return ::poll(&one, 1, 0) == 1;
}

using Make = std::function<std::unique_ptr<Transport>()>;

class Accept : public ::testing::TestWithParam<Make> {};

TEST_P(Accept, WithoutDescriptorsItPausesAndSaysSoOnce) {
  WorldNode a, b;
  for (WorldNode* node : {&a, &b}) {
    node->transport = GetParam()();
    node->transport->set_sink(&node->sink);
  }
  b.transport->connect(kA, a.transport->address());  // waits to be let in
  {
    const NoDescriptors none;
    const auto end = std::chrono::steady_clock::now() + 4 * AcceptPause::kMin;
    std::size_t busy = 0, turns = 0;
    while (std::chrono::steady_clock::now() < end) {
      a.transport->arm();
      a.transport->progress();
      busy += tells_of_something(*a.transport) ? 1 : 0;
      ++turns;
    }
    EXPECT_EQ(a.sink.refusals.size(), 1u);
    EXPECT_NE(a.sink.refusals.front().find("ulimit -n"), std::string::npos);
    EXPECT_GT(turns, 20u);
    EXPECT_LT(busy, 10u);  // but for the turns in which it was tried again
  }
  a.transport->connect(kB, b.transport->address());
  b.send(kA, kB, 1, 100);
  const auto give_up = std::chrono::steady_clock::now() + 20s;
  while (a.sink.whole.empty() && std::chrono::steady_clock::now() < give_up) {
    a.transport->arm();
    a.transport->progress();
    b.transport->progress();
  }
  EXPECT_EQ(a.sink.whole.size(), 1u);
  EXPECT_TRUE(a.sink.failures.empty() && b.sink.failures.empty());
}

INSTANTIATE_TEST_SUITE_P(Each, Accept, ::testing::Values(Make([] { return make_tcp_transport(); }), Make([] {
                                                           return make_shared_memory_transport();
                                                         })));

TEST(AcceptPause, WaitsLongerEachTimeUpToABound) {
  AcceptPause pause;
  AcceptPause::Time now{};
  EXPECT_FALSE(pause.over(now));
  std::chrono::milliseconds wait = AcceptPause::kMin;
  for (int i = 0; i < 8; ++i, wait = std::min(2 * wait, AcceptPause::kMax)) {
    EXPECT_EQ(pause.begin(now), i == 0);
    EXPECT_FALSE(pause.over(now + wait - 1ms));
    EXPECT_TRUE(pause.over(now += wait));
    EXPECT_FALSE(pause.over(now));
  }
  pause.accepted();
  EXPECT_TRUE(pause.begin(now));  // a new shortage is said again
  EXPECT_TRUE(pause.over(now + AcceptPause::kMin));
}

}  // namespace
