// Ready-made batches from a user's source (actors/pipeline/batch_check.hpp, muster/source.hpp): a batch that
// is let through survives the wire and is what it says.
#include "actors/pipeline/batch_check.hpp"
#include "actors/pipeline/feed.hpp"
#include "actors/pipeline/serialize.hpp"
#include "muster/error.hpp"
#include "muster/source.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace muster::fuzz {
namespace {

constexpr std::size_t kBytesMax = 1 << 12;  // of a tensor here

Tensor tensor_from(Choices& choices) {
  Tensor tensor;
  tensor.dtype = static_cast<DType>(choices.below(3));
  const std::uint32_t rank = choices.below(20);
  for (std::uint32_t i = 0; i < rank; ++i) {
    // Mostly small, sometimes anything.
    const auto small = static_cast<std::int8_t>(choices.below(256));
    tensor.shape.push_back(small == 127 ? choices.number<std::int64_t>() : small);
  }
  std::uint64_t bytes = 0;
  const bool possible = tensor_bytes(tensor.dtype, tensor.shape, bytes);
  const bool fitting = choices.below(8) != 0 && possible && bytes <= kBytesMax;
  tensor.bytes.resize(fitting ? bytes : choices.below(64));
  return tensor;
}

Batch batch_from(Input input) {
  Choices choices(input);
  Batch batch;
  batch.rows = choices.below(255);
  batch.padding = choices.below(255);
  if (batch.rows == 254) batch.rows = choices.number<std::uint32_t>();
  if (batch.padding == 254) batch.padding = choices.number<std::uint32_t>();
  const std::uint32_t tensors = choices.below(68);
  for (std::uint32_t k = 0; k < tensors; ++k) batch.tensors.push_back(tensor_from(choices));
  return batch;
}

bool fed(const Batch& batch) {
  VectorBatchSource source({batch});
  MUSTER_CHECK(!source.fingerprint().empty());
  try {
    const auto feed = make_ready_feed(source, cut_source(1, 0, {}), Dealing{1, 1, 1, Remainder::keep});
    const Item item = feed->read(0, {});
    MUSTER_CHECK(!item.ended);
    const auto bytes = encode_item(item);
    const auto arrived = decode_item(bytes);
    MUSTER_CHECK(arrived.has_value());
    MUSTER_CHECK(same_bytes(encode_item(*arrived), bytes));
    return true;
  } catch (const JobError&) {
    return false;
  }
}

}  // namespace

bool accepts(Input input) {
  const Batch batch = batch_from(input);
  const bool good = batch_mistake(batch).empty();
  MUSTER_CHECK(fed(batch) == good, good);
  return good;
}

std::vector<Bytes> seeds() {
  const auto numbers = [](std::initializer_list<int> values) {
    Bytes bytes;
    for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
    return bytes;
  };
  // rows, padding, tensors; then of each: type, rank, extents, whether the bytes fit
  return {numbers({2, 0, 1, 0, 2, 2, 3, 1}), numbers({2, 1, 2, 2, 1, 3, 1, 1, 1, 3, 1})};
}

}  // namespace muster::fuzz
