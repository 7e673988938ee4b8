// A file of weights, as somebody else may have written it.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "gpu/files/file_io.hpp"
#include "gpu/files/safetensors.hpp"

namespace muster {

/// Every entry of the layout as an F32 tensor of its name, in declared order. state.size() == layout.total().
inline void write_safetensors(const std::filesystem::path& path, const Layout& layout,
                              std::span<const float> state,
                              const std::map<std::string, std::string>& metadata) {
  const std::vector<std::byte> prefix = safetensors_prefix(layout, metadata);
  const std::span<const std::byte> pieces[] = {prefix, std::as_bytes(state)};
  replace_file(path, pieces);
}

}  // namespace muster
