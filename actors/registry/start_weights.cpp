#include "actors/registry/start_weights.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <span>

#include "base/mutex.hpp"
#include "gpu/files/file_io.hpp"
#include "gpu/files/safetensors.hpp"
#include "gpu/optimizer/state_hash.hpp"
#include "muster/error.hpp"

namespace muster {

namespace {

constexpr const char* kKey = "checkpoint.start_from";
constexpr std::size_t kNamesMax = 3;

std::string text_of(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t size : shape) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

// "a, b, c and 7 more"
std::string first_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesMax); ++i) text += (i > 0 ? ", " : "") + names[i];
  return names.size() <= kNamesMax ? text
                                   : text + " and " + std::to_string(names.size() - kNamesMax) + " more";
}

using Held = std::map<std::string, LayoutEntry>;

Held by_name(const Safetensors& file) {
  Held held;
  for (const LayoutEntry& entry : file.entries) held[entry.name] = entry;
  return held;
}

// What of the file does not fit the model, and the other way round; empty if all does.
std::string misfit(const Layout& layout, const Held& held) {
  std::vector<std::string> missing, unlike, unknown;
  std::map<std::string, bool> wanted;
  for (const LayoutEntry& entry : layout.entries) {
    wanted[entry.name] = true;
    const auto found = held.find(entry.name);
    if (found == held.end()) {
      missing.push_back(entry.name);
    } else if (found->second.shape != entry.shape) {
      unlike.push_back(entry.name + " is " + text_of(found->second.shape) + " there and " +
                       text_of(entry.shape) + " in the model");
    }
  }
  for (const auto& [name, entry] : held) {
    if (!wanted.contains(name)) unknown.push_back(name);
  }
  std::string text;
  const auto add = [&](const char* what, const std::vector<std::string>& names) {
    if (!names.empty()) text += (text.empty() ? "" : "; ") + std::string(what) + first_of(names);
  };
  add("shapes differ: ", unlike);
  add("the file lacks ", missing);
  add("the model has no ", unknown);
  return text;
}

void expect_fit(const std::string& path, const Layout& layout, const Held& held) {
  if (const std::string why = misfit(layout, held); !why.empty())
    throw JobError(kKey, "the weights in " + path + " are not this model's: " + why);
}

Safetensors read(const std::string& path, Safetensors (&reader)(const std::filesystem::path&)) {
  try {
    return reader(path);
  } catch (const Error& error) {
    throw JobError(kKey, error.what());
  }
}

}  // namespace

std::vector<float> start_weights(const std::string& path, const Layout& layout) {
  // A large file of another model is told by its header.
  expect_fit(path, layout, by_name(read(path, read_safetensors_header)));
  const Safetensors file = read(path, read_safetensors);
  const auto held = by_name(file);
  expect_fit(path, layout, held);
  std::vector<float> state(layout.total());
  for (const LayoutEntry& entry : layout.entries) {
    const auto values = std::span(file.state).subspan(held.at(entry.name).offset, entry.count);
    if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); }))
      throw JobError(kKey,
                     entry.name + " in " + path + " holds values that are not finite (NaN or infinity)");
    std::ranges::copy(values, state.begin() + static_cast<std::ptrdiff_t>(entry.offset));
  }
  return state;
}

std::string start_content(const Job& job) {
  struct Known {
    std::uintmax_t bytes = 0;
    std::filesystem::file_time_type changed;
    std::string hash;
  };
  static Mutex mutex;
  static std::map<std::string, Known> files MUSTER_GUARDED_BY(mutex);  // by path
  const std::string& path = job.checkpoint.start_from;
  if (path.empty()) return {};
  const MutexLock lock(mutex);
  Known& known = files[path];
  std::error_code gone, gone_too;
  const auto bytes = std::filesystem::file_size(path, gone);
  const auto changed = std::filesystem::last_write_time(path, gone_too);
  if (gone || gone_too) return known.hash;  // a run that has begun with it goes on
  if (known.hash.empty() || known.bytes != bytes || known.changed != changed)
    known = {bytes, changed, sha256_hex(read_file(path))};
  return known.hash;
}

}  // namespace muster
