#include "gpu/device.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "gpu/compute_device.hpp"
#include "gpu/thread_gpu_guard.hpp"
#include "muster/error.hpp"

namespace muster {
namespace {

TEST(Device, CoresAreThoseThatThisProcessMayUse) {
  const DeviceInventory inventory = discover_devices();
  ASSERT_FALSE(inventory.cores.empty());
  EXPECT_TRUE(std::ranges::is_sorted(inventory.cores));
  cpu_set_t mask;
  ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
  EXPECT_EQ(inventory.cores.size(), static_cast<std::size_t>(CPU_COUNT(&mask)));
}

TEST(Device, GpusAreUsableOrThereIsAReason) {
  const DeviceInventory inventory = discover_devices();
  EXPECT_NE(inventory.cuda_devices > 0, !inventory.cuda_reason.empty());
  EXPECT_LE(inventory.cuda_devices, static_cast<int>(inventory.cuda_gpus.size()));
}

TEST(Device, MemoryOfTheHostIsNoGpus) {
  EXPECT_EQ(gpu_number("cuda:12"), 12);
  for (const char* name : {"cuda:", "cuda:x", "cuda:1x", "cuda", "cpu:1", "-", ""})
    EXPECT_EQ(gpu_number(name), -1) << name;
  const ThreadGpuGuard none(gpu_number("cpu:0"));  // nothing, also where there is no CUDA
  use_gpu(-1);
  const std::vector<float> values(10);
  EXPECT_FALSE(is_gpu_memory(values.data()));
  EXPECT_FALSE(is_gpu_memory(nullptr));
}

TEST(Device, AThreadStaysOnItsCore) {
  const int core = discover_devices().cores.back();
  int seen = -1;
  std::size_t allowed = 0;
  std::thread thread([&] {
    stay_on({core});
    seen = sched_getcpu();
    allowed = discover_devices().cores.size();
  });
  thread.join();
  EXPECT_EQ(seen, core);
  EXPECT_EQ(allowed, 1U);
}

TEST(Device, ACoreThatIsNotThereIsAnError) {
  EXPECT_THROW(stay_on({-1}), Error);
  EXPECT_THROW(stay_on({60000}), Error);
  EXPECT_THROW(stay_on({1 << 20}), Error);
  EXPECT_THROW(stay_on({}), Error);
}

}  // namespace
}  // namespace muster
