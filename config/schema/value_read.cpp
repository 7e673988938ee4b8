// Reads values from TOML: types first, then units and lists; ranges are checked in value.cpp.
#include "base/nearest.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "config/schema/value.hpp"

namespace muster {
namespace {

// The TOML node as a value of the type, without checks of its range; nullopt: another type.
std::optional<Value> value_in(const ValueSpec& spec, const TomlNode& node) {
  const auto* integer = std::get_if<std::int64_t>(&node.value);
  const auto* text = std::get_if<std::string>(&node.value);
  switch (spec.type) {
    case ValueType::boolean:
      return std::holds_alternative<bool>(node.value) ? std::optional<Value>(std::get<bool>(node.value))
                                                      : std::nullopt;
    case ValueType::integer:
    case ValueType::passes:
      return integer ? std::optional<Value>(*integer) : std::nullopt;
    case ValueType::number:
      if (const auto* number = std::get_if<double>(&node.value)) {
        return *number;
      }
      return integer ? std::optional<Value>(static_cast<double>(*integer)) : std::nullopt;
    case ValueType::text:
    case ValueType::choice:
    case ValueType::path:
    case ValueType::interval:
    case ValueType::rate:
    case ValueType::progress:
      return text ? std::optional<Value>(*text) : std::nullopt;
    default:
      return std::nullopt;  // durations, sizes and lists are read elsewhere
  }
}

// How a node reads in a message: its value if it is short to say, and its type.
std::string found_text(const TomlNode& node) {
  if (const auto* boolean = std::get_if<bool>(&node.value)) {
    return *boolean ? "true (a boolean)" : "false (a boolean)";
  }
  if (const auto* integer = std::get_if<std::int64_t>(&node.value)) {
    return std::to_string(*integer) + " (an integer)";
  }
  if (const auto* number = std::get_if<double>(&node.value)) {
    return number_text(*number) + " (a number)";
  }
  if (const auto* text = std::get_if<std::string>(&node.value)) {
    return shortened(in_quotes(*text)) + " (a string)";
  }
  return type_words(node);
}

ReadValue wrong_type(const ValueSpec& spec, const TomlNode& node) {
  std::string near;
  if (const auto* text = std::get_if<std::string>(&node.value)) {
    if (spec.type == ValueType::boolean) {
      near = nearest(*text, {"true", "false"});
    } else if (spec.type == ValueType::passes) {
      near = nearest(*text, {"forever"});
      near = near.empty() ? "" : in_quotes(near);
    }
  }
  return {{}, problem(spec, "wrong type", found_text(node), near)};
}

ReadValue read_with_unit(const ValueSpec& spec, const TomlNode& node) {
  const auto* text = std::get_if<std::string>(&node.value);
  if (!text) {
    return wrong_type(spec, node);
  }
  if (spec.automatic && *text == kAutomatic) {
    return {std::int64_t{0}, {}};
  }
  std::string why;
  std::string near;
  std::optional<std::int64_t> amount;
  if (spec.type == ValueType::duration) {
    const auto parsed = parse_duration(*text);
    why = parsed.why;
    near = parsed.nearest;
    amount = parsed.value ? std::optional<std::int64_t>(parsed.value->count()) : std::nullopt;
  } else {
    const auto parsed = parse_size(*text);
    why = parsed.why;
    near = parsed.nearest;
    amount = parsed.value ? std::optional(static_cast<std::int64_t>(*parsed.value)) : std::nullopt;
  }
  if (near.empty() && spec.automatic) near = nearest(*text, {kAutomatic});
  if (!amount) {
    return {{}, problem(spec, why, in_quotes(*text), near.empty() ? "" : in_quotes(near))};
  }
  if (spec.automatic && *amount == 0) {
    return {{}, problem(spec, "out of range", in_quotes(*text))};
  }
  if (auto wrong = check_value(spec, *amount)) {
    return {{}, wrong};
  }
  return {*amount, {}};
}

template <class T>
ReadValue read_list(const ValueSpec& spec, const TomlNode& node) {
  const auto* list = std::get_if<TomlList>(&node.value);
  if (!list) {
    return wrong_type(spec, node);
  }
  std::vector<T> items;
  for (const TomlNode& item : *list) {
    const T* value = std::get_if<T>(&item.value);
    if (!value) {
      return {{}, problem(spec, "wrong type", "a list that holds " + found_text(item))};
    }
    items.push_back(*value);
  }
  if (auto wrong = check_value(spec, items)) {
    return {{}, wrong};
  }
  return {items, {}};
}

}  // namespace

ReadValue read_value(const ValueSpec& spec, const TomlNode& node) {
  switch (spec.type) {
    case ValueType::duration:
    case ValueType::size:
      return read_with_unit(spec, node);
    case ValueType::texts:
      return read_list<std::string>(spec, node);
    case ValueType::integers:
      return read_list<std::int64_t>(spec, node);
    default:
      break;
  }
  if (spec.type == ValueType::passes) {
    const auto* text = std::get_if<std::string>(&node.value);
    if (text && *text == "forever") {
      return {std::int64_t{0}, {}};
    }
    const auto* integer = std::get_if<std::int64_t>(&node.value);
    if (integer && *integer == 0) {
      return {{}, problem(spec, "out of range", "0")};
    }
  }
  std::optional<Value> value = value_in(spec, node);
  if (!value) {
    return wrong_type(spec, node);
  }
  if (auto wrong = check_value(spec, *value)) {
    return {{}, wrong};
  }
  return {value, {}};
}

}  // namespace muster
