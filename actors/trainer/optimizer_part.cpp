#include "actors/trainer/optimizer_part.hpp"

#include <algorithm>

#include "actors/checkpoint/snapshot.hpp"
#include "base/check.hpp"
#include "muster/error.hpp"

namespace muster {

namespace {

// Elements that are updated at once: they stay in the cache.
constexpr std::size_t kChunk = std::size_t{16} << 10;

}  // namespace

OptimizerPart::OptimizerPart(const std::vector<PartTile>& tiles, std::uint32_t self, std::size_t parameters,
                             std::span<const float> state, MakeOptimizer make)
    : parameters_(parameters), state_(state), make_(std::move(make)) {
  for (const PartTile& tile : tiles) {
    if (tile.holder.owner != self && tile.holder.buddy != self) continue;
    held_.push_back({tile.elements, elements_, tile.holder.owner == self});
    elements_ += tile.elements.count();
    with_vectors_ += std::min(tile.elements.end, parameters_) - std::min(tile.elements.begin, parameters_);
  }
}

void OptimizerPart::prepare(const Part*) {
  optimizer_ = make_(with_vectors_);
  gradient_ = Floats(elements_);
  vectors_ = make_(1)->slots().size();
}

// ---- within a round

void OptimizerPart::begin(std::uint64_t step) {
  step_ = step;
  kept_ = 0;
}

const OptimizerPart::Held& OptimizerPart::held(ElementRange elements) const {
  auto found = std::upper_bound(held_.begin(), held_.end(), elements.begin,
                                [](std::size_t at, const Held& held) { return at < held.elements.begin; });
  MUSTER_CHECK(found != held_.begin(), elements.begin);
  --found;
  MUSTER_CHECK(elements.end <= found->elements.end, elements.begin, elements.end);
  return *found;
}

std::size_t OptimizerPart::place_of(ElementRange elements) const {
  const Held& one = held(elements);
  return one.at + (elements.begin - one.elements.begin);
}

float* OptimizerPart::gradient(ElementRange elements) {
  return gradient_.data() + place_of(elements);
}

void OptimizerPart::kept(ElementRange elements) {
  kept_ += elements.count();
}

// Buffers have no vectors: what is reduced of them is their mean change.
void OptimizerPart::result(ElementRange elements, float* out) {
  const std::size_t at = place_of(elements);
  const std::size_t split = std::clamp(parameters_, elements.begin, elements.end);
  std::copy(state_.begin() + static_cast<std::ptrdiff_t>(elements.begin),
            state_.begin() + static_cast<std::ptrdiff_t>(elements.end), out);
  for (std::size_t begin = elements.begin; begin < split; begin += kChunk) {
    const std::size_t count = std::min(kChunk, split - begin), from = begin - elements.begin;
    optimizer_->foretell(step_, at + from, {out + from, count}, {gradient_.data() + at + from, count});
  }
  for (std::size_t i = split; i < elements.end; ++i)
    out[i - elements.begin] += gradient_[at + (i - elements.begin)];
}

// ---- between rounds

void OptimizerPart::commit(std::uint64_t step, const std::vector<ShardReport>&) {
  if (step != step_ || kept_ != elements_) {
    throw Error("the gradients of step " + std::to_string(step) + " are not there: of step " +
                std::to_string(step_) + " there are " + std::to_string(kept_) + " of " +
                std::to_string(elements_));
  }
  kept_ = 0;  // no step is followed twice
  if (vectors_ == 0) return;
  scratch_.resize(kChunk);
  for (const Held& part : held_) {
    const std::size_t end = std::min(part.elements.end, parameters_);
    for (std::size_t begin = part.elements.begin; begin < end; begin += kChunk) {
      const std::size_t count = std::min(kChunk, end - begin);
      const std::size_t at = part.at + (begin - part.elements.begin);
      std::copy_n(state_.begin() + static_cast<std::ptrdiff_t>(begin), count, scratch_.begin());
      optimizer_->update(step, at, std::span(scratch_).first(count), {gradient_.data() + at, count});
    }
  }
}

void OptimizerPart::expect(const std::vector<PartMove>& moves) {
  for (const PartMove& move : moves) {
    if (vectors_ > 0) expected_.add(move.elements);
  }
}

std::vector<std::byte> OptimizerPart::give(ElementRange elements) const {
  std::vector<std::span<const float>> vectors;
  const std::size_t at = place_of(elements);
  for (const Optimizer::Slot& slot : optimizer_->slots())
    vectors.push_back(slot.values.subspan(at, elements.count()));
  return encode_given(elements, vectors);
}

void OptimizerPart::take(std::span<const std::byte> bytes) {
  const auto slots = optimizer_->slots();
  const GivenElements given = decode_given(bytes, slots.size());
  if (!expected_.strike_out(given.elements)) return;
  const std::size_t at = place_of(given.elements);
  for (std::size_t i = 0; i < slots.size(); ++i)
    std::copy(given.vectors[i].begin(), given.vectors[i].end(), slots[i].values.subspan(at).begin());
}

// What it holds of vector `i`, piece by piece: where that lies in the whole vector, and here.
template <class Visit>
void OptimizerPart::for_each_piece(Visit&& visit) const {
  const auto slots = optimizer_->slots();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    for (const Held& part : held_) {
      const std::size_t end = std::min(part.elements.end, parameters_);
      if (part.elements.begin < end)
        visit(i, part, slots[i].values.subspan(part.at, end - part.elements.begin));
    }
  }
}

void OptimizerPart::fill_from(const Snapshot& snapshot) {
  const auto names = make_(1)->slots();
  const bool fits = std::equal(names.begin(), names.end(), snapshot.slots.begin(), snapshot.slots.end(),
                               [&](const Optimizer::Slot& mine, const Snapshot::Slot& kept) {
                                 return mine.name == kept.name && kept.values.size() == parameters_;
                               });
  if (!fits) throw Error("the checkpoint is of another optimizer");
  expected_.clear();
  for_each_piece([&](std::size_t vector, const Held& part, std::span<float> values) {
    const auto from = std::span(snapshot.slots[vector].values).subspan(part.elements.begin, values.size());
    std::copy(from.begin(), from.end(), values.begin());
  });
}

void OptimizerPart::copy_into(Snapshot& snapshot) const {
  if (snapshot.slots.empty()) {
    for (const Optimizer::Slot& slot : make_(1)->slots())
      snapshot.slots.push_back({slot.name, std::vector<float>(parameters_)});
  }
  for_each_piece([&](std::size_t vector, const Held& part, std::span<float> values) {
    const auto to = snapshot.slots[vector].values.begin() + static_cast<std::ptrdiff_t>(part.elements.begin);
    if (part.owned) std::copy(values.begin(), values.end(), to);
  });
}

}  // namespace muster
