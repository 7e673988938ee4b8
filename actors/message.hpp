// How a message is declared: a struct whose `fields` lists what travels, and a line that makes CAF read it.
#pragma once

#include <tuple>

#include <caf/meta/type_name.hpp>

namespace muster {

template <class Inspector, class... Fields>
auto inspect_as(Inspector& f, const char* name, Fields&... fields) {
  return f(caf::meta::type_name(name), fields...);
}
#define MUSTER_MESSAGE(Type, ...)                                                                \
  template <class Inspector>                                                                     \
  typename Inspector::result_type inspect(Inspector& f, Type& x) {                               \
    return std::apply([&](auto&... field) { return inspect_as(f, "muster::" #Type, field...); }, \
                      Type::fields(x));                                                          \
  }

}  // namespace muster
