// A TOML document as a plain tree in which every key and value knows its place. The only door to toml++.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "muster/mistake.hpp"

namespace muster {

struct TomlNode;
struct TomlEntry;
using TomlList = std::vector<TomlNode>;
using TomlTable = std::vector<TomlEntry>;  ///< sorted by key; each key once

/// A date or a time; jobs use none.
struct TomlDate {};

struct TomlNode {
  std::variant<bool, std::int64_t, double, std::string, TomlDate, TomlList, TomlTable> value;
  Place place;

  const TomlTable* table() const { return std::get_if<TomlTable>(&value); }
  TomlTable* table() { return std::get_if<TomlTable>(&value); }
};

struct TomlEntry {
  std::string key;
  Place place;  ///< of the key
  TomlNode node;
};

struct ParsedToml {
  TomlNode root;  ///< a table; empty when there is a mistake
  std::optional<Mistake> mistake;
};

/// A document. A syntax error comes with file, line and column. Nothing is thrown.
ParsedToml parse_toml(const std::string& text, const std::string& file_name);

/// Longest text that is parsed, in bytes, and deepest nesting of tables and lists; beyond them is a mistake.
inline constexpr std::size_t kTomlBytesMax = 256 << 10;
inline constexpr int kTomlDepthMax = 32;

struct ParsedSet {
  std::vector<std::string> path;  ///< {"train", "batch"}
  TomlNode node;
  std::optional<Mistake> mistake;
};

/// An override "table.key=value". The value is TOML; what is not valid TOML is a string.
ParsedSet parse_set(const std::string& set);

/// Writes the value of an override into the tree. What is not a table on its way becomes one, in which it
/// stands under `short_for(its path)`; where that is empty, it goes: the schema will say what is wrong.
void apply_set(TomlNode& root, const ParsedSet& set,
               const std::function<std::string(const std::string&)>& short_for);

/// The entry of a key, or null.
const TomlEntry* find_entry(const TomlTable& table, const std::string& key);

/// What a node is, in words: "a string", "an integer", "a list".
std::string type_words(const TomlNode& node);

}  // namespace muster
