#include "muster/mistake.hpp"

#include <algorithm>
#include <tuple>

#include "base/text.hpp"

namespace muster {
namespace {

constexpr std::size_t kPlaceBytesMax = 200;

std::string place_text(const Mistake& mistake) {
  if (!mistake.set.empty()) {
    return "--set " + shortened(mistake.set, kPlaceBytesMax) + ": ";
  }
  if (mistake.file.empty()) {
    return "";
  }
  if (mistake.line == 0) {
    return mistake.file + ": ";
  }
  return mistake.file + ':' + std::to_string(mistake.line) + ':' + std::to_string(mistake.column) + ": ";
}

}  // namespace

Mistake mistake_in(const Place& place, const std::string& key, const std::string& what,
                   const std::string& found, const std::string& allowed, const std::string& nearest) {
  return {place.file, place.line, place.column, place.set, key, what, found, allowed, nearest};
}

Mistake mistake_at(const Places& places, const std::string& key, const std::string& what,
                   const std::string& found, const std::string& allowed, const std::string& nearest) {
  std::string around = key;
  auto place = places.find(around);
  while (place == places.end() && !around.empty()) {
    const std::size_t end = around.find_last_of(".[");
    around = end == std::string::npos ? "" : around.substr(0, end);
    place = places.find(around);
  }
  return mistake_in(place == places.end() ? Place{} : place->second, key, what, found, allowed, nearest);
}

std::string render(const Mistake& mistake) {
  std::vector<std::string> parts;
  if (!mistake.what.empty()) {
    parts.push_back(mistake.what);
  }
  if (!mistake.found.empty()) {
    parts.push_back("found " + mistake.found);
  }
  if (!mistake.allowed.empty()) {
    parts.push_back("allowed: " + mistake.allowed);
  }
  if (!mistake.nearest.empty()) {
    parts.push_back("did you mean " + mistake.nearest + "?");
  }
  std::string line = place_text(mistake);
  if (!mistake.key.empty()) {
    line += shortened(mistake.key, kPlaceBytesMax) + ": ";
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    line += (i > 0 ? "; " : "") + parts[i];
  }
  return printable(line);
}

std::string render(std::vector<Mistake> mistakes) {
  std::stable_sort(mistakes.begin(), mistakes.end(), [](const Mistake& a, const Mistake& b) {
    const auto order = [](const Mistake& m) {
      return std::make_tuple(!m.set.empty(), m.file, m.line, m.column);
    };
    return order(a) < order(b);
  });
  std::string text;
  for (const Mistake& mistake : mistakes) {
    text += render(mistake) + '\n';
  }
  return text;
}

}  // namespace muster
