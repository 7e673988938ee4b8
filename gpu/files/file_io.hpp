// Whole files, read and replaced.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

namespace muster {

/// Replaces `path` by the pieces, one after the other. Whatever happens, the name holds the old content or
/// the new one; the new one is on disk when the call returns. Blocks. Throws Error with the
/// system's words.
void replace_file(const std::filesystem::path& path, std::span<const std::span<const std::byte>> pieces);

/// All bytes of a file. Blocks. Throws Error with the system's words.
std::vector<std::byte> read_file(const std::filesystem::path& path);

}  // namespace muster
