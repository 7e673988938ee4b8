// What a GPU adds up of the sums of others has the bits of the host, and is there when it is said to be: on
// a GPU that does everything as late as it may, and on the first one of this machine if there is one.
#include "actors/data_plane/gpu_folds.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "gpu/device.hpp"
#include "tests/support/late_device.hpp"
#include "tests/support/random_values.hpp"
#include "tests/support/tree_oracle.hpp"

namespace muster {
namespace {

using oracle::RandomValues;

// Some leaves of a tree: those that are present.
std::vector<NodeId> random_leaves(unsigned height, RandomValues& random) {
  std::vector<NodeId> leaves;
  for (NodeId leaf = NodeId{1} << height; leaf < NodeId{2} << height; ++leaf)
    if (random.chance(70)) leaves.push_back(leaf);
  return leaves;
}

std::vector<std::shared_ptr<ComputeDevice>> devices() {
  std::vector<std::shared_ptr<ComputeDevice>> all{std::make_shared<testing::LateDevice>(),
                                                  make_host_device()};
  if (!discover_devices().cuda_gpus.empty()) all.push_back(make_compute_device("cuda:0"));
  return all;
}

// Memory of the device as a transport sees it, which waits for nothing.
std::vector<float> seen(ComputeDevice& device, const float* values, std::size_t count) {
  if (!is_gpu_memory(values)) return {values, values + count};
  std::vector<float> copy(count);
  device.copy_out({values, count}, std::span(copy));
  device.synchronize();
  return copy;
}

struct Fold {
  FoldProgram program;
  std::vector<DeviceFloats> operands;
  std::vector<float> expected;
  float* out = nullptr;
  std::uint64_t number = 0;
};

Fold begin_one(const std::shared_ptr<ComputeDevice>& device, FoldUnit& unit, RandomValues& random) {
  Fold fold;
  const unsigned height = static_cast<unsigned>(random.below(5));
  const std::vector<NodeId> leaves = random_leaves(height, random);
  const std::size_t count = 1 + random.below(300);
  const float divisor = random.chance(30) ? 1 : 0.5f * static_cast<float>(1 + random.below(20));
  fold.program = fold_program(height, leaves);
  std::vector<std::vector<float>> values;
  std::vector<const float*> on_host, on_gpu;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    values.push_back(random.values(count));
    fold.operands.emplace_back(device, count);
    device->copy_in(values.back(), fold.operands.back().span());
    on_gpu.push_back(fold.operands.back().data());
  }
  device->synchronize();  // as what has arrived, or has been said to be final
  for (const auto& each : values) on_host.push_back(each.data());
  fold.expected.resize(leaves.empty() ? 0 : count);
  muster::fold(fold.program, on_host, fold.expected.size(), divisor, fold.expected.data());
  fold.out = unit.make(count);
  fold.number = unit.fold(fold.program, on_gpu, fold.expected.size(), divisor, fold.out);
  return fold;
}

void expect_folds_of_the_host(const std::shared_ptr<ComputeDevice>& device) {
  RandomValues random(3);
  const auto unit = make_gpu_folds(device);
  for (std::size_t turn = 0; turn < 30; ++turn) {
    std::vector<Fold> folds;
    for (std::size_t i = 0; i <= random.below(6); ++i) folds.push_back(begin_one(device, *unit, random));
    for (const Fold& fold : folds) {
      for (int patience = 0; unit->ended() < fold.number; ++patience) ASSERT_LT(patience, 10'000);
      const std::vector<float> found = seen(*device, fold.out, fold.expected.size());
      EXPECT_TRUE(oracle::same_bits(found.data(), fold.expected.data(), found.size())) << fold.number;
    }
    EXPECT_EQ(unit->ended(), folds.back().number);
  }
}

TEST(GpuFolds, HaveTheBitsOfTheHostInTheirOrder) {
  for (const auto& device : devices()) expect_folds_of_the_host(device);
}

TEST(GpuFolds, MemoryThatIsMadeIsWrittenToByNobodyElse) {
  const auto gpu = std::make_shared<testing::LateDevice>();
  const auto unit = make_gpu_folds(gpu);
  float* const memory = unit->make(100);
  std::fill_n(memory, 100, 3.0f);  // by a transport
  gpu->synchronize();
  for (std::size_t i = 0; i < 100; ++i) ASSERT_EQ(memory[i], 3.0f) << i;
}

TEST(GpuFolds, PairsAreThoseOfTheHost) {
  RandomValues random(5);
  for (const auto& gpu : devices()) {
    const auto unit = make_gpu_folds(gpu);
    for (const std::size_t size : {0u, 1u, 2u, 3u, 11u, 12u, 1000u}) {
      const std::vector<float> values = random.values(size);
      const DeviceFloats there(gpu, size);
      if (size > 0) gpu->copy_in(values, there.span());
      std::vector<float> expected, found{1, 2, 3};
      for (std::size_t i = 0; i + 2 <= size; i += 9)
        expected.insert(expected.end(), {values[i], values[i + 1]});
      unit->pairs(there.span(), 9, found);
      EXPECT_EQ(found.size(), expected.size());
      EXPECT_TRUE(oracle::same_bits(found.data(), expected.data(), expected.size())) << size;
    }
  }
}

}  // namespace
}  // namespace muster
