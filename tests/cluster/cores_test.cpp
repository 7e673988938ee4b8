// The cores that real replicas run on, also where one takes the place of another.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <thread>

#include "gpu/core_shares.hpp"
#include "tests/cluster/muster_process.hpp"

namespace muster::cores_test {
namespace {

using namespace muster::cluster_test;
using muster::OnCores;
using namespace std::chrono_literals;

std::string endless_job() {
  std::string text = linear_job();
  return text.replace(text.find("epochs = 2"), 10, "epochs = 1000000000\nevaluate = false");
}

std::vector<int> cores_of(pid_t process) {
  cpu_set_t set;
  EXPECT_EQ(::sched_getaffinity(process, sizeof set, &set), 0);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

// Also of one that takes the place of a lost one; and none where the job says so.
TEST(Cores, ReplicasStayOnCoresOfTheirOwn) {
  const std::vector<int> all = cores_of(0);
  ASSERT_GE(all.size(), 2u) << "one core cannot be shared out";
  const Folder folder;
  const std::string job = folder.write("job.toml", endless_job());
  for (const bool bound : {true, false}) {
    MusterProcess process({"run", job, "--replicas", "2", "--events", "-", "--set", "cluster.restart=on-loss",
                           "--set", "cluster.min_replicas=2", "--set",
                           bound ? "cluster.bind_cores=true" : "cluster.bind_cores=false"});
    std::array<Json, 2> joined;
    for (int i = 0; i < 2; ++i) {
      const Json event = process.event("joined");
      ASSERT_TRUE(event.is_object());
      joined.at(event["replica"].get<std::size_t>()) = event;
    }
    const auto first = cores_of(joined[0]["pid"].get<pid_t>()),
               second = cores_of(joined[1]["pid"].get<pid_t>());
    if (!bound) {
      EXPECT_EQ(first, all);
      EXPECT_EQ(second, all);
      continue;
    }
    std::vector<int> both = first;
    both.insert(both.end(), second.begin(), second.end());
    std::sort(both.begin(), both.end());
    EXPECT_EQ(both, all);
    ASSERT_TRUE(process.event("epoch").is_object());
    ASSERT_EQ(::kill(joined[1]["pid"].get<pid_t>(), SIGKILL), 0);
    const Json again = process.event("joined");
    ASSERT_TRUE(again.is_object());
    EXPECT_EQ(again["device"], joined[1]["device"]);
    EXPECT_EQ(cores_of(again["pid"].get<pid_t>()), second);
  }
}

bool come_to_be_on(pid_t process, const std::vector<int>& cores) {
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  while (cores_of(process) != cores) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

// Two to a core, as long as all are there.
TEST(Cores, ReplicasThatShareACoreAreLetGoWhenOneIsLost) {
  const std::vector<int> all = cores_of(0);
  ASSERT_GE(all.size(), 2u) << "one core cannot be shared out";
  const std::vector<int> first{all[0]}, second{all[1]}, both{all[0], all[1]};
  const Folder folder;
  const std::string job = folder.write("job.toml", endless_job());
  const OnCores two(both);
  MusterProcess process({"run", job, "--replicas", "4", "--events", "-", "--set", "cluster.restart=on-loss"});
  std::array<pid_t, 4> processes{};
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const Json joined = process.event("joined");
    ASSERT_TRUE(joined.is_object());
    processes.at(joined["replica"].get<std::size_t>()) = joined["pid"].get<pid_t>();
  }
  EXPECT_EQ(cores_of(processes[0]), first);
  EXPECT_EQ(cores_of(processes[1]), first);
  EXPECT_EQ(cores_of(processes[2]), second);
  EXPECT_EQ(cores_of(processes[3]), second);
  ASSERT_TRUE(process.event("epoch").is_object());
  ASSERT_EQ(::kill(processes[0], SIGKILL), 0);
  for (const std::size_t left : {1, 2, 3}) EXPECT_TRUE(come_to_be_on(processes.at(left), both)) << left;
  const Json again = process.event("joined");
  ASSERT_TRUE(again.is_object());
  EXPECT_EQ(cores_of(again["pid"].get<pid_t>()), first);
  EXPECT_TRUE(come_to_be_on(processes[1], first));
  EXPECT_TRUE(come_to_be_on(processes[2], second));
}

}  // namespace
}  // namespace muster::cores_test
