#include "gpu/files/safetensors.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/check.hpp"
#include "gpu/files/file_io.hpp"
#include "muster/error.hpp"

namespace muster {
namespace {

using Json = nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little, "the format is little endian");

constexpr std::size_t kPrefixBytes = 8;
constexpr std::size_t kHeaderBytesMax = 100'000'000;  // the limit that the format's own reader has

/// The header, filled with spaces so that the tensors begin at a multiple of 8.
std::string header_text(const Layout& layout, const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  for (const auto& entry : layout.entries) {
    MUSTER_CHECK(!header.contains(entry.name), "tensor", entry.name, "is declared twice");
    const std::size_t begin = entry.offset * sizeof(float);
    header[entry.name] = {{"dtype", "F32"},
                          {"shape", entry.shape},
                          {"data_offsets", {begin, begin + entry.count * sizeof(float)}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

[[noreturn]] void damaged(const std::filesystem::path& path, const std::string& what) {
  throw Error(path.string() + " is not a whole safetensors file: " + what);
}

// The elements of a shape; none that a file could not hold.
std::size_t count_of(const std::filesystem::path& path, const std::string& name,
                     const std::vector<std::int64_t>& shape) {
  constexpr std::int64_t kMost = std::int64_t{1} << 48;
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || (extent > 0 && count > kMost / extent))
      damaged(path, "tensor " + name + " cannot be so large");
    count *= extent;
  }
  return static_cast<std::size_t>(count);
}

LayoutEntry parse_entry(const std::filesystem::path& path, const std::string& name, const Json& value) {
  const auto type = value.at("dtype").get<std::string>();
  if (type != "F32")
    throw Error(path.string() + ": tensor " + name + " is " + type +
                ", and weights are read as F32; convert the file, with "
                "safetensors.torch.save_file and value.float() for each tensor, say");
  LayoutEntry entry;
  entry.name = name;
  entry.shape = value.at("shape").get<std::vector<std::int64_t>>();
  entry.count = count_of(path, name, entry.shape);
  const auto begin = value.at("data_offsets").at(0).get<std::size_t>();
  const auto end = value.at("data_offsets").at(1).get<std::size_t>();
  if (begin % sizeof(float) != 0 || end < begin || end - begin != entry.count * sizeof(float))
    damaged(path, "tensor " + name + " has other offsets than its shape asks for");
  entry.offset = begin / sizeof(float);
  return entry;
}

// Of the header, in a file of so many bytes, which begins with these.
std::size_t header_bytes_of(std::span<const std::byte> bytes, std::uintmax_t file_bytes,
                            const std::filesystem::path& path) {
  std::uint64_t header_bytes = 0;
  if (file_bytes < kPrefixBytes) damaged(path, "it is shorter than its prefix");
  std::memcpy(&header_bytes, bytes.data(), kPrefixBytes);
  if (header_bytes > kHeaderBytesMax || header_bytes > file_bytes - kPrefixBytes)
    damaged(path, "it is shorter than its header, or begins with none");
  return header_bytes;
}

// The tensors fill `data_bytes` without gaps.
void parse_header(const std::filesystem::path& path, std::string_view text, std::uintmax_t data_bytes,
                  Safetensors& result) {
  try {
    const Json header = Json::parse(text);
    for (const auto& [name, value] : header.items()) {
      if (name == "__metadata__") {
        result.metadata = value.get<std::map<std::string, std::string>>();
      } else {
        result.entries.push_back(parse_entry(path, name, value));
      }
    }
  } catch (const Json::exception&) {
    damaged(path, "its header is not the JSON that the format asks for");
  }
  std::ranges::stable_sort(result.entries, {}, &LayoutEntry::offset);
  std::size_t expected = 0;
  for (const auto& entry : result.entries) {
    if (entry.offset != expected) damaged(path, "there is a gap before tensor " + entry.name);
    expected += entry.count;
  }
  if (data_bytes != expected * sizeof(float)) damaged(path, "its tensors are cut short or too long");
}

}  // namespace

std::vector<std::byte> safetensors_prefix(const Layout& layout,
                                          const std::map<std::string, std::string>& metadata) {
  const std::string header = header_text(layout, metadata);
  const std::uint64_t size = header.size();
  std::vector<std::byte> prefix(sizeof size + header.size());
  std::memcpy(prefix.data(), &size, sizeof size);
  std::memcpy(prefix.data() + sizeof size, header.data(), header.size());
  return prefix;
}

Safetensors read_safetensors(const std::filesystem::path& path) {
  return parse_safetensors(read_file(path), path);
}

Safetensors read_safetensors_header(const std::filesystem::path& path) {
  std::error_code error;
  const std::uintmax_t file_bytes = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes(kPrefixBytes);
  if (error || !file.is_open() || (file_bytes >= kPrefixBytes && !file.read(bytes.data(), kPrefixBytes)))
    throw Error("cannot read " + path.string());
  const std::size_t header = header_bytes_of(std::as_bytes(std::span(bytes)), file_bytes, path);
  bytes.resize(header);
  if (!file.read(bytes.data(), static_cast<std::streamsize>(header)))
    throw Error("cannot read " + path.string());
  Safetensors result;
  parse_header(path, {bytes.data(), header}, file_bytes - kPrefixBytes - header, result);
  return result;
}

Safetensors parse_safetensors(std::span<const std::byte> bytes, const std::filesystem::path& path) {
  const std::size_t header = header_bytes_of(bytes, bytes.size(), path);
  const auto data = bytes.subspan(kPrefixBytes + header);
  Safetensors result;
  parse_header(path, {reinterpret_cast<const char*>(bytes.data()) + kPrefixBytes, header}, data.size(),
               result);
  result.state.resize(data.size() / sizeof(float));
  if (!data.empty()) std::memcpy(result.state.data(), data.data(), data.size());
  return result;
}

}  // namespace muster
