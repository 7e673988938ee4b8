#include "config/schema/toml_tree.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.hpp"

namespace muster {
namespace {

// The place of a node: in the file, or in the override that brought it.
Place place_of(const toml::source_region& source, const Place& origin) {
  if (!origin.set.empty()) {
    return origin;
  }
  return {origin.file, static_cast<int>(source.begin.line), static_cast<int>(source.begin.column), {}};
}

struct TooDeep {
  Place place;
};

TomlNode convert(const toml::node& node, const Place& origin, int depth);

TomlTable convert_table(const toml::table& table, const Place& origin, int depth) {
  TomlTable result;
  for (const auto& [key, child] : table) {
    result.push_back({std::string(key.str()), place_of(key.source(), origin), convert(child, origin, depth)});
  }
  std::sort(result.begin(), result.end(),
            [](const TomlEntry& a, const TomlEntry& b) { return a.key < b.key; });
  return result;
}

TomlList convert_list(const toml::array& list, const Place& origin, int depth) {
  TomlList result;
  for (const toml::node& child : list) {
    result.push_back(convert(child, origin, depth));
  }
  return result;
}

TomlNode convert(const toml::node& node, const Place& origin, int depth) {
  TomlNode result;
  result.place = place_of(node.source(), origin);
  if (depth >= kTomlDepthMax) {
    throw TooDeep{result.place};
  }
  if (const auto* table = node.as_table()) {
    result.value = convert_table(*table, origin, depth + 1);
  } else if (const auto* list = node.as_array()) {
    result.value = convert_list(*list, origin, depth + 1);
  } else if (const auto* text = node.as_string()) {
    result.value = text->get();
  } else if (const auto* integer = node.as_integer()) {
    result.value = integer->get();
  } else if (const auto* number = node.as_floating_point()) {
    result.value = number->get();
  } else if (const auto* boolean = node.as_boolean()) {
    result.value = boolean->get();
  } else {
    result.value = TomlDate{};
  }
  return result;
}

std::optional<TomlNode> parse_set_value(const std::string& value, const Place& place) {
  try {
    const toml::table table = toml::parse("v = " + value);
    if (table.size() != 1 || !table.contains("v")) {
      return std::nullopt;  // a line break in the value brought keys of its own
    }
    return convert(*table.get("v"), place, 1);
  } catch (const toml::parse_error&) {
    return std::nullopt;
  }
}

// Splits "train.optimizer.name" at its dots; false where a part is empty.
bool split_path(const std::string& text, std::vector<std::string>& path) {
  std::size_t begin = 0;
  while (true) {
    const std::size_t dot = text.find('.', begin);
    path.push_back(text.substr(begin, dot == std::string::npos ? dot : dot - begin));
    if (path.back().empty() || path.size() >= kTomlDepthMax) {
      return false;
    }
    if (dot == std::string::npos) {
      return true;
    }
    begin = dot + 1;
  }
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// Whether a dotted key is so long that the tree behind it would overflow the stack of those who walk it,
// toml++ first. Looks for dots that join words; whatever can end a key starts the count anew.
bool has_endless_key(const std::string& text) {
  constexpr std::string_view kEnds = "=,[]{}#\r\n";
  constexpr int kDotsMax = 64;
  int dots = 0;
  char last = '.';
  for (const char c : text) {
    if (kEnds.find(c) != std::string_view::npos || (c == '.' && last == '.')) {
      dots = 0;
    } else if (c == '.' && ++dots > kDotsMax) {
      return true;
    }
    last = c == ' ' || c == '\t' ? last : c;
  }
  return false;
}

Mistake too_deep(const Place& place) {
  return mistake_in(place, "",
                    "too long, or tables and lists nested deeper than " + std::to_string(kTomlDepthMax));
}

}  // namespace

ParsedToml parse_toml(const std::string& text, const std::string& file_name) {
  ParsedToml result{{TomlTable{}, {file_name, 1, 1, {}}}, {}};
  const Place origin{file_name, 0, 0, {}};
  if (text.size() > kTomlBytesMax) {
    result.mistake = mistake_in(origin, "", "too long", std::to_string(text.size()) + " bytes",
                                "at most " + std::to_string(kTomlBytesMax) + " bytes");
    return result;
  }
  if (has_endless_key(text)) {
    result.mistake = too_deep(result.root.place);
    return result;
  }
  try {
    const toml::table table = toml::parse(text);
    result.root.value = convert_table(table, origin, 1);
  } catch (const toml::parse_error& error) {
    result.mistake = mistake_in(place_of(error.source(), origin), "",
                                "not valid TOML: " + std::string(error.description()));
  } catch (const TooDeep& deep) {
    result.mistake = too_deep(deep.place);
  }
  return result;
}

ParsedSet parse_set(const std::string& set) {
  ParsedSet result;
  const Place place{{}, 0, 0, set.empty() ? "\"\"" : set};
  const std::size_t equals = set.find('=');
  if (equals == std::string::npos || !split_path(trimmed(set.substr(0, equals)), result.path)) {
    result.mistake = mistake_in(place, "", "not an override", "", "--set table.key=value");
    return result;
  }
  const std::string value = trimmed(set.substr(equals + 1));
  if (set.size() > kTomlBytesMax || has_endless_key(value)) {
    result.mistake = too_deep(place);
    return result;
  }
  try {
    std::optional<TomlNode> node = parse_set_value(value, place);
    if (!node) {
      node = parse_set_value(in_quotes(value), place);
    }
    if (node) {
      result.node = std::move(*node);
    } else {
      result.mistake = mistake_in(place, trimmed(set.substr(0, equals)), "not valid UTF-8");
    }
  } catch (const TooDeep& deep) {
    result.mistake = too_deep(deep.place);
  }
  return result;
}

void apply_set(TomlNode& root, const ParsedSet& set,
               const std::function<std::string(const std::string&)>& short_for) {
  TomlNode* node = &root;
  std::string path;
  for (const std::string& key : set.path) {
    if (!node->table()) {
      const std::string leaf = short_for(path);
      TomlNode before = std::exchange(*node, {TomlTable{}, set.node.place});
      if (!leaf.empty()) node->table()->push_back({leaf, before.place, std::move(before)});
    }
    path += (path.empty() ? "" : ".") + key;
    TomlTable& table = *node->table();
    auto entry = std::lower_bound(table.begin(), table.end(), key,
                                  [](const TomlEntry& e, const std::string& k) { return e.key < k; });
    if (entry == table.end() || entry->key != key) {
      entry = table.insert(entry, {key, set.node.place, {TomlTable{}, set.node.place}});
    }
    node = &entry->node;
  }
  *node = set.node;
}

const TomlEntry* find_entry(const TomlTable& table, const std::string& key) {
  const auto entry = std::lower_bound(table.begin(), table.end(), key,
                                      [](const TomlEntry& e, const std::string& k) { return e.key < k; });
  return entry == table.end() || entry->key != key ? nullptr : &*entry;
}

std::string type_words(const TomlNode& node) {
  static constexpr const char* kWords[] = {"a boolean",      "an integer", "a number", "a string",
                                           "a date or time", "a list",     "a table"};
  return kWords[node.value.index()];
}

}  // namespace muster
