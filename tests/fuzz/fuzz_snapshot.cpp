// Snapshots of a replica, as checkpoints keep them and newcomers get them (actors/checkpoint/snapshot.hpp).
// The first byte chooses: bit 0, the whole or only the place; bit 1, whether the digest at the end is made to
// fit, so that what lies behind it is reached.
#include "actors/checkpoint/snapshot.hpp"
#include "gpu/optimizer/state_hash.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/support/whole_snapshot.hpp"

namespace muster::fuzz {
namespace {

constexpr SnapshotBounds kBounds{4, 6, 5};
constexpr std::size_t kDigestBytes = 64;

Bytes without_digest(std::byte choice, Input bytes) {
  return joined({raw(choice), bytes.first(bytes.size() - kDigestBytes)});
}

Snapshot example() {
  Snapshot snapshot;
  snapshot.place.records = 9;
  snapshot.place.steps = 8;
  snapshot.place.told.resize(2);
  snapshot.state = {1, 2, 3, 4, 5, 6};
  snapshot.slots = {{"momentum", {0, 0, 0, 0, 1}}};
  return snapshot;
}

}  // namespace

bool accepts(Input input) {
  Choices choices(input);
  const std::uint32_t choice = choices.below(4);
  const Input rest = choices.rest();
  const bool sealed = (choice & 2) != 0;
  const Bytes bytes = sealed ? joined({rest, bytes_of(sha256_hex(rest))}) : joined({rest});
  if ((choice & 1) != 0) {
    const auto snapshot = decode_snapshot(bytes, kBounds);
    if (!snapshot) return false;
    MUSTER_CHECK(snapshot->state.size() == kBounds.elements, snapshot->state.size());
    MUSTER_CHECK(same_bytes(encode_snapshot(*snapshot), bytes));
  } else {
    const auto place = decode_place(bytes, kBounds.shards);
    if (!place) return false;
    MUSTER_CHECK(same_bytes(encode_place(*place), bytes));
  }
  return true;
}

std::vector<Bytes> seeds() {
  const Bytes place = encode_place(example().place);
  const Bytes whole = encode_snapshot(example());
  return {joined({raw(std::byte{0}), place}), joined({raw(std::byte{1}), whole}),
          without_digest(std::byte{2}, place), without_digest(std::byte{3}, whole)};
}

}  // namespace muster::fuzz
