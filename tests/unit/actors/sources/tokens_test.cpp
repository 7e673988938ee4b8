#include "actors/sources/tokens.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "actors/pipeline/stream.hpp"
#include "actors/sources/token_file.hpp"
#include "tests/unit/actors/loading/sources.hpp"

namespace muster {
namespace {

using pipeline_test::error_message;
using pipeline_test::job_error_key;
using Tokens = std::vector<std::int64_t>;

class TokensTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("muster-tokens-" + std::to_string(::getpid()) + "-" + info->name());
    std::filesystem::create_directories(folder_);
    options_ = {{"train", write("train", "abcdefgh")},
                {"test", std::string()},
                {"type", std::string("uint8")},
                {"vocabulary", std::int64_t{256}},
                {"context", std::int64_t{3}}};
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& bytes) const {
    const auto path = folder_ / name;
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path.string();
  }

  static Tokens window(IndexedSource& source, std::uint64_t index) {
    Tokens tokens(source.fields()[0].count());
    const std::array<std::span<std::byte>, 1> row{std::as_writable_bytes(std::span(tokens))};
    source.read(index, row);
    return tokens;
  }

  void expect_mistake(const std::string& key, const std::string& says) {
    const auto call = [&] { make_tokens(options_); };
    EXPECT_EQ(job_error_key(call), "data." + key);
    EXPECT_NE(error_message(call).find(says), std::string::npos) << error_message(call);
  }

  std::filesystem::path folder_;
  Options options_;
};

TEST_F(TokensTest, WindowsShareTheirEndsAndNothingIsLeftOut) {
  Dataset data = make_tokens(options_);
  EXPECT_EQ(data.test, nullptr);
  auto& source = *data.train->indexed();
  EXPECT_EQ(source.fields(), (std::vector<Field>{{DType::int64, {4}}}));
  ASSERT_EQ(source.size(), 3u);  // 7 tokens are predicted, 3 in a window
  EXPECT_EQ(window(source, 0), (Tokens{'a', 'b', 'c', 'd'}));
  EXPECT_EQ(window(source, 1), (Tokens{'d', 'e', 'f', 'g'}));
  EXPECT_EQ(window(source, 2), (Tokens{'g', 'h', -1, -1}));
  EXPECT_EQ(window(source, 1), (Tokens{'d', 'e', 'f', 'g'}));
}

TEST_F(TokensTest, AWindowThatEndsWithTheFileIsTheLast) {
  options_["train"] = write("seven", "abcdefg");
  auto data = make_tokens(options_);
  ASSERT_EQ(data.train->indexed()->size(), 2u);
  EXPECT_EQ(window(*data.train->indexed(), 1), (Tokens{'d', 'e', 'f', 'g'}));
  options_["context"] = std::int64_t{100};
  data = make_tokens(options_);
  ASSERT_EQ(data.train->indexed()->size(), 1u);
  EXPECT_EQ(window(*data.train->indexed(), 0)[7], -1);
}

TEST_F(TokensTest, WiderTokensAreLittleEndian) {
  options_["vocabulary"] = std::int64_t{1} << 32;
  options_["type"] = std::string("uint16");
  options_["train"] = write("wide", std::string("\x01\x00\x00\x01\xff\xff", 6));
  auto data = make_tokens(options_);
  EXPECT_EQ(window(*data.train->indexed(), 0), (Tokens{1, 256, 65535, -1}));
  options_["type"] = std::string("uint32");
  options_["train"] = write("wider", std::string("\x01\x00\x00\x01\xff\xff\xff\xff", 8));
  data = make_tokens(options_);
  EXPECT_EQ(window(*data.train->indexed(), 0), (Tokens{(1 << 24) + 1, 4294967295, -1, -1}));
}

TEST_F(TokensTest, TheReaderDealsItLikeAnyOther) {
  options_["test"] = write("test", "xyz");
  Dataset data = make_tokens(options_);
  Job job;
  job.data.shuffle = false;
  job.train.shards = 2;
  job.train.batch = 2;
  BatchReader reader(job, data);
  const Item item = reader.read(0, {});
  EXPECT_EQ(item.batch->rows, 2u);
  const auto tokens = item.batch->tensors[0].as<std::int64_t>();
  EXPECT_EQ(Tokens(tokens.begin(), tokens.end()), (Tokens{'a', 'b', 'c', 'd', 'g', 'h', -1, -1}));
  EXPECT_TRUE(reader.evaluates());
}

TEST_F(TokensTest, HashesContentAndWindows) {
  const auto print = make_tokens(options_).train->fingerprint();
  EXPECT_EQ(print.size(), 64u);
  EXPECT_EQ(make_tokens(options_).train->fingerprint(), print);
  options_["context"] = std::int64_t{2};
  EXPECT_NE(make_tokens(options_).train->fingerprint(), print);
  options_["context"] = std::int64_t{3};
  options_["type"] = std::string("uint16");
  options_["vocabulary"] = std::int64_t{65536};
  EXPECT_NE(make_tokens(options_).train->fingerprint(), print);
  options_["type"] = std::string("uint8");
  options_["train"] = write("train", "abcdefgi");
  EXPECT_NE(make_tokens(options_).train->fingerprint(), print);
}

TEST_F(TokensTest, RefusesWhatDoesNotFitWithPositionAndHelp) {
  options_["vocabulary"] = std::int64_t{'g'};
  expect_mistake("train",
                 "holds token 103 at position 6, but data.vocabulary = 103: raise it to at least 104");
  options_["vocabulary"] = std::int64_t{65536};
  options_["type"] = std::string("uint16");
  options_["train"] = write("odd", "abcde");
  expect_mistake("train", "has 5 bytes, which are no whole number of uint16 tokens");
  options_["train"] = write("one", "ab");
  expect_mistake("train", "has 1 tokens; at least 2 are needed");
  options_["train"] = write("none", "");
  expect_mistake("train", "has 0 tokens");
  options_["train"] = (folder_ / "absent").string();
  expect_mistake("train", "No such file");
  options_["train"] = folder_.string();
  expect_mistake("train", "is not a regular file");
  options_["type"] = std::string("int16");
  expect_mistake("type", "uint8, uint16 or uint32");
  options_["type"] = std::string("uint8");
  options_["context"] = std::int64_t{0};
  expect_mistake("context", "out of range");
}

// Beyond the chunks in which a file is looked through.
TEST_F(TokensTest, FindsATokenFarBehind) {
  std::string text((std::size_t{3} << 20) + 5, 'a');
  text[(std::size_t{2} << 20) + 1] = 'z';
  options_["train"] = write("long", text);
  options_["vocabulary"] = std::int64_t{'z'};
  expect_mistake("train", "at position 2097153");
  options_["vocabulary"] = std::int64_t{'z'} + 1;
  EXPECT_EQ(make_tokens(options_).train->indexed()->size(), (text.size() - 1 + 2) / 3);
}

TEST_F(TokensTest, AFileThatShrinksIsSaid) {
  const auto data = make_tokens(options_);
  std::filesystem::resize_file(folder_ / "train", 4);
  EXPECT_EQ(window(*data.train->indexed(), 0), (Tokens{'a', 'b', 'c', 'd'}));
  EXPECT_NE(error_message([&] { window(*data.train->indexed(), 1); }).find("became shorter"),
            std::string::npos);
}

TEST_F(TokensTest, DeclaresEveryOptionThatItReads) {
  for (const auto& spec : tokens_options()) EXPECT_TRUE(options_.contains(spec.key)) << spec.key;
  EXPECT_EQ(tokens_options().size(), options_.size());
}

}  // namespace
}  // namespace muster
