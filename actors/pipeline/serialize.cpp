#include "actors/pipeline/serialize.hpp"

#include <bit>
#include <concepts>
#include <cstring>
#include <utility>

#include "actors/pipeline/batch_check.hpp"
#include "base/check.hpp"

// Numbers and tensors are copied as they lie in memory.
static_assert(std::endian::native == std::endian::little, "the encoding is little-endian");

namespace muster {
namespace {

/// Counts bytes where it has nowhere to write them.
class Writer {
 public:
  explicit Writer(std::byte* out) : out_(out) {}

  template <std::integral T>
  void number(T value) {
    raw(&value, sizeof value);
  }
  void raw(const void* data, std::size_t size) {
    if (out_ != nullptr && size > 0) std::memcpy(out_ + size_, data, size);
    size_ += size;
  }
  std::size_t size() const { return size_; }

 private:
  std::byte* out_;
  std::size_t size_ = 0;
};

/// Takes bytes from the front, or fails and takes none.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <std::integral T>
  [[nodiscard]] bool number(T& value) {
    if (bytes_.size() < sizeof value) return false;
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_ = bytes_.subspan(sizeof value);
    return true;
  }
  [[nodiscard]] bool raw(std::uint64_t size, std::vector<std::byte>& out) {
    if (bytes_.size() < size) return false;
    out.assign(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(size));
    bytes_ = bytes_.subspan(size);
    return true;
  }
  bool empty() const { return bytes_.empty(); }

 private:
  std::span<const std::byte> bytes_;
};

void write(Writer& out, const Item& item) {
  out.number(static_cast<std::uint8_t>(item.cursor.mode));
  out.number(item.cursor.epoch);
  out.number(item.cursor.step);
  out.number(item.shard);
  out.number(static_cast<std::uint8_t>(item.ended));
  out.number(item.range.first);
  out.number(item.range.count);
  if (item.ended) return;
  const Batch& batch = *item.batch;
  out.number(batch.rows);
  out.number(batch.padding);
  out.number(static_cast<std::uint8_t>(batch.tensors.size()));
  for (const auto& tensor : batch.tensors) {
    out.number(static_cast<std::uint8_t>(tensor.dtype));
    out.number(static_cast<std::uint8_t>(tensor.shape.size()));
    for (const std::int64_t extent : tensor.shape) out.number(extent);
    out.raw(tensor.bytes.data(), tensor.bytes.size());
  }
}

bool read_tensor(Reader& in, Tensor& tensor) {
  std::uint8_t dtype = 0;
  std::uint8_t rank = 0;
  if (!in.number(dtype) || dtype > static_cast<std::uint8_t>(DType::uint8)) return false;
  if (!in.number(rank) || rank > kRankMax) return false;
  tensor.dtype = static_cast<DType>(dtype);
  tensor.shape.resize(rank);
  for (auto& extent : tensor.shape) {
    if (!in.number(extent)) return false;
  }
  std::uint64_t bytes = 0;
  return tensor_bytes(tensor.dtype, tensor.shape, bytes) && in.raw(bytes, tensor.bytes);
}

bool read_batch(Reader& in, Batch& batch) {
  std::uint8_t tensors = 0;
  if (!in.number(batch.rows) || !in.number(batch.padding) || !in.number(tensors)) return false;
  for (std::uint8_t k = 0; k < tensors && k < kTensorsMax; ++k) {
    if (!read_tensor(in, batch.tensors.emplace_back())) return false;
  }
  return batch_mistake(batch).empty();
}

bool read_head(Reader& in, Item& item) {
  std::uint8_t mode = 0;
  std::uint8_t ended = 0;
  if (!in.number(mode) || mode > static_cast<std::uint8_t>(Mode::evaluate)) return false;
  if (!in.number(item.cursor.epoch) || !in.number(item.cursor.step) || !in.number(item.shard)) return false;
  if (!in.number(ended) || ended > 1) return false;
  item.cursor.mode = static_cast<Mode>(mode);
  item.ended = ended == 1;
  return in.number(item.range.first) && in.number(item.range.count);
}

}  // namespace

std::vector<std::byte> encode_item(const Item& item) {
  MUSTER_CHECK(item.ended == (item.batch == nullptr), "ended", item.ended);
  MUSTER_CHECK(item.ended || batch_mistake(*item.batch).empty());
  Writer counter(nullptr);
  write(counter, item);
  std::vector<std::byte> bytes(counter.size());
  Writer writer(bytes.data());
  write(writer, item);
  return bytes;
}

std::optional<Item> decode_item(std::span<const std::byte> bytes) {
  Reader in(bytes);
  Item item;
  if (!read_head(in, item)) return std::nullopt;
  if (!item.ended) {
    auto batch = std::make_shared<Batch>();
    if (!read_batch(in, *batch)) return std::nullopt;
    item.batch = std::move(batch);
  }
  if (!in.empty()) return std::nullopt;
  return item;
}

}  // namespace muster
