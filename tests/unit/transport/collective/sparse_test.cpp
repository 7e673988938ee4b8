// The sparse form of sums: nothing is lost, it is as small as it says, and what is no such form is refused.
#include "transport/collective/sums/sparse.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <vector>

#include "tests/support/processors.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/tree_oracle.hpp"

namespace {

using namespace muster;
using Bytes = std::vector<std::byte>;

const Wire kWires[] = {{}, {WireType::float16, 0}, {WireType::float16, 9}, {WireType::bfloat16, 0}};

std::uint32_t bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

class Numbers {
 public:
  explicit Numbers(std::uint32_t seed) : random_(seed) {}

  // Any bits but +0's: -0, denormals, infinite ones, and NaNs of any payload.
  float other() {
    constexpr std::uint32_t kOdd[] = {0x80000000u, 1u,          0x807fffffu, 0x7f800000u,
                                      0xff800000u, 0x7f800001u, 0xffc12345u, 0x00800000u};
    const auto any = static_cast<std::uint32_t>(random_());
    return std::bit_cast<float>(any % 3 == 0 ? kOdd[any / 3 % 8] : any | 1);
  }
  // That the wire can carry; `in_1000` of them are not +0.
  std::vector<float> vector(std::size_t count, std::uint32_t in_1000, const Wire& wire) {
    std::vector<float> values(count, 0.0F);
    for (float& value : values) {
      if (random_() % 1000 < in_1000) value = other();
    }
    if (wire.rounds()) round_to(wire, count, values.data());
    return values;
  }
  std::size_t below(std::size_t bound) { return random_() % bound; }

 private:
  std::mt19937 random_;
};

// By the definition of the form.
std::size_t bytes_of(const std::vector<float>& values, const Wire& wire) {
  std::size_t bytes = (values.size() + 65535) / 65536 * 4;
  for (const float value : values) bytes += bits(value) != 0 ? 2 + wire.bytes() : 0;
  return bytes;
}

// The sparse form, in just the room that it needs; nothing if it is not smaller.
std::optional<Bytes> packed(const std::vector<float>& values, const Wire& wire) {
  const std::size_t expected = bytes_of(values, wire);
  EXPECT_EQ(sparse_bytes(values.data(), values.size(), wire), expected);
  constexpr std::byte kUntouched{0xa5};
  Bytes out(expected + 16, kUntouched);
  EXPECT_FALSE(pack_sparse(values.data(), values.size(), wire, out.data(), expected - 1));
  const auto written = pack_sparse(values.data(), values.size(), wire, out.data(), expected);
  EXPECT_EQ(written.has_value(), expected < values.size() * wire.bytes());
  for (std::size_t i = written.value_or(0); i < out.size(); ++i) EXPECT_EQ(out[i], kUntouched) << i;
  if (!written) return std::nullopt;
  EXPECT_EQ(*written, expected);
  out.resize(expected);
  return out;
}

// What becomes of the bytes; nothing if they are refused. Nothing is written beside it.
std::optional<std::vector<float>> unpacked(const Bytes& bytes, std::size_t count, const Wire& wire) {
  constexpr float kUntouched = 4711.0F;
  constexpr std::ptrdiff_t kBeside = 66'000;  // more than a position can name
  std::vector<float> room(count + 2 * kBeside, kUntouched);
  const bool good = unpack_sparse(bytes, count, wire, room.data() + kBeside);
  const auto untouched = [](float value) { return value == kUntouched; };
  EXPECT_TRUE(std::all_of(room.begin(), room.begin() + kBeside, untouched));
  EXPECT_TRUE(std::all_of(room.end() - kBeside, room.end(), untouched));
  if (!good) return std::nullopt;
  return std::vector<float>(room.begin() + kBeside, room.end() - kBeside);
}

void expect_kept(const std::vector<float>& values, const Wire& wire) {
  const auto bytes = packed(values, wire);
  if (!bytes) return;
  std::vector<float> there(values.size(), -1.0F);
  ASSERT_TRUE(unpack_sparse(*bytes, values.size(), wire, there.data()));
  ASSERT_TRUE(oracle::same_bits(there.data(), values.data(), values.size()));
}

class SparseForm : public muster::testing::OnEveryProcessor {};

TEST_P(SparseForm, LosesNothingOfShortVectors) {
  Numbers numbers(1);
  for (std::size_t count = 1; count <= 70; ++count) {
    for (const std::uint32_t in_1000 : {0u, 10u, 100u, 400u, 600u, 700u, 1000u}) {
      for (const Wire& wire : kWires) {
        SCOPED_TRACE(std::to_string(count) + " elements, " + std::to_string(in_1000) + " of 1000");
        expect_kept(numbers.vector(count, in_1000, wire), wire);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(SparseForm, LosesNothingOfAnyDensity) {
  Numbers numbers(2);
  for (const std::size_t count : {65535u, 65536u, 65537u, 131072u}) {
    for (const std::uint32_t in_1000 : {0u, 1u, 10u, 100u, 300u, 490u, 510u, 660u, 670u, 1000u}) {
      for (const Wire& wire : kWires) {
        SCOPED_TRACE(std::to_string(count) + " elements, " + std::to_string(in_1000) + " of 1000");
        expect_kept(numbers.vector(count, in_1000, wire), wire);
        if (HasFatalFailure()) return;
      }
    }
  }
  expect_kept(numbers.vector((std::size_t{1} << 20) + 3, 10, {}), {});
}

// Each place alone, also the first and the last of a block.
TEST_P(SparseForm, KeepsEveryPlace) {
  for (const std::size_t count : {64u, 200u}) {
    for (std::size_t at = 0; at < count; ++at) {
      std::vector<float> values(count, 0.0F);
      values[at] = -0.0F;
      expect_kept(values, {});
    }
  }
  for (const std::size_t at : {0u, 63u, 64u, 65535u, 65536u, 131071u, 131072u, 131099u}) {
    std::vector<float> values(131100, 0.0F);
    values[at] = std::bit_cast<float>(0x7f800001u);
    expect_kept(values, {});
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, SparseForm, ::testing::ValuesIn(SparseForm::all()), &SparseForm::name);

Bytes bytes_from(std::initializer_list<unsigned> numbers) {
  Bytes bytes;
  for (const unsigned number : numbers) bytes.push_back(static_cast<std::byte>(number));
  return bytes;
}

// Members of other builds read it.
TEST(Sparse, IsLaidOutAsItSays) {
  const std::vector<float> values{0.0F, 1.0F, 0.0F, 0.0F, -0.0F, 0.0F};
  EXPECT_EQ(packed(values, {}), bytes_from({2, 0, 0, 0, 1, 0, 4, 0, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x80}));
  EXPECT_EQ(packed({0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 1.0F}, {WireType::bfloat16, 0}),
            bytes_from({1, 0, 0, 0, 5, 0, 0x80, 0x3f}));
}

TEST(Sparse, IsNotTakenWhereItIsNotSmaller) {
  EXPECT_FALSE(packed({}, {}));
  EXPECT_FALSE(packed({0.0F}, {}));  // 4 bytes either way
  EXPECT_TRUE(packed({0.0F, 0.0F}, {}));
  EXPECT_FALSE(packed({0.0F, 0.0F}, {WireType::float16, 0}));
  EXPECT_FALSE(packed(std::vector<float>(70'000, 1.0F), {}));
  std::vector<float> values(300, 0.0F);
  std::fill_n(values.begin(), 199, 1.0F);  // 4 + 199 * 6 is 1198, of 1200
  EXPECT_TRUE(packed(values, {}));
  values.back() = 1.0F;
  EXPECT_FALSE(packed(values, {}));
}

struct Case {
  std::vector<float> values;
  Wire wire;
};
std::vector<Case> cases() {
  Numbers numbers(3);
  std::vector<Case> all;
  for (const Wire& wire : kWires) {
    all.push_back({numbers.vector(300, 50, wire), wire});
    auto longer = numbers.vector(66'000, 0, wire);
    for (int i = 0; i < 20; ++i) longer[numbers.below(longer.size())] = 1.0F;
    longer[65'999] = -2.0F;
    all.push_back({std::move(longer), wire});
  }
  return all;
}

TEST(Sparse, IsRefusedIfSomethingIsMissingOrLeftOver) {
  for (const Case& each : cases()) {
    const Bytes bytes = packed(each.values, each.wire).value();
    for (std::size_t size = 0; size < bytes.size(); ++size)
      EXPECT_FALSE(
          unpacked({bytes.begin(), bytes.begin() + static_cast<long>(size)}, each.values.size(), each.wire));
    Bytes more = bytes;
    more.push_back(std::byte{0});
    EXPECT_FALSE(unpacked(more, each.values.size(), each.wire));
    EXPECT_FALSE(unpacked(bytes, 0, each.wire));
    EXPECT_FALSE(unpacked(bytes, 20, each.wire));
    EXPECT_FALSE(unpacked(bytes, 400'000, each.wire));
  }
}

// What is not refused is what somebody could have meant: it has one form only.
TEST(Sparse, IsRefusedOrUnderstoodWhicheverBitIsWrong) {
  for (const Case& each : cases()) {
    const Bytes bytes = packed(each.values, each.wire).value();
    std::size_t refused = 0;
    for (std::size_t bit = 0; bit < bytes.size() * 8; bit += kSanitized ? 5 : 1) {
      Bytes wrong = bytes;
      wrong[bit / 8] ^= std::byte{1} << (bit % 8);
      const auto values = unpacked(wrong, each.values.size(), each.wire);
      if (!values) ++refused;
      if (!values || each.wire.rounds()) continue;
      EXPECT_EQ(packed(*values, each.wire), wrong) << bit;
    }
    EXPECT_GT(refused, 20u);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      Bytes wrong = bytes;
      wrong[at] = ~wrong[at];
      unpacked(wrong, each.values.size(), each.wire);
    }
  }
}

TEST(Sparse, IsRefusedIfItSaysWhatCannotBe) {
  const auto refused = [](Bytes bytes) { return !unpacked(bytes, 6, {}); };
  const Bytes good = bytes_from({2, 0, 0, 0, 1, 0, 4, 0, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x80});
  const auto with = [&](std::size_t at, unsigned byte) {
    Bytes bytes = good;
    bytes[at] = static_cast<std::byte>(byte);
    return bytes;
  };
  EXPECT_FALSE(refused(good));
  EXPECT_TRUE(refused(with(0, 1)));     // bytes are left
  EXPECT_TRUE(refused(with(0, 7)));     // more than there are elements
  EXPECT_TRUE(refused(with(3, 0xff)));  // far more
  EXPECT_TRUE(refused(with(4, 4)));     // one place twice
  EXPECT_TRUE(refused(with(4, 5)));     // not ascending
  EXPECT_TRUE(refused(with(6, 6)));     // behind the end
  EXPECT_TRUE(refused(with(7, 0xff)));  // far behind
  EXPECT_TRUE(refused(with(15, 0)));    // a +0
}

TEST(Sparse, IsRefusedWhereverAPositionDoesNotAscend) {
  std::vector<float> values(3000, 0.0F);
  for (std::size_t i = 0; i < values.size(); i += 3) values[i] = 1.0F;
  const Bytes good = packed(values, {}).value();
  EXPECT_TRUE(unpacked(good, values.size(), {}));
  for (std::size_t i = 1; i < 1000; ++i) {
    Bytes wrong = good;
    std::copy_n(good.begin() + 4 + 2 * static_cast<long>(i - 1), 2,
                wrong.begin() + 4 + 2 * static_cast<long>(i));
    EXPECT_FALSE(unpacked(wrong, values.size(), {})) << i;
  }
}

}  // namespace
