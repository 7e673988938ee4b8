#include "transport/collective/reduction/tree_sum.hpp"

#include <algorithm>

#include "base/canary.hpp"
#include "base/check.hpp"

namespace muster {
namespace {

// Whether all leaves of `node` are leaves of `above`.
bool is_below(unsigned height, NodeId node, NodeId above) {
  const auto inner = leaves_below(height, node), outer = leaves_below(height, above);
  return inner.begin >= outer.begin && inner.end <= outer.end;
}

}  // namespace

TreeSum::TreeSum(const SumPlan& plan, Staging& staging, VariantChoice& variants, Send send)
    : plan_(plan),
      staging_(staging),
      payloads_(plan.shape(), staging),
      variants_(variants),
      send_(std::move(send)),
      roles_(plan.roles().size()) {
  reset();
}

void TreeSum::reset() {
  MUSTER_CHECK(waiting_.empty(), waiting_.size());
  for (Staged& staged : staged_) drop(staged);
  staged_.assign(plan_.inputs(), {});
  taken_.assign(plan_.inputs(), false);
  arrivals_.assign(plan_.pieces().size(), 0);
  done_.assign(plan_.pieces().size(), false);
  backed_up_.assign(plan_.shape().sharded ? plan_.pieces().size() : 0, false);
  unkept_ = 0;
  up_.assign(plan_.up().size(), 0);
  down_.assign(plan_.down().size(), 0);
  sums_from_.assign(plan_.shape().members.size(), 0);
  results_from_.assign(plan_.shape().members.size(), 0);
  opened_ = settled_ = closed_ = result_begun_ = revoked_ = false;
  offered_.assign(plan_.buckets().size(), false);
  offered_pieces_ = results_ = 0;
  weight_ = 0;
  nodes_.clear();
  result_ = {};
}

void TreeSum::drop(Staged& staged) {
  if (staged.hold != Staging::kNone) staging_.release(staged.hold);
  staged = {};
}

void TreeSum::close() {
  closed_ = true;
  for (Staged& staged : staged_) {
    if (staged.hold != Staging::kNone && staging_.is_borrowed(staged.hold)) drop(staged);
  }
}

void TreeSum::open(std::span<float> result, std::uint64_t step) {
  opened_ = true;
  result_ = result;
  if (plan_.shape().sharded && !result.empty()) plan_.shape().update->begin(step);
}

// ---- what is present

void TreeSum::settle(const std::vector<bool>& present, double weight) {
  settled_ = true;
  weight_ = weight;
  if (present != present_) {
    present_ = present;
    for (std::uint32_t owner = 0; owner < roles_.size(); ++owner) settle_role(owner, present);
  }
  look_at({0, plan_.pieces().size()});
}

void TreeSum::settle_role(std::uint32_t owner, const std::vector<bool>& present) {
  const SumPlan::Role& role = plan_.roles()[owner];
  Settled& settled = roles_[owner];
  settled = {};
  if (!role.owns && !role.adds()) return;
  std::vector<NodeId> nodes;
  std::vector<std::uint32_t> inputs;
  for (std::uint32_t i = 0; i < role.inputs.size(); ++i) {
    const auto leaves = leaves_below(plan_.height(), role.inputs[i].node);
    const auto last = std::min<std::size_t>(leaves.end, present.size());
    settled.present.push_back(std::find(present.begin() + leaves.begin,
                                        present.begin() + static_cast<long>(last),
                                        true) != present.begin() + static_cast<long>(last));
    if (!settled.present.back()) continue;
    nodes.push_back(role.inputs[i].node);
    inputs.push_back(i);
  }
  settled.expected = static_cast<std::uint32_t>(nodes.size()) - (canary("folds-early") ? 1 : 0);
  const std::vector<NodeId> root{1};
  for (const NodeId output : role.owns ? root : role.outputs) {
    Addition addition;
    addition.node = output;
    std::vector<NodeId> below;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!is_below(plan_.height(), nodes[i], output)) continue;
      below.push_back(nodes[i]);
      addition.inputs.push_back(inputs[i]);
    }
    if (below.empty()) continue;
    addition.program = fold_program(plan_.height(), below);
    settled.additions.push_back(std::move(addition));
  }
}

// ---- what comes in

void TreeSum::offer(const std::vector<NodeValue>& nodes, ElementRange elements) {
  if (nodes_.empty()) nodes_ = nodes;
  const auto& buckets = plan_.buckets();
  const Buckets cut_at(plan_.shape().elements, plan_.shape().bucket_elements);
  if (elements.count() == 0) return;
  const std::size_t first = cut_at.of(elements.begin), last = cut_at.of(elements.end - 1);
  MUSTER_CHECK(buckets[first].elements.begin == elements.begin && buckets[last].elements.end == elements.end,
               elements.begin, elements.end);
  for (std::size_t i = first; i <= last && !closed_; ++i) {
    if (offered_[i]) continue;
    offered_[i] = true;
    offer(buckets[i]);
  }
}

void TreeSum::offer(const SumPlan::Bucket& bucket) {
  offered_pieces_ += bucket.pieces.end - bucket.pieces.first;
  for (std::size_t i = bucket.pieces.first; i < bucket.pieces.end; ++i) {
    const SumPlan::Role& role = plan_.role(plan_.pieces()[i]);
    if (!role.owns && !role.adds()) continue;
    for (std::size_t input = 0; input < role.inputs.size(); ++input) {
      if (role.inputs[input].from != plan_.shape().self) continue;
      const bool has = std::any_of(nodes_.begin(), nodes_.end(), [&](const NodeValue& value) {
        return value.node == role.inputs[input].node;
      });
      if (has) take(i, input);
    }
  }
  for (const std::uint32_t run : bucket.first_sends) {
    if (closed_) return;
    send_own(plan_.up()[run]);
  }
  look_at(bucket.pieces);
}

void TreeSum::send_own(const SumPlan::Run& run) {
  for (const NodeValue& value : nodes_) {
    if (closed_) return;
    send_contribution(run.to, value.node, run.begin,
                      payloads_.of(FrameKind::contribution, run.to, value.values + run.begin, run.count));
  }
}

void TreeSum::send_contribution(std::uint32_t to, NodeId node, std::size_t begin,
                                const Payloads::Payload& payload) {
  const ContributionBody body{node, {plan_.shape().sum_number, begin, payload.sparse_elements}};
  send_(to, frame_with(body), payload.bytes, payload.hold);
}

void TreeSum::add_backup(const NodeValue& value, std::uint32_t member) {
  const auto& pieces = plan_.pieces();
  for (std::size_t first = 0; first < pieces.size() && !closed_;) {
    const auto adders = plan_.adders_of(pieces[first], member);
    std::size_t end = first, count = 0;
    while (end < pieces.size() && plan_.adders_of(pieces[end], member) == adders &&
           count + pieces[end].count <= plan_.shape().chunk_elements) {
      count += pieces[end++].count;
    }
    for (const std::uint32_t adder : adders) add_backup(value, {first, end}, adder);
    first = end;
  }
}

void TreeSum::add_backup(const NodeValue& value, Pieces run, std::uint32_t adder) {
  const auto& pieces = plan_.pieces();
  const std::size_t begin = pieces[run.first].begin, count = pieces[run.end - 1].end() - begin;
  if (closed_) return;
  if (adder != plan_.shape().self)
    return send_contribution(adder, value.node, begin,
                             payloads_.of(FrameKind::contribution, adder, value.values + begin, count));
  Frame frame = frame_with(ContributionBody{value.node, {plan_.shape().sum_number, begin, 0}});
  frame.from = plan_.shape().self;
  frame.bytes = count * sizeof(float);
  if (contribution_of(frame)) {
    float* copy = staging_.take();
    std::copy_n(value.values + begin, count, copy);
    stage_all(frame, run, copy, staging_.hold(copy, static_cast<std::uint32_t>(run.end - run.first)));
  }
}

// Which input of the piece this node of a member is.
std::optional<std::size_t> TreeSum::input_of(const SumPlan::Piece& piece, NodeId node,
                                             std::uint32_t from) const {
  const SumPlan::Role& role = plan_.role(piece);
  if (!role.owns && !role.adds()) return std::nullopt;
  for (std::size_t i = 0; i < role.inputs.size(); ++i) {
    if (role.inputs[i].node != node) continue;
    const bool may = role.inputs[i].from == from || plan_.shape().backup_workers;
    return may ? std::optional(i) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<TreeSum::Pieces> TreeSum::pieces_of(const Frame& frame) const {
  const auto elements = payloads_.elements_of(frame);
  return elements ? plan_.pieces_at(elements_in(frame).first, *elements) : std::nullopt;
}

// The pieces that it is for, if this member adds them up and has none of them yet.
std::optional<TreeSum::Pieces> TreeSum::contribution_of(const Frame& frame) const {
  const auto body = ContributionBody::from(frame);
  const auto pieces = body.invalid().empty() ? pieces_of(frame) : std::nullopt;
  if (!pieces || *payloads_.elements_of(frame) > plan_.shape().chunk_elements) return std::nullopt;
  for (std::size_t i = pieces->first; i < pieces->end; ++i) {
    const auto input = input_of(plan_.pieces()[i], body.tree_node, frame.from);
    if (!input || taken_[plan_.pieces()[i].first_input + *input]) return std::nullopt;
  }
  return pieces;
}

std::optional<TreeSum::Pieces> TreeSum::result_of(const Frame& frame) const {
  if (!opened_ || result_.empty()) return std::nullopt;
  const auto pieces = pieces_of(frame);
  if (!pieces) return std::nullopt;
  for (std::size_t i = pieces->first; i < pieces->end; ++i) {
    const SumPlan::Role& role = plan_.role(plan_.pieces()[i]);
    if (role.owns || role.parent != frame.from || done_[i]) return std::nullopt;
  }
  return pieces;
}

// Whether it is copied out of another process's memory, as soon as it has been placed.
bool TreeSum::is_read_here(const Frame& frame) const {
  const ReductionShape& shape = plan_.shape();
  return frame.bytes >= kBorrowableBytesMin &&
         shape.members[frame.from].host == shape.members[shape.self].host;
}

std::span<std::byte> TreeSum::place(const Frame& frame) {
  if (closed_) return {};
  if (frame.kind == FrameKind::reduced) {
    const auto piece = backup_of(frame);
    if (!piece) return {};
    float* const where = plan_.shape().update->gradient(plan_.pieces()[*piece].elements());
    return {reinterpret_cast<std::byte*>(where), frame.bytes};
  }
  if (frame.kind == FrameKind::result) {
    if (!result_of(frame)) return {};
    result_begun_ = true;
    if (Payloads::sparse(frame)) return {reinterpret_cast<std::byte*>(staging_.take()), frame.bytes};
    if (is_read_here(frame)) variants_.start();
    return {reinterpret_cast<std::byte*>(result_.data() + elements_in(frame).first), frame.bytes};
  }
  if (!contribution_of(frame)) return {};
  return {reinterpret_cast<std::byte*>(staging_.take()), frame.bytes};
}

bool TreeSum::arrived_in_place(const Frame& frame, std::span<const std::byte> payload,
                               BorrowedBuffer borrow) {
  const ReductionShape& shape = plan_.shape();
  if (closed_ || shape.unit || shape.packs(frame.kind, frame.from) || Payloads::sparse(frame)) return false;
  const auto pieces = contribution_of(frame);
  if (!pieces) return false;
  const auto hold = staging_.hold(borrow, static_cast<std::uint32_t>(pieces->end - pieces->first));
  stage_all(frame, *pieces, reinterpret_cast<const float*>(payload.data()), hold);
  return true;
}

bool TreeSum::arrived(const Frame& frame, std::span<std::byte> payload) {
  if (payload.empty()) return true;  // nobody who follows the protocol sends it; it has not been placed
  const auto pieces = pieces_of(frame);
  MUSTER_CHECK(pieces, elements_in(frame).first, frame.bytes);
  if (Payloads::sparse(frame)) return sparse_arrived(frame, *pieces, payload);
  if (frame.kind == FrameKind::reduced) {
    keep(frame, pieces->first);
  } else {
    values_in(frame, *pieces, payloads_.unpack_dense(frame, payload));
  }
  return true;
}

// Its bytes lie in a buffer; what it says goes to where a dense one would have been placed.
bool TreeSum::sparse_arrived(const Frame& frame, Pieces pieces, std::span<std::byte> payload) {
  auto* const buffer = reinterpret_cast<float*>(payload.data());
  const bool result = frame.kind == FrameKind::result;
  if (result && !result_of(frame)) {  // it came twice
    staging_.give_back(buffer);
    return true;
  }
  float* const out = result ? result_.data() + elements_in(frame).first : staging_.take();
  const bool good = payloads_.unpack_thin(frame, payload, out);
  staging_.give_back(buffer);
  if (good) {
    values_in(frame, pieces, out);
  } else if (!result) {
    staging_.give_back(out);
  }
  return good;
}

void TreeSum::values_in(const Frame& frame, Pieces pieces, float* values) {
  if (frame.kind == FrameKind::result) {
    if (is_read_here(frame)) variants_.stop();
    results_from_[frame.from] += *payloads_.elements_of(frame);
    for (std::size_t i = pieces.first; i < pieces.end && !closed_; ++i) result_in(i);
    return;
  }
  stage_all(frame, pieces, values,
            staging_.hold(values, static_cast<std::uint32_t>(pieces.end - pieces.first)));
}

void TreeSum::stage_all(const Frame& frame, Pieces pieces, const float* values, Staging::Hold hold) {
  const auto body = ContributionBody::from(frame);
  for (std::size_t at = 0; at < pieces.end - pieces.first; ++at) {
    const std::size_t i = plan_.turned(pieces, at);
    const SumPlan::Piece& piece = plan_.pieces()[i];
    stage(i, *input_of(piece, body.tree_node, frame.from),
          {values + (piece.begin - body.elements.first), hold});
  }
}

// The first answer counts; the place of a second one is free again.
void TreeSum::stage(std::size_t piece, std::size_t input, Staged staged) {
  if (closed_ || !take(piece, input)) return drop(staged);
  staged_[plan_.pieces()[piece].first_input + input] = staged;
  if (settled_) look(piece);
}

bool TreeSum::take(std::size_t number, std::size_t input) {
  const SumPlan::Piece& piece = plan_.pieces()[number];
  if (taken_[piece.first_input + input]) return false;
  taken_[piece.first_input + input] = true;
  ++arrivals_[number];
  sums_from_[plan_.role(piece).inputs[input].from] += piece.count;
  return true;
}

// ---- what is done with it

void TreeSum::look_at(Pieces pieces) {
  if (!settled_) return;
  for (std::size_t at = 0; at < pieces.end - pieces.first && !closed_; ++at) look(plan_.turned(pieces, at));
}

// If complete, it is added up, once.
void TreeSum::look(std::size_t number) {
  const SumPlan::Piece& piece = plan_.pieces()[number];
  const SumPlan::Role& role = plan_.role(piece);
  if (closed_ || done_[number] || weight_ == 0 || (!role.owns && !role.adds())) return;
  const Settled& settled = roles_[piece.owner];
  if (settled.expected == 0 || arrivals_[number] != settled.expected) return;
  if (role.owns) return finish(number);
  arrivals_[number] = 0;  // it is not looked at again
  if (++up_[*piece.up] == plan_.up()[*piece.up].pieces) hand_on(*piece.up);
}

// The own part lies where it was computed; what came from others, also in this member's stead, is staged.
const float* TreeSum::operand(const SumPlan::Piece& piece, std::size_t input) const {
  const SumPlan::Input& wanted = plan_.role(piece).inputs[input];
  const Staged& staged = staged_[piece.first_input + input];
  if (staged.values != nullptr) return staged.values;
  MUSTER_CHECK(wanted.from == plan_.shape().self, wanted.node);
  for (const NodeValue& value : nodes_) {
    if (value.node == wanted.node) return value.values + piece.begin;
  }
  MUSTER_CHECK(false, wanted.node, "said to be present, but not contributed");
  return nullptr;
}

// What follows comes with `then`.
void TreeSum::add(std::size_t number, const Addition& addition, float divisor, float* out) {
  const ReductionShape& shape = plan_.shape();
  const SumPlan::Piece& piece = plan_.pieces()[number];
  operands_.clear();
  for (const std::uint32_t input : addition.inputs) operands_.push_back(operand(piece, input));
  if (shape.unit) {
    last_fold_ = shape.unit->fold(addition.program, operands_, piece.count, divisor, out);
  } else {
    variants_.start();
    fold(addition.program, operands_, piece.count, divisor, out, shape.wire, variants_.store());
    variants_.stop();
  }
  then({Next::What::drop_inputs, last_fold_, number, &addition});
}

void TreeSum::drop_inputs(std::size_t number, const Addition& addition) {
  for (const std::uint32_t input : addition.inputs) {
    Staged& staged = staged_[plan_.pieces()[number].first_input + input];
    if (staged.hold != Staging::kNone && !staging_.stands(staged.hold))
      revoked_ = !canary("revoked-memory-counts");
    drop(staged);
  }
  if (revoked_ && !closed_) close();  // what was added may be wrong: nothing of it goes out
}

void TreeSum::then(Next next) {
  FoldUnit* const unit = plan_.shape().unit.get();
  if (unit == nullptr || (waiting_.empty() && unit->ended() >= next.after)) return go_on(next);
  waiting_.push_back(next);
}

bool TreeSum::fold_on() {
  bool any = false;
  while (!waiting_.empty() && plan_.shape().unit->ended() >= waiting_.front().after) {
    const Next next = waiting_.front();
    waiting_.pop_front();
    go_on(next);
    any = true;
  }
  return any;
}

void TreeSum::go_on(const Next& next) {
  switch (next.what) {
    case Next::What::drop_inputs:
      return drop_inputs(next.number, *next.addition);
    case Next::What::finish_piece:
      if (revoked_) return;
      return plan_.shape().sharded ? back_up(next.number) : result_in(next.number);
    case Next::What::send_sums:
      return send_sums(next);
  }
}

// A piece of this member's own range: its sum is the result, or the mean gradient that makes it.
void TreeSum::finish(std::size_t number) {
  const SumPlan::Piece& piece = plan_.pieces()[number];
  const bool sharded = plan_.shape().sharded;
  result_begun_ = true;
  arrivals_[number] = 0;  // it is not looked at again
  add(number, roles_[piece.owner].additions.front(), static_cast<float>(weight_),
      sharded ? plan_.shape().update->gradient(piece.elements()) : result_.data() + piece.begin);
  then({Next::What::finish_piece, last_fold_, number});
}

// Sums of a run that is complete, on their way to the owner.
void TreeSum::hand_on(std::size_t number) {
  const SumPlan::Run& run = plan_.up()[number];
  const SumPlan::Piece& first = plan_.pieces()[run.first];
  for (const Addition& addition : roles_[first.owner].additions) {
    if (closed_) return;
    float* const sums = staging_.take();
    for (std::size_t i = run.first; i < run.first + run.pieces && !closed_; ++i)
      add(i, addition, 1, sums + (plan_.pieces()[i].begin - run.begin));
    then({Next::What::send_sums, last_fold_, number, &addition, sums});
  }
}

void TreeSum::send_sums(const Next& next) {
  if (closed_) return staging_.give_back(next.sums);
  const SumPlan::Run& run = plan_.up()[next.number];
  send_contribution(run.to, next.addition->node, run.begin,
                    payloads_.of_staged(FrameKind::contribution, run.to, next.sums, run.count));
}

// A piece of the result is in place, and goes on to those below.
void TreeSum::result_in(std::size_t number) {
  if (done_[number]) return;  // sent twice by one who does not follow the protocol
  done_[number] = true;
  ++results_;
  for (const std::uint32_t number_of_run : plan_.pieces()[number].down) {
    const SumPlan::Run& run = plan_.down()[number_of_run];
    if (closed_ || ++down_[number_of_run] < run.pieces) continue;
    const auto payload = payloads_.of(FrameKind::result, run.to, result_.data() + run.begin, run.count);
    const ResultBody body{{plan_.shape().sum_number, run.begin, payload.sparse_elements}};
    send_(run.to, frame_with(body), payload.bytes, payload.hold);
  }
}

bool TreeSum::complete() const {
  return !revoked_ && settled_ && (weight_ == 0 || results_ == plan_.pieces().size());
}

bool TreeSum::owes(std::uint32_t member) const {
  if (weight_ == 0) return false;
  const ReductionShape& shape = plan_.shape();
  if (unkept_ > 0 && member == shape.members[shape.self].buddy) return true;
  std::size_t sums = 0, results = 0;
  for (const SumPlan::Piece& piece : plan_.pieces()) {
    const SumPlan::Role& role = plan_.role(piece);
    if (!role.owns && role.parent == member) results += piece.count;
    if (!role.owns && !role.adds()) continue;
    for (std::size_t i = 0; i < role.inputs.size(); ++i) {
      if (role.inputs[i].from == member && roles_[piece.owner].present[i]) sums += piece.count;
    }
  }
  return sums_from_[member] < sums || results_from_[member] < results;
}

}  // namespace muster
