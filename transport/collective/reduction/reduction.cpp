#include "transport/collective/reduction/reduction.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "muster/error.hpp"
#include "transport/collective/reduction/record_of_round.hpp"
#include "transport/collective/rounds/round_check.hpp"

namespace muster {

namespace {
// How many of SumVariant. Results that nobody else reads are written through the caches.
std::size_t variants_of(const ReductionShape& shape) {
  const std::uint32_t host = shape.members[shape.self].host;
  const auto here = std::count_if(shape.members.begin(), shape.members.end(),
                                  [host](const ReductionMember& member) { return member.host == host; });
  if (shape.unit || !shape.shares_memory || adds_everywhere(shape.algorithm) || here < 2) return 1;
  return shape.one_shot_too ? 3 : 2;
}

SharedTimes times_of_host(const std::vector<Kept<RoundHeader>>& headers, const ReductionShape& shape) {
  SharedTimes times;
  for (std::size_t member = 0; member < headers.size(); ++member) {
    if (shape.members[member].host == shape.members[shape.self].host)
      times.add(headers[member]->variant_times);
  }
  return times;
}

}  // namespace

Reduction::Slot::Slot(Reduction& owner)
    : reports(owner.shape_, owner.nodes_),
      copies(owner.shape_),
      sums(owner.plans_, owner.staging_, owner.variants_, owner.sketch_variants_,
           [this, &owner](std::uint32_t member, const Frame& frame, std::span<const std::byte> payload,
                          Staging::Hold hold) {
             owner.sends_.send(member, frame, payload, owner.round_, under_way, hold);
           }) {
  under_way.reset(owner.shape_.members.size());
}

void Reduction::Slot::reset() {
  reports.reset();
  copies.reset();
  sums.reset();
  presence.reset();
  hidden.reset();
  under_way.reset(under_way.to.size());
  contributed = agreed = said = false;
  keep.clear();
  result_keep.reset();
}

bool Reduction::Slot::sums_follow() const {
  return reports.all_headers() && has_sums(reports.own_header().kind) && presence.any;
}

Reduction::Reduction(ReductionShape shape, Transport& transport, Hooks hooks)
    : shape_(std::move(shape)),
      hooks_(std::move(hooks)),
      end_(hooks_, shape_.goes_on_unlike,
           [this] {
             for (Slot& slot : slots_) slot.sums.close();
           }),
      members_(shape_),
      nodes_(shape_),
      plans_(shape_, nodes_.size()),
      staging_(shape_.chunk_elements, transport, shape_.unit.get()),
      sends_(shape_, transport, staging_),
      variants_(variants_of(shape_), hooks_.now),
      result_hash_(shape_.unit.get()),
      slots_(*this) {
  MUSTER_CHECK(!shape_.unit || (!shape_.wire.rounds() && !shape_.sparse && !shape_.backup_workers &&
                                !shape_.sharded && !shape_.copies && !shape_.one_shot_too),
               "only the host can do that");
}

// What is kept for rounds is let go of only when no sum reads it any more.
Reduction::~Reduction() {
  if (shape_.unit) shape_.unit->wait();
}

void Reduction::broadcast(const Frame& frame, Slot& slot, std::span<const std::byte> payload) {
  for (std::uint32_t member = 0; member < shape_.members.size() && !failed(); ++member) {
    if (member != shape_.self) sends_.send(member, frame, payload, round_, slot.under_way);
  }
}

void Reduction::open(const RoundHeader& header, std::span<float> result,
                     std::shared_ptr<const void> keep) try {
  if (failed()) return;
  MUSTER_CHECK(!opened_ && header.round == round_, opened_, header.round, round_);
  MUSTER_CHECK(header.kind != RoundKind::train || result.size() == shape_.elements, result.size());
  MUSTER_CHECK(header.kind != RoundKind::sketch || result.size() == shape_.sketch_elements, result.size());
  Slot& current = slots_[round_];
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
  end_.fail_here(error.what());
}

void Reduction::offer(std::uint64_t round, const std::vector<NodeValue>& nodes, ElementRange elements,
                      std::shared_ptr<const void> keep) try {
  if (failed() || round != round_ || slots_[round_].contributed) return;
  Slot& current = slots_[round_];
  MUSTER_CHECK(opened_, round_);
  nodes_.check_owned(shape_.self, nodes);
  if (current.keep.empty()) current.keep.push_back(std::move(keep));
  {
    const Inside inside(inside_);
    open_sum().offer(nodes, elements);
  }
  measure_hidden(current);
  step_on();
} catch (const Error& error) {
  end_.fail_here(error.what());
}

void Reduction::contribute(std::uint64_t round, const std::vector<NodeValue>& nodes,
                           const std::vector<ShardMetrics>& metrics, std::shared_ptr<const void> keep,
                           const std::vector<AuditReport>& audits) try {
  if (failed() || round != round_)
    return;  // the end of an epoch needs no contribution, and does not wait for one
  Slot& current = slots_[round_];
  MUSTER_CHECK(opened_ && !current.contributed, opened_, round_);
  waits_since_ = now();
  current.hidden.computed(*waits_since_);
  current.contributed = true;
  current.keep.push_back(std::move(keep));
  if (const std::string diverged = current.reports.contribute(metrics, audits); !diverged.empty())
    return end_.fail(diverged);
  nodes_.check_owned(shape_.self, nodes);
  {
    const Inside inside(inside_);
    if (!shape_.copies) send_losses(current);
    if (!failed()) open_sum().offer(nodes, {0, open_sum().elements()});
  }
  step_on();
} catch (const Error& error) {
  end_.fail_here(error.what());
}

void Reduction::add_backup(std::uint64_t round, const NodeValue& value,
                           const std::vector<ShardMetrics>& metrics, std::shared_ptr<const void> keep) {
  if (failed() || !opened_ || round != round_) return;  // it is not needed any more
  Slot& current = slots_[round_];
  const std::size_t index = nodes_.index_of(value.node);
  MUSTER_CHECK(shape_.backup_workers && index < nodes_.size() && nodes_[index].member != shape_.self,
               value.node);
  if (!current.reports.needs_backup(index)) return;
  current.keep.push_back(std::move(keep));
  const auto bytes = current.reports.add_backup(index, metrics);
  {
    const Inside inside(inside_);
    broadcast(frame_with(MetricsBody{value.node, 0}), current, bytes);
    if (!failed()) current.sums.at(SumNumber::kStep).add_backup(value, nodes_[index].member);
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
                        sends_.send(to, frame, piece, round_, current.under_way);
                        return !failed();
                      });
}

std::optional<Frame> Reduction::of_member(const Frame& received) const {
  if (failed()) return std::nullopt;
  return members_.received(received, round_);
}

bool Reduction::arrived_in_place(const Frame& received, std::span<const std::byte> payload,
                                 BorrowedBuffer borrow) {
  const auto known = of_member(received);
  if (!known) return false;
  {
    const Inside inside(inside_);
    if (!slots_[known->round].sums.of(*known).arrived_in_place(*known, payload, borrow)) return false;
  }
  step_on();
  return true;
}

std::span<std::byte> Reduction::place(const Frame& received) try {
  const auto known = of_member(received);
  if (!known) return {};
  const Frame& frame = *known;
  Slot& target = slots_[frame.round];
  const bool crowded = staging_.taken() >= slots_.size() * plans_.staged_max();
  switch (frame.kind) {
    case FrameKind::header:
    case FrameKind::metrics:
      return target.reports.place(frame);
    case FrameKind::contribution:
      return crowded ? std::span<std::byte>() : target.sums.of(frame).place(frame);
    case FrameKind::carried:
      return opened_ && frame.round == round_ ? target.copies.place(frame) : std::span<std::byte>();
    case FrameKind::result:
    case FrameKind::reduced:
      if (!opened_ || frame.round != round_ || (crowded && Payloads::sparse(frame))) return {};
      return target.sums.of(frame).place(frame);
    default:
      return {};
  }
} catch (const Error& error) {
  end_.fail_here(error.what());
  return {};
}

void Reduction::arrived(const Frame& received, std::span<std::byte> payload) try {
  if (received.kind == FrameKind::metrics && !payload.empty()) {
    if (const auto from = members_.place_of(received.from))
      slots_[received.round].reports.ended(*from, received, payload.data());
  }
  const auto known = of_member(received);
  if (!known) {  // of a round that is over: a second answer for what has come already
    const bool staged = received.kind == FrameKind::contribution ||
                        (received.kind == FrameKind::result && Payloads::sparse(received));
    if (staged && !payload.empty()) staging_.give_back(reinterpret_cast<float*>(payload.data()));
    return;
  }
  const Frame& frame = *known;
  Slot& target = slots_[frame.round];
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
  end_.fail_here(error.what());
}

// Each of these: whether the round may go on from here.
bool Reduction::take(const RoundReports::News& news, std::uint32_t from) {
  switch (news.what) {
    case RoundReports::News::What::none:
      return false;
    case RoundReports::News::What::damaged:
      end_.blame(members_.peers()[from], news.text);
      return false;
    case RoundReports::News::What::diverged:
      end_.fail(news.text);
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
    sends_.send(frame.from, frame_with(KeptShardBody{*shard}), {}, round_, target.under_way);
}

bool Reduction::take_kept(Slot& target, const Frame& frame) {
  const Inside inside(inside_);
  const bool right = frame.round == round_ && (shape_.copies ? target.copies.kept(frame)
                                                             : target.sums.at(SumNumber::kStep).kept(frame));
  if (!right) end_.blame(members_.peers()[frame.from], "an answer that it keeps what it was not given");
  return right;
}

bool Reduction::take_elements(Slot& target, const Frame& frame, std::span<std::byte> payload) {
  bool good = true;
  {
    const Inside inside(inside_);
    good = target.sums.of(frame).arrived(frame, payload);
  }
  if (!good) end_.blame(members_.peers()[frame.from], "sums that cannot be");
  if (good && frame.kind == FrameKind::result) measure_hidden(target);
  return good;
}

void Reduction::abandoned(const Frame& frame) {
  if (frame.kind == FrameKind::carried && shape_.copies)
    shape_.copies->abandoned(CarriedBody::from(frame).shard);
}

void Reduction::sent(PeerId to, SendToken token, bool ok) try {
  const std::uint64_t round = sends_.ended(token);
  if (failed()) return;
  Slot& target = slots_[round];
  target.under_way.ended(members_.place_of(to).value());
  if (!ok) return close();  // which member, and why, is the engine's to say
  if (target.under_way.all == 0 && round == round_) step_on();
} catch (const Error& error) {
  end_.fail_here(error.what());
}

// Sends may complete within `send`, in the middle of a broadcast: the state is looked at again when that is
// through.
void Reduction::step_on() {
  if (inside_ || failed() || !opened_) return;
  bool over = false;
  {
    const Inside inside(inside_);
    over = advance(slots_[round_]);
  }
  if (over) finish(slots_[round_]);
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
    if (failed() || !open_sum().complete()) return false;
  } else if (kind != RoundKind::evaluate) {
    // A greeting, a check, or the end of the epoch: the headers say it all.
    return current.under_way.all == 0;
  }
  return current.under_way.all == 0 && current.reports.all_complete() &&
         end_.goes_on(
             unlike_gradients(current.reports.audits(), members_.peers(), current.reports.own_header().step));
}

// All headers are in: whether they fit together is looked at once. Then it is known which leaves are present,
// what the divisor is, and which nodes will come.
bool Reduction::agree(Slot& current) {
  const auto& headers = current.reports.headers();
  const auto& peers = members_.peers();
  if (const std::string why = disagreement(headers, peers, shape_.self); !why.empty()) {
    end_.fail(why);
    return false;
  }
  if (!end_.goes_on(unlike_headers(headers, peers))) return false;
  current.agreed = true;
  said_ = times_of_host(headers, shape_);
  const bool with_sums = has_sums(current.reports.own_header().kind);
  current.presence.read(headers, shape_.shards, with_sums);
  if (with_sums && current.presence.any) open_sum().settle(current.presence.shards, current.presence.weight);
  return !failed();
}

std::chrono::nanoseconds Reduction::now() const {
  return hooks_.now ? hooks_.now() : std::chrono::nanoseconds{0};
}

void Reduction::finish(Slot& current) {
  auto record = pool_.take();
  write_reports(current.reports, current.presence, shape_.shards, *record);
  record->last_report_of = members_.peers()[last_reporter_];
  record->last_report_at = last_report_at_;
  record->hidden = current.hidden.total();
  if (record->weight != 0) record->hash = result_hash_.of(result_, record->hash);
  if (is_recorded(record->kind)) ++records_;
  current.reset();
  opened_ = false;
  waits_since_.reset();
  ++round_;
  result_ = {};
  hooks_.done(std::move(record));
}

// ---- the sums of the open round

TreeSum& Reduction::open_sum() const {
  const Slot& current = slots_[round_];
  const RoundReports& reports = current.reports;
  return current.sums.of(reports.opened() ? reports.own_header().kind : RoundKind::train,
                         variants_.variant());
}

// While this member still computes.
void Reduction::measure_hidden(Slot& current) {
  if (!current.contributed) current.hidden.look(open_sum().under_way(), [this] { return now(); });
}

bool Reduction::folding() const {
  return std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.sums.folding(); });
}

bool Reduction::fold_on() try {
  bool any = false;
  {
    const Inside inside(inside_);
    for (Slot& slot : slots_) any = slot.sums.fold_on() || any;
  }
  if (any) step_on();
  return any;
} catch (const Error& error) {
  const bool first = !failed();
  end_.fail_here(error.what());
  return first;
}

}  // namespace muster
