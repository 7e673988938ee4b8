#include "base/nearest.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "base/text.hpp"

namespace muster {
namespace {

constexpr std::size_t kFar = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kWordBytesMax = 256;

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') {
      c = static_cast<char>(c - 'A' + 'a');
    }
  }
  return result;
}

std::string nearest_within(std::string_view word, const std::vector<std::string>& candidates,
                           std::size_t limit) {
  const std::string low = lower(word);
  std::string best;
  std::size_t best_distance = kFar;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(low, lower(candidate));
    if (distance < best_distance && distance <= limit) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

// How far a path lies from another, or kFar. A table far away costs more than any slip inside the table.
std::size_t path_distance(std::string_view path, std::string_view candidate) {
  const std::string leaf = lower(leaf_of(path));
  const std::size_t leaf_distance = edit_distance(leaf, lower(leaf_of(candidate)));
  if (leaf_distance > slip_distance(leaf)) {
    return kFar;
  }
  const std::string table = lower(table_of(path));
  const std::size_t table_distance = edit_distance(table, lower(table_of(candidate)));
  if (table_distance == 0) {
    return leaf_distance;
  }
  if (table_distance <= slip_distance(table)) {
    return leaf_distance + table_distance;
  }
  return leaf_distance == 0 ? 100 + std::min(table_distance, kWordBytesMax) : kFar;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  if (a.size() > kWordBytesMax || b.size() > kWordBytesMax) {
    return a == b ? 0 : kFar;
  }
  // Three rows of the table: of a[..i-2], a[..i-1] and a[..i] against each prefix of b.
  std::array<std::vector<std::size_t>, 3> rows;
  rows.fill(std::vector<std::size_t>(b.size() + 1));
  for (std::size_t j = 0; j <= b.size(); ++j) {
    rows[0][j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    const std::vector<std::size_t>& above2 = rows[(i + 1) % 3];
    const std::vector<std::size_t>& above = rows[(i - 1) % 3];
    std::vector<std::size_t>& row = rows[i % 3];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, substitute});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], above2[j - 2] + 1);
      }
    }
  }
  return rows[a.size() % 3][b.size()];
}

std::size_t slip_distance(std::string_view word) {
  return std::clamp<std::size_t>(word.size() / 3, 1, 3);
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  return nearest_within(word, candidates, slip_distance(word));
}

std::string closest(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string best = nearest_within(word, candidates, kFar - 1);
  return best.empty() && !candidates.empty() ? candidates.front() : best;
}

std::string nearest_path(std::string_view path, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = kFar;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = path_distance(path, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace muster
