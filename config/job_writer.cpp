// Writes a job as TOML: the schema's keys in order, declared options at the end of their table.
#include "base/text.hpp"
#include "config/schema/schema.hpp"
#include "muster/job_file.hpp"

namespace muster {
namespace {

void write_options(const std::string& table, const Job& job, std::string& text) {
  if (table != "model" && table != "data") {
    return;
  }
  for (const auto& [key, option] : table == "model" ? job.model.options : job.data.options) {
    text += key_text(key) + " = " + option_text(option) + '\n';
  }
}

// Whether the table of a key with a short form holds nothing but that key.
bool can_be_short(const Key& key, const Job& job) {
  static const Job defaults;
  for (const Key& other : job_keys()) {
    const bool same_table = table_of(other.path) == table_of(key.path);
    if (same_table && other.path != key.path && other.get(job) != other.get(defaults)) {
      return false;
    }
  }
  return true;
}

const Key* short_key_of(const std::string& table, const Job& job) {
  for (const Key& key : job_keys()) {
    if (key.short_form && table_of(key.path) == table && can_be_short(key, job)) {
      return &key;
    }
  }
  return nullptr;
}

void write_key(const std::string& name, const Key& key, const Job& job, std::string& text) {
  if (const std::optional<Value> value = key.get(job)) {
    text += name + " = " + value_text(key.value, *value) + '\n';
  }
}

}  // namespace

std::string to_toml(const Job& job) {
  std::string text;
  std::string table;
  const Key* short_key = nullptr;  // of the table at hand, when it is written in short
  for (const Key& key : job_keys()) {
    if (table_of(key.path) != table) {
      write_options(table, job, text);
      table = table_of(key.path);
      short_key = short_key_of(table, job);
      if (short_key) {
        write_key(leaf_of(table), *short_key, job, text);  // still inside the table around it
      } else {
        text += "\n[" + table + "]\n";
      }
    }
    if (!short_key && applies(key, job)) {
      write_key(leaf_of(key.path), key, job, text);
    }
  }
  write_options(table, job, text);
  return text;
}

}  // namespace muster
