#include "actors/registry/start_weights.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numeric>

#include "gpu/files/safetensors.hpp"
#include "muster/error.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/write_safetensors.hpp"

namespace muster {
namespace {

Layout layout_of(const std::vector<std::pair<std::string, std::vector<std::int64_t>>>& entries) {
  Layout layout;
  for (const auto& [name, shape] : entries) layout.add_parameter(name, shape);
  return layout;
}

class StartWeights : public ::testing::Test {
 protected:
  std::string write(const Layout& layout) {
    std::vector<float> state(layout.total());
    std::iota(state.begin(), state.end(), 1.0f);
    const auto path = folder_.path() / "start.safetensors";
    write_safetensors(path, layout, state, {});
    return path;
  }
  std::string objection(const Layout& held, const Layout& model) {
    try {
      start_weights(write(held), model);
    } catch (const JobError& error) {
      EXPECT_EQ(error.key(), "checkpoint.start_from");
      return error.what();
    }
    return {};
  }
  testing::TemporaryFolder folder_;
};

TEST_F(StartWeights, AreFoundByTheirNames) {
  const std::string path = write(layout_of({{"a", {2}}, {"b", {3}}}));
  EXPECT_EQ(start_weights(path, layout_of({{"b", {3}}, {"a", {2}}})), (std::vector<float>{3, 4, 5, 1, 2}));
}

TEST_F(StartWeights, WhatDoesNotFitIsNamed) {
  const std::string why =
      objection(layout_of({{"a", {2, 3}}, {"old", {1}}}), layout_of({{"a", {3, 2}}, {"head", {1}}}));
  EXPECT_NE(why.find("shapes differ: a is [2, 3] there and [3, 2] in the model"), std::string::npos) << why;
  EXPECT_NE(why.find("the file lacks head"), std::string::npos) << why;
  EXPECT_NE(why.find("the model has no old"), std::string::npos) << why;
}

TEST_F(StartWeights, WhatIsNotFiniteIsNamed) {
  const Layout layout = layout_of({{"a", {2}}, {"b", {2}}});
  const auto path = folder_.path() / "nan.safetensors";
  write_safetensors(path, layout, std::vector<float>{1, 2, std::nanf(""), 4}, {});
  try {
    start_weights(path, layout);
    FAIL() << "no error";
  } catch (const JobError& error) {
    EXPECT_NE(std::string(error.what()).find("b in " + path.string() + " holds values that are not finite"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(StartWeights, OfManyThatDoNotFitTheFirstAreNamed) {
  const std::string why = objection(layout_of({{"x", {1}}}),
                                    layout_of({{"a", {1}}, {"b", {1}}, {"c", {1}}, {"d", {1}}, {"x", {1}}}));
  EXPECT_NE(why.find("the file lacks a, b, c and 1 more"), std::string::npos) << why;
}

TEST_F(StartWeights, TheContentIsReadAnewWhenTheFileChanges) {
  Job job;
  EXPECT_EQ(start_content(job), "");
  job.checkpoint.start_from = write(layout_of({{"a", {2}}}));
  const std::string first = start_content(job);
  EXPECT_EQ(first.size(), 64u);
  write(layout_of({{"a", {3}}}));
  const std::string second = start_content(job);
  EXPECT_NE(second, first);
  std::filesystem::remove(job.checkpoint.start_from);
  EXPECT_EQ(start_content(job), second) << "a run that has begun with it goes on";
}

}  // namespace
}  // namespace muster
