// Weights in the safetensors format (github.com/huggingface/safetensors): 8 bytes of header length, a JSON
// header, then the raw tensors. Any tool that reads the format reads them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "muster/model.hpp"

namespace muster {

/// What a file held, in the order in which it lies in the file.
struct Safetensors {
  std::vector<LayoutEntry> entries;
  std::vector<float> state;
  std::map<std::string, std::string> metadata;
};

/// What stands before the tensors in a file of this layout: every entry is an F32 tensor of its name, in
/// declared order.
std::vector<std::byte> safetensors_prefix(const Layout& layout,
                                          const std::map<std::string, std::string>& metadata);

/// Reads the bytes of a file of F32 tensors without gaps; `name` is for messages. Believes no length, and
/// throws Error when they are damaged or hold another type.
Safetensors parse_safetensors(std::span<const std::byte> bytes, const std::filesystem::path& name);

/// Reads what stands before the tensors, and no tensor: `state` is empty. Throws as read_safetensors.
Safetensors read_safetensors_header(const std::filesystem::path& path);

/// Reads a file of F32 tensors without gaps. Throws Error when the file cannot be read, is damaged,
/// or holds another type.
Safetensors read_safetensors(const std::filesystem::path& path);

}  // namespace muster
