// What only a GPU can show. Large vectors here; the small ones are in tests/unit/gpu, for all devices.
#include <gtest/gtest.h>

#include <cstdio>
#include <numeric>
#include <thread>

#include "gpu/device.hpp"
#include "gpu/optimizer/optimizer.hpp"
#include "gpu/pinned_range.hpp"
#include "gpu/thread_gpu_guard.hpp"
#include "muster/error.hpp"
#include "tests/unit/gpu/operations.hpp"
#include "transport/borrowable.hpp"
#include "transport/shared_memory/segment.hpp"

namespace muster::test {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

TEST(Gpu, LargeVectorsHaveTheBitsOfTheTwin) {
  const auto gpu = make_compute_device("cuda:0"), host = make_host_device();
  for (const Operation& operation : operations()) {
    for (const std::array<std::size_t, 4>& beyond :
         {std::array<std::size_t, 4>{0, 0, 0, 0}, {3, 3, 3, 3}, {0, 1, 0, 1}}) {
      const Operands operands = some_operands(17, 3000017, beyond, true);
      EXPECT_EQ(operation.on_device(gpu, operands), operation.on_device(host, operands)) << operation.name;
    }
  }
}

TEST(Gpu, LargeNormsHaveTheBitsOfTheTwin) {
  const auto gpu = make_compute_device("cuda:0"), host = make_host_device();
  const Floats numbers = some_numbers(3, 20000003, false);
  const auto norm_on = [&](const std::shared_ptr<ComputeDevice>& device) {
    const DeviceFloats values(device, numbers.size());
    const DeviceArray<double> space(device, norm_space(numbers.size()));
    device->copy_in(std::span<const float>(numbers), values.span());
    device->vectors().squared_norm(values.span(), space.span());
    std::vector<double> found(1);
    device->copy_out<double>(space.span().first(1), std::span(found));
    device->synchronize();
    return std::bit_cast<std::uint64_t>(found[0]);
  };
  EXPECT_EQ(norm_on(gpu), norm_on(host));
}

TEST(Gpu, TheBoundHoldsAndMemoryComesBack) {
  DeviceMemory memory;
  memory.bound_bytes = 64 * kMiB;
  memory.key = "cluster.example";
  const auto gpu = make_compute_device("cuda:0", memory);
  for (int round = 0; round < 50; ++round) {
    const DeviceFloats most(gpu, 12 * kMiB);
    EXPECT_THROW(DeviceFloats(gpu, 6 * kMiB), JobError);
    const DeviceFloats rest(gpu, 3 * kMiB);
    EXPECT_LE(gpu->memory().held_bytes, 64 * kMiB);
  }
  EXPECT_EQ(gpu->memory().taken_bytes, 0U);
  EXPECT_LE(gpu->memory().peak_bytes, 64 * kMiB);
}

TEST(Gpu, AGpuThatIsNotThereIsAnError) {
  EXPECT_THROW(make_compute_device("cuda:4095"), Error);
}

// What others of the host write to and read where it lies. A system may refuse it: then jobs go another way,
// and say so.
TEST(Gpu, BorrowableMemoryIsPinnedOrTheReasonIsSaid) {
  const auto gpu = make_compute_device("cuda:0");
  Floats plain(5 * kMiB / 3, 0.0F);
  std::iota(plain.begin(), plain.end(), 1.0F);
  for (int round = 0; round < 3; ++round) {  // pages that come again are pinned again
    const FloatBuffer borrowable(plain.size());
    const std::span<float> shared(borrowable.get(), plain.size());
    ASSERT_TRUE(shm::segment_of(std::as_bytes(shared)));
    const PinnedRange range(gpu, shared);
    if (!range) {
      std::printf("borrowable memory is not pinned here: %s\n", range.refused().c_str());
      EXPECT_FALSE(range.refused().empty());
    }
    const DeviceFloats array(gpu, plain.size());
    gpu->copy_in(std::span<const float>(plain), array.span());
    gpu->wait(gpu->copy_out_aside<float>(gpu->mark(), array.span(), shared));
    EXPECT_TRUE(std::ranges::equal(plain, shared));
    gpu->copy_in(std::span<const float>(shared), array.span());
    gpu->vectors().add(array.span(), array.span(), {}, array.span());
    gpu->copy_out<float>(array.span(), std::span(plain));
    gpu->synchronize();
    EXPECT_EQ(plain[7], 8.0F * static_cast<float>(2 << round));
  }
}

// Work of many kinds of a steady step, with copies aside, again and again: what is reached was done.
TEST(Gpu, AMarkIsPassedOnlyAfterItsWork) {
  const auto gpu = make_compute_device("cuda:0");
  constexpr std::size_t kCount = 8 * kMiB;
  const DeviceFloats values(gpu, kCount), ones(gpu, kCount);
  const Floats host_ones(kCount, 1.0F);
  gpu->copy_in(std::span<const float>(host_ones), ones.span());
  const PinnedFloats seen(gpu, kCount);
  for (int round = 1; round <= 20; ++round) {
    for (int i = 0; i < 5; ++i) gpu->vectors().add(values.span(), ones.span(), {}, values.span());
    const Mark copied = gpu->copy_out_aside(gpu->mark(), values.span(), seen.span());
    std::uint64_t polled = 0;
    while (!gpu->reached(copied)) ++polled;
    const auto expected = static_cast<float>(5 * round);
    ASSERT_EQ(seen.data()[0], expected) << "polled " << polled;
    ASSERT_EQ(seen.data()[kCount - 1], expected);
  }
}

// Two replicas on one GPU: a device and a thread each.
TEST(Gpu, TwoDevicesOnOneGpuDoNotDisturbEachOther) {
  constexpr std::size_t kCount = 1000003;
  const auto train = [](const std::shared_ptr<ComputeDevice>& device) {
    const DeviceFloats parameters(device, kCount), gradient(device, kCount);
    const Floats start = some_numbers(1, kCount, false);
    device->copy_in(std::span<const float>(start), parameters.span());
    const auto optimizer = make_adam({}, make_schedule({}), kCount, device);
    const auto steady = optimizer->steady(parameters.span(), gradient.span());
    for (std::uint64_t step = 1; step <= 20; ++step) {
      const Floats grads = some_numbers(step, kCount, false);
      device->copy_in(std::span<const float>(grads), gradient.span());
      steady->run(step);
      device->synchronize();
    }
    Floats found(kCount);
    device->copy_out<float>(parameters.span(), std::span(found));
    device->synchronize();
    return found;
  };
  std::array<Floats, 2> found;
  std::vector<std::thread> threads;
  for (Floats& mine : found)
    threads.emplace_back([&mine, &train] { mine = train(make_compute_device("cuda:0")); });
  for (std::thread& thread : threads) thread.join();
  const Floats expected = train(make_host_device());
  for (const Floats& one : found) {
    for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(word(one[i]), word(expected[i])) << i;
  }
}

TEST(Gpu, ItsMemoryIsKnownFromThatOfTheHost) {
  const auto gpu = make_compute_device("cuda:0");
  const DeviceFloats values(gpu, 100);
  const PinnedFloats pinned(gpu, 100);
  const Floats host(100);
  const auto look = [&] {
    EXPECT_TRUE(is_gpu_memory(values.data() + 50));
    EXPECT_FALSE(is_gpu_memory(pinned.data()));
    EXPECT_FALSE(is_gpu_memory(host.data()));
  };
  look();
  std::thread(look).join();
  std::thread([&] {
    const ThreadGpuGuard here(gpu_number(gpu->name()));
    look();
  }).join();
  EXPECT_THROW(use_gpu(99), Error);
  look();
}

// An error inside recorded work leaves the stream as it was.
TEST(Gpu, AnErrorWhileRecordingEndsTheRecording) {
  const auto gpu = make_compute_device("cuda:0");
  const DeviceFloats values(gpu, 100);
  const auto fails = [&] {
    gpu->zero(values.span());
    throw Error("no");
  };
  EXPECT_THROW(gpu->record(fails), Error);
  gpu->set(3.0F, values.data());
  Floats found(100);
  gpu->copy_out<float>(values.span(), std::span(found));
  gpu->synchronize();
  EXPECT_EQ(found[0], 3.0F);
}

}  // namespace
}  // namespace muster::test
