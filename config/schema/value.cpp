#include "config/schema/value.hpp"

#include <cmath>
#include <limits>

#include "base/check.hpp"
#include "base/nearest.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "config/values/file_check.hpp"
#include "muster/intervals.hpp"

namespace muster {
namespace {

constexpr double kTwoTo63 = 9223372036854775808.0;

bool is_amount(ValueType type) {
  return type == ValueType::integer || type == ValueType::passes || type == ValueType::duration ||
         type == ValueType::size;
}

bool is_text(ValueType type) {
  return type == ValueType::text || type == ValueType::choice || type == ValueType::path ||
         type == ValueType::interval || type == ValueType::rate || type == ValueType::progress;
}

// A bound in the unit of the type.
std::string bound_text(ValueType type, double bound) {
  if (type == ValueType::number) {
    std::string text = number_text(bound);
    return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
  }
  if (bound >= kTwoTo63) {
    return "9223372036854775807";
  }
  const auto whole = static_cast<std::int64_t>(bound);
  if (type == ValueType::duration) {
    return format_duration(std::chrono::milliseconds(whole));
  }
  return type == ValueType::size ? format_size(static_cast<std::uint64_t>(whole)) : std::to_string(whole);
}

std::string range_text(const ValueSpec& spec) {
  const std::string least = spec.least ? bound_text(spec.type, *spec.least) : "";
  const std::string most = spec.most ? bound_text(spec.type, *spec.most) : "";
  if (spec.least && spec.most && !spec.above_least && !spec.below_most) {
    return " from " + least + " to " + most;
  }
  std::string text;
  if (spec.least) {
    text += (spec.above_least ? " above " : " of at least ") + least;
  }
  if (spec.most) {
    text += std::string(text.empty() ? "" : " and") + (spec.below_most ? " below " : " of at most ") + most;
  }
  return text;
}

bool in_range(const ValueSpec& spec, double number) {
  if (spec.least && (spec.above_least ? number <= *spec.least : number < *spec.least)) {
    return false;
  }
  return !spec.most || (spec.below_most ? number < *spec.most : number <= *spec.most);
}

std::optional<Problem> check_text(const ValueSpec& spec, const std::string& text) {
  if (spec.type == ValueType::choice) {
    for (const std::string& choice : spec.choices) {
      if (choice == text) {
        return std::nullopt;
      }
    }
    const std::string near = nearest(text, spec.choices);
    return problem(spec, "unknown value", in_quotes(text), near.empty() ? "" : in_quotes(near));
  }
  if (spec.type == ValueType::interval && !parse_interval(text)) {
    return problem(spec, "not a distance in a run", in_quotes(text));
  }
  if (spec.type == ValueType::rate && !parse_rate(text)) {
    return problem(spec, "not a rate", in_quotes(text));
  }
  if (spec.type == ValueType::progress && !parse_progress_every(text)) {
    return problem(spec, "neither steps nor a time", in_quotes(text));
  }
  if (text.empty()) {
    return spec.not_empty ? std::optional(problem(spec, "empty", in_quotes(text))) : std::nullopt;
  }
  if (spec.type == ValueType::path) {
    const FileProblem file = check_file(text);
    if (!file.why.empty()) {
      return problem(spec, file.why, in_quotes(text), file.nearest.empty() ? "" : in_quotes(file.nearest));
    }
  }
  return std::nullopt;
}

std::optional<Problem> check_amount(const ValueSpec& spec, const Value& value) {
  const auto* amount = std::get_if<std::int64_t>(&value);
  if (!amount) {
    const bool too_large = std::holds_alternative<double>(value);  // an unsigned member beyond 2^63 - 1
    return problem(spec, too_large ? "out of range" : "wrong type", value_text(ValueSpec{}, value));
  }
  const bool word = (spec.type == ValueType::passes || spec.automatic) && *amount == 0;
  if (word || in_range(spec, static_cast<double>(*amount))) {
    return std::nullopt;
  }
  return problem(spec, "out of range", *amount < 0 ? std::to_string(*amount) : value_text(spec, value));
}

std::optional<Problem> check_integers(const ValueSpec& spec, const std::vector<std::int64_t>& items) {
  for (const std::int64_t item : items) {
    if (!in_range(spec, static_cast<double>(item))) {
      return problem(spec, "out of range", "a list that holds " + std::to_string(item));
    }
  }
  return std::nullopt;
}

template <class T, class Write>
std::string list_text(const std::vector<T>& items, Write write) {
  std::string text = "[";
  for (const T& item : items) {
    text += (text.size() > 1 ? ", " : "") + write(item);
  }
  return text + "]";
}

}  // namespace

Problem problem(const ValueSpec& spec, std::string what, std::string found, std::string nearest) {
  return {std::move(what), shortened(std::move(found)), allowed_text(spec), std::move(nearest)};
}

ValueSpec value_spec(const OptionSpec& option) {
  ValueSpec spec;
  switch (option.type) {
    case OptionType::boolean:
      spec.type = ValueType::boolean;
      break;
    case OptionType::integer:
      spec.type = ValueType::integer;
      break;
    case OptionType::number:
      spec.type = ValueType::number;
      break;
    case OptionType::text:
      spec.type = option.allowed.empty() ? ValueType::text : ValueType::choice;
      break;
    case OptionType::path:
      spec.type = ValueType::path;
      spec.not_empty = !option.default_value.has_value();
      break;
    case OptionType::integers:
      spec.type = ValueType::integers;
      break;
  }
  spec.least = option.minimum;
  spec.most = option.maximum;
  spec.choices = option.allowed;
  return spec;
}

std::optional<Problem> check_value(const ValueSpec& spec, const Value& value) {
  if (is_amount(spec.type)) {
    return check_amount(spec, value);
  }
  if (const auto* number = std::get_if<double>(&value); number && spec.type == ValueType::number) {
    const bool good = std::isfinite(*number) && in_range(spec, *number);
    return good ? std::nullopt : std::optional(problem(spec, "out of range", number_text(*number)));
  }
  if (const auto* text = std::get_if<std::string>(&value); text && is_text(spec.type)) {
    return check_text(spec, *text);
  }
  if (const auto* items = std::get_if<std::vector<std::int64_t>>(&value);
      items && spec.type == ValueType::integers) {
    return check_integers(spec, *items);
  }
  const bool same_type =
      (spec.type == ValueType::boolean && std::holds_alternative<bool>(value)) ||
      (spec.type == ValueType::texts && std::holds_alternative<std::vector<std::string>>(value));
  if (same_type) {
    return std::nullopt;
  }
  return problem(spec, "wrong type", value_text(ValueSpec{}, value));
}

namespace {

std::string or_automatic(const ValueSpec& spec) {
  return spec.automatic ? ", or " + in_quotes(kAutomatic) : "";
}

}  // namespace

std::string allowed_text(const ValueSpec& spec) {
  switch (spec.type) {
    case ValueType::boolean:
      return "true or false";
    case ValueType::integer:
      return "an integer" + range_text(spec);
    case ValueType::passes:
      return "an integer" + range_text(spec) + ", or \"forever\"";
    case ValueType::number:
      return "a number" + range_text(spec);
    case ValueType::text:
      return spec.not_empty ? "a string that is not empty" : "a string";
    case ValueType::choice:
      return any_of_text(quoted_all(spec.choices));
    case ValueType::path:
      return "the path of a file that can be read";
    case ValueType::duration:
      return "a duration" + range_text(spec) + ": " + std::string(kDurationAllowed) + or_automatic(spec);
    case ValueType::size:
      return "a size" + range_text(spec) + ": " + std::string(kSizeAllowed) + or_automatic(spec);
    case ValueType::interval:
      return std::string(kIntervalAllowed);
    case ValueType::rate:
      return std::string(kRateAllowed);
    case ValueType::progress:
      return std::string(kProgressEveryAllowed);
    case ValueType::texts:
      return "a list of strings";
    case ValueType::integers:
      return "a list of integers" + (range_text(spec).empty() ? "" : ", each" + range_text(spec));
  }
  MUSTER_CHECK(false, "type", static_cast<int>(spec.type));
  return {};
}

std::string value_text(const ValueSpec& spec, const Value& value) {
  if (const auto* boolean = std::get_if<bool>(&value)) {
    return *boolean ? "true" : "false";
  }
  if (const auto* number = std::get_if<double>(&value)) {
    return number_text(*number);
  }
  if (const auto* text = std::get_if<std::string>(&value)) {
    return in_quotes(*text);
  }
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) {
    return list_text(*integers, [](std::int64_t item) { return std::to_string(item); });
  }
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    return list_text(*texts, [](const std::string& item) { return in_quotes(item); });
  }
  const std::int64_t amount = std::get<std::int64_t>(value);
  switch (spec.type) {
    case ValueType::passes:
      return amount == 0 ? in_quotes("forever") : std::to_string(amount);
    case ValueType::duration:
      if (spec.automatic && amount == 0) return in_quotes(kAutomatic);
      return in_quotes(format_duration(std::chrono::milliseconds(amount)));
    case ValueType::size:
      if (spec.automatic && amount == 0) return in_quotes(kAutomatic);
      return in_quotes(format_size(static_cast<std::uint64_t>(amount)));
    default:
      return std::to_string(amount);
  }
}

Value to_value(const Option& option) {
  return std::visit([](const auto& held) -> Value { return held; }, option);
}

Option to_option(const ValueSpec& spec, const Value& value) {
  const auto* integer = std::get_if<std::int64_t>(&value);
  if (integer && spec.type == ValueType::number) {
    return static_cast<double>(*integer);
  }
  return std::visit(
      [](const auto& held) -> Option {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::vector<std::string>>) {
          MUSTER_CHECK(false, "options hold no lists of strings");
          return {};
        } else {
          return held;
        }
      },
      value);
}

std::string option_text(const Option& option) {
  return value_text(ValueSpec{}, to_value(option));
}

}  // namespace muster
