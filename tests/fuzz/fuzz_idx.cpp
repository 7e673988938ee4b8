// IDX files, plain and gzip (actors/sources/idx_file.hpp). The first byte chooses: bit 0, whether the rest
// is packed by gzip first, so that what lies behind gzip's checksum is reached; bit 1, images or labels.
#include <zlib.h>

#include "actors/sources/idx_file.hpp"
#include "muster/error.hpp"
#include "tests/fuzz/memory_file.hpp"

namespace muster::fuzz {
namespace {

Bytes packed(Input content) {
  z_stream stream{};
  constexpr int kGzip = 15 + 16;
  MUSTER_CHECK(deflateInit2(&stream, 1, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  Bytes out(deflateBound(&stream, content.size()));
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int end = deflate(&stream, Z_FINISH);
  MUSTER_CHECK(end == Z_STREAM_END, end);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

Bytes idx(std::byte choice, const std::vector<std::uint8_t>& extents, std::size_t content) {
  Bytes header{choice, {}, {}, std::byte{8}, static_cast<std::byte>(extents.size())};
  for (const std::uint8_t extent : extents) {
    for (const std::uint8_t byte : {std::uint8_t{0}, std::uint8_t{0}, std::uint8_t{0}, extent}) {
      header.push_back(std::byte{byte});
    }
  }
  return joined({header, Bytes(content, std::byte{77})});
}

}  // namespace

bool accepts(Input input) {
  Choices choices(input);
  const std::uint32_t choice = choices.below(4);
  const Input rest = choices.rest();
  const bool pack = (choice & 1) != 0;
  const MemoryFile file(pack ? packed(rest) : Bytes(rest.begin(), rest.end()));
  const std::uint32_t dimensions = (choice & 2) != 0 ? 3 : 1;
  try {
    const IdxFile idx = read_idx_file(file.path(), dimensions, "data.train_images");
    MUSTER_CHECK(idx.extents.size() == dimensions, idx.extents.size());
    std::uint64_t bytes = 1;
    for (const auto extent : idx.extents) bytes *= extent;
    MUSTER_CHECK(bytes == idx.data.size() && bytes > 0, bytes, idx.data.size());
    return true;
  } catch (const JobError&) {
    return false;
  }
}

std::vector<Bytes> seeds() {
  const Bytes images = idx(std::byte{2}, {2, 3, 2}, 12);
  const Bytes unpacked_here = joined({raw(std::byte{2}), packed(Input(images).subspan(1))});
  return {images, idx(std::byte{3}, {2, 3, 2}, 12), idx(std::byte{0}, {5}, 5), idx(std::byte{1}, {5}, 5),
          unpacked_here};
}

}  // namespace muster::fuzz
