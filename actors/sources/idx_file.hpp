// IDX files of unsigned bytes (the format of MNIST and its kin), plain or gzip.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace muster {

/// A whole file in memory.
struct IdxFile {
  std::vector<std::uint32_t> extents;  ///< extents[0] is the number of samples; none is zero
  std::vector<std::uint8_t> data;      ///< the product of the extents, row-major
};

/// Reads a file and checks its header against its length, and gzip's own checksum. Throws JobError(key) that
/// names the file and says what was found and what was expected. Memory follows what the file really holds,
/// not what its header says. Format: http://yann.lecun.com/exdb/mnist/ ("the IDX file format"): two zero
/// bytes, type 8 (unsigned byte), the number of dimensions, then each extent, big-endian, then the data.
IdxFile read_idx_file(const std::string& path, std::uint32_t dimensions, const std::string& key);

}  // namespace muster
