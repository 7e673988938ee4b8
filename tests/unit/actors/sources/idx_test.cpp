#include "actors/sources/idx.hpp"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "actors/pipeline/stream.hpp"
#include "tests/unit/actors/loading/sources.hpp"

namespace muster {
namespace {

using pipeline_test::error_message;
using pipeline_test::job_error_key;

std::string idx_bytes(std::uint32_t magic, const std::vector<std::uint32_t>& extents,
                      const std::string& data) {
  std::string out;
  const auto number = [&](std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift);
  };
  number(magic);
  for (const auto extent : extents) number(extent);
  return out + data;
}

std::string pixels(std::size_t count) {
  std::string data;
  for (std::size_t i = 0; i < count; ++i) data += static_cast<char>(i * 37);
  return data;
}

std::string gzip(const std::string& bytes) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// Five images of 2 x 3 pixels in a folder of their own.
class IdxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("muster-idx-" + std::to_string(::getpid()) + "-" + info->name());
    std::filesystem::create_directories(folder_);
    options_ = {{"train_images", write("images", images_)},
                {"train_labels", write("labels", labels_)},
                {"test_images", std::string()},
                {"test_labels", std::string()},
                {"mean", 0.0},
                {"std", 1.0}};
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& bytes) const {
    const auto path = folder_ / name;
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path.string();
  }

  /// What make_idx says of images (or labels) like these: "key: message".
  std::string mistake(const std::string& option, const std::string& bytes) {
    Options options = options_;
    options[option] = write("bad", bytes);
    const auto call = [&] { make_idx(options); };
    return job_error_key(call) + ": " + error_message(call);
  }
  void expect_mistake(const std::string& option, const std::string& bytes, const std::string& says) {
    const std::string text = mistake(option, bytes);
    EXPECT_EQ(text.find("data." + option + ": "), 0u) << text;
    EXPECT_NE(text.find(says), std::string::npos) << text;
  }

  const std::string images_ = idx_bytes(0x803, {5, 2, 3}, pixels(30));
  const std::string labels_ = idx_bytes(0x801, {5}, std::string("\x00\x01\x02\x03\xff", 5));
  std::filesystem::path folder_;
  Options options_;
};

TEST_F(IdxTest, ReadsImagesAndLabels) {
  options_["mean"] = 0.25;
  options_["std"] = 0.5;
  Dataset data = make_idx(options_);
  EXPECT_EQ(data.test, nullptr);
  auto* source = data.train->indexed();
  ASSERT_EQ(source->size(), 5u);
  EXPECT_EQ(source->fields(), (std::vector<Field>{{DType::float32, {1, 2, 3}}, {DType::int64, {}}}));
  EXPECT_GE(source->resident_bytes(), 35u);
  Job job;
  job.data.shuffle = false;
  job.train.batch = 5;
  BatchReader reader(job, data);
  const Item item = reader.read(0, {});
  const auto values = item.batch->tensors[0].as<float>();
  ASSERT_EQ(values.size(), 30u);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double pixel = static_cast<double>(static_cast<std::uint8_t>(i * 37));
    EXPECT_EQ(values[i], static_cast<float>((pixel / 255.0 - 0.25) / 0.5));
  }
  const auto labels = item.batch->tensors[1].as<std::int64_t>();
  EXPECT_EQ(std::vector(labels.begin(), labels.end()), (std::vector<std::int64_t>{0, 1, 2, 3, 255}));
}

TEST_F(IdxTest, ReadsGzipAndPlainAlike) {
  const auto plain = make_idx(options_).train->fingerprint();
  options_["train_images"] = write("images.gz", gzip(images_));
  options_["test_images"] = options_["train_images"];
  options_["test_labels"] = write("labels.gz", gzip(labels_));
  const Dataset data = make_idx(options_);
  EXPECT_EQ(data.train->fingerprint(), plain);
  ASSERT_NE(data.test, nullptr);
  EXPECT_EQ(data.test->indexed()->size(), 5u);
}

TEST_F(IdxTest, HashesWhatItYields) {
  const auto print = make_idx(options_).train->fingerprint();
  EXPECT_EQ(print.size(), 64u);
  options_["mean"] = 0.5;
  EXPECT_NE(make_idx(options_).train->fingerprint(), print);
  options_["mean"] = 0.0;
  options_["train_labels"] = write("labels", idx_bytes(0x801, {5}, std::string("\x00\x01\x02\x03\x04", 5)));
  EXPECT_NE(make_idx(options_).train->fingerprint(), print);
}

TEST_F(IdxTest, RefusesTruncatedFiles) {
  expect_mistake("train_images", images_.substr(0, images_.size() - 1), "5 x 2 x 3 = 30 bytes, found 29");
  expect_mistake("train_images", images_.substr(0, 9), "header has 9 bytes, expected 16");
  expect_mistake("train_labels", "", "header has 0 bytes, expected 8");
  const std::string packed = gzip(images_);
  for (std::size_t size = 3; size < packed.size(); ++size) {
    expect_mistake("train_images", packed.substr(0, size), "trunc");
  }
}

TEST_F(IdxTest, RefusesDamagedFiles) {
  expect_mistake("train_images", images_ + "x", "holds more");
  expect_mistake("train_images", labels_, "begins with 0x00000801, expected 0x00000803");
  expect_mistake("train_labels", "no IDX at all", "expected 0x00000801");
  expect_mistake("train_images", idx_bytes(0x803, {0, 2, 3}, ""), "holds nothing");
  expect_mistake("train_images", idx_bytes(0x803, {5, 0, 3}, ""), "holds nothing");
  std::string packed = gzip(images_);
  packed[packed.size() - 6] = static_cast<char>(packed[packed.size() - 6] ^ 1);  // in the checksum
  expect_mistake("train_images", packed, "damaged");
}

TEST_F(IdxTest, DoesNotBelieveHugeHeaders) {
  expect_mistake("train_images", idx_bytes(0x803, {~0u, ~0u, ~0u}, "abc"), "more than any such file holds");
  expect_mistake("train_images", idx_bytes(0x803, {1u << 30, 1u << 9, 1}, "abc"), "found 3");
}

TEST_F(IdxTest, RefusesLabelsThatDoNotMatch) {
  expect_mistake("train_labels", idx_bytes(0x801, {4}, "abcd"), "has 4 labels, but ");
  options_["test_images"] = options_["train_images"];
  EXPECT_EQ(job_error_key([&] { make_idx(options_); }), "data.test_labels");
  options_["test_images"] = std::string();
  options_["test_labels"] = options_["train_labels"];
  EXPECT_EQ(job_error_key([&] { make_idx(options_); }), "data.test_images");
  options_["test_images"] = options_["train_labels"];
  EXPECT_EQ(job_error_key([&] { make_idx(options_); }), "data.test_images");
}

TEST_F(IdxTest, RefusesWhatIsNoFile) {
  options_["train_images"] = (folder_ / "absent").string();
  EXPECT_EQ(job_error_key([&] { make_idx(options_); }), "data.train_images");
  EXPECT_NE(error_message([&] { make_idx(options_); }).find("No such file"), std::string::npos);
  options_["train_images"] = folder_.string();
  EXPECT_NE(error_message([&] { make_idx(options_); }).find("directory"), std::string::npos)
      << error_message([&] { make_idx(options_); });
}

TEST_F(IdxTest, RefusesNumbersThatCannotScale) {
  options_["std"] = 0.0;
  EXPECT_EQ(job_error_key([&] { make_idx(options_); }), "data.std");
  options_["std"] = 1.0;
  options_["mean"] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(job_error_key([&] { make_idx(options_); }), "data.mean");
}

TEST_F(IdxTest, DeclaresEveryOptionThatItReads) {
  for (const auto& spec : idx_options()) EXPECT_TRUE(options_.contains(spec.key)) << spec.key;
  EXPECT_EQ(idx_options().size(), options_.size());
}

}  // namespace
}  // namespace muster
