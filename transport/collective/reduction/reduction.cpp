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

Reduction::Slot::Slot(Reduction& owner)
    : reports(owner.shape_, owner.nodes_),
      copies(owner.shape_),
      sums(owner.plans_, owner.staging_, owner.variants_, owner.sketch_variants_,
           [this, &owner](std::uint32_t member, const Frame& frame, std::span<const std::byte> payload,
                          Staging::Hold hold) { owner.send(member, frame, payload, *this, hold); }),
      sends_to(owner.shape_.members.size(), 0) {}

Reduction::Reduction(ReductionShape shape, Transport& transport, Hooks hooks)
    : shape_(std::move(shape)),
      transport_(transport),
      hooks_(std::move(hooks)),
      nodes_(shape_),
      plans_(shape_, nodes_.size()),
      staging_(shape_.chunk_elements, transport, shape_.unit.get()),
      variants_(variants_of(shape_), hooks_.now),
      result_hash_(shape_.unit.get()),
      slots_{Slot(*this), Slot(*this)} {
  MUSTER_CHECK(!shape_.unit || (!shape_.wire.rounds() && !shape_.sparse && !shape_.backup_workers &&
                                !shape_.sharded && !shape_.copies && !shape_.one_shot_too),
               "only the host can do that");
  for (std::uint32_t member = 0; member < shape_.members.size(); ++member) {
    peers_.push_back(shape_.members[member].peer);
    members_[shape_.members[member].peer] = member;
  }
}

// What is kept for rounds is let go of only when no sum reads it any more.
Reduction::~Reduction() {
  if (shape_.unit) shape_.unit->wait();
}

void Reduction::reset(Slot& slot) {
  slot.reports.reset();
  slot.copies.reset();
  slot.sums.reset();
  slot.presence.reset();
  slot.hidden.reset();
  slot.sends = 0;
  slot.sends_to.assign(shape_.members.size(), 0);
  slot.contributed = slot.agreed = slot.said = false;
  slot.keep.clear();
  slot.result_keep.reset();
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
  if (header.kind == RoundKind::train)
    variants_.begin(said_);  // all count the same rounds, and go the same way
  const auto bytes = current.reports.open(header, variants_.times());
  open_sum().open(result, header.step);
  if (header.kind == RoundKind::greeting || header.kind == RoundKind::check) waits_since_ = now();
  {
    const Inside inside(inside_);
    broadcast(Frame{}, current, bytes);
  }
  step_on();
} catch (const Error& error) {
  fail_here(error.what());
}

void Reduction::check_own(const std::vector<NodeValue>& nodes) const {
  for (const NodeValue& value : nodes) {
    const std::size_t index = nodes_.index_of(value.node);
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
  current.hidden.computed(*waits_since_);
  current.contributed = true;
  current.keep.push_back(std::move(keep));
  if (const std::string diverged = current.reports.contribute(metrics, audits); !diverged.empty())
    return fail(diverged);
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

void Reduction::add_backup(std::uint64_t round, const NodeValue& value,
                           const std::vector<ShardMetrics>& metrics, std::shared_ptr<const void> keep) {
  if (failed_ || !opened_ || round != round_) return;  // it is not needed any more
  Slot& current = slot(round_);
  const std::size_t index = nodes_.index_of(value.node);
  MUSTER_CHECK(shape_.backup_workers && index < nodes_.size() && nodes_[index].member != shape_.self,
               value.node);
  if (!current.reports.needs_backup(index)) return;
  current.keep.push_back(std::move(keep));
  const auto bytes = current.reports.add_backup(index, metrics);
  {
    const Inside inside(inside_);
    broadcast(frame_with(MetricsBody{value.node, 0}), current, bytes);
    if (!failed_) current.sums.at(SumNumber::kStep).add_backup(value, nodes_[index].member);
  }
  step_on();
}

// The report that this member's part of the round is done.
void Reduction::send_losses(Slot& current) {
  if (std::exchange(current.said, true)) return;
  const MetricsBody all{0, current.reports.audits()[shape_.self].size()};
  broadcast(frame_with(all), current, current.reports.own_losses());
}

// New states of shards go to the buddy, if there are any after this round.
void Reduction::give_copies(Slot& current) {
  const bool made = current.reports.own_header().kind == RoundKind::train && current.presence.weight != 0;
  current.copies.give(made, current.presence.shards,
                      [&](std::uint32_t to, const Frame& frame, std::span<const std::byte> piece) {
                        send(to, frame, piece, current);
                        return !failed_;
                      });
}

// The frame with its sender as a place in the list of members. Copied before it is changed: a copy after a
// narrow write waits until all writes before it have left this core. Nothing, if it is of another view, of a
// dead incarnation or of a round that cannot be: it changes nothing.
std::optional<Frame> Reduction::of_member(const Frame& received) const {
  const auto found = members_.find(received.from);
  if (failed_ || found == members_.end() || found->second == shape_.self) return std::nullopt;
  const bool belongs = (received.view == shape_.view || canary("old-view")) &&
                       received.incarnation == shape_.members[found->second].incarnation &&
                       (received.round == round_ || received.round == round_ + 1);
  if (!belongs) return std::nullopt;
  std::optional<Frame> frame(received);
  frame->from = found->second;
  return frame;
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

// What is under way runs out. Whoever calls it says why.
void Reduction::close() {
  failed_ = true;
  for (Slot& slot : slots_) slot.sums.close();
}

std::span<std::byte> Reduction::place(const Frame& received) try {
  const auto known = of_member(received);
  if (!known) return {};
  const Frame& frame = *known;
  Slot& target = slot(frame.round);
  const bool crowded = staging_.taken() >= slots_.size() * plans_.staged_max();
  switch (frame.kind) {
    case FrameKind::header:
    case FrameKind::metrics:
      return target.reports.place(frame);
    case FrameKind::contribution:
      return crowded ? std::span<std::byte>() : sum_of(frame).place(frame);
    case FrameKind::carried:
      return opened_ && frame.round == round_ ? target.copies.place(frame) : std::span<std::byte>();
    case FrameKind::result:
    case FrameKind::reduced:
      if (!opened_ || frame.round != round_ || (crowded && Payloads::sparse(frame))) return {};
      return sum_of(frame).place(frame);
    default:
      return {};
  }
} catch (const Error& error) {
  fail_here(error.what());
  return {};
}

void Reduction::arrived(const Frame& received, std::span<std::byte> payload) try {
  if (received.kind == FrameKind::metrics && !payload.empty()) {
    const auto from = members_.find(received.from);
    if (from != members_.end()) slot(received.round).reports.ended(from->second, received, payload.data());
  }
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
    case FrameKind::metrics:
      if (!take(target.reports.arrived(frame, payload), frame.from)) return;
      break;
    case FrameKind::carried:
      if (!payload.empty()) take_copy(target, frame);
      break;
    case FrameKind::kept:
      if (!take_kept(target, frame)) return;
      break;
    case FrameKind::contribution:
    case FrameKind::reduced:
    case FrameKind::result:
      if (!take_elements(target, frame, payload)) return;
      break;
    default:
      return;
  }
  step_on();
} catch (const Error& error) {
  fail_here(error.what());
}

// Each of these: whether the round may go on from here.
bool Reduction::take(const RoundReports::News& news, std::uint32_t from) {
  switch (news.what) {
    case RoundReports::News::What::none:
      return false;
    case RoundReports::News::What::damaged:
      blame(from, news.text);
      return false;
    case RoundReports::News::What::diverged:
      fail(news.text);
      return false;
    case RoundReports::News::What::of_member:
      last_reporter_ = from;
      last_report_at_ = now();
      return true;
    case RoundReports::News::What::of_backup_worker:
      return true;
  }
  return false;
}

void Reduction::take_copy(Slot& target, const Frame& frame) {
  const Inside inside(inside_);
  if (const auto shard = target.copies.arrived(frame, target.reports.own_header().step))
    send(frame.from, frame_with(KeptShardBody{*shard}), {}, target);
}

bool Reduction::take_kept(Slot& target, const Frame& frame) {
  const Inside inside(inside_);
  const bool right = frame.round == round_ && (shape_.copies ? target.copies.kept(frame)
                                                             : target.sums.at(SumNumber::kStep).kept(frame));
  if (!right) blame(frame.from, "an answer that it keeps what it was not given");
  return right;
}

bool Reduction::take_elements(Slot& target, const Frame& frame, std::span<std::byte> payload) {
  bool good = true;
  {
    const Inside inside(inside_);
    good = sum_of(frame).arrived(frame, payload);
  }
  if (!good) blame(frame.from, "sums that cannot be");
  if (good && frame.kind == FrameKind::result) measure_hidden(target);
  return good;
}

void Reduction::abandoned(const Frame& frame) {
  if (frame.kind == FrameKind::carried && shape_.copies)
    shape_.copies->abandoned(CarriedBody::from(frame).shard);
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

// Damaged on its way, or by a member that does not keep to the protocol: the others may go on without it.
void Reduction::blame(std::uint32_t member, const std::string& what) {
  if (failed_) return;
  const PeerId peer = peers_[member];
  if (!hooks_.wrong) return fail("replica " + std::to_string(peer) + " sent " + what);
  close();
  hooks_.wrong(peer, "it sent " + what);
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
  if (!current.reports.all_headers()) return false;
  const RoundKind kind = current.reports.own_header().kind;
  if (!current.agreed && !agree(current)) return false;
  if (current.contributed && shape_.copies) {
    give_copies(current);
    if (!current.copies.all_kept()) return false;
    send_losses(current);
  }

  if (has_sums(kind) && current.presence.any) {
    if (failed_ || !open_sum().complete()) return false;
  } else if (kind != RoundKind::evaluate) {
    return current.sends == 0;  // a greeting, a check, or the end of the epoch: the headers say it all
  }
  return current.sends == 0 && current.reports.all_complete() &&
         goes_on(unlike_gradients(current.reports.audits(), peers_, current.reports.own_header().step));
}

void Reduction::make_record(const Slot& current, RoundRecord& record) {
  const RoundHeader& mine = current.reports.own_header();
  record.round = mine.round;
  record.kind = mine.kind;
  record.epoch = mine.epoch;
  record.step = mine.step;
  record.shards.reserve(shape_.shards);
  record.metrics.reserve(shape_.shards);
  for (const auto& header : current.reports.headers()) {
    record.shards.insert(record.shards.end(), header->shards.begin(), header->shards.end());
  }
  for (std::uint32_t member = 0; member < shape_.members.size(); ++member) {
    current.reports.append_metrics(member, record.metrics);
  }
  const auto by_shard = [](const auto& a, const auto& b) { return a.shard < b.shard; };
  std::sort(record.shards.begin(), record.shards.end(), by_shard);
  std::sort(record.metrics.begin(), record.metrics.end(), by_shard);
  record.weight = current.presence.weight;
  record.last_report_of = shape_.members[last_reporter_].peer;
  record.last_report_at = last_report_at_;
  record.hidden = current.hidden.total();

  std::uint64_t hash = mine.record_hash;
  hash = hash_words(hash, std::as_bytes(std::span(record.shards)));
  hash = hash_words(hash, std::as_bytes(std::span(record.metrics)));
  record.hash = record.weight != 0 ? result_hash_.of(result_, hash) : hash;
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
