// Checks that stay on in every build. A failed check is a bug in Muster: it prints the expression, the values
// and the place, and aborts. Operating errors (a dead peer, a full disk, a wrong file) are never checks; they
// are Error or events.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace muster::detail {
[[noreturn]] inline void check_failed(const char* expression, const char* file, int line,
                                      const std::string& values) {
  std::fprintf(stderr, "muster: bug: check failed: %s at %s:%d %s\n", expression, file, line, values.c_str());
  std::abort();
}
}  // namespace muster::detail

/// MUSTER_CHECK(condition, "name", value, ...): the values are streamed into the message.
#define MUSTER_CHECK(condition, ...)                                                              \
  do {                                                                                            \
    if (!(condition)) [[unlikely]] {                                                              \
      std::ostringstream muster_check_values;                                                     \
      [&](const auto&... shown_) { ((muster_check_values << shown_ << ' '), ...); }(__VA_ARGS__); \
      ::muster::detail::check_failed(#condition, __FILE__, __LINE__, muster_check_values.str());  \
    }                                                                                             \
  } while (false)
