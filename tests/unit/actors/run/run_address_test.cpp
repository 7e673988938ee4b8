#include "actors/run/run_address.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <optional>

#include "base/this_machine.hpp"
#include "tests/support/temporary_folder.hpp"

namespace muster {
namespace {

RunAddress address_here(const std::string& job, const std::string& listen = "127.0.0.1") {
  return {job, host_name(), boot_id(), ::getpid(), pid_space(), listen, 7100};
}

TEST(RunAddress, IsThereAsLongAsTheRun) {
  const testing::TemporaryFolder folder;
  EXPECT_TRUE(addresses_in(folder.path()).empty());
  std::optional<AddressFile> file(std::in_place, folder.path(), address_here("b"));
  const AddressFile other(folder.path(), address_here("a"));
  EXPECT_EQ(addresses_in(folder.path()), (std::vector{address_here("a"), address_here("b")}));
  file.reset();
  EXPECT_EQ(addresses_in(folder.path()), std::vector{address_here("a")});
}

TEST(RunAddress, WhoHasTakenTheRunOverKeepsItsFile) {
  const testing::TemporaryFolder folder;
  std::optional<AddressFile> first(std::in_place, folder.path(), address_here("a"));
  RunAddress other = address_here("a");
  other.pid += 1;
  const AddressFile second(folder.path(), other);
  first.reset();
  EXPECT_EQ(addresses_in(folder.path()), std::vector{other});
}

TEST(RunAddress, WhatIsDamagedIsPassedOver) {
  const testing::TemporaryFolder folder;
  std::ofstream(folder.path() / "x.address") << "{\"job\": 7";
  EXPECT_TRUE(addresses_in(folder.path()).empty());
  EXPECT_TRUE(addresses_in(folder.path() / "none").empty());
}

TEST(RunAddress, AFolderThatTakesNoFileIsLeftWithout) {
  const AddressFile file("/proc/none", address_here("a"));
  EXPECT_TRUE(addresses_in("/proc/none").empty());
  EXPECT_NE(file.why_not().find("/proc/none"), std::string::npos) << file.why_not();
}

TEST(RunAddress, EveryAddressIsThisMachineOrTheOther) {
  RunAddress address = address_here("a", "0.0.0.0");
  EXPECT_EQ(host_to_reach(address), "localhost");
  address.boot = "another";
  address.host = "host2";
  EXPECT_EQ(host_to_reach(address), "host2");
  address.listen = "10.0.0.2";
  EXPECT_EQ(host_to_reach(address), "10.0.0.2");
  address.listen = "127.0.0.1";
  EXPECT_EQ(host_to_reach(address), std::nullopt) << "it listens for its own machine alone";
}

TEST(RunAddress, OnlyThisMachineKnowsThatItsProcessIsGone) {
  RunAddress address = address_here("a");
  EXPECT_FALSE(has_died(address));
  address.pid = 0x3fffffff;  // beyond any process
  EXPECT_TRUE(has_died(address));
  address.pid_space = "another";
  EXPECT_FALSE(has_died(address)) << "a container's process ids are its own";
  address.pid_space = pid_space();
  address.boot = "another";
  EXPECT_FALSE(has_died(address));
}

}  // namespace
}  // namespace muster
