// printf's formats as a string, for short texts.
#pragma once

#include <cstdio>
#include <string>

namespace muster::cli {

/// At most 255 characters; what is longer is cut off.
template <class... Values>
std::string format(const char* pattern, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

}  // namespace muster::cli
