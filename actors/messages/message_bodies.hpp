// How what MUSTER_MESSAGE declares is read and written by CAF's inspectors; for messages.cpp.
#pragma once

#include <bit>
#include <cstdint>
#include <tuple>

#include <caf/deserializer.hpp>
#include <caf/detail/stringification_inspector.hpp>
#include <caf/error.hpp>
#include <caf/meta/load_callback.hpp>
#include <caf/meta/type_name.hpp>
#include <caf/serializer.hpp>

namespace muster {

/// A number that travels as its bits. CAF 0.17 has a way of its own, which never ends for an infinite number
/// and makes other numbers of -0, of NaN and of the very small.
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

}  // namespace muster

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
