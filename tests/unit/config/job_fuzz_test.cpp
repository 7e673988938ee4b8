// Damaged job files and overrides: whatever the bytes, reading ends with a job or with mistakes that can be
// shown.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "muster/job_file.hpp"
#include "tests/unit/config/sample_job.hpp"

namespace muster {
namespace {

using sample::DataFile;
using sample::job_text;

constexpr int kRounds = 6000;

class JobFuzz : public ::testing::Test {
 protected:
  std::size_t below(std::size_t bound) {
    return static_cast<std::size_t>(random_() % std::max<std::size_t>(bound, 1));
  }

  std::string fragment() {
    static const std::vector<std::string> fragments = {"=",
                                                       "[",
                                                       "]",
                                                       "[[",
                                                       "{",
                                                       "}",
                                                       "\"",
                                                       "'''",
                                                       "\n",
                                                       "#",
                                                       ".",
                                                       "-1",
                                                       "1e999",
                                                       "nan",
                                                       "0x",
                                                       "_",
                                                       "true",
                                                       "\\u00e9",
                                                       "\xff",
                                                       "\xc3",
                                                       ",",
                                                       "2020-01-01",
                                                       "[train",
                                                       "forever",
                                                       "99999999999999999999",
                                                       "a.b.c.d = 1\n",
                                                       "[model.name]\n",
                                                       "\r",
                                                       "name = 3\n",
                                                       "inf"};
    return fragments[below(fragments.size())];
  }

  void mutate(std::string& text) {
    const std::size_t at = below(text.size() + 1);
    switch (below(6)) {
      case 0:
        text.insert(at, 1, static_cast<char>(below(256)));
        break;
      case 1:
        text.erase(at, below(8));
        break;
      case 2:
        text.insert(at, fragment());
        break;
      case 3:
        text.insert(at, text.substr(below(text.size()), below(60)));
        break;
      case 4:
        if (at < text.size()) {
          text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        }
        break;
      default:
        text.replace(at, std::min<std::size_t>(below(6), text.size() - at), fragment());
    }
  }

  void check(const std::string& text, const std::vector<std::string>& sets) {
    const ParsedJob parsed = read_job_text(text, "job.toml", sets, declarations_);
    ASSERT_EQ(parsed.job.has_value(), parsed.mistakes.empty());
    const std::string shown = render(parsed.mistakes);
    ASSERT_EQ(static_cast<std::size_t>(std::count(shown.begin(), shown.end(), '\n')), parsed.mistakes.size());
    for (const Mistake& mistake : parsed.mistakes) {
      ASSERT_TRUE(!mistake.set.empty() || (mistake.line >= 1 && mistake.column >= 1)) << render(mistake);
    }
    if (parsed.job) {
      ++jobs_;
      const ParsedJob again = read_job_text(to_toml(*parsed.job), "again.toml", {}, declarations_);
      ASSERT_EQ(again.job, parsed.job) << render(again.mistakes) << to_toml(*parsed.job);
    }
  }

  std::mt19937_64 random_{7};
  DataFile file_;
  Declarations declarations_ = sample::declarations();
  int jobs_ = 0;
};

TEST_F(JobFuzz, MutatedFilesNeverCrash) {
  const std::string good = job_text(file_);
  for (int round = 0; round < kRounds && !HasFatalFailure(); ++round) {
    std::string text = good;
    for (std::size_t count = 1 + below(4); count > 0; --count) {
      mutate(text);
    }
    SCOPED_TRACE(text);
    check(text, {});
  }
  EXPECT_GT(jobs_, kRounds / 100);  // some mutations are harmless: both ends are reached
  EXPECT_LT(jobs_, kRounds);
}

TEST_F(JobFuzz, MutatedOverridesNeverCrash) {
  const std::string good = job_text(file_);
  const std::vector<std::string> sets = {"train.optimizer.learning_rate=0.1",
                                         "train.optimizer.learning_rate={schedule=\"step\",every=3}",
                                         "cluster.devices=[\"cpu:0\",\"cpu:1\"]",
                                         "data.memory=64MiB",
                                         "name=some words",
                                         "model.hidden=[1,2]"};
  for (int round = 0; round < kRounds && !HasFatalFailure(); ++round) {
    std::string first = sets[below(sets.size())];
    mutate(first);
    SCOPED_TRACE(first);
    check(good, {first, sets[below(sets.size())]});
  }
}

TEST_F(JobFuzz, DeepNestingIsRefused) {
  std::string dotted = "a";
  for (int depth = 0; depth < 100000; ++depth) {
    dotted += ".a";
  }
  check(dotted + " = 1\n", {});
  check("[" + dotted + "]\n", {});
  check("a = { " + dotted + " = 1 }\n", {});
  check(job_text(file_), {dotted + "=1", "name={" + dotted + "=1}", "name=" + std::string(1000, '[')});
  check("a = " + std::string(1000, '[') + std::string(1000, ']') + "\n", {});
}

}  // namespace
}  // namespace muster
