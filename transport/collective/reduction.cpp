#include "muster/transport/collective/reduction.hpp"

#include <algorithm>

#include "muster/config/canary.hpp"
#include "muster/config/check.hpp"

namespace muster {

namespace {
constexpr std::size_t kAlign = 16;  // ranges start at multiples of a cache line
constexpr std::size_t kHashStride = 1024;

bool speaks_for(const RoundHeader& header, const ReductionMember& member) {
  return std::all_of(header.shards.begin(), header.shards.end(), [&](const ShardWord& word) {
    return word.shard >= member.begin && word.shard < member.end;
  });
}

std::span<const std::byte> as_payload(const float* values, std::size_t count) {
  return {reinterpret_cast<const std::byte*>(values), count * sizeof(float)};
}

}  // namespace

Reduction::Reduction(ReductionShape shape, Transport& transport, Hooks hooks)
    : shape_(std::move(shape)),
      transport_(transport),
      hooks_(std::move(hooks)),
      height_(tree_height(shape_.shards)),
      staging_(shape_.chunk_elements) {
  MUSTER_CHECK(shape_.self < shape_.members.size() && shape_.chunk_elements > 0, shape_.self);
  own_ = range_of(shape_.self);
  first_node_.resize(shape_.members.size());
  for (std::uint32_t turn = 1; turn <= shape_.members.size(); ++turn) {  // the own nodes come last
    const auto member = static_cast<std::uint32_t>((shape_.self + turn) % shape_.members.size());
    members_[shape_.members[member].peer] = member;
    first_node_[member] = nodes_.size();
    for (const NodeId node : cover(height_, shape_.members[member].begin, shape_.members[member].end)) {
      node_indices_[node] = nodes_.size();
      nodes_.push_back({node, member});
      if (member != shape_.self || shape_.stand_ins) staged_nodes_ = nodes_.size();
    }
  }
  for (Slot& slot : slots_) {
    slot.header_bytes.resize(shape_.members.size());
    slot.metrics_bytes.resize(shape_.members.size());
    reset(slot);
  }
}

Reduction::Range Reduction::range_of(std::uint32_t member) const {
  const std::size_t lines = (shape_.elements + kAlign - 1) / kAlign;
  const auto cut = [&](std::size_t part) {
    return std::min(shape_.elements, lines * part / shape_.members.size() * kAlign);
  };
  return {cut(member), cut(member + 1)};
}

// Two rounds, each node from its member, or from those who stand in for it as well.
std::size_t Reduction::staged_max() const {
  return slots_.size() * staged_nodes_ * own_chunks() * (shape_.stand_ins ? shape_.members.size() : 1);
}

std::size_t Reduction::own_chunks() const {
  return (own_.size() + shape_.chunk_elements - 1) / shape_.chunk_elements;
}

void Reduction::reset(Slot& slot) {
  slot.headers.assign(shape_.members.size(), std::nullopt);
  slot.metrics.assign(shape_.members.size(), std::nullopt);
  slot.chunk_arrivals.assign(own_chunks(), 0);
  slot.chunk_folded.assign(own_chunks(), false);
  slot.taken.assign(nodes_.size() * own_chunks(), false);
  for (Staged& values : slot.staged) release(values);
  slot.staged.assign(staged_nodes_ * own_chunks(), Staged{});
  slot.stand_ins.assign(nodes_.size(), std::nullopt);
  slot.result_elements = slot.headers_in = slot.metrics_in = slot.folded = slot.sends = 0;
  slot.elements_in.assign(shape_.members.size(), 0);
  slot.contributed = slot.agreed = slot.any_present = slot.ready_to_fold = false;
  slot.nodes.clear();
  slot.keep.clear();
  slot.weight = 0;
  slot.expected_arrivals = 0;
}

void Reduction::send(std::uint32_t member, Frame frame, std::span<const std::byte> payload, Slot& slot) {
  frame.view = shape_.view;
  frame.from = shape_.members[shape_.self].peer;
  frame.incarnation = shape_.members[shape_.self].incarnation;
  frame.round = round_;
  frame.bytes = payload.size();
  ++slot.sends;
  ++sends_;
  transport_.send(shape_.members[member].peer, frame, payload, round_);
}

void Reduction::broadcast(FrameKind kind, Slot& slot, std::span<const std::byte> payload) {
  Frame frame;
  frame.kind = kind;
  for (std::uint32_t member = 0; member < shape_.members.size() && !failed_; ++member) {
    if (member != shape_.self) send(member, frame, payload, slot);
  }
}

void Reduction::open(const RoundHeader& header, std::span<float> result) {
  if (failed_) return;
  MUSTER_CHECK(!opened_ && header.round == round_, opened_, header.round, round_);
  MUSTER_CHECK(header.kind != RoundKind::train || result.size() == shape_.elements, result.size());
  Slot& current = slot(round_);
  opened_ = true;
  result_ = result;
  current.headers[shape_.self] = header;
  ++current.headers_in;
  encode_header(header, current.header_bytes[shape_.self]);
  if (header.kind == RoundKind::greeting) waits_since_ = now();
  {
    const Inside inside(inside_);
    broadcast(FrameKind::header, current, current.header_bytes[shape_.self]);
  }
  step_on();
}

void Reduction::contribute(std::uint64_t round, std::vector<NodeValue> nodes,
                           std::vector<ShardMetrics> metrics, std::shared_ptr<const void> keep) {
  if (failed_ || round != round_)
    return;  // the end of an epoch needs no contribution, and does not wait for one
  Slot& current = slot(round_);
  MUSTER_CHECK(opened_ && !current.contributed, opened_, round_);
  current.contributed = true;
  waits_since_ = now();
  current.nodes = std::move(nodes);
  current.keep.push_back(std::move(keep));
  encode_metrics(metrics, current.metrics_bytes[shape_.self]);
  current.metrics[shape_.self] = std::move(metrics);
  ++current.metrics_in;
  if (!same_as_stand_ins(current, shape_.self)) return;
  for (const NodeValue& value : current.nodes) {
    const std::size_t index = index_of(value.node);
    MUSTER_CHECK(index < nodes_.size() && nodes_[index].member == shape_.self, value.node);
    for (std::size_t chunk = 0; chunk < own_chunks(); ++chunk) take(current, index, chunk);
  }
  {
    const Inside inside(inside_);
    broadcast(FrameKind::metrics, current, current.metrics_bytes[shape_.self]);
    send_nodes(current, current.nodes);
  }
  step_on();
}

// The first answer counts; a second one has the same bits. Returns whether this is the first.
bool Reduction::take(Slot& current, std::size_t index, std::size_t chunk) {
  const std::size_t place = index * own_chunks() + chunk;
  if (current.taken[place]) return false;
  current.taken[place] = true;
  ++current.chunk_arrivals[chunk];
  const std::size_t begin = chunk * shape_.chunk_elements;
  current.elements_in[nodes_[index].member] += std::min(shape_.chunk_elements, own_.size() - begin);
  return true;
}

// Each range goes to its owner, beginning with the next member: so not all send to the same one at first.
void Reduction::send_nodes(Slot& current, std::span<const NodeValue> nodes) {
  const std::size_t members = shape_.members.size();
  for (std::size_t turn = 1; turn < members && !failed_; ++turn) {
    const auto owner = static_cast<std::uint32_t>((shape_.self + turn) % members);
    const Range range = range_of(owner);
    for (std::size_t begin = range.begin; begin < range.end; begin += shape_.chunk_elements) {
      const std::size_t count = std::min(shape_.chunk_elements, range.end - begin);
      for (const NodeValue& value : nodes) {
        Frame frame;
        frame.kind = FrameKind::contribution;
        frame.node = value.node;
        frame.offset = begin;
        send(owner, frame, as_payload(value.values + begin, count), current);
      }
    }
  }
}

std::size_t Reduction::index_of(NodeId node) const {
  const auto found = node_indices_.find(node);
  return found == node_indices_.end() ? nodes_.size() : found->second;
}

// Where the node of this frame lies, if its sender may add it; nodes_.size() if not.
std::size_t Reduction::node_of(const Frame& frame) const {
  const std::size_t index = index_of(frame.node);
  const bool may = index < staged_nodes_ && (shape_.stand_ins || nodes_[index].member == frame.from);
  return may ? index : nodes_.size();
}

// A frame of another view, of a dead incarnation or of a round that cannot be changes nothing.
bool Reduction::belongs(const Frame& frame) const {
  return !failed_ && (frame.view == shape_.view || canary("old-view")) &&
         frame.from < shape_.members.size() && frame.from != shape_.self &&
         frame.incarnation == shape_.members[frame.from].incarnation &&
         (frame.round == round_ || frame.round == round_ + 1);
}

// The frame with its sender as a place in the list of members.
std::optional<Frame> Reduction::of_member(Frame frame) const {
  const auto member = members_.find(frame.from);
  if (member == members_.end()) return std::nullopt;
  frame.from = member->second;
  return belongs(frame) ? std::optional(frame) : std::nullopt;
}

std::string Reduction::member_name(std::uint32_t member) const {
  return "replica " + std::to_string(shape_.members[member].peer);
}

bool Reduction::is_whole_chunk(const Frame& frame, Range range) const {
  return frame.offset >= range.begin && frame.offset < range.end &&
         (frame.offset - range.begin) % shape_.chunk_elements == 0 &&
         frame.bytes == std::min(shape_.chunk_elements, range.end - frame.offset) * sizeof(float);
}

// Whether it is a part that this member adds up, and has not had yet.
bool Reduction::contribution_fits(const Slot& target, const Frame& frame) const {
  const std::size_t index = node_of(frame);
  if (!is_whole_chunk(frame, own_) || index == nodes_.size()) return false;
  return !target.taken[index * own_chunks() + (frame.offset - own_.begin) / shape_.chunk_elements];
}

bool Reduction::lent(const Frame& received, std::span<const std::byte> payload, Loan loan) {
  const auto known = of_member(received);
  if (!known) return false;
  Slot& target = slot(known->round);
  if (!contribution_fits(target, *known)) return false;
  stage(target, node_of(*known), (known->offset - own_.begin) / shape_.chunk_elements,
        {reinterpret_cast<const float*>(payload.data()), loan});
  step_on();
  return true;
}

// Loans go back at once, for their owners wait; buffers stay where they may still be written to.
void Reduction::close() {
  failed_ = true;
  for (Slot& slot : slots_) {
    for (Staged& values : slot.staged) {
      if (values.lent()) release(values);
    }
  }
}

void Reduction::release(Staged& values) {
  if (values.lent()) {
    transport_.give_back(values.loan);
  } else if (values.values != nullptr) {
    staging_.give_back(const_cast<float*>(values.values));
  }
  values = {};
}

std::span<std::byte> Reduction::place(const Frame& received) {
  const auto known = of_member(received);
  if (!known) return {};
  const Frame& frame = *known;
  Slot& target = slot(frame.round);
  const auto& member = shape_.members[frame.from];
  const std::size_t shards = member.end - member.begin;
  switch (frame.kind) {
    case FrameKind::header:
      if (frame.bytes > encoded_header_bytes(shards)) return {};
      target.header_bytes[frame.from].resize(frame.bytes);
      return target.header_bytes[frame.from];
    case FrameKind::metrics:
      if (frame.node != 0) return place_stand_in(target, frame);
      if (frame.bytes > shards * sizeof(ShardMetrics)) return {};
      target.metrics_bytes[frame.from].resize(frame.bytes);
      return target.metrics_bytes[frame.from];
    case FrameKind::contribution: {
      if (!contribution_fits(target, frame)) return {};
      if (staging_.taken() >= staged_max()) return {};  // more than anybody sends who follows the protocol
      return {reinterpret_cast<std::byte*>(staging_.take()), frame.bytes};
    }
    case FrameKind::result:
      if (!opened_ || frame.round != round_ || result_.empty() ||
          !is_whole_chunk(frame, range_of(frame.from)))
        return {};
      return {reinterpret_cast<std::byte*>(result_at(frame.offset)), frame.bytes};
    default:
      return {};
  }
}

void Reduction::arrived(const Frame& received, std::span<std::byte> payload) {
  const auto known = of_member(received);
  if (!known) {  // of a round that is over: a second answer for what has come already
    if (received.kind == FrameKind::contribution)
      staging_.give_back(reinterpret_cast<float*>(payload.data()));
    return;
  }
  const Frame& frame = *known;
  Slot& target = slot(frame.round);
  const auto& member = shape_.members[frame.from];
  const std::size_t shards = member.end - member.begin;
  switch (frame.kind) {
    case FrameKind::header: {
      auto header = decode_header(payload, shards);
      if (!header || header->round != frame.round || target.headers[frame.from] ||
          !speaks_for(*header, member)) {
        return fail(member_name(frame.from) + " sent a header that cannot be");
      }
      target.headers[frame.from] = std::move(header);
      ++target.headers_in;
      last_word_ = frame.from;
      last_word_at_ = now();
      break;
    }
    case FrameKind::metrics: {
      if (frame.node != 0) {
        if (!stand_in_arrived(target, frame, payload)) return;
        break;
      }
      auto metrics = decode_metrics(payload, shards);
      if (!metrics || target.metrics[frame.from]) {
        return fail(member_name(frame.from) + " sent metrics that cannot be");
      }
      target.metrics[frame.from] = std::move(metrics);
      ++target.metrics_in;
      if (!same_as_stand_ins(target, frame.from)) return;
      last_word_ = frame.from;
      last_word_at_ = now();
      break;
    }
    case FrameKind::contribution:
      stage(target, node_of(frame), (frame.offset - own_.begin) / shape_.chunk_elements,
            {reinterpret_cast<const float*>(payload.data()), {}});
      break;
    case FrameKind::result:
      target.result_elements += frame.bytes / sizeof(float);
      target.elements_in[frame.from] += frame.bytes / sizeof(float);
      break;
    default:
      return;
  }
  step_on();
}

void Reduction::sent(SendToken token, bool ok) {
  MUSTER_CHECK(sends_ > 0, token);
  --sends_;
  if (failed_) return;
  Slot& target = slot(token);
  MUSTER_CHECK(target.sends > 0, token);
  --target.sends;
  if (!ok) return close();  // which member, and why, is the engine's to say
  if (target.sends == 0 && token == round_) step_on();
}

void Reduction::fail(const std::string& reason) {
  if (failed_) return;
  close();
  hooks_.failed(reason);
}

// Members that do not agree on where they are would add what does not belong together.
std::string Reduction::disagreement(const Slot& current) const {
  const RoundHeader& mine = *current.headers[shape_.self];
  for (std::uint32_t member = 0; member < shape_.members.size(); ++member) {
    const RoundHeader& other = *current.headers[member];
    if (other.kind != mine.kind || other.epoch != mine.epoch || other.step != mine.step ||
        other.applied != mine.applied || other.record_hash != mine.record_hash) {
      return "diverged: " + member_name(member) + " is at epoch " + std::to_string(other.epoch) + " step " +
             std::to_string(other.step) + " with record " + std::to_string(other.record_hash) + ", " +
             member_name(shape_.self) + " at epoch " + std::to_string(mine.epoch) + " step " +
             std::to_string(mine.step) + " with record " + std::to_string(mine.record_hash);
    }
  }
  return {};
}

// Sends may complete within `send`, in the middle of a broadcast: the state is looked at again when that is
// through.
void Reduction::step_on() {
  if (inside_ || failed_ || !opened_) return;
  bool over = false;
  {
    const Inside inside(inside_);
    over = advance(slot(round_));
  }
  if (over) finish(slot(round_));
}

// Does what the state allows; returns whether the round is over.
bool Reduction::advance(Slot& current) {
  if (current.headers_in < shape_.members.size()) return false;
  const RoundKind kind = current.headers[shape_.self]->kind;
  if (!current.agreed && !agree(current)) return false;

  if (kind == RoundKind::train && current.any_present) {
    if (!current.ready_to_fold) prepare_fold(current);
    // Members know the divisor from the headers alone: where it is 0 (every sample masked) nobody sends a
    // result.
    if (current.weight != 0) {
      fold_ready_chunks(current);
      if (failed_) return false;
      if (current.folded < own_chunks() || current.result_elements < shape_.elements - own_.size())
        return false;
    } else if (std::any_of(current.chunk_arrivals.begin(), current.chunk_arrivals.end(),
                           [&](std::uint32_t arrivals) { return arrivals < current.expected_arrivals; })) {
      return false;  // what is on its way must not arrive in a later round's staging
    }
  } else if (kind != RoundKind::evaluate) {
    return current.sends == 0;  // a greeting, or the end of the epoch: the headers say it all
  }
  return current.sends == 0 && words_of_all(current);
}

// All headers are in: whether they fit together is looked at once.
bool Reduction::agree(Slot& current) {
  if (const std::string why = disagreement(current); !why.empty()) {
    fail(why);
    return false;
  }
  current.agreed = true;
  current.any_present = std::any_of(current.headers.begin(), current.headers.end(), [](const auto& header) {
    return std::any_of(header->shards.begin(), header->shards.end(),
                       [](const ShardWord& w) { return w.present(); });
  });
  return true;
}

RoundRecord Reduction::make_record(Slot& current) const {
  const RoundHeader& mine = *current.headers[shape_.self];
  RoundRecord record{mine.round, mine.kind, mine.epoch, mine.step, {}, {}, 0, kHashStart, {}};
  for (const auto& header : current.headers) {
    record.shards.insert(record.shards.end(), header->shards.begin(), header->shards.end());
  }
  for (std::uint32_t member = 0; member < shape_.members.size(); ++member) {
    const auto metrics = metrics_of(current, member);
    record.metrics.insert(record.metrics.end(), metrics.begin(), metrics.end());
  }
  const auto by_shard = [](const auto& a, const auto& b) { return a.shard < b.shard; };
  std::sort(record.shards.begin(), record.shards.end(), by_shard);
  std::sort(record.metrics.begin(), record.metrics.end(), by_shard);
  record.weight = current.weight;
  record.last_word_of = shape_.members[last_word_].peer;
  record.last_word_at = last_word_at_;

  std::uint64_t hash = mine.record_hash;
  hash = hash_words(hash, std::as_bytes(std::span(record.shards)));
  hash = hash_words(hash, std::as_bytes(std::span(record.metrics)));
  if (current.weight != 0) {
    for (std::size_t i = 0; i + 2 <= result_.size(); i += kHashStride) {
      hash = hash_words(hash, std::as_bytes(result_.subspan(i, 2)));
    }
  }
  record.hash = hash;
  return record;
}

std::chrono::nanoseconds Reduction::now() const {
  return hooks_.now ? hooks_.now() : std::chrono::nanoseconds{0};
}

void Reduction::finish(Slot& current) {
  RoundRecord record = make_record(current);
  reset(current);
  opened_ = result_begun_ = false;
  waits_since_.reset();
  ++round_;
  result_ = {};
  hooks_.done(std::move(record));
}

}  // namespace muster
