// [model]: exactly one of name, file and library; what each declares, and what of it is in the job's hash.
#include "config/model_choice.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "config/job_hash.hpp"
#include "tests/unit/config/sample_job.hpp"

namespace muster {
namespace {

using sample::DataFile;
using sample::option_spec;
using sample::replaced;

/// A program that reads files, and loads libraries: of a path with "two" in it come two models, with "none"
/// in it an error, else one.
Declarations declarations() {
  Declarations all = sample::declarations();
  all.script = std::vector<OptionSpec>{option_spec("input", OptionType::integers, std::nullopt, 1)};
  all.open_library = [](const std::string& path) {
    if (path.find("none") != std::string::npos) throw std::runtime_error("is no library\nof models");
    Declarations::Named models{
        {"mine", {option_spec("depth", OptionType::integer, Option(std::int64_t{3}))}}};
    if (path.find("two") != std::string::npos) models["other"] = {};
    return models;
  };
  all.hash_file = [](const std::string& path) { return "hash of " + path.substr(path.rfind('/') + 1); };
  return all;
}

class ModelChoice : public ::testing::Test {
 protected:
  ModelChoice() {
    for (const char* name : {"model.pt", "one.so", "two.so", "none.so"})
      std::ofstream(file_.folder() + "/" + name) << name;
  }

  std::string path(const std::string& name) const { return "\"" + file_.folder() + "/" + name + "\""; }

  ParsedJob parsed(const std::string& lines) const {
    const std::string text = replaced(sample::job_text(file_), "name = \"mlp\"\nhidden = [100, 10]\n", lines);
    return read_job_text(text, "job.toml", {}, declarations());
  }

  std::string mistakes(const std::string& lines) const { return render(parsed(lines).mistakes); }

  void expect_mistake(const std::string& lines, const std::string& says) const {
    EXPECT_NE(mistakes(lines).find(says), std::string::npos) << mistakes(lines);
  }

  Job job(const std::string& lines) const {
    const ParsedJob result = parsed(lines);
    EXPECT_TRUE(result.job) << render(result.mistakes);
    return result.job.value_or(Job{});
  }

  DataFile file_;
};

TEST_F(ModelChoice, AFileHasTheOptionsOfFiles) {
  const Job read = job("file = " + path("model.pt") + "\ninput = [1, 28, 28]\n");
  EXPECT_EQ(read.model.name, "");
  EXPECT_EQ(option<std::vector<std::int64_t>>(read.model.options, "input").size(), 3u);
  EXPECT_EQ(read.model.content, "hash of model.pt");
  expect_mistake("file = " + path("model.pt") + "\n", "model.input: missing");
  expect_mistake("file = " + path("model.pt") + "\ninput = [1]\nhidden = [3]\n", "model.hidden: unknown key");
}

TEST_F(ModelChoice, ALibraryDeclaresTheOptionsOfItsModel) {
  EXPECT_EQ(option<std::int64_t>(job("library = " + path("one.so") + "\n").model.options, "depth"), 3);
  const Job chosen = job("library = " + path("two.so") + "\nentry = \"mine\"\ndepth = 5\n");
  EXPECT_EQ(option<std::int64_t>(chosen.model.options, "depth"), 5);
  EXPECT_EQ(chosen.model.content, "hash of two.so");
  EXPECT_NE(chosen.model.shown().find("two.so (mine)"), std::string::npos);
  expect_mistake("library = " + path("two.so") + "\n",
                 "model.entry: missing, the library has several models; allowed: \"mine\" or \"other\"");
  expect_mistake("library = " + path("two.so") + "\nentry = \"mime\"\n", "did you mean \"mine\"?");
  expect_mistake("library = " + path("one.so") + "\ndept = 5\n", "did you mean model.depth?");
  EXPECT_EQ(mistakes("library = " + path("none.so") + "\n").find('\n'),
            mistakes("library = " + path("none.so") + "\n").size() - 1);
  expect_mistake("library = " + path("none.so") + "\n", "job.toml:4:11: model.library: is no library");
}

TEST_F(ModelChoice, ExactlyOneIsGiven) {
  expect_mistake("", "job.toml:3:2: model.name: missing; allowed: \"fashion_cnn\" or \"mlp\"; or file = ");
  expect_mistake("name = \"mlp\"\nfile = " + path("model.pt") + "\n",
                 "job.toml:5:8: model.file: incompatible with model.name");
  expect_mistake("name = \"mlp\"\nfile = \"a\"\nlibrary = \"b\"\nhidden = [1]\n", "exactly one of them");
  expect_mistake("name = \"mlp\"\nentry = \"mine\"\n", "model.entry: belongs to model.library");
  expect_mistake("file = \"\"\n", "model.file");
}

TEST_F(ModelChoice, WhatIsNotThereIsSaidWithTheNearest) {
  expect_mistake("file = " + path("modl.pt") + "\ninput = [1]\n", "model.file: no such file");
  expect_mistake("file = " + path("modl.pt") + "\ninput = [1]\n", "model.pt\"?");
  expect_mistake("library = \"/proc\"\n", "model.library: a folder, not a file");
}

TEST_F(ModelChoice, AProgramWithoutThemSaysSo) {
  const std::string text = replaced(sample::job_text(file_), "name = \"mlp\"\nhidden = [100, 10]\n",
                                    "library = " + path("one.so") + "\n");
  const std::string said = render(read_job_text(text, "job.toml", {}, sample::declarations()).mistakes);
  EXPECT_NE(said.find("this program loads no libraries"), std::string::npos) << said;
}

TEST_F(ModelChoice, WritingAndReadingGivesTheSameJob) {
  for (const std::string& lines :
       {"file = " + path("model.pt") + "\ninput = [4]\n", "library = " + path("one.so") + "\n",
        "library = " + path("two.so") + "\nentry = \"other\"\n"}) {
    const Job read = job(lines);
    const ParsedJob again = read_job_text(to_toml(read), "again.toml", {}, declarations());
    ASSERT_TRUE(again.job) << render(again.mistakes) << to_toml(read);
    EXPECT_EQ(*again.job, read);
    EXPECT_TRUE(check_job(read, {}, declarations()).empty());
  }
}

TEST_F(ModelChoice, TheContentIsInTheHashAndThePathIsNot) {
  const auto mathematics = [&](const Job& one) { return job_mathematics(one, declarations()); };
  const Job read = job("file = " + path("model.pt") + "\ninput = [4]\n");
  Job moved = read;
  moved.model.file = "elsewhere/model.pt";
  EXPECT_EQ(mathematics(read), mathematics(moved));
  moved.model.content = "hash of another";
  EXPECT_NE(mathematics(read), mathematics(moved));
  Job entered = job("library = " + path("two.so") + "\nentry = \"mine\"\n");
  const std::string before = mathematics(entered);
  entered.model.entry = "other";
  EXPECT_NE(before, mathematics(entered));
}

}  // namespace
}  // namespace muster
