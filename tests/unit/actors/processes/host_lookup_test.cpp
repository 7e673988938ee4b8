#include "actors/processes/host_lookup.hpp"

#include <gtest/gtest.h>
#include <netdb.h>

#include <atomic>
#include <memory>
#include <vector>

namespace muster {
namespace {

using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

TEST(HostLookup, AnAddressNeedsNoServer) {
  EXPECT_EQ(resolve_host("127.0.0.1"), 0);
  EXPECT_EQ(HostLookup("127.0.0.1").wait(10s), 0);
}

TEST(HostLookup, AnyAnswerEndsIt) {
  for (const int code : {0, EAI_NONAME, EAI_FAIL}) {
    Texts said;
    EXPECT_EQ(why_no_answer(
                  "host2", 10s, [&](const std::string& text) { said.push_back(text); },
                  [code](const std::string&) { return code; }),
              "");
    EXPECT_EQ(said, Texts{}) << code;
  }
}

// The resolver comes back when the test has ended.
TEST(HostLookup, AResolverThatDoesNotReturnIsGivenUp) {
  auto release = std::make_shared<std::promise<void>>();
  const auto stands = [wait = release->get_future().share(), release](const std::string&) {
    wait.wait();
    return 0;
  };
  Texts said;
  const std::string why = why_no_answer(
      "host2", 100ms, [&](const std::string& text) { said.push_back(text); }, stands);
  EXPECT_EQ(why.find("the host name host2 is not known here, and no name server answered within 1 s: give"),
            0u)
      << why;
  EXPECT_EQ(said, Texts{"looks up the host name host2 for up to 1 s: no name server has answered yet"});
  release->set_value();
}

TEST(HostLookup, AServerThatDoesNotAnswerIsAskedAgain) {
  auto asked = std::make_shared<std::atomic<int>>(0);
  const auto second = [asked](const std::string&) { return ++*asked < 2 ? EAI_AGAIN : 0; };
  EXPECT_EQ(why_no_answer(
                "host2", 10s, [](const std::string&) {}, second),
            "");
  EXPECT_EQ(*asked, 2);
}

}  // namespace
}  // namespace muster
