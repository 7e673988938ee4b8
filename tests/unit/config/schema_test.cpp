#include "config/schema/schema.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "base/text.hpp"
#include "config/schema/exclusions.hpp"
#include "muster/job_file.hpp"
#include "tests/unit/config/sample_job.hpp"

namespace muster {
namespace {

TEST(Schema, KeysAreDistinctExplainedAndGroupedByTable) {
  std::set<std::string> paths;
  std::set<std::string> closed;
  std::string table;
  for (const Key& key : job_keys()) {
    EXPECT_TRUE(paths.insert(key.path).second) << key.path;
    EXPECT_FALSE(key.help.empty()) << key.path;
    EXPECT_EQ(key.help.back(), '.') << key.path;
    EXPECT_FALSE(allowed_text(key.value).empty()) << key.path;
    if (table_of(key.path) != table) {
      closed.insert(table);
      table = table_of(key.path);
      EXPECT_FALSE(closed.contains(table)) << key.path;
    }
    EXPECT_TRUE(key.selector.empty() || find_key(key.selector)) << key.path;
  }
  EXPECT_EQ(find_key("train.bathc"), nullptr);
}

TEST(Schema, EveryKeyIsBoundToAMemberOfItsOwn) {
  const sample::DataFile file;
  for (const Key& key : job_keys()) {
    Job job;
    const std::optional<Value> before = key.get(job);
    Value value;
    switch (key.value.type) {
      case ValueType::boolean:
        value = !(before && std::get<bool>(*before));
        break;
      case ValueType::number:
        value = 0.5;
        break;
      case ValueType::choice:
        value =
            before == Value(key.value.choices.back()) ? key.value.choices.front() : key.value.choices.back();
        break;
      case ValueType::interval:
        value = std::string("77 steps");
        break;
      case ValueType::rate:
        value = std::string("1 in 77 steps");
        break;
      case ValueType::progress:
        value = std::string("77s");
        break;
      case ValueType::text:
        value = std::string("changed");
        break;
      case ValueType::path:
        value = file.path();
        break;
      case ValueType::texts:
        value = std::vector<std::string>{"cpu:3"};
        break;
      default:
        value = std::int64_t{key.path == "data.threads" ? 1 : key.path == "train.wire_exponent" ? 7 : 77};
    }
    ASSERT_FALSE(check_value(key.value, value)) << key.path;
    key.set(job, value);
    EXPECT_EQ(key.get(job), value) << key.path;
    int changed = 0;
    for (const Key& other : job_keys()) {
      changed += other.get(job) != other.get(Job{}) ? 1 : 0;
    }
    EXPECT_EQ(changed, 1) << key.path;
  }
}

// What passes the check fits its member: the largest allowed integer can be set.
TEST(Schema, BoundsFitTheMembers) {
  for (const Key& key : job_keys()) {
    const bool amount = key.value.type == ValueType::integer || key.value.type == ValueType::passes ||
                        key.value.type == ValueType::size || key.value.type == ValueType::duration;
    if (!amount) {
      continue;
    }
    const bool open = !key.value.most || *key.value.most >= 9e18;
    const std::int64_t most =
        open ? std::numeric_limits<std::int64_t>::max() : static_cast<std::int64_t>(*key.value.most);
    Job job;
    key.set(job, most);
    EXPECT_EQ(key.get(job), Value(most)) << key.path;
  }
}

TEST(Schema, DefaultsPassTheirOwnChecks) {
  for (const Key& key : job_keys()) {
    const std::optional<Value> value = key.get(Job{});
    if (value && !key.required && applies(key, Job{})) {
      EXPECT_FALSE(check_value(key.value, *value)) << key.path;
    }
  }
}

TEST(Schema, TheReferenceNamesEveryKeyAndOption) {
  const std::string page = job_reference_markdown(sample::declarations());
  const std::string text = job_reference_text(sample::declarations());
  for (const Key& key : job_keys()) {
    EXPECT_NE(page.find("| `" + leaf_of(key.path) + "` |"), std::string::npos) << key.path;
    EXPECT_NE(text.find("\n  " + leaf_of(key.path) + "\n"), std::string::npos) << key.path;
  }
  for (const std::string& table : job_tables()) {
    EXPECT_NE(page.find("\n## [" + table + "]\n"), std::string::npos) << table;
  }
  EXPECT_NE(page.find("| `shards` | an integer from 1 to 65536 | `1` |"), std::string::npos) << page;
  EXPECT_NE(page.find("## [model] with name = \"mlp\""), std::string::npos);
  EXPECT_NE(page.find("| `hidden` | a list of integers, each of at least 1 | `[128, 64]` |"),
            std::string::npos);
  EXPECT_NE(page.find("| `heartbeat` | a duration from 1ms to 8760h"), std::string::npos);
  EXPECT_EQ(text.find('`'), std::string::npos);
}

TEST(Schema, TheReferenceNamesOptionsThatExcludeEachOther) {
  const std::string page = job_reference_markdown(sample::declarations());
  for (const Exclusion& each : exclusions()) {
    for (const std::string& key : keys_of(each)) {
      ASSERT_NE(find_key(key), nullptr) << key;
      EXPECT_NE(page.find(find_key(key)->help + " Incompatible with "), std::string::npos) << key;
    }
    EXPECT_NE(page.find("` | `" + each.other + "` | " + each.allowed + " |"), std::string::npos) << each.key;
  }
  EXPECT_EQ(excluded_by("train.epochs"), "`train.steps`, `data.repeat`");
  EXPECT_EQ(excluded_by("train.compression.name"),
            "`train.shard_optimizer`, `cluster.straggler.action = \"speculate\"`");
  EXPECT_EQ(excluded_by("seed"), "");
}

}  // namespace
}  // namespace muster
