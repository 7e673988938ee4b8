#include "gpu/host_memory.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

namespace muster {
namespace {

namespace fs = std::filesystem;

// The two kinds of control groups have the same facts under other names.
struct Names {
  const char* limit;
  const char* used;
  const char* files;  ///< in memory.stat: file pages that nobody has used for a while
};
constexpr Names kV1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
constexpr Names kV2{"memory.max", "memory.current", "inactive_file"};

/// The group of this process, seen from where the groups are mounted.
struct Group {
  fs::path mount;
  fs::path path;  ///< below it
  Names names;
};

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

bool has_part(const std::string& list, const std::string& part) {
  std::istringstream in(list);
  for (std::string each; std::getline(in, each, ',');)
    if (each == part) return true;
  return false;
}

// A file of one number. "max" is none.
std::optional<std::uint64_t> number_in(const fs::path& file) {
  std::string word;
  std::ifstream(file) >> word;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (word.empty() || error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

// The number behind a word: "inactive_file 1234", or "MemAvailable: 1234 kB".
std::optional<std::uint64_t> number_behind(const fs::path& file, const std::string& field) {
  std::ifstream in(file);
  for (std::string word; in >> word;) {
    std::uint64_t value = 0;
    if (word == field && in >> value) return value;
  }
  return std::nullopt;
}

// "4:memory:/a/b" of version 1, "0::/a/b" of version 2: the path of this process's group.
std::optional<std::string> path_of_group(const fs::path& root, bool v2) {
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (v2 ? controllers.empty() : has_part(controllers, "memory")) return line.substr(second + 1);
  }
  return std::nullopt;
}

// "35 30 0:31 ROOT POINT options - TYPE source options": where groups are mounted, and which one of them lies
// there; in a container that may be its own.
std::vector<Group> groups_of(const fs::path& root) {
  std::vector<Group> groups;
  std::ifstream in(root / "proc/self/mountinfo");
  for (std::string line; std::getline(in, line);) {
    const auto words = words_of(line);
    const auto dash = std::ranges::find(words, "-");
    if (words.size() < 6 || words.end() - dash < 4) continue;
    const bool v2 = dash[1] == "cgroup2";
    if (!v2 && (dash[1] != "cgroup" || !has_part(dash[3], "memory"))) continue;
    const auto path = path_of_group(root, v2);
    if (!path) continue;
    const std::string& shown = words[3];
    const std::string below = shown != "/" && path->starts_with(shown) ? path->substr(shown.size()) : *path;
    groups.push_back(
        {root / fs::path(words[4]).relative_path(), fs::path(below).relative_path(), v2 ? kV2 : kV1});
  }
  return groups;
}

std::optional<std::uint64_t> room_in(const fs::path& folder, const Names& names) {
  const auto limit = number_in(folder / names.limit), used = number_in(folder / names.used);
  if (!limit || !used) return std::nullopt;
  const std::uint64_t files = std::min(number_behind(folder / "memory.stat", names.files).value_or(0), *used);
  const std::uint64_t held = *used - files;
  return *limit > held ? *limit - held : 1;  // 0 stands for not known
}

}  // namespace

HostMemoryRoom available_host_memory(const fs::path& root) {
  HostMemoryRoom least;
  least.bytes = number_behind(root / "proc/meminfo", "MemAvailable:").value_or(0) << 10;
  const auto consider = [&](const Group& group, const fs::path& below) {
    const auto room = room_in(group.mount / below, group.names);
    if (room && (least.bytes == 0 || *room < least.bytes)) least = {*room, "/" + below.string()};
  };
  for (const Group& group : groups_of(root)) {
    for (fs::path below = group.path; !below.empty(); below = below.parent_path()) consider(group, below);
    consider(group, {});
  }
  return least;
}

}  // namespace muster
