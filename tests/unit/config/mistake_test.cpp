#include "muster/mistake.hpp"

#include <gtest/gtest.h>

#include "base/text.hpp"

namespace muster {
namespace {

TEST(Mistake, RendersPlaceKeyAndWhatIsNearest) {
  const Place place{"job.toml", 12, 3, {}};
  EXPECT_EQ(render(mistake_in(place, "train.bathc", "unknown key", "", "", "train.batch")),
            "job.toml:12:3: train.bathc: unknown key; did you mean train.batch?");
  EXPECT_EQ(render(mistake_in(place, "train.shards", "out of range", "0", "an integer from 1 to 65536")),
            "job.toml:12:3: train.shards: out of range; found 0; allowed: an integer from 1 to 65536");
}

TEST(Mistake, RendersOverridesFilesAndJobsWithoutFile) {
  EXPECT_EQ(render(mistake_in({{}, 0, 0, "train.bathc=3"}, "train.bathc", "unknown key")),
            "--set train.bathc=3: train.bathc: unknown key");
  EXPECT_EQ(render(mistake_in({"job.toml", 0, 0, {}}, "", "no such file")), "job.toml: no such file");
  EXPECT_EQ(render(mistake_in({}, "train.batch", "out of range", "0")), "train.batch: out of range; found 0");
}

TEST(Mistake, StaysOnOneLineAndLeavesTheTerminalAlone) {
  const std::string line = render(mistake_in({{}, 0, 0, "name=a\nb\x1b[31m"}, "name", "x"));
  EXPECT_EQ(line, "--set name=a\\x0Ab\\x1B[31m: name: x");
}

TEST(Mistake, MissingKeysStandAtTheNearestTableAround) {
  const Places places = {{"", {"job.toml", 1, 1, {}}},
                         {"data", {"job.toml", 5, 2, {}}},
                         {"cluster.devices", {"job.toml", 9, 11, {}}}};
  EXPECT_EQ(mistake_at(places, "data.train_images", "missing").line, 5);
  EXPECT_EQ(mistake_at(places, "cluster.devices[7]", "x").line, 9);
  EXPECT_EQ(mistake_at(places, "model.name", "missing").line, 1);
  EXPECT_EQ(mistake_at({}, "model.name", "missing").file, "");
}

TEST(Mistake, AllAreSortedByPlaceAndOverridesComeLast) {
  const std::vector<Mistake> mistakes = {
      mistake_in({{}, 0, 0, "b=1"}, "b", "4"), mistake_in({{}, 0, 0, "a=1"}, "a", "5"),
      mistake_in({"job.toml", 10, 1, {}}, "k", "3"), mistake_in({"job.toml", 9, 7, {}}, "k", "2"),
      mistake_in({"job.toml", 9, 2, {}}, "k", "1")};
  EXPECT_EQ(
      render(mistakes),
      "job.toml:9:2: k: 1\njob.toml:9:7: k: 2\njob.toml:10:1: k: 3\n--set b=1: b: 4\n--set a=1: a: 5\n");
}

TEST(Text, QuotedAndShortened) {
  EXPECT_EQ(in_quotes("a\"b\\c\n\t\x01"), "\"a\\\"b\\\\c\\n\\t\\u0001\"");
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("abcd", 3), "abc...");
  EXPECT_EQ(shortened("ab\xc3\xa9", 3), "ab...");  // never half a character
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(3), "3.0");
  EXPECT_EQ(number_text(1e-8), "1e-08");
  EXPECT_EQ(any_of_text({"a", "b", "c"}), "a, b or c");
  EXPECT_EQ(key_text("a b"), "\"a b\"");
}

}  // namespace
}  // namespace muster
