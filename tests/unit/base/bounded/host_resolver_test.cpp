#include "base/bounded/host_resolver.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <vector>

namespace muster {
namespace {

using namespace std::chrono_literals;
using Kind = HostAnswer::Kind;
using Texts = std::vector<std::string>;

HostAnswer known_as(const std::string& address) {
  return {Kind::known, {*SocketAddress::from_text(address)}, {}};
}

/// A resolver that returns when it is told to, also after its test has ended.
class Held {
 public:
  ~Held() { release(); }

  HostResolver::Resolve resolve(HostAnswer answer) {
    return [gate = gate_.get_future().share(), asked = asked_, answer](const std::string&) {
      ++*asked;
      gate.wait();
      return answer;
    };
  }
  void release() {
    if (!std::exchange(released_, true)) gate_.set_value();
  }
  int asked() const { return *asked_; }

 private:
  std::promise<void> gate_;
  bool released_ = false;
  const std::shared_ptr<std::atomic<int>> asked_ = std::make_shared<std::atomic<int>>(0);
};

TEST(HostResolver, AnAddressIsAnsweredWithoutAResolver) {
  HostResolver resolver([](const std::string&) -> HostAnswer { throw std::runtime_error("was asked"); });
  for (const std::string address : {"127.0.0.1", "0.0.0.0", "::1", "2001:db8::7"}) {
    const HostAnswer answer = resolver.look_up(address, 0ms);
    ASSERT_EQ(answer.kind, Kind::known) << address;
    ASSERT_EQ(answer.addresses.size(), 1u);
    EXPECT_EQ(answer.addresses[0].text(), address);
  }
  EXPECT_EQ(resolver.look_up("host2", 10s).why, "was asked");
}

TEST(HostResolver, TheResolverOfTheSystemKnowsItsOwnNamesAndSaysWhatItDoesNotKnow) {
  const HostAnswer own = host_resolver().look_up("localhost", 10s);
  ASSERT_EQ(own.kind, Kind::known) << own.why;
  const HostAnswer none = host_resolver().look_up("not a host", 10s);
  EXPECT_EQ(none.kind, Kind::unknown) << none.why;
  EXPECT_EQ(none.problem("not a host").find("the host name not a host is not known here ("), 0u);
}

TEST(HostResolver, ALookUpThatDoesNotReturnIsGivenUp) {
  Held held;
  HostResolver resolver(held.resolve(known_as("10.0.0.2")));
  const HostAnswer answer = resolver.look_up("host2", 20ms);
  EXPECT_EQ(answer.kind, Kind::no_answer);
  EXPECT_EQ(answer.problem("host2"),
            "the host name host2 cannot be looked up (no name server answered within 20 ms): give the host's "
            "address instead, or an entry in /etc/hosts, or see which name servers /etc/resolv.conf has");
}

TEST(HostResolver, ALateAnswerIsGivenToTheNextWhoAsks) {
  for (const HostAnswer& late : {known_as("10.0.0.2"), HostAnswer{Kind::unknown, {}, "no such name"}}) {
    Held held;
    HostResolver resolver(held.resolve(late));
    EXPECT_EQ(resolver.look_up("host2", 0ms).kind, Kind::no_answer);
    EXPECT_EQ(resolver.look_up("host2", 20ms).kind, Kind::no_answer);
    held.release();
    EXPECT_EQ(resolver.look_up("host2", 10s).kind, late.kind);
    EXPECT_EQ(held.asked(), 1) << "a name that is under way is not asked for again";
  }
}

TEST(HostResolver, AnAddressThatIsKnownIsNotAskedForAgain) {
  auto asked = std::make_shared<std::atomic<int>>(0);
  HostResolver resolver([asked](const std::string& host) {
    return ++*asked > 0 && host == "host2" ? known_as("10.0.0.2")
                                           : HostAnswer{Kind::no_answer, {}, "try again"};
  });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(resolver.look_up("host2", 10s).addresses[0].text(), "10.0.0.2");
  EXPECT_EQ(*asked, 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(resolver.look_up("host3", 10s).why, "try again");
  EXPECT_EQ(*asked, 4);
}

TEST(HostResolver, WhatIsUnderWayIsBounded) {
  Held held;
  HostResolver resolver(held.resolve(known_as("10.0.0.2")));
  std::vector<std::string> names;
  for (std::size_t i = 0; i < HostResolver::kNamesMax; ++i) names.push_back("host" + std::to_string(i));
  for (const std::string& name : names) EXPECT_EQ(resolver.look_up(name, 0ms).kind, Kind::no_answer);
  EXPECT_EQ(resolver.look_up("further", 20ms).kind, Kind::no_answer);
  held.release();
  EXPECT_EQ(resolver.look_up("further", 10s).kind, Kind::known);
  EXPECT_EQ(held.asked(), static_cast<int>(HostResolver::kNamesMax) + 1);
}

TEST(HostResolver, ALookUpMayOutliveItsResolver) {
  std::promise<void> gate;
  const auto over = std::make_shared<std::promise<void>>();
  auto ended = over->get_future();
  {
    HostResolver resolver([wait = gate.get_future().share(), over](const std::string&) {
      wait.wait();
      over->set_value();
      return HostAnswer{};
    });
    EXPECT_EQ(resolver.look_up("host2", 0ms).kind, Kind::no_answer);
  }
  gate.set_value();
  EXPECT_EQ(ended.wait_for(10s), std::future_status::ready);
}

TEST(WhyNoAnswer, WhatIsAnsweredEndsIt) {
  for (const Kind kind : {Kind::known, Kind::unknown}) {
    Texts said;
    HostResolver resolver([kind](const std::string&) { return HostAnswer{kind, {}, {}}; });
    EXPECT_EQ(why_no_answer(
                  "host2", 10s, [&](const std::string& text) { said.push_back(text); }, resolver),
              "");
    EXPECT_EQ(said, Texts{});
  }
}

TEST(WhyNoAnswer, AResolverThatDoesNotReturnIsGivenUp) {
  Held held;
  HostResolver resolver(held.resolve(known_as("10.0.0.2")));
  Texts said;
  const std::string why = why_no_answer(
      "host2", 100ms, [&](const std::string& text) { said.push_back(text); }, resolver);
  EXPECT_EQ(
      why.find("the host name host2 cannot be looked up (no name server answered within 100 ms): give the"),
      0u)
      << why;
  EXPECT_EQ(said, Texts{"looks up the host name host2 for up to 100 ms: no name server has answered yet"});
}

TEST(WhyNoAnswer, AServerThatDoesNotAnswerIsAskedAgain) {
  auto asked = std::make_shared<std::atomic<int>>(0);
  HostResolver resolver([asked](const std::string&) {
    return ++*asked < 2 ? HostAnswer{Kind::no_answer, {}, "try again"} : known_as("10.0.0.2");
  });
  EXPECT_EQ(why_no_answer(
                "host2", 10s, [](const std::string&) {}, resolver),
            "");
  EXPECT_EQ(*asked, 2);
}

}  // namespace
}  // namespace muster
