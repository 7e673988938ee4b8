#include "config/job_hash.hpp"

#include "base/check.hpp"
#include "base/text.hpp"
#include "config/option_check.hpp"
#include "config/schema/schema.hpp"
#include "muster/job_file.hpp"

namespace muster {

namespace {

void add_options(const std::string& table, const Options& options,
                 const std::optional<std::vector<OptionSpec>>& declared, std::string& text) {
  for (const auto& [key, value] : options) {
    bool names_a_file = false;
    for (std::size_t i = 0; declared && i < declared->size(); ++i) {
      names_a_file |= (*declared)[i].key == key && (*declared)[i].type == OptionType::path;
    }
    if (!names_a_file) text += table + " option " + key_text(key) + " = " + option_text(value) + "\n";
  }
}

}  // namespace

std::string job_mathematics(const Job& job, const Declarations& declarations) {
  const Job whole = with_defaults(job, declarations);
  std::string text = "muster mathematics 1\n";
  for (const Key& key : job_keys()) {
    MUSTER_CHECK(key.in_hash != InHash::undecided, key.path);
    if (key.in_hash == InHash::no || !applies(key, whole)) continue;
    const auto value = key.get(whole);
    text += key.path + " = " + (value ? value_text(key.value, *value) : std::string("not given")) + "\n";
  }
  if (!whole.model.content.empty()) text += "model content = " + whole.model.content + "\n";
  add_options("model", whole.model.options, declared_options("model", whole, declarations), text);
  add_options("data", whole.data.options, declared_options("data", whole, declarations), text);
  return text;
}

}  // namespace muster
