#include "gpu/files/safetensors.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "gpu/optimizer/state_hash.hpp"
#include "muster/error.hpp"
#include "tests/support/write_safetensors.hpp"

namespace muster {
namespace {

namespace fs = std::filesystem;

class SafetensorsTest : public ::testing::Test {
 protected:
  SafetensorsTest() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() /
              ("muster-" + std::string(test->name()) + "-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    layout_.add_parameter("conv.weight", {2, 3});
    layout_.add_parameter("conv.bias", {3});
    layout_.add_buffer("count", {});
  }
  ~SafetensorsTest() override { fs::remove_all(folder_); }

  fs::path file() const { return folder_ / "weights.safetensors"; }

  static std::string text(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  void overwrite(const std::string& content) { std::ofstream(file(), std::ios::binary) << content; }

  fs::path folder_;
  Layout layout_;
  std::vector<float> state_{1, 2, 3, 4, 5, 6, -1, -2, -3, 42};
};

TEST_F(SafetensorsTest, WhatIsWrittenIsRead) {
  write_safetensors(file(), layout_, state_, {{"step", "12"}, {"seed", "7"}});
  const Safetensors read = read_safetensors(file());
  EXPECT_EQ(read.state, state_);
  EXPECT_EQ(read.metadata.at("step"), "12");
  ASSERT_EQ(read.entries.size(), 3U);
  EXPECT_EQ(read.entries[0].name, "conv.weight");
  EXPECT_EQ(read.entries[0].shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(read.entries[2].name, "count");
  EXPECT_EQ(read.entries[2].offset, 9U);
}

TEST_F(SafetensorsTest, TheHeaderAloneSaysWhatThereIs) {
  write_safetensors(file(), layout_, state_, {{"step", "12"}});
  const Safetensors whole = read_safetensors(file()), header = read_safetensors_header(file());
  EXPECT_TRUE(header.state.empty());
  EXPECT_EQ(header.metadata, whole.metadata);
  ASSERT_EQ(header.entries.size(), whole.entries.size());
  for (std::size_t i = 0; i < whole.entries.size(); ++i) {
    EXPECT_EQ(header.entries[i].name, whole.entries[i].name);
    EXPECT_EQ(header.entries[i].offset, whole.entries[i].offset);
  }
}

TEST_F(SafetensorsTest, WhatIsNoJsonIsSaidWithoutTheParsersWords) {
  overwrite(std::string("\x08\0\0\0\0\0\0\0", 8) + "not json");
  try {
    read_safetensors_header(file());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("its header is not the JSON that the format asks for"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(SafetensorsTest, AnotherTypeIsNamedWithTheWayOut) {
  write_safetensors(file(), layout_, state_, {});
  std::string content = text(file());
  content.replace(content.find("F32"), 3, "F64");
  overwrite(content);
  try {
    read_safetensors_header(file());
    FAIL() << "it was taken";
  } catch (const Error& error) {
    const std::string why = error.what();
    EXPECT_NE(why.find(" is F64, and weights are read as F32; convert"), std::string::npos) << why;
    EXPECT_EQ(why.find("whole"), std::string::npos) << why;
  }
}

TEST_F(SafetensorsTest, TheBytesAreThePublishedFormat) {
  Layout layout;
  layout.add_parameter("w", {2});
  write_safetensors(file(), layout, std::vector<float>{1.0F, 2.0F}, {});
  const std::string header = R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  const std::string bytes = text(file());
  ASSERT_EQ(bytes.size(), 8U + 56U + 8U);
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x38\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(bytes.substr(8, 56), header + std::string(56 - header.size(), ' '));
  EXPECT_EQ(bytes.substr(64), std::string("\0\0\x80\x3f\0\0\0\x40", 8));
}

TEST_F(SafetensorsTest, AnOldFileIsReplacedAndNothingElseIsLeft) {
  overwrite("old");
  write_safetensors(file(), layout_, state_, {});
  EXPECT_EQ(read_safetensors(file()).state, state_);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(SafetensorsTest, AFolderThatIsNotThereIsAnErrorWithItsReason) {
  try {
    write_safetensors(folder_ / "nowhere" / "file", layout_, state_, {});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("No such file"), std::string::npos) << error.what();
  }
  EXPECT_THROW(read_safetensors(folder_ / "nothing"), Error);
}

TEST_F(SafetensorsTest, AFailedReplacementLeavesNoTemporaryFile) {
  fs::create_directories(file() / "occupied");  // a folder with content cannot be renamed over
  EXPECT_THROW(write_safetensors(file(), layout_, state_, {}), Error);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(SafetensorsTest, EveryCutIsNoticed) {
  write_safetensors(file(), layout_, state_, {});
  const std::string whole = text(file());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    overwrite(whole.substr(0, size));
    EXPECT_THROW(read_safetensors(file()), Error) << size << " bytes";
    EXPECT_THROW(read_safetensors_header(file()), Error) << size << " bytes";
  }
  overwrite(whole + "x");
  EXPECT_THROW(read_safetensors(file()), Error);
}

TEST(StateHash, IsSha256) {
  const std::string abc = "abc";
  EXPECT_EQ(sha256_hex(std::as_bytes(std::span(abc))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(StateHash, SeesEveryBit) {
  std::vector<float> state(100, 0.0F);
  const std::string before = state_sha256(state);
  state[99] = -0.0F;
  EXPECT_NE(state_sha256(state), before);
  EXPECT_EQ(before, sha256_hex(std::vector<std::byte>(400)));
}

}  // namespace
}  // namespace muster
