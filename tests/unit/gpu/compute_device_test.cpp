// What every device does, on all that are there: the host, and a GPU where there is one. The same plain
// loops are the judge of both, so a GPU has the bits of its twin.
#include "gpu/compute_device.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <set>

#include "gpu/norm.hpp"
#include "gpu/pinned_range.hpp"
#include "muster/error.hpp"
#include "tests/support/norm_oracle.hpp"
#include "tests/unit/gpu/operations.hpp"

namespace muster::test {
namespace {

std::string plain_name(std::string name) {
  for (char& letter : name)
    if (letter == ':') letter = '_';
  return name;
}

class Elements : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  const std::shared_ptr<ComputeDevice> device_ = make_compute_device(std::get<0>(GetParam()));
  const Operation& operation_ = *std::ranges::find(operations(), std::get<1>(GetParam()), &Operation::name);

  void expect_same(std::size_t count, std::array<std::size_t, 4> beyond, bool strange) {
    const Operands operands = some_operands(count + 1, count, beyond, strange);
    const Words found = operation_.on_device(device_, operands), expected = operation_.expected(operands);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_EQ(found[i], expected[i]) << "word " << i << " of " << count << " elements";
  }
};

TEST_P(Elements, HaveTheBitsOfAPlainLoop) {
  for (const std::size_t count : {0, 1, 3, 4, 5, 127, 1000, 4099, 70001})
    for (const bool strange : {false, true}) expect_same(count, {0, 0, 0, 0}, strange);
}

TEST_P(Elements, DoNotMindWhereTheyLie) {
  for (const std::size_t count : {1, 2, 3, 6, 1025}) {
    expect_same(count, {1, 1, 1, 1}, false);
    expect_same(count, {3, 3, 3, 3}, true);
    expect_same(count, {0, 1, 2, 3}, false);
    expect_same(count, {2, 0, 0, 0}, true);
  }
}

std::vector<std::string> names_of_operations() {
  std::vector<std::string> names;
  for (const Operation& operation : operations()) names.push_back(operation.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, Elements,
                         ::testing::Combine(::testing::ValuesIn(devices_here()),
                                            ::testing::ValuesIn(names_of_operations())),
                         [](const auto& each) {
                           return plain_name(std::get<0>(each.param)) + "_" + std::get<1>(each.param);
                         });

class OnDevice : public ::testing::TestWithParam<std::string> {
 protected:
  const std::shared_ptr<ComputeDevice> device_ = make_compute_device(GetParam());

  DeviceFloats placed(const Floats& values) {
    DeviceFloats array(device_, values.size());
    device_->copy_in(std::span<const float>(values), array.span());
    device_->synchronize();  // `values` may go
    return array;
  }
  template <class T>
  std::vector<T> out(std::span<const T> values) {
    std::vector<T> host(values.size());
    device_->copy_out(values, std::span(host));
    device_->synchronize();
    return host;
  }
};

TEST_P(OnDevice, ArraysAreAlignedZerosAndGiveTheirMemoryBack) {
  const MemoryUse before = device_->memory();
  {
    std::set<const float*> apart;
    std::vector<DeviceFloats> arrays;
    for (const std::size_t count : {1, 63, 64, 65, 300000, 5, 1000000}) {
      arrays.emplace_back(device_, count);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arrays.back().data()) % 256, 0U);
      EXPECT_EQ(out<float>(arrays.back().span()), Floats(count));
      EXPECT_TRUE(apart.insert(arrays.back().data()).second);
    }
    EXPECT_GE(device_->memory().taken_bytes, before.taken_bytes + 4 * 1300000);
    const DeviceFloats moved = std::move(arrays[0]);
    EXPECT_EQ(moved.size(), 1U);
    EXPECT_TRUE(arrays[0].empty());
  }
  EXPECT_EQ(device_->memory().taken_bytes, before.taken_bytes);
  EXPECT_GE(device_->memory().peak_bytes, before.taken_bytes + 4 * 1300000);
}

TEST_P(OnDevice, MemoryThatIsTakenAgainIsZerosAgain) {
  const Floats sevens(1000, 7.0F);
  for (int i = 0; i < 3; ++i) {
    const DeviceFloats array(device_, 1000);
    ASSERT_EQ(out<float>(array.span()), Floats(1000));
    device_->copy_in(std::span<const float>(sevens), array.span());
    ASSERT_EQ(out<float>(array.span()), sevens);
  }
}

TEST_P(OnDevice, CopiesArriveWholeAndInOrder) {
  const Floats numbers = some_numbers(1, 10007, true);
  const DeviceFloats first = placed(numbers);
  const PinnedFloats second(device_, numbers.size());
  device_->copy_out<float>(first.span(), second.span());
  device_->zero(first.span());
  device_->set(2.5F, first.data() + 3);
  Floats zeros(numbers.size());
  zeros[3] = 2.5F;
  EXPECT_EQ(out<float>(first.span()), zeros);
  EXPECT_EQ(std::memcmp(second.data(), numbers.data(), 4 * numbers.size()), 0);
}

// As gradients leave: bucket by bucket, while the next one is computed; and the memory is used again at once.
TEST_P(OnDevice, RowsAreCopiedOutWithoutWhatLiesBetween) {
  const auto device = make_compute_device(GetParam());
  std::vector<float> values(1000);
  std::iota(values.begin(), values.end(), 0.0f);
  const DeviceFloats there(device, values.size());
  device->copy_in(values, there.span());
  for (const std::size_t stride : {2u, 7u, 998u}) {
    const PinnedFloats host(device, 2 * ((values.size() - 2) / stride + 1));
    device->copy_out_rows<float>(there.span(), stride, 2, host.span());
    device->synchronize();
    for (std::size_t i = 0; i < host.size(); ++i)
      ASSERT_EQ(host.span()[i], static_cast<float>(i / 2 * stride + i % 2)) << stride;
  }
  device->copy_out_rows<float>(there.span(), 5, 2, {});
}

TEST_P(OnDevice, BucketsLeaveAsideWhileWorkGoesOn) {
  constexpr std::size_t kBuckets = 16, kBucket = 25000;
  const Floats numbers = some_numbers(2, kBuckets * kBucket, false);
  const PinnedFloats in(device_, numbers.size()), left(device_, numbers.size());
  std::ranges::copy(numbers, in.data());
  for (int round = 0; round < 3; ++round) {
    DeviceFloats gradient(device_, numbers.size());
    device_->copy_in<float>(in.span(), gradient.span());
    std::vector<Mark> marks;
    for (std::size_t b = 0; b < kBuckets; ++b) {
      const auto bucket = gradient.span().subspan(b * kBucket, kBucket);
      device_->vectors().scale(bucket, {2.0F, false}, bucket);
      marks.push_back(
          device_->copy_out_aside(device_->mark(), bucket, left.span().subspan(b * kBucket, kBucket)));
    }
    gradient = {};  // what is taken next must not be written before the copies are done
    const DeviceFloats next(device_, numbers.size());
    for (const Mark& mark : marks) device_->wait(mark);
    for (const Mark& mark : marks) EXPECT_TRUE(device_->reached(mark));
    for (std::size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(left.data()[i], 2 * numbers[i]) << i;
  }
}

TEST_P(OnDevice, PinnedMemoryIsGivenBack) {
  const std::size_t before = device_->pinned().taken_bytes;
  {
    const PinnedFloats array(device_, 1000);
    EXPECT_EQ(Floats(array.data(), array.data() + 1000), Floats(1000));
    EXPECT_GT(device_->pinned().taken_bytes, before);
  }
  EXPECT_EQ(device_->pinned().taken_bytes, before);
}

TEST_P(OnDevice, MarksOutliveNothingAndMayBeEmpty) {
  Mark mark;
  EXPECT_TRUE(device_->reached(mark));
  device_->wait(mark);
  for (int i = 0; i < 100; ++i) mark = device_->mark();
  device_->wait(mark);
  EXPECT_TRUE(device_->reached(mark));
}

TEST_P(OnDevice, MemoryOfTheHostIsPinnedForAWhile) {
  Floats there(100000, 3.0F);  // pages of its own, and parts of others
  const std::size_t before = device_->pinned().taken_bytes;
  for (int i = 0; i < 3; ++i) {
    const PinnedRange range(device_, there);
    EXPECT_TRUE(range || device_->is_gpu());  // a GPU's system may refuse it, and says why
    EXPECT_EQ(static_cast<bool>(range), range.refused().empty()) << range.refused();
    const DeviceFloats array(device_, there.size());
    device_->copy_in(std::span<const float>(there), array.span());
    device_->vectors().add(array.span(), array.span(), {}, array.span());
    device_->wait(device_->copy_out_aside<float>(device_->mark(), array.span(), std::span(there)));
    EXPECT_EQ(there, Floats(there.size(), i == 0 ? 6.0F : i == 1 ? 12.0F : 24.0F));
  }
  EXPECT_EQ(device_->pinned().taken_bytes, before);
}

TEST_P(OnDevice, NormsAreSummedInOneOrder) {
  for (const std::size_t count : {0, 1, 5, 127, 128, 4095, 4096, 4097, 100003, 2000000}) {
    for (const std::size_t beyond : {0, 1}) {
      Floats numbers = some_numbers(count, count + beyond, false);
      const DeviceFloats array = placed(numbers);
      const DeviceArray<double> space(device_, norm_space(count));
      device_->vectors().squared_norm(array.span().subspan(beyond), space.span());
      numbers.erase(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(beyond));
      const double found = out<double>(space.span())[0], expected = oracle::squared_norm(numbers);
      EXPECT_EQ(std::bit_cast<std::uint64_t>(found), std::bit_cast<std::uint64_t>(expected)) << count;
    }
  }
}

TEST_P(OnDevice, ClippingLeavesSmallGradientsAlone) {
  const DeviceArray<double> squared(device_, 1);
  const DeviceFloats factor(device_, 1);
  const auto clipped = [&](double value, float norm_max) {
    device_->set(value, squared.data());
    device_->vectors().clip_factor(squared.data(), norm_max, factor.data());
    return out<float>(factor.span())[0];
  };
  EXPECT_EQ(clipped(0.0, 1.0F), 1.0F);
  EXPECT_EQ(clipped(0.25, 1.0F), 1.0F);
  EXPECT_EQ(clipped(16.0, 1.0F), static_cast<float>(1.0 / (4.0 + 1e-6)));
  EXPECT_EQ(clipped(std::numeric_limits<double>::infinity(), 1.0F), 0.0F);
  EXPECT_TRUE(std::isnan(clipped(std::numeric_limits<double>::quiet_NaN(), 1.0F)));
}

TEST_P(OnDevice, TheFirstElementThatIsNotFiniteIsFound) {
  constexpr std::size_t kCount = 50021;
  const DeviceArray<std::uint64_t> first(device_, 1);
  const auto found = [&](const Floats& numbers, std::size_t beyond) {
    const DeviceFloats array = placed(numbers);
    device_->vectors().find_not_finite(array.span().subspan(beyond), first.data());
    return out<std::uint64_t>(first.span())[0];
  };
  const Floats numbers = some_numbers(5, kCount, false);
  for (const std::size_t beyond : {0, 1, 3}) {
    EXPECT_EQ(found(numbers, beyond), VectorOperations::kNone);
    for (const std::size_t at : {std::size_t{4}, std::size_t{7}, std::size_t{30000}, kCount - 1}) {
      Floats bad = numbers;
      bad[at] = std::numeric_limits<float>::quiet_NaN();
      bad[kCount - 1] = -std::numeric_limits<float>::infinity();
      EXPECT_EQ(found(bad, beyond), at - beyond);
    }
  }
  EXPECT_EQ(found({}, 0), VectorOperations::kNone);
}

TEST_P(OnDevice, RecordedWorkIsDoneAtEachReplay) {
  const DeviceFloats sum = placed({1, 2, 3}), change = placed({1, 1, 1}), factor(device_, 1);
  const auto work = device_->record([&] {
    device_->vectors().scale_by(sum.span(), factor.data(), sum.span());
    device_->vectors().add(sum.span(), change.span(), {}, sum.span());
  });
  EXPECT_EQ(out<float>(sum.span()), (Floats{1, 2, 3}));
  device_->set(2.0F, factor.data());
  work->replay();
  device_->set(10.0F, factor.data());
  work->replay();
  EXPECT_EQ(out<float>(sum.span()), (Floats{31, 51, 71}));
}

INSTANTIATE_TEST_SUITE_P(All, OnDevice, ::testing::ValuesIn(devices_here()),
                         [](const auto& each) { return plain_name(each.param); });

TEST(ComputeDeviceDeathTest, OtherSizesAreABug) {
  const auto device = make_host_device();
  const DeviceFloats three(device, 3), four(device, 4);
  EXPECT_DEATH(device->vectors().add(three.span(), four.span(), {}, three.span()), "check failed");
  EXPECT_DEATH(device->copy_in<float>(three.span(), four.span()), "check failed");
}

TEST(ComputeDevice, OtherNamesAreRefusedWithTheReason) {
  for (const std::string name : {"gpu", "cuda", "cuda:", "cuda:x", "cuda:-1", "cuda:4096", "cpu:", ""}) {
    try {
      make_compute_device(name);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("'" + name + "' cannot be used: "), std::string::npos)
          << error.what();
    }
  }
  EXPECT_EQ(make_compute_device("cpu:1")->name(), "cpu");
}

}  // namespace
}  // namespace muster::test
