#include "base/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace muster {
namespace {

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

std::string escaped(const char* format, char c) {
  char text[8];
  std::snprintf(text, sizeof text, format, static_cast<unsigned>(static_cast<unsigned char>(c)));
  return text;
}

bool is_bare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

}  // namespace

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else if (is_control(c)) {
      result += escaped("\\u%04X", c);
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string printable(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (is_control(c)) {
      result += escaped("\\x%02X", c);
    } else {
      result += c;
    }
  }
  return result;
}

std::string shortened(std::string text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) {
    return text;
  }
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) {
    --end;  // a continuation byte: the cut would split a character
  }
  text.resize(end);
  return text + "...";
}

std::string number_text(double number) {
  if (std::isnan(number)) {
    return "nan";
  }
  if (std::isinf(number)) {
    return number > 0 ? "inf" : "-inf";
  }
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) {
    text += ".0";
  }
  return text;
}

std::string any_of_text(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) {
      text += i + 1 == words.size() ? " or " : ", ";
    }
    text += words[i];
  }
  return text;
}

std::vector<std::string> quoted_all(const std::vector<std::string>& words) {
  std::vector<std::string> result;
  for (const std::string& word : words) {
    result.push_back(in_quotes(word));
  }
  return result;
}

std::string key_text(std::string_view key) {
  const bool bare = !key.empty() && std::all_of(key.begin(), key.end(), is_bare);
  return bare ? std::string(key) : in_quotes(key);
}

std::string wrapped(std::string_view text, std::size_t columns) {
  std::string result;
  std::size_t line = 0, last_space = std::string::npos;  // where they begin or lie in the result
  for (const char c : text) {
    result += c;
    if (c == ' ') last_space = result.size() - 1;
    if (c == '\n') last_space = std::string::npos, line = result.size();
    if (result.size() - line <= columns || c == ' ' || last_space == std::string::npos) continue;
    result[last_space] = '\n';
    line = last_space + 1;
    last_space = std::string::npos;
  }
  return result;
}

std::string table_of(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? "" : std::string(path.substr(0, dot));
}

std::string leaf_of(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return std::string(dot == std::string_view::npos ? path : path.substr(dot + 1));
}

std::string join_path(std::string_view table, std::string_view key) {
  return table.empty() ? std::string(key) : std::string(table) + '.' + std::string(key);
}

}  // namespace muster
