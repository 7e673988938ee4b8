// What is left of the machine's memory and of its control groups' limits, from files as the kernel shows
// them.
#include "gpu/host_memory.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace muster::test {
namespace {

namespace fs = std::filesystem;

class HostMemoryOf : public ::testing::Test {
 protected:
  HostMemoryOf() {
    std::string pattern = (fs::temp_directory_path() / "muster-memory-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    put("proc/meminfo",
        "MemTotal:       16384000 kB\nMemFree: 1 kB\nMemAvailable:   8000 kB\nBuffers: 2 kB\n");
  }
  ~HostMemoryOf() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  void put(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  void v2(const std::string& folder, const std::string& limit, std::uint64_t used,
          std::uint64_t files) const {
    put(folder + "/memory.max", limit + "\n");
    put(folder + "/memory.current", std::to_string(used) + "\n");
    put(folder + "/memory.stat",
        "anon 5\nfile 7\nactive_file 99999\ninactive_file " + std::to_string(files) + "\n");
  }
  void v1(const std::string& folder, const std::string& limit, std::uint64_t used,
          std::uint64_t files) const {
    put(folder + "/memory.limit_in_bytes", limit + "\n");
    put(folder + "/memory.usage_in_bytes", std::to_string(used) + "\n");
    put(folder + "/memory.stat",
        "cache 5\ninactive_file 1\ntotal_inactive_file " + std::to_string(files) + "\n");
  }
  void expect(std::uint64_t bytes, const std::string& bound) const {
    const HostMemoryRoom found = available_host_memory(root_);
    EXPECT_EQ(found.bytes, bytes);
    EXPECT_EQ(found.bound, bound);
  }

  static constexpr const char* kMountV2 =
      "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
  static constexpr std::uint64_t kAvailable = 8000 << 10;
  fs::path root_;
};

TEST_F(HostMemoryOf, AMachineWithoutGroups) {
  expect(kAvailable, "");
  put("proc/meminfo", "MemTotal: 5 kB\n");
  expect(0, "");
}

TEST_F(HostMemoryOf, TheLeastOfAllGroupsAboveTheProcess) {
  put("proc/self/mountinfo", std::string("22 1 8:1 / / rw - ext4 /dev/sda1 rw\n") + kMountV2);
  put("proc/self/cgroup", "0::/slice/job/step\n");
  v2("sys/fs/cgroup/slice/job/step", "max", 100000, 0);
  v2("sys/fs/cgroup/slice/job", "4000000", 1000000, 400000);
  v2("sys/fs/cgroup/slice", "7000000", 1000000, 0);
  expect(4000000 - 600000, "/slice/job");
  v2("sys/fs/cgroup/slice", "3000000", 1000000, 0);
  expect(2000000, "/slice");
  v2("sys/fs/cgroup/slice", "max", 1000000, 0);
  v2("sys/fs/cgroup/slice/job", "40000000", 1000000, 0);
  expect(kAvailable, "");
  v2("sys/fs/cgroup/slice/job", "500000", 1000000, 400000);  // more than it may have: nothing is left
  expect(1, "/slice/job");
}

TEST_F(HostMemoryOf, AContainerSeesItsOwnGroupAsTheFirst) {
  put("proc/self/mountinfo", kMountV2);
  put("proc/self/cgroup", "0::/\n");
  v2("sys/fs/cgroup", "2000000", 500000, 100000);
  expect(1600000, "/");
}

TEST_F(HostMemoryOf, VersionOne) {
  put("proc/self/mountinfo",
      "33 30 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
      "35 30 0:31 / /sys/fs/cgroup/memory rw,nosuid - cgroup cgroup rw,memory\n"
      "36 30 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  put("proc/self/cgroup", "9:cpu,cpuacct:/other\n4:memory:/jobs/one\n0::/\n");
  v1("sys/fs/cgroup/memory/jobs/one", "3000000", 2000000, 1500000);
  v1("sys/fs/cgroup/memory/jobs", "9223372036854771712", 2000000, 0);
  v1("sys/fs/cgroup/memory", "9223372036854771712", 2000000, 0);
  expect(2500000, "/jobs/one");
}

// Without a namespace of its own, a container's process reads the path that its group has outside.
TEST_F(HostMemoryOf, VersionOneWithinAContainer) {
  put("proc/self/mountinfo",
      "35 30 0:31 /docker/abc /sys/fs/cgroup/memory ro,nosuid - cgroup cgroup rw,memory\n");
  put("proc/self/cgroup", "4:memory:/docker/abc\n");
  v1("sys/fs/cgroup/memory", "3000000", 1000000, 0);
  expect(2000000, "/");
}

TEST_F(HostMemoryOf, WhatCannotBeReadIsNoLimit) {
  put("proc/self/mountinfo", std::string("nonsense\n- - -\n").append(kMountV2));
  put("proc/self/cgroup", "nonsense\n0::/gone\n");
  v2("sys/fs/cgroup", "12x", 1, 0);
  expect(kAvailable, "");
}

TEST(HostMemory, IsKnownHere) {
  EXPECT_GT(available_host_memory().bytes, std::uint64_t{16} << 20);
}

}  // namespace
}  // namespace muster::test
