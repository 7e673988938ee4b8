#include "actors/trainer/part.hpp"

#include <algorithm>

#include "actors/checkpoint/snapshot.hpp"
#include "base/bytes.hpp"
#include "muster/error.hpp"

namespace muster {

namespace {
constexpr std::size_t kVectorsMax = 8;
}

std::size_t Part::given_bytes_max() {
  return 64 + kVectorsMax * (sizeof(std::uint64_t) + PartMove::kElementsMax * sizeof(float));
}

GivenElements decode_given(std::span<const std::byte> bytes, std::size_t vectors) {
  ByteReader in(bytes);
  GivenElements given;
  given.elements.begin = in.take<std::uint64_t>();
  given.elements.end = in.take<std::uint64_t>();
  const bool right =
      given.elements.begin < given.elements.end && given.elements.count() <= PartMove::kElementsMax;
  for (std::size_t i = 0; i < vectors && right; ++i) {
    given.vectors.push_back(in.take_all<float>(given.elements.count()));
    if (given.vectors.back().size() != given.elements.count()) in.fail();
  }
  if (!right || !in.complete()) throw Error("a part that was given cannot be read");
  return given;
}

std::vector<std::byte> encode_given(ElementRange elements,
                                    const std::vector<std::span<const float>>& vectors) {
  std::vector<std::byte> bytes;
  bytes.reserve(64 + vectors.size() * (sizeof(std::uint64_t) + elements.count() * sizeof(float)));
  ByteWriter out(bytes);
  out.put(static_cast<std::uint64_t>(elements.begin));
  out.put(static_cast<std::uint64_t>(elements.end));
  for (const std::span<const float> values : vectors) out.put_all(values);
  return bytes;
}

bool AwaitedElements::strike_out(ElementRange elements) {
  if (const auto came = came_.find(elements.begin); came != came_.end() && came->second == elements.end)
    return false;
  const auto found = ends_.find(elements.begin);
  if (found == ends_.end() || found->second != elements.end) {
    throw Error("elements " + std::to_string(elements.begin) + " to " + std::to_string(elements.end) +
                " were given that nobody waits for");
  }
  came_.insert(ends_.extract(found));
  return true;
}

GatheredParts::GatheredParts(std::shared_ptr<Snapshot> snapshot, const PartSlots& slots,
                             const std::vector<PartMove>& moves, std::uint32_t self)
    : snapshot_(std::move(snapshot)), slots_(slots) {
  if (slots_.vectors == 0) return;
  for (const PartMove& move : moves) {
    if (move.from != self) awaited_.add(move.elements);
  }
}

void GatheredParts::take(std::span<const std::byte> bytes) {
  const GivenElements given = decode_given(bytes, slots_.vectors);
  if (!awaited_.strike_out(given.elements)) return;
  const std::size_t slot = slots_.first + given.elements.begin / slots_.length;
  const std::size_t at = given.elements.begin % slots_.length;
  for (std::size_t i = 0; i < slots_.vectors; ++i) {
    std::copy(given.vectors[i].begin(), given.vectors[i].end(),
              snapshot_->slots[slot + i].values.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

}  // namespace muster
