// The terms in which the schema is written (schema.cpp): kinds of values, and keys.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/schema/schema.hpp"

namespace muster::terms {

inline ValueSpec of(ValueType type) {
  ValueSpec spec;
  spec.type = type;
  return spec;
}

inline ValueSpec name_spec() {
  ValueSpec spec = of(ValueType::text);
  spec.not_empty = true;
  return spec;
}

/// A year, in ms: a run waits for 20 times a duration, in nanoseconds of 64 bits.
inline constexpr double kDurationMost = 365.0 * 24 * 3'600'000;

inline ValueSpec at_least(ValueType type, double least) {
  ValueSpec spec = of(type);
  spec.least = least;
  if (type == ValueType::duration) spec.most = kDurationMost;
  return spec;
}

inline ValueSpec between(ValueType type, double least, double most) {
  ValueSpec spec = at_least(type, least);
  spec.most = most;
  return spec;
}

inline ValueSpec above(double least) {
  ValueSpec spec = at_least(ValueType::number, least);
  spec.above_least = true;
  return spec;
}

inline ValueSpec fraction() {
  ValueSpec spec = between(ValueType::number, 0, 1);
  spec.below_most = true;
  return spec;
}

// Of something: not nothing.
inline ValueSpec share() {
  ValueSpec spec = between(ValueType::number, 0, 1);
  spec.above_least = true;
  return spec;
}

inline ValueSpec or_auto(ValueSpec spec) {
  spec.automatic = true;
  return spec;
}

inline ValueSpec one_of(std::vector<std::string> choices) {
  ValueSpec spec = of(ValueType::choice);
  spec.choices = std::move(choices);
  return spec;
}

inline Key key(std::string path, ValueSpec value, std::string help, std::string default_words = {}) {
  Key result;
  result.path = std::move(path);
  result.value = std::move(value);
  result.help = std::move(help);
  result.default_text = std::move(default_words);
  return result;
}

// A key outside [cluster] and [checkpoint] says whether it fixes the mathematics.
constexpr InHash kFixes = InHash::yes;
constexpr InHash kFree = InHash::no;

inline Key key(InHash in_hash, std::string path, ValueSpec value, std::string help,
               std::string default_words = {}) {
  Key result = key(std::move(path), std::move(value), std::move(help), std::move(default_words));
  result.in_hash = in_hash;
  return result;
}

inline Key required(Key key) {
  key.required = true;
  return key;
}

inline Key only_with(const char* selector, std::vector<std::string> values, Key key) {
  key.selector = selector;
  key.selected_by = std::move(values);
  return key;
}

}  // namespace muster::terms
