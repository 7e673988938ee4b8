// The sums of a reduction's rounds: those of a step, along the trees of the view's algorithm or, where that
// is open and all have found it quicker, in one shot; and those of its sketch, where it has one.
#include <algorithm>

#include "base/check.hpp"
#include "muster/error.hpp"
#include "transport/collective/reduction/reduction.hpp"

namespace muster {
namespace {

// By which frames name a sum of a round: one may come before the header that tells what round it is.
constexpr std::uint32_t kSum = 0, kSketch = 1, kOneShot = 2;

// Of the result, so many pairs of elements at most, and each so far from the next one at least, are hashed:
// each is a miss of all caches, and replicas that drift apart do so everywhere.
constexpr std::size_t kHashedPairs = 1024;
constexpr std::size_t kHashStride = 1024;

// The sums of a sketch go along the same trees, as one bucket.
ReductionShape sketch_of(ReductionShape shape) {
  shape.sum_number = kSketch;
  shape.elements = shape.sketch_elements;
  shape.bucket_elements = 0;
  return shape;
}

ReductionShape one_shot_of(ReductionShape shape) {
  MUSTER_CHECK(!shape.backup_workers && !shape.sharded, shape.view);
  shape.sum_number = kOneShot;
  shape.algorithm = Algorithm::one_shot;
  return shape;
}

}  // namespace

// What is kept for rounds is let go of only when no sum reads it any more.
Reduction::~Reduction() {
  if (shape_.unit) shape_.unit->wait();
}

std::unique_ptr<TreeSum> Reduction::make_sum(const SumPlan& plan, VariantChoice& variants, Slot& slot) {
  auto sum = std::make_unique<TreeSum>(
      plan, staging_, variants,
      [this, &slot](std::uint32_t member, const Frame& frame, std::span<const std::byte> payload,
                    Staging::Hold hold) { send(member, frame, payload, slot, hold); });
  slot.sums.push_back(sum.get());
  return sum;
}

void Reduction::make_sums(Slot& slot) {
  if (shape_.sketch_elements > 0 && !sketch_plan_) sketch_plan_.emplace(sketch_of(shape_));
  if (shape_.one_shot_too && !one_shot_plan_) one_shot_plan_.emplace(one_shot_of(shape_));
  slot.sum = make_sum(plan_, variants_, slot);
  if (sketch_plan_) slot.sketch = make_sum(*sketch_plan_, sketch_variants_, slot);
  if (one_shot_plan_) slot.one_shot = make_sum(*one_shot_plan_, variants_, slot);
}

void Reduction::hear_times(const Slot& slot) {
  said_ = {};
  for (std::size_t member = 0; member < shape_.members.size(); ++member) {
    if (shape_.members[member].host == shape_.members[shape_.self].host)
      said_.add(slot.headers[member]->variant_times);
  }
}

// All members have seen the same headers, and count the same rounds: they go the same way.
void Reduction::begin_sums(const RoundHeader& header) {
  if (header.kind == RoundKind::train) variants_.begin(said_);
}

bool Reduction::sketching() const {
  const auto& mine = slot(round_).headers[shape_.self];
  return sketch_plan_ && mine && mine->kind == RoundKind::sketch;
}

// Of the open round.
std::uint32_t Reduction::sum_number() const {
  if (sketching()) return kSketch;
  return one_shot_plan_ && variants_.variant() == SumVariant::one_shot ? kOneShot : kSum;
}

TreeSum& Reduction::open_sum() const {
  return sum_at(slot(round_), sum_number());
}

TreeSum& Reduction::sum_of(const Frame& frame) {
  return sum_at(slot(frame.round), elements_in(frame).sum);
}

TreeSum& Reduction::sum_at(const Slot& slot, std::uint32_t number) const {
  if (number == kSketch && slot.sketch) return *slot.sketch;
  return number == kOneShot && slot.one_shot ? *slot.one_shot : *slot.sum;
}

// While this member still computes: whether something of its is under way, and for how long.
void Reduction::measure_hidden(Slot& current) {
  if (current.contributed || current.under_way_since.has_value() == open_sum().under_way()) return;
  if (current.under_way_since) {
    current.hidden += now() - *std::exchange(current.under_way_since, std::nullopt);
  } else {
    current.under_way_since = now();
  }
}

bool Reduction::folding() const {
  return std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) {
    return std::any_of(slot.sums.begin(), slot.sums.end(), [](const TreeSum* sum) { return sum->folding(); });
  });
}

bool Reduction::fold_on() try {
  bool any = false;
  {
    const Inside inside(inside_);
    for (Slot& slot : slots_) {
      for (TreeSum* const sum : slot.sums) any = sum->fold_on() || any;
    }
  }
  if (any) step_on();
  return any;
} catch (const Error& error) {
  const bool first = !failed_;
  fail_here(error.what());
  return first;
}

std::uint64_t Reduction::hash_result(std::uint64_t hash) {
  std::size_t stride = std::max(kHashStride, result_.size() / kHashedPairs);
  std::span<const float> from = result_;
  if (shape_.unit) {
    shape_.unit->pairs(result_, stride, hashed_);
    from = hashed_;
    stride = 2;
  }
  for (std::size_t i = 0; i + 2 <= from.size(); i += stride)
    hash = hash_words(hash, std::as_bytes(from.subspan(i, 2)));
  return hash;
}

// Of two rounds: what comes in, from where the tree has it or from its backup workers as well, and
// what is handed on or packed, which is no more. Sparse results come in there, too.
std::size_t Reduction::staged_max() const {
  const auto of = [this](const SumPlan& plan) {
    const bool packs = shape_.wire.rounds() || shape_.sparse;
    const std::size_t sent = packs ? plan.down().size() + plan.up().size() * nodes_.size() : 0;
    const std::size_t results = shape_.sparse ? plan.pieces().size() : 0;
    return 2 * plan.inputs() * (shape_.backup_workers ? shape_.members.size() : 1) + sent + results;
  };
  std::size_t most = of(plan_);
  if (sketch_plan_) most += of(*sketch_plan_);
  if (one_shot_plan_) most += of(*one_shot_plan_);
  return slots_.size() * most;
}

}  // namespace muster
