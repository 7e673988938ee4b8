#include "transport/collective/tree_sum/tree_sum.hpp"

#include <algorithm>

#include "base/canary.hpp"
#include "base/check.hpp"

namespace muster {
namespace {

// Whether it is copied out of another process's memory, as soon as it has been placed.
bool is_read_here(const Frame& frame, const ReductionShape& shape) {
  return frame.bytes >= kBorrowableBytesMin &&
         shape.members[frame.from].host == shape.members[shape.self].host;
}

}  // namespace

TreeSum::TreeSum(const SumPlan& plan, Staging& staging, VariantChoice& variants, Send send)
    : plan_(plan),
      staging_(staging),
      payloads_(plan.shape(), staging),
      variants_(variants),
      send_(std::move(send)),
      inputs_(plan, staging),
      result_(plan),
      backup_(plan),
      folds_(plan.shape().unit.get()),
      roles_(plan.roles().size()) {
  reset();
}

void TreeSum::reset() {
  MUSTER_CHECK(folds_.empty(), folds_.size());
  inputs_.reset();
  result_.reset();
  backup_.reset();
  ready_.assign(plan_.up().size(), 0);
  settled_ = closed_ = revoked_ = false;
  offered_.assign(plan_.buckets().size(), false);
  offered_pieces_ = 0;
  weight_ = 0;
}

void TreeSum::close() {
  closed_ = true;
  inputs_.give_back_borrowed();
}

void TreeSum::open(std::span<float> result, std::uint64_t step) {
  result_.open(result);
  if (plan_.shape().sharded && !result.empty()) plan_.shape().update->begin(step);
}

// ---- what is present

void TreeSum::settle(const std::vector<bool>& present, double weight) {
  settled_ = true;
  weight_ = weight;
  if (present != present_) {
    present_ = present;
    for (std::uint32_t owner = 0; owner < roles_.size(); ++owner)
      roles_[owner] = settle_role(plan_.roles()[owner], plan_.height(), present);
  }
  look_at({0, plan_.pieces().size()});
}

// ---- what comes in

void TreeSum::offer(const std::vector<NodeValue>& nodes, ElementRange elements) {
  inputs_.set_own(nodes);
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
  for (std::size_t i = bucket.pieces.first; i < bucket.pieces.end; ++i) inputs_.take_own(i);
  for (const std::uint32_t number : bucket.first_sends) {
    const SumPlan::Run& run = plan_.up()[number];
    for (const NodeValue& value : inputs_.own()) {
      if (closed_) return;
      send_contribution(run.to, value.node, run.begin,
                        payloads_.of(FrameKind::contribution, run.to, value.values + run.begin, run.count));
    }
  }
  look_at(bucket.pieces);
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

std::optional<TreeSum::Pieces> TreeSum::pieces_of(const Frame& frame) const {
  const auto elements = payloads_.elements_of(frame);
  return elements ? plan_.pieces_at(elements_in(frame).first, *elements) : std::nullopt;
}

// The pieces that it is for, if this member adds them up and has none of them yet.
std::optional<TreeSum::Pieces> TreeSum::contribution_of(const Frame& frame) const {
  const auto body = ContributionBody::from(frame);
  const auto pieces = body.invalid().empty() ? pieces_of(frame) : std::nullopt;
  if (!pieces || *payloads_.elements_of(frame) > plan_.shape().chunk_elements) return std::nullopt;
  return inputs_.all_await(*pieces, body.tree_node, frame.from) ? pieces : std::nullopt;
}

std::optional<TreeSum::Pieces> TreeSum::result_of(const Frame& frame) const {
  const auto pieces = result_.is_open() ? pieces_of(frame) : std::nullopt;
  return pieces && result_.awaits(*pieces, frame.from) ? pieces : std::nullopt;
}

std::span<std::byte> TreeSum::place(const Frame& frame) {
  if (closed_) return {};
  if (frame.kind == FrameKind::reduced) {
    const auto pieces = result_.is_open() ? pieces_of(frame) : std::nullopt;
    if (!pieces || !backup_.awaits(*pieces, frame.from)) return {};
    float* const where = plan_.shape().update->gradient(plan_.pieces()[pieces->first].elements());
    return {reinterpret_cast<std::byte*>(where), frame.bytes};
  }
  if (frame.kind == FrameKind::result) {
    if (!result_of(frame)) return {};
    result_.begin();
    if (Payloads::sparse(frame)) return {reinterpret_cast<std::byte*>(staging_.take()), frame.bytes};
    if (is_read_here(frame, plan_.shape())) variants_.start();
    return {reinterpret_cast<std::byte*>(result_.at(elements_in(frame).first)), frame.bytes};
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
  float* const out = result ? result_.at(elements_in(frame).first) : staging_.take();
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
    if (is_read_here(frame, plan_.shape())) variants_.stop();
    result_.came_from(frame.from, *payloads_.elements_of(frame));
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
    const std::size_t input = *inputs_.input_of(piece, body.tree_node, frame.from);
    if (closed_) {
      staging_.release(hold);
    } else if (inputs_.stage(i, input, {values + (piece.begin - body.elements.first), hold}) && settled_) {
      look(i);
    }
  }
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
  if (closed_ || result_.has(number) || weight_ == 0 || (!role.owns && !role.adds())) return;
  const SettledRole& settled = roles_[piece.owner];
  if (settled.expected == 0 || inputs_.arrived(number) != settled.expected) return;
  if (role.owns) return finish(number);
  inputs_.added(number);
  if (++ready_[*piece.up] == plan_.up()[*piece.up].pieces) hand_on(*piece.up);
}

// What follows comes with `then`.
void TreeSum::add(std::size_t number, const Addition& addition, float divisor, float* out) {
  const ReductionShape& shape = plan_.shape();
  const SumPlan::Piece& piece = plan_.pieces()[number];
  operands_.clear();
  for (const std::uint32_t input : addition.inputs) operands_.push_back(inputs_.values(piece, input));
  if (shape.unit) {
    folds_.begun(shape.unit->fold(addition.program, operands_, piece.count, divisor, out));
  } else {
    variants_.start();
    fold(addition.program, operands_, piece.count, divisor, out, shape.wire, variants_.store());
    variants_.stop();
  }
  then({Next::What::drop_inputs, number, &addition});
}

void TreeSum::drop_inputs(std::size_t number, const Addition& addition) {
  for (const std::uint32_t input : addition.inputs) {
    if (!inputs_.drop(number, input)) revoked_ = !canary("revoked-memory-counts");
  }
  if (revoked_ && !closed_) close();  // what was added may be wrong: nothing of it goes out
}

void TreeSum::then(const Next& next) {
  if (!folds_.defer(next)) go_on(next);
}

bool TreeSum::fold_on() {
  bool any = false;
  while (const auto next = folds_.take()) {
    go_on(*next);
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
  result_.begin();
  inputs_.added(number);
  add(number, roles_[piece.owner].additions.front(), static_cast<float>(weight_),
      sharded ? plan_.shape().update->gradient(piece.elements()) : result_.at(piece.begin));
  then({Next::What::finish_piece, number});
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
    then({Next::What::send_sums, number, &addition, sums});
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
  if (!result_.put(number)) return;  // sent twice by one who does not follow the protocol
  for (const std::uint32_t number_of_run : plan_.pieces()[number].down) {
    const SumPlan::Run& run = plan_.down()[number_of_run];
    if (closed_ || !result_.fills(number_of_run)) continue;
    const auto payload = payloads_.of(FrameKind::result, run.to, result_.at(run.begin), run.count);
    const ResultBody body{{plan_.shape().sum_number, run.begin, payload.sparse_elements}};
    send_(run.to, frame_with(body), payload.bytes, payload.hold);
  }
}

// ---- where the optimizer is sharded

// The mean gradient of an own piece is there. Nobody gets what follows from it before the buddy has it.
void TreeSum::back_up(std::size_t number) {
  const ReductionShape& shape = plan_.shape();
  const SumPlan::Piece& piece = plan_.pieces()[number];
  shape.update->kept(piece.elements());
  if (!backup_.give(number)) return update(number);
  send_(backup_.buddy(), frame_with(ReducedBody{piece.begin}),
        std::as_bytes(std::span(shape.update->gradient(piece.elements()), piece.count)), Staging::kNone);
}

// As a buddy.
void TreeSum::keep(const Frame& frame, std::size_t number) {
  if (closed_ || !backup_.keep(number)) return;
  const SumPlan::Piece& piece = plan_.pieces()[number];
  plan_.shape().update->kept(piece.elements());
  send_(frame.from, frame_with(KeptElementsBody{piece.begin, piece.count}), {}, Staging::kNone);
}

bool TreeSum::kept(const Frame& frame) {
  const auto piece = backup_.answered(frame);
  if (!piece) return false;
  if (closed_ || result_.has(*piece)) return true;  // an answer that comes twice counts once
  backup_.holds_one_more();
  update(*piece);
  return true;
}

void TreeSum::update(std::size_t number) {
  const SumPlan::Piece& piece = plan_.pieces()[number];
  plan_.shape().update->result(piece.elements(), result_.at(piece.begin));
  result_in(number);
}

// ---- how far it is

bool TreeSum::complete() const {
  return !revoked_ && settled_ && (weight_ == 0 || result_.whole());
}

bool TreeSum::owes(std::uint32_t member) const {
  if (weight_ == 0) return false;
  if (backup_.awaits_answer_of(member)) return true;
  std::size_t sums = 0, results = 0;
  for (const SumPlan::Piece& piece : plan_.pieces()) {
    const SumPlan::Role& role = plan_.role(piece);
    if (!role.owns && role.parent == member) results += piece.count;
    if (!role.owns && !role.adds()) continue;
    for (std::size_t i = 0; i < role.inputs.size(); ++i) {
      if (role.inputs[i].from == member && roles_[piece.owner].present[i]) sums += piece.count;
    }
  }
  return inputs_.elements_from(member) < sums || result_.elements_from(member) < results;
}

}  // namespace muster
