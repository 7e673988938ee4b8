#include "transport/collective/reduction/reduction.hpp"

#include <algorithm>

#include "base/canary.hpp"
#include "base/check.hpp"
#include "muster/error.hpp"

namespace muster {

namespace {
// A token names the round and, above it, what is held until the send has ended.
constexpr unsigned kRoundBits = 40;
constexpr SendToken kRoundMask = (SendToken{1} << kRoundBits) - 1;

// How many of SumVariant. Results that nobody else reads are written through the caches.
std::size_t variants_of(const ReductionShape& shape) {
  const std::uint32_t host = shape.members[shape.self].host;
  const auto here = std::count_if(shape.members.begin(), shape.members.end(),
                                  [host](const ReductionMember& member) { return member.host == host; });
  if (shape.unit || !shape.shares_memory || adds_everywhere(shape.algorithm) || here < 2) return 1;
  return shape.one_shot_too ? 3 : 2;
}

}  // namespace

Reduction::Reduction(ReductionShape shape, Transport& transport, Hooks hooks)
    : shape_(std::move(shape)),
      transport_(transport),
      hooks_(std::move(hooks)),
      height_(tree_height(shape_.shards)),
      plan_(shape_),
      staging_(shape_.chunk_elements, transport, shape_.unit.get()),
      variants_(variants_of(shape_), hooks_.now) {
  MUSTER_CHECK(!shape_.unit || (!shape_.wire.rounds() && !shape_.sparse && !shape_.backup_workers &&
                                !shape_.sharded && !shape_.copies && !shape_.one_shot_too),
               "only the host can do that");
  for (const ReductionMember& member : shape_.members) peers_.push_back(member.peer);
  first_node_.resize(shape_.members.size());
  for (std::uint32_t turn = 1; turn <= shape_.members.size(); ++turn) {  // the own nodes come last
    const auto member = static_cast<std::uint32_t>((shape_.self + turn) % shape_.members.size());
    members_[shape_.members[member].peer] = member;
    first_node_[member] = nodes_.size();
    for (const NodeId node : cover(height_, shape_.members[member].begin, shape_.members[member].end)) {
      node_indices_[node] = nodes_.size();
      nodes_.push_back({node, member});
    }
  }
  for (Slot& slot : slots_) {
    slot.header_bytes.resize(shape_.members.size());
    slot.metrics_bytes.resize(shape_.members.size());
    slot.headers.resize(shape_.members.size());
    slot.metrics.resize(shape_.members.size());
    slot.audits.resize(shape_.members.size());
    slot.backup_workers.resize(nodes_.size());
    make_sums(slot);
    reset(slot);
  }
}

void Reduction::reset(Slot& slot) {
  for (auto& header : slot.headers) header.reset();
  for (auto& metrics : slot.metrics) metrics.reset();
  for (auto& reports : slot.audits) reports.clear();
  for (auto& metrics : slot.backup_workers) metrics.reset();
  for (TreeSum* const sum : slot.sums) sum->reset();
  slot.headers_in = slot.metrics_in = slot.sends = 0;
  slot.sends_to.assign(shape_.members.size(), 0);
  slot.contributed = slot.agreed = slot.any_present = slot.said = slot.copies_given = false;
  slot.copied.assign(shape_.copies ? shape_.shards * copy_pieces() : 0, false);
  slot.kept.assign(shape_.copies ? shape_.shards : 0, false);
  slot.keep.clear();
  slot.result_keep.reset();
  slot.weight = 0;
  slot.under_way_since.reset();
  slot.hidden = {};
}

void Reduction::send(std::uint32_t member, Frame frame, std::span<const std::byte> payload, Slot& slot,
                     Staging::Hold hold) {
  frame.view = shape_.view;
  frame.from = shape_.members[shape_.self].peer;
  frame.incarnation = shape_.members[shape_.self].incarnation;
  frame.round = round_;
  frame.bytes = payload.size();
  ++slot.sends;
  ++slot.sends_to[member];
  ++sends_;
  const SendToken held = hold == Staging::kNone ? 0 : SendToken{hold} + 1;
  transport_.send(shape_.members[member].peer, frame, payload, round_ | held << kRoundBits);
}

void Reduction::broadcast(const Frame& frame, Slot& slot, std::span<const std::byte> payload) {
  for (std::uint32_t member = 0; member < shape_.members.size() && !failed_; ++member) {
    if (member != shape_.self) send(member, frame, payload, slot);
  }
}

void Reduction::open(const RoundHeader& header, std::span<float> result,
                     std::shared_ptr<const void> keep) try {
  if (failed_) return;
  MUSTER_CHECK(!opened_ && header.round == round_, opened_, header.round, round_);
  MUSTER_CHECK(header.kind != RoundKind::train || result.size() == shape_.elements, result.size());
  MUSTER_CHECK(header.kind != RoundKind::sketch || result.size() == shape_.sketch_elements, result.size());
  Slot& current = slot(round_);
  opened_ = true;
  result_ = result;
  current.result_keep = std::move(keep);
  begin_sums(header);
  current.headers[shape_.self].fill([&](RoundHeader& mine) {
    mine = header;  // into the memory of an earlier one
    mine.variant_times = variants_.times();
    return true;
  });
  open_sum().open(result, header.step);
  ++current.headers_in;
  encode_header(*current.headers[shape_.self], current.header_bytes[shape_.self]);
  append_check(current.header_bytes[shape_.self]);
  if (header.kind == RoundKind::greeting || header.kind == RoundKind::check) waits_since_ = now();
  {
    const Inside inside(inside_);
    broadcast(Frame{}, current, current.header_bytes[shape_.self]);
  }
  step_on();
} catch (const Error& error) {
  fail_here(error.what());
}

void Reduction::check_own(const std::vector<NodeValue>& nodes) const {
  for (const NodeValue& value : nodes) {
    const std::size_t index = index_of(value.node);
    MUSTER_CHECK(index < nodes_.size() && nodes_[index].member == shape_.self, value.node);
  }
}

void Reduction::offer(std::uint64_t round, const std::vector<NodeValue>& nodes, ElementRange elements,
                      std::shared_ptr<const void> keep) try {
  if (failed_ || round != round_ || slot(round_).contributed) return;
  Slot& current = slot(round_);
  MUSTER_CHECK(opened_, round_);
  check_own(nodes);
  if (current.keep.empty()) current.keep.push_back(std::move(keep));
  {
    const Inside inside(inside_);
    open_sum().offer(nodes, elements);
  }
  measure_hidden(current);
  step_on();
} catch (const Error& error) {
  fail_here(error.what());
}

void Reduction::contribute(std::uint64_t round, const std::vector<NodeValue>& nodes,
                           const std::vector<ShardMetrics>& metrics, std::shared_ptr<const void> keep,
                           const std::vector<AuditReport>& audits) try {
  if (failed_ || round != round_)
    return;  // the end of an epoch needs no contribution, and does not wait for one
  Slot& current = slot(round_);
  MUSTER_CHECK(opened_ && !current.contributed, opened_, round_);
  waits_since_ = now();
  if (current.under_way_since) current.hidden += *waits_since_ - *current.under_way_since;
  current.contributed = true;
  current.keep.push_back(std::move(keep));
  encode_metrics(metrics, current.metrics_bytes[shape_.self].bytes());
  append_audits(audits, current.metrics_bytes[shape_.self].bytes());
  append_check(current.metrics_bytes[shape_.self].bytes());
  current.metrics[shape_.self] = metrics;
  current.audits[shape_.self] = audits;
  ++current.metrics_in;
  if (!same_as_backup_workers(current, shape_.self)) return;
  check_own(nodes);
  {
    const Inside inside(inside_);
    if (!shape_.copies) send_losses(current);
    if (!failed_) open_sum().offer(nodes, {0, sketching() ? shape_.sketch_elements : shape_.elements});
  }
  step_on();
} catch (const Error& error) {
  fail_here(error.what());
}

// The report that this member's part of the round is done.
void Reduction::send_losses(Slot& current) {
  if (std::exchange(current.said, true)) return;
  const MetricsBody all{0, current.audits[shape_.self].size()};
  broadcast(frame_with(all), current, current.metrics_bytes[shape_.self].bytes());
}

std::size_t Reduction::index_of(NodeId node) const {
  const auto found = node_indices_.find(node);
  return found == node_indices_.end() ? nodes_.size() : found->second;
}

// Where the node of this frame of losses lies, if its sender may add it; nodes_.size() if not.
std::size_t Reduction::node_of(const Frame& frame) const {
  const std::size_t index = index_of(MetricsBody::from(frame).tree_node);
  const bool may = index < nodes_.size() && (shape_.backup_workers || nodes_[index].member == frame.from);
  return may ? index : nodes_.size();
}

// A frame of another view, of a dead incarnation or of a round that cannot be changes nothing.
bool Reduction::belongs(const Frame& frame) const {
  return !failed_ && (frame.view == shape_.view || canary("old-view")) &&
         frame.from < shape_.members.size() && frame.from != shape_.self &&
         frame.incarnation == shape_.members[frame.from].incarnation &&
         (frame.round == round_ || frame.round == round_ + 1);
}

// The frame with its sender as a place in the list of members. Copied before it is changed: a copy after a
// narrow write waits until all writes before it have left this core.
std::optional<Frame> Reduction::of_member(const Frame& received) const {
  const auto member = members_.find(received.from);
  if (member == members_.end()) return std::nullopt;
  std::optional<Frame> frame(received);
  frame->from = member->second;
  if (!belongs(*frame)) frame.reset();
  return frame;
}

std::string Reduction::member_name(std::uint32_t member) const {
  return "replica " + std::to_string(shape_.members[member].peer);
}

bool Reduction::arrived_in_place(const Frame& received, std::span<const std::byte> payload,
                                 BorrowedBuffer borrow) {
  const auto known = of_member(received);
  if (!known) return false;
  {
    const Inside inside(inside_);
    if (!sum_of(*known).arrived_in_place(*known, payload, borrow)) return false;
  }
  step_on();
  return true;
}

void Reduction::close() {
  failed_ = true;
  for (Slot& slot : slots_) {
    for (TreeSum* const sum : slot.sums) sum->close();
  }
}

std::span<std::byte> Reduction::place(const Frame& received) try {
  const auto known = of_member(received);
  if (!known) return {};
  const Frame& frame = *known;
  Slot& target = slot(frame.round);
  const auto& member = shape_.members[frame.from];
  const std::size_t shards = member.end - member.begin;
  switch (frame.kind) {
    case FrameKind::header:
      if (frame.bytes > encoded_header_bytes(shards) + kCheckBytes) return {};
      target.header_bytes[frame.from].resize(frame.bytes);
      return target.header_bytes[frame.from];
    case FrameKind::metrics:
      if (MetricsBody::from(frame).tree_node != 0) return place_backup(target, frame);
      if (frame.bytes > shards * sizeof(ShardMetrics) + kAuditReportsMax * sizeof(AuditReport) + kCheckBytes)
        return {};
      return target.metrics_bytes[frame.from].place(frame.bytes);
    case FrameKind::contribution:
      if (staging_.taken() >= staged_max()) return {};  // more than anybody sends who follows the protocol
      return sum_of(frame).place(frame);
    case FrameKind::result:
    case FrameKind::reduced:
    case FrameKind::carried:
      if (!opened_ || frame.round != round_) return {};
      if (frame.kind == FrameKind::carried) return place_copy(target, frame);
      if (Payloads::sparse(frame) && staging_.taken() >= staged_max()) return {};
      return sum_of(frame).place(frame);
    default:
      return {};
  }
} catch (const Error& error) {
  fail_here(error.what());
  return {};
}

void Reduction::arrived(const Frame& received, std::span<std::byte> payload) try {
  if (received.kind == FrameKind::metrics && !payload.empty()) metrics_ended(received, payload.data());
  const auto known = of_member(received);
  if (!known) {  // of a round that is over: a second answer for what has come already
    const bool staged = received.kind == FrameKind::contribution ||
                        (received.kind == FrameKind::result && Payloads::sparse(received));
    if (staged && !payload.empty()) staging_.give_back(reinterpret_cast<float*>(payload.data()));
    return;
  }
  const Frame& frame = *known;
  Slot& target = slot(frame.round);
  switch (frame.kind) {
    case FrameKind::header:
      if (!header_arrived(target, frame, payload)) return;
      break;
    case FrameKind::metrics:
      if (!metrics_arrived(target, frame, payload)) return;
      break;
    case FrameKind::carried: {
      const Inside inside(inside_);
      if (!payload.empty()) copy_arrived(target, frame);
      break;
    }
    case FrameKind::kept: {
      const Inside inside(inside_);
      const bool right =
          frame.round == round_ && (shape_.copies ? copy_kept(target, frame) : target.sum->kept(frame));
      if (right) break;
      return blame(frame.from, "an answer that it keeps what it was not given");
    }
    case FrameKind::contribution:
    case FrameKind::reduced:
    case FrameKind::result: {
      bool good = true;
      {
        const Inside inside(inside_);
        good = sum_of(frame).arrived(frame, payload);
      }
      if (!good) return blame(frame.from, "sums that cannot be");
      if (frame.kind == FrameKind::result) measure_hidden(target);
      break;
    }
    default:
      return;
  }
  step_on();
} catch (const Error& error) {
  fail_here(error.what());
}

void Reduction::sent(PeerId to, SendToken token, bool ok) try {
  MUSTER_CHECK(sends_ > 0, token);
  --sends_;
  if (const SendToken held = token >> kRoundBits; held > 0)
    staging_.release(static_cast<Staging::Hold>(held - 1));
  if (failed_) return;
  const std::uint64_t round = token & kRoundMask;
  Slot& target = slot(round);
  MUSTER_CHECK(target.sends > 0, token);
  --target.sends;
  --target.sends_to[members_.at(to)];
  if (!ok) return close();  // which member, and why, is the engine's to say
  if (target.sends == 0 && round == round_) step_on();
} catch (const Error& error) {
  fail_here(error.what());
}

void Reduction::fail(const std::string& reason) {
  if (failed_) return;
  close();
  hooks_.failed(reason);
}

void Reduction::fail_here(const std::string& reason) {
  if (failed_) return;
  close();
  (hooks_.broke ? hooks_.broke : hooks_.failed)(reason);
}

// Members that do not agree on where they are would add what does not belong together.
std::string Reduction::disagreement(const Slot& current) const {
  const RoundHeader& mine = *current.headers[shape_.self];
  for (std::uint32_t member = 0; member < shape_.members.size(); ++member) {
    const RoundHeader& other = *current.headers[member];
    if (other.kind != mine.kind || other.epoch != mine.epoch || other.step != mine.step ||
        other.applied != mine.applied) {
      return "diverged: " + member_name(member) + " is at epoch " + std::to_string(other.epoch) + " step " +
             std::to_string(other.step) + ", " + member_name(shape_.self) + " at epoch " +
             std::to_string(mine.epoch) + " step " + std::to_string(mine.step);
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
  if (current.contributed && shape_.copies) {
    give_copies(current);
    if (!copies_kept(current)) return false;
    send_losses(current);
  }

  if (has_sums(kind) && current.any_present) {
    if (failed_ || !open_sum().complete()) return false;
  } else if (kind != RoundKind::evaluate) {
    return current.sends == 0;  // a greeting, a check, or the end of the epoch: the headers say it all
  }
  return current.sends == 0 && reports_of_all(current) && audits_agree(current);
}

// All headers are in: whether they fit together is looked at once.
bool Reduction::agree(Slot& current) {
  if (const std::string why = disagreement(current); !why.empty()) {
    fail(why);
    return false;
  }
  if (!alike(current)) return false;
  current.agreed = true;
  hear_times(current);
  current.any_present = std::any_of(current.headers.begin(), current.headers.end(), [](const auto& header) {
    return std::any_of(header->shards.begin(), header->shards.end(),
                       [](const ShardReport& w) { return w.present(); });
  });
  if (has_sums(current.headers[shape_.self]->kind) && current.any_present) settle(current);
  return !failed_;
}

// It is known which leaves are present, what the divisor is, and which nodes will come.
void Reduction::settle(Slot& current) {
  present_.assign(shape_.shards, false);
  weights_.assign(shape_.shards, 0.0);
  for (const auto& header : current.headers) {
    for (const ShardReport& report : header->shards) {
      if (!report.present() || report.shard >= shape_.shards) continue;
      present_[report.shard] = true;
      weights_[report.shard] = report.weight;
    }
  }
  for (const double weight : weights_)
    current.weight += weight;  // in the order of shards, on every member alike
  open_sum().settle(present_, current.weight);
}

void Reduction::make_record(const Slot& current, RoundRecord& record) {
  const RoundHeader& mine = *current.headers[shape_.self];
  record.round = mine.round;
  record.kind = mine.kind;
  record.epoch = mine.epoch;
  record.step = mine.step;
  record.shards.reserve(shape_.shards);
  record.metrics.reserve(shape_.shards);
  for (const auto& header : current.headers) {
    record.shards.insert(record.shards.end(), header->shards.begin(), header->shards.end());
  }
  for (std::uint32_t member = 0; member < shape_.members.size(); ++member) {
    append_metrics(current, member, record.metrics);
  }
  const auto by_shard = [](const auto& a, const auto& b) { return a.shard < b.shard; };
  std::sort(record.shards.begin(), record.shards.end(), by_shard);
  std::sort(record.metrics.begin(), record.metrics.end(), by_shard);
  record.weight = current.weight;
  record.last_report_of = shape_.members[last_reporter_].peer;
  record.last_report_at = last_report_at_;
  record.hidden = current.hidden;

  std::uint64_t hash = mine.record_hash;
  hash = hash_words(hash, std::as_bytes(std::span(record.shards)));
  hash = hash_words(hash, std::as_bytes(std::span(record.metrics)));
  record.hash = current.weight != 0 ? hash_result(hash) : hash;
}

std::chrono::nanoseconds Reduction::now() const {
  return hooks_.now ? hooks_.now() : std::chrono::nanoseconds{0};
}

void Reduction::finish(Slot& current) {
  auto record = pool_.take();
  make_record(current, *record);
  if (is_recorded(record->kind)) ++records_;
  reset(current);
  opened_ = false;
  waits_since_.reset();
  ++round_;
  result_ = {};
  hooks_.done(std::move(record));
}

}  // namespace muster
