// What a person meets who starts nodes by hand, with a slip in the address, the port or the device.
#include <gtest/gtest.h>

#include "tests/cluster/muster_process.hpp"
#include "tests/cluster/refusals.hpp"

namespace {

using namespace muster::cluster_test;

TEST(Join, AnAddressThatIsNoneIsRefusedAtOnce) {
  for (const char* address : {"http://host2:7100", "host2", "host2:0", "host2:70000", ":7100"}) {
    const Outcome outcome = run_muster({"join", "--coordinator", address});
    EXPECT_EQ(outcome.code, 2) << address;
    expect_parts(outcome.err, {"--coordinator is HOST:PORT", address});
  }
}

TEST(Join, ANameThatNobodyKnowsIsNotLookedForAgain) {
  const Outcome outcome = run_muster({"join", "--coordinator", "not a host:7100"});
  EXPECT_EQ(outcome.code, 1);
  expect_parts(outcome.err,
               {"no coordinator at not a host:7100: this host name is not known", "getent hosts"});
  EXPECT_LT(outcome.seconds.count(), 20) << "of the 60 s that it would look for a host that may yet come";
}

TEST(Join, SaysWhatItLooksForAndForHowLong) {
  const std::string address = free_address();
  const Outcome outcome = run_muster({"join", "--coordinator", address, "--patience", "1"});
  EXPECT_EQ(outcome.code, 1);
  expect_parts(outcome.err,
               {"looks for the coordinator at " + address + " for up to 1 s: nothing listens there yet",
                "no coordinator at " + address + " within 1 s", "start `muster coordinate` there"});
  EXPECT_EQ(outcome.err.find("system_error"), std::string::npos) << outcome.err;
}

TEST(Join, OptionsOutOfRangeAndUnknownOnesAreNamed) {
  const std::string address = free_address();
  Outcome outcome = run_muster({"join", "--coordinator", address, "--patience=-1"});
  EXPECT_EQ(outcome.code, 2);
  expect_parts(outcome.err, {"--patience is 1 to ", "seconds; found -1"});
  outcome = run_muster({"join", "--coordinator", address, "--patiense", "3"});
  EXPECT_EQ(outcome.code, 2);
  expect_parts(outcome.err, {"unknown option '--patiense'; did you mean --patience?"});
}

TEST(Join, ADeviceThatIsNotThereIsRefusedAtOnce) {
  const Outcome outcome = run_muster({"join", "--coordinator", free_address(), "--device", "cpu:4096"});
  EXPECT_EQ(outcome.code, 2);
  expect_parts(outcome.err,
               {"--device: a device that is not there; found \"cpu:4096\"", "this node has cpu:0"});
}

TEST(Join, ATakenPortIsCalledTaken) {
  const Folder folder;
  const std::string job = folder.write("job.toml", linear_job());
  const std::string address = free_address();
  MusterProcess first({"coordinate", job, "--listen", address, "--events", "-"});
  ASSERT_EQ(first.event("started")["event"], "started");
  const Outcome second = run_muster({"coordinate", job, "--listen", address});
  EXPECT_EQ(second.code, 2);
  expect_parts(second.err,
               {"another process listens on port " + address.substr(address.find(':') + 1), address});
  EXPECT_EQ(second.err.find("muster join"), std::string::npos) << "where nobody can join: " << second.err;
  first.signal(15);
  first.wait();
}

}  // namespace
