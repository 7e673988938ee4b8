#include "config/values/file_check.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/nearest.hpp"

namespace muster {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kNamesMax = 10000;  // of a folder, looked at for a suggestion

std::string nearest_file(const fs::path& path) {
  std::error_code error;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::vector<std::string> names;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end && names.size() < kNamesMax;
       entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_regular_file(ignored)) {
      names.push_back(entry->path().filename().string());
    }
  }
  const std::string name = nearest(path.filename().string(), names);
  return name.empty() ? "" : (path.parent_path() / name).string();
}

}  // namespace

FileProblem check_file(const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    return {"not a file name", {}};
  }
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) {
    return {"no such file", nearest_file(path)};
  }
  if (status.type() == fs::file_type::none) {
    return {error.message(), {}};
  }
  if (status.type() == fs::file_type::directory) {
    return {"a folder, not a file", {}};
  }
  if (status.type() != fs::file_type::regular) {
    return {"not a regular file", {}};
  }
  if (::access(path.c_str(), R_OK) != 0) {
    return {std::strerror(errno), {}};
  }
  return {};
}

std::string why_no_folder(const std::string& path) {
  std::error_code error;
  fs::path there = fs::absolute(path, error);
  while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  if (!fs::is_directory(there, error)) return there.string() + " is no folder";
  if (::access(there.c_str(), W_OK | X_OK) == 0) return {};
  return there.string() + ": " + std::strerror(errno);
}

}  // namespace muster
