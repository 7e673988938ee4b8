#include "actors/pipeline/serialize.hpp"

#include <gtest/gtest.h>

#include <random>

#include "actors/pipeline/batch_check.hpp"

namespace muster {
namespace {

Item sample_item() {
  auto batch = std::make_shared<Batch>();
  batch->rows = 2;
  batch->padding = 1;
  batch->tensors.push_back({DType::float32, {3, 1, 2}, std::vector<std::byte>(24, std::byte{7})});
  batch->tensors.push_back({DType::int64, {3}, std::vector<std::byte>(24, std::byte{9})});
  batch->tensors.push_back({DType::uint8, {3, 0}, {}});
  return {{Mode::evaluate, 5, 77}, 3, false, {1234567890123, 2}, std::move(batch)};
}

void expect_equal(const Item& a, const Item& b) {
  EXPECT_EQ(a.cursor, b.cursor);
  EXPECT_EQ(a.shard, b.shard);
  EXPECT_EQ(a.ended, b.ended);
  EXPECT_EQ(a.range, b.range);
  ASSERT_EQ(a.batch == nullptr, b.batch == nullptr);
  if (!a.batch) return;
  EXPECT_EQ(a.batch->rows, b.batch->rows);
  EXPECT_EQ(a.batch->padding, b.batch->padding);
  ASSERT_EQ(a.batch->tensors.size(), b.batch->tensors.size());
  for (std::size_t k = 0; k < a.batch->tensors.size(); ++k) {
    EXPECT_EQ(a.batch->tensors[k].dtype, b.batch->tensors[k].dtype);
    EXPECT_EQ(a.batch->tensors[k].shape, b.batch->tensors[k].shape);
    EXPECT_EQ(a.batch->tensors[k].bytes, b.batch->tensors[k].bytes);
  }
}

TEST(Serialize, RoundTrips) {
  const Item item = sample_item();
  const auto decoded = decode_item(encode_item(item));
  ASSERT_TRUE(decoded);
  expect_equal(*decoded, item);
  const Item ended{{Mode::train, 1, 2}, 1, true, {3, 1}, nullptr};
  const auto decoded_ended = decode_item(encode_item(ended));
  ASSERT_TRUE(decoded_ended);
  expect_equal(*decoded_ended, ended);
}

TEST(Serialize, RefusesEveryPrefixAndAnythingLonger) {
  auto bytes = encode_item(sample_item());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_item(std::span(bytes).first(size))) << size;
  }
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(decode_item(bytes));
}

// Whatever comes in: no crash, and what comes out encodes to the bytes that came in, so it is no larger than
// they are.
TEST(Serialize, SurvivesMutations) {
  const auto original = encode_item(sample_item());
  std::mt19937 random(12345);
  int accepted = 0;
  for (int round = 0; round < 50'000; ++round) {
    auto bytes = original;
    for (std::uint32_t flips = 1 + random() % 4; flips > 0; --flips) {
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    }
    if (random() % 4 == 0) bytes.resize(random() % (bytes.size() + 1));
    if (const auto item = decode_item(bytes)) {
      ++accepted;
      EXPECT_EQ(encode_item(*item), bytes);
    }
  }
  EXPECT_GT(accepted, 0);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> noise(random() % 200);
    for (auto& byte : noise) byte = static_cast<std::byte>(random() % 4);
    if (const auto item = decode_item(noise)) {
      EXPECT_EQ(encode_item(*item), noise);
    }
  }
}

TEST(Serialize, DoesNotBelieveHugeShapes) {
  Tensor tensor{DType::float32, {std::int64_t{1} << 40, std::int64_t{1} << 40}, {}};
  std::uint64_t bytes = 0;
  EXPECT_FALSE(tensor_bytes(tensor.dtype, tensor.shape, bytes));
  EXPECT_FALSE(tensor_bytes(DType::uint8, {4, -1}, bytes));
  EXPECT_TRUE(tensor_bytes(DType::uint8, {std::int64_t{1} << 62}, bytes));
  EXPECT_EQ(bytes, std::uint64_t{1} << 62);
}

}  // namespace
}  // namespace muster
