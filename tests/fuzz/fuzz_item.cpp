// Micro-batches on their way between processes (actors/pipeline/serialize.hpp).
#include "actors/pipeline/serialize.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace muster::fuzz {

bool accepts(Input input) {
  const auto item = decode_item(input);
  if (!item) return false;
  MUSTER_CHECK(item->ended == (item->batch == nullptr));
  MUSTER_CHECK(same_bytes(encode_item(*item), input));
  return true;
}

std::vector<Bytes> seeds() {
  Item ended;
  ended.ended = true;
  ended.shard = 3;
  Batch batch;
  batch.rows = 2;
  batch.padding = 1;
  batch.tensors.push_back({DType::float32, {3, 2}, Bytes(24)});
  batch.tensors.push_back({DType::int64, {3}, Bytes(24)});
  batch.tensors.push_back({DType::uint8, {3, 0}, {}});
  Item full;
  full.cursor = {Mode::evaluate, 2, 9};
  full.range = {4, 2};
  full.batch = std::make_shared<const Batch>(batch);
  return {encode_item(ended), encode_item(full)};
}

}  // namespace muster::fuzz
