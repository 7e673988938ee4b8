// Binds a key of the schema to a member of Job: one accessor serves reading and writing.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/check.hpp"
#include "config/schema/schema.hpp"

namespace muster::binding {

inline Value value_of(bool member, const ValueSpec&) {
  return member;
}
inline Value value_of(double member, const ValueSpec&) {
  return member;
}
inline Value value_of(const std::string& member, const ValueSpec&) {
  return member;
}
inline Value value_of(const std::vector<std::string>& member, const ValueSpec&) {
  return member;
}
inline Value value_of(std::chrono::milliseconds member, const ValueSpec&) {
  return std::int64_t{member.count()};
}
inline Value value_of(const Interval& member, const ValueSpec&) {
  return format_interval(member);
}
inline Value value_of(const Rate& member, const ValueSpec&) {
  return format_rate(member);
}
inline Value value_of(const ProgressEvery& member, const ValueSpec&) {
  return format_progress_every(member);
}
inline Value value_of(std::int64_t member, const ValueSpec&) {
  return member;
}
inline Value value_of(std::uint32_t member, const ValueSpec&) {
  return std::int64_t{member};
}
// What an integer of TOML cannot hold becomes a double, which no range admits.
inline Value value_of(std::uint64_t member, const ValueSpec&) {
  if (member > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return static_cast<double>(member);
  }
  return static_cast<std::int64_t>(member);
}
// An enumerator is the choice at its index.
template <class E>
requires std::is_enum_v<E> Value value_of(E member, const ValueSpec& spec) {
  const auto index = static_cast<std::size_t>(member);
  return index < spec.choices.size() ? spec.choices[index] : std::string("?");
}

inline void assign(bool& member, const Value& value, const ValueSpec&) {
  member = std::get<bool>(value);
}
inline void assign(double& member, const Value& value, const ValueSpec&) {
  member = std::get<double>(value);
}
inline void assign(std::string& member, const Value& value, const ValueSpec&) {
  member = std::get<std::string>(value);
}
inline void assign(std::int64_t& member, const Value& value, const ValueSpec&) {
  member = std::get<std::int64_t>(value);
}
inline void assign(std::vector<std::string>& member, const Value& value, const ValueSpec&) {
  member = std::get<std::vector<std::string>>(value);
}
inline void assign(std::chrono::milliseconds& member, const Value& value, const ValueSpec&) {
  member = std::chrono::milliseconds(std::get<std::int64_t>(value));
}
inline void assign(Interval& member, const Value& value, const ValueSpec&) {
  const auto interval = parse_interval(std::get<std::string>(value));
  MUSTER_CHECK(interval.has_value(), std::get<std::string>(value));
  member = *interval;
}
inline void assign(Rate& member, const Value& value, const ValueSpec&) {
  const auto rate = parse_rate(std::get<std::string>(value));
  MUSTER_CHECK(rate.has_value(), std::get<std::string>(value));
  member = *rate;
}
inline void assign(ProgressEvery& member, const Value& value, const ValueSpec&) {
  const auto every = parse_progress_every(std::get<std::string>(value));
  MUSTER_CHECK(every.has_value(), std::get<std::string>(value));
  member = *every;
}
template <class I>
requires std::is_unsigned_v<I>
void assign(I& member, const Value& value, const ValueSpec&) {
  const std::int64_t integer = std::get<std::int64_t>(value);
  MUSTER_CHECK(integer >= 0 && static_cast<std::uint64_t>(integer) <= std::numeric_limits<I>::max(), "value",
               integer);
  member = static_cast<I>(integer);
}
template <class E>
requires std::is_enum_v<E>
void assign(E& member, const Value& value, const ValueSpec& spec) {
  const std::string& text = std::get<std::string>(value);
  std::size_t index = 0;
  while (index < spec.choices.size() && spec.choices[index] != text) {
    ++index;
  }
  MUSTER_CHECK(index < spec.choices.size(), "choice", text);
  member = static_cast<E>(index);
}

template <class T>
std::optional<Value> get(const T& member, const ValueSpec& spec) {
  return value_of(member, spec);
}
template <class T>
std::optional<Value> get(const std::optional<T>& member, const ValueSpec& spec) {
  return member ? std::optional(value_of(*member, spec)) : std::nullopt;
}
template <class T>
void set(T& member, const Value& value, const ValueSpec& spec) {
  assign(member, value, spec);
}
template <class T>
void set(std::optional<T>& member, const Value& value, const ValueSpec& spec) {
  assign(member.emplace(), value, spec);
}

/// `member` returns a reference to the member of a Job, const or not.
template <class Member>
Key bind(Key key, Member member) {
  key.get = [member, spec = key.value](const Job& job) { return get(member(job), spec); };
  key.set = [member, spec = key.value](Job& job, const Value& value) { set(member(job), value, spec); };
  return key;
}

}  // namespace muster::binding
