#include "actors/rules/watch/looking.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using std::chrono::milliseconds;

TEST(Looking, SaysAtOnceWhatIsTriedAndForHowLong) {
  Looking looking("host2:7100", milliseconds(60000));
  const FailedLook refused{NotFound::refused, "Connection refused"};
  EXPECT_EQ(looking.failed(refused, milliseconds(3)),
            "looks for the coordinator at host2:7100 for up to 60 s: nothing listens there yet (Connection "
            "refused)");
  EXPECT_EQ(looking.failed(refused, milliseconds(9000)), std::nullopt);
  EXPECT_EQ(looking.failed(refused, milliseconds(10003)),
            "has looked for the coordinator at host2:7100 for 10 s of 60 s: nothing listens there yet "
            "(Connection refused)");
}

TEST(Looking, LessThanASecondIsNotCalledZero) {
  Looking looking("host2:7100", milliseconds(400));
  const FailedLook refused{NotFound::refused, "Connection refused"};
  EXPECT_EQ(looking.failed(refused, milliseconds(3)),
            "looks for the coordinator at host2:7100 for up to 400 ms: nothing listens there yet (Connection "
            "refused)");
}

TEST(Looking, SaysAnotherReasonAtOnce) {
  Looking looking("host2:7100", milliseconds(60000));
  EXPECT_TRUE(looking.failed({NotFound::no_answer, "No route to host"}, milliseconds(0)));
  EXPECT_TRUE(looking.failed({NotFound::refused, "Connection refused"}, milliseconds(500)));
  EXPECT_FALSE(looking.failed({NotFound::refused, "Connection refused"}, milliseconds(700)));
}

TEST(Looking, GivesUpAtOnceOnNamesThatNobodyKnows) {
  const Looking looking("hsot2:7100", milliseconds(60000));
  const FailedLook unknown{NotFound::name_unknown, "Name or service not known"};
  EXPECT_TRUE(looking.gives_up(unknown, milliseconds(0)));
  EXPECT_EQ(
      looking.final_report(unknown),
      "no coordinator at hsot2:7100: this host name is not known (Name or service not known); give a name "
      "that `getent hosts` finds on this machine, or an address");
}

TEST(Looking, AskedForANameThatNobodyAnswersForItSaysWhatToGiveInstead) {
  const Looking looking("host2:7100", milliseconds(60000));
  EXPECT_EQ(looking.final_report({NotFound::name_unanswered, "no name server answered within 1 s"}),
            "no coordinator at host2:7100 within 60 s: this host name cannot be looked up (no name server "
            "answered within 1 s); give the host's address instead, or an entry in /etc/hosts, or see which "
            "name servers /etc/resolv.conf has");
}

TEST(Looking, GivesUpOtherwiseWhenPatienceIsOver) {
  const Looking looking("host2:7100", milliseconds(2000));
  for (const NotFound kind :
       {NotFound::name_unanswered, NotFound::refused, NotFound::no_answer, NotFound::no_coordinator}) {
    EXPECT_FALSE(looking.gives_up({kind, "x"}, milliseconds(1999)));
    EXPECT_TRUE(looking.gives_up({kind, "x"}, milliseconds(2000)));
    EXPECT_NE(looking.final_report({kind, "x"}).find("within 2 s"), std::string::npos);
  }
}

}  // namespace
}  // namespace muster
