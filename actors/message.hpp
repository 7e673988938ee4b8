// How a message is declared: a struct whose `fields` lists what travels, and a line that makes CAF read it.
#pragma once

#include <bit>
#include <cstdint>
#include <tuple>

#include <caf/error.hpp>
#include <caf/meta/load_callback.hpp>
#include <caf/meta/type_name.hpp>

namespace muster {

/// A number that travels as its bits. CAF 0.17 has a way of its own, which never ends for an infinite number
/// and makes other numbers of -0, of those that are not a number and of the very small.
struct NumberBits {
  double& value;
};
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, NumberBits& x) {
  auto bits = std::bit_cast<std::uint64_t>(x.value);
  return f(bits, caf::meta::load_callback([&]() -> caf::error {
             x.value = std::bit_cast<double>(bits);
             return caf::none;
           }));
}

/// How a field travels: as it is, but for numbers.
template <class Field>
Field& on_wire(Field& field) {
  return field;
}
inline NumberBits on_wire(double& field) {
  return {field};
}
void on_wire(float& field) = delete;

template <class Inspector, class... Fields>
auto inspect_as(Inspector& f, const char* name, Fields&... fields) {
  std::tuple<decltype(on_wire(fields))...> wire{on_wire(fields)...};
  return std::apply([&](auto&... field) { return f(caf::meta::type_name(name), field...); }, wire);
}

// Compiled once, in messages.cpp, for CAF's inspectors: each file that sends a message would compile it anew.
#ifndef MUSTER_MESSAGE_BODIES
#define MUSTER_MESSAGE(Type) \
  template <class Inspector> \
  typename Inspector::result_type inspect(Inspector& f, Type& x);
#else
#define MUSTER_MESSAGE(Type)                                                                     \
  template <class Inspector>                                                                     \
  typename Inspector::result_type inspect(Inspector& f, Type& x) {                               \
    return std::apply([&](auto&... field) { return inspect_as(f, "muster::" #Type, field...); }, \
                      Type::fields(x));                                                          \
  }                                                                                              \
  template caf::error inspect(caf::serializer&, Type&);                                          \
  template caf::error inspect(caf::deserializer&, Type&);                                        \
  template caf::detail::stringification_inspector::result_type inspect(                          \
      caf::detail::stringification_inspector&, Type&);
#endif

}  // namespace muster
