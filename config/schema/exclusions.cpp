#include "config/schema/exclusions.hpp"

#include "base/text.hpp"
#include "config/schema/schema.hpp"

namespace muster {
namespace {

std::string deciding_key(const std::string& option) {
  return find_key(option) ? option : join_path(option, "name");
}

// The value of a key, unless it is the default.
std::optional<Value> given(const Job& job, const std::string& path) {
  static const Job defaults;
  const Key& key = *find_key(path);
  const std::optional<Value> value = key.get(job);
  return value == key.get(defaults) ? std::nullopt : value;
}

std::string with_value(const Job& job, const std::string& path) {
  const Key& key = *find_key(path);
  return path + " = " + shortened(value_text(key.value, *key.get(job)));
}

std::string option_text(const Exclusion& exclusion) {
  return '`' + exclusion.key + (exclusion.value.empty() ? "" : " = " + in_quotes(exclusion.value)) + '`';
}

std::vector<Exclusion> table() {
  const char* const kOneModel = "exactly one of them";
  return {
      {"model.file", "", "model.name", kOneModel},
      {"model.library", "", "model.name", kOneModel},
      {"model.library", "", "model.file", kOneModel},
      {"train.steps", "", "train.epochs", "one of the two"},
      {"data.repeat", "", "train.epochs", "train.epochs alone, or data.repeat with train.steps"},
      {"train.shard_optimizer", "", "train.compression",
       "one of the two: a sharded optimizer sends new parameters, which are not compressed"},
      // What a shard's steps left out is with its replica and that one's buddy alone.
      {"cluster.straggler.action", "speculate", "train.compression",
       "\"wait\", \"evict\", \"shed\" or \"drop\": a backup task needs what the shard's earlier steps left "
       "out, and most replicas do not have it"},
      {"train.clip_norm", "", "train.shard_optimizer",
       "one of the two: with a sharded optimizer each replica has a part of the mean gradient, and updates "
       "it before the norm of the whole gradient is known"},
      {"reduce.algorithm", "one_shot", "train.shard_optimizer",
       "\"auto\" or another one: with one_shot every replica adds the whole gradient, and a sharded "
       "optimizer needs an owner for each range"},
  };
}

}  // namespace

const std::vector<Exclusion>& exclusions() {
  static const std::vector<Exclusion> all = table();
  return all;
}

std::vector<std::string> keys_of(const Exclusion& exclusion) {
  return {exclusion.key, deciding_key(exclusion.other)};
}

bool has_both(const Job& job, const Exclusion& exclusion) {
  const std::optional<Value> value = given(job, exclusion.key);
  if (!value || !given(job, deciding_key(exclusion.other))) return false;
  return exclusion.value.empty() || *value == Value(exclusion.value);
}

Mistake mistake_of(const Exclusion& exclusion, const Job& job, const Places& places) {
  return mistake_at(places, exclusion.key, "incompatible with " + exclusion.other,
                    with_value(job, deciding_key(exclusion.other)) + " and " + with_value(job, exclusion.key),
                    exclusion.allowed);
}

std::string excluded_by(const std::string& key) {
  std::string text;
  for (const Exclusion& exclusion : exclusions()) {
    const bool other = deciding_key(exclusion.other) == key;
    if (!other && exclusion.key != key) continue;
    text += (text.empty() ? "" : ", ") + (other ? option_text(exclusion) : '`' + exclusion.other + '`');
  }
  return text;
}

std::string exclusions_markdown() {
  std::string page =
      "\n## Options that exclude each other\n\nA job with both is refused.\n\n"
      "| option | incompatible with | allowed |\n| --- | --- | --- |\n";
  for (const Exclusion& each : exclusions())
    page += "| " + option_text(each) + " | `" + each.other + "` | " + each.allowed + " |\n";
  return page;
}

}  // namespace muster
