#include "transport/collective/engine.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/canary.hpp"
#include "base/check.hpp"
#include "transport/quarantine.hpp"

namespace muster {

namespace {

// What is not the reduction's.
bool is_loaded(FrameKind kind) {
  return comes_whole(kind) || comes_in_pieces(kind);
}

// That the piece is here.
Frame acknowledgement(const Frame& piece) {
  const auto body = PieceBody::from(piece);
  return frame_with(ReceivedBody{body.of, body.number, body.first_byte});
}

}  // namespace

Engine::Engine(Transport& transport, Hooks hooks, const TransferOptions& transfer_sender)
    : transport_(transport),
      hooks_(std::move(hooks)),
      transfer_sender_(transfer_sender,
                       [this](PeerId to, const Frame& frame, std::vector<std::byte> bytes) {
                         send_loading(to, frame, std::move(bytes));
                       }),
      intake_(transfer_sender.piece_bytes) {
  transport_.set_sink(this);
}

Engine::~Engine() {
  if (reduction_abandoned_) quarantine(std::move(reduction_));
}

void Engine::install(std::uint32_t view, PeerId self, std::uint64_t incarnation,
                     const std::vector<Peer>& peers, const ReductionShape* shape, const Bounds& bounds) {
  const bool again = view == peers_.view() && !reduction_ && !shape;
  MUSTER_CHECK(
      again || (view > peers_.view() && (!reduction_ || (reduction_->failed() && reduction_->drained()))),
      view, peers_.view());
  report_what_was_given(peers);
  transfer_sender_.forget_all(now());
  transfer_sender_.enter(transfer_window(bounds.record));
  intake_.forget();
  const std::uint32_t left = peers_.enter(view, self, incarnation);
  bounds_ = bounds;
  closing_.reset();
  liveness_.enter();
  demands_.enter();
  loading_.enter();
  for (const PeerId peer : std::set(peers_.connected())) {
    const bool stays = std::any_of(peers.begin(), peers.end(), [&](const Peer& other) {
      return other.number == peer && other.since <= left + 1;
    });
    if (!stays) disconnect(peer);
  }
  for (const Peer& peer : peers) peers_.connect(peer, transport_);
  if (std::exchange(reduction_abandoned_, false)) quarantine(std::move(reduction_));
  if (shape) {
    const auto done = [this](std::shared_ptr<RoundRecord> record) { round_is_over(std::move(record)); };
    reduction_ = std::make_unique<Reduction>(
        *shape, transport_,
        Reduction::Hooks{done, hooks_.reduction_failed, hooks_.now, hooks_.reduction_broke,
                         [this](PeerId peer, const std::string& reason) { refuse(peer, reason); },
                         hooks_.unlike});
  } else {
    reduction_.reset();  // a newcomer that was a member
  }
  replay_early_frames();
}

// Those who were given the state, and now are members.
void Engine::report_what_was_given(const std::vector<Peer>& members) {
  for (const Peer& member : members) {
    const auto given = transfer_sender_.given(member.number, now());
    if (given && hooks_.gave) hooks_.gave(member.number, *given);
  }
}

void Engine::round_is_over(std::shared_ptr<RoundRecord> record) {
  record->sent = transport_.traffic().since(told_of_);
  told_of_ += record->sent;
  const bool step = record->kind == RoundKind::train && record->weight != 0;
  liveness_.round_done(step, now());
  transfer_sender_.round_over(step, now());
  hooks_.round_done(std::move(record));
  go_on_giving();  // the link is idle, and others compute
}

void Engine::accept(const Peer& peer) {
  transfer_sender_.newcomer(peer.number);
  peers_.forgive(peer.number);
  peers_.connect(peer, transport_);
}

void Engine::disconnect(PeerId peer) {
  transfer_sender_.forget(peer, now());
  if (!peers_.remove(peer)) return;
  sends_.let_go(peer);
  transport_.disconnect(peer);
}

void Engine::close(std::uint32_t view, const std::vector<PeerId>& lost) {
  if (view != peers_.view()) return;  // of a view that this node has left, or never entered
  closing_ = view;
  if (reduction_ && !canary("keeps-going")) reduction_->close();
  for (const PeerId peer : lost) disconnect(peer);
  report_closed_if_drained();
}

void Engine::report_closed_if_drained() {
  const bool drained = placed_ == 0 && (!reduction_ || reduction_->drained());
  if (!closing_ || (!drained && !canary("closes-at-once"))) return;
  hooks_.closed(*std::exchange(closing_, std::nullopt), reduction_ && reduction_->result_begun(),
                std::exchange(result_abandoned_, false));
}

void Engine::replay_early_frames() {
  for (const EarlyFrames::Held& held : early_.take(peers_.view())) {
    if (held.frame.view != peers_.view() || !reduction_) continue;
    const auto target = place(held.frame);
    if (target.size() != held.payload.size()) continue;
    std::copy(held.payload.begin(), held.payload.end(), target.begin());
    arrived(held.frame, target);
  }
}

void Engine::send_loading(PeerId to, Frame frame, std::vector<std::byte> payload) {
  peers_.sign(frame);
  frame.bytes = payload.size();
  if (frame.kind == FrameKind::demand) demands_.asked(to, DemandBody::from(frame), now());
  const KeptSends::Begun kept = sends_.add(to, frame, std::move(payload));
  transport_.send(to, frame, kept.payload, kept.token);
}

bool Engine::fold_on() {
  const bool any = reduction_ && reduction_->fold_on();
  if (any) report_closed_if_drained();
  return any;
}

void Engine::transfer_state(PeerId to, FrameKind kind, std::uint64_t number,
                            std::shared_ptr<const TransferPayload> transfer) {
  if (!peers_.is_connected(to)) return;  // it is gone
  transfer_sender_.give(to, kind, number, std::move(transfer), now(), liveness_.median_step());
  go_on_giving();
}

void Engine::go_on_giving() {
  if (transfer_sender_.idle()) return;
  const bool steps_run = reduction_ && !reduction_->failed();
  transfer_sender_.pump({now(), liveness_.median_step(), steps_run, steps_run && reduction_->sending()});
}

std::chrono::nanoseconds Engine::now() const {
  return hooks_.now ? hooks_.now() : std::chrono::nanoseconds{0};
}

void Engine::ask_for_life(PeerId peer) {
  Frame ping;
  ping.kind = FrameKind::ping;
  liveness_.asked(peer, now());
  send_loading(peer, ping, {});
}

void Engine::tick() {
  now();  // a quiet time is no standstill: see awake_clock.hpp
  go_on_giving();
  look_at_loaders();
  if (closing_) return look_while_closing();
  if (!reduction_ || reduction_->failed() || !reduction_->waits_since()) return;
  RoundSight sight = reduction_->sight();
  if (!liveness_.again(sight.round)) return;
  sight.now = now();
  sight.median_step = liveness_.median_step();
  for (PeerSight& peer : sight.peers) {
    liveness_.describe(peer, sight.now);
    if (peer.owes()) ask_for_life(peer.peer);
  }
  if (hooks_.stalled) hooks_.stalled(std::move(sight));
}

// While nobody waits, nobody asks.
void Engine::look_at_loaders() {
  if (!hooks_.starved) return;
  const ProgressStatus status = hooks_.progress ? hooks_.progress() : ProgressStatus{};
  if (!loading_.still(status, [this] { return now(); }) || closing_) return;
  for (const PeerId loader : demands_.waited_for()) {
    LoadingSight sight = loading_.sight(loader, liveness_, demands_, now());  // of the question before
    sight.view = peers_.view();
    sight.arriving = whole_.batch_arrives_from(loader);
    ask_for_life(loader);
    hooks_.starved(std::move(sight));
  }
}

void Engine::ask_again(PeerId loader) {
  for (const DemandBody& demand : demands_.unanswered(loader)) send_loading(loader, frame_with(demand), {});
}

// What is under way with a member whose progress thread stands still does not end. Its silence tells which.
void Engine::look_while_closing() {
  if (!reduction_) return;
  RoundSight sight;
  sight.view = peers_.view();
  sight.kind = RoundKind::greeting;  // nobody is late for a step
  sight.waiting_since = sight.now = now();
  sight.median_step = liveness_.median_step();
  for (const PeerId peer : reduction_->others()) {
    if (!peers_.is_connected(peer)) continue;
    sight.peers.emplace_back().peer = peer;
    liveness_.describe(sight.peers.back(), sight.now);
    ask_for_life(peer);
  }
  if (hooks_.stalled) hooks_.stalled(std::move(sight));
}

// Every frame of a peer is a sign of life. Those that are nothing else end here.
bool Engine::about_life(const Frame& frame) {
  const bool life = frame.kind == FrameKind::ping || frame.kind == FrameKind::status;
  if (!peers_.knows(frame)) return life;
  liveness_.heard(frame.from);
  if (!life) return false;
  if (frame.kind == FrameKind::ping) {
    StatusBody answer = body_of(hooks_.progress ? hooks_.progress() : ProgressStatus{});
    answer.owed_demands = demands_.owed(frame.from);
    send_loading(frame.from, frame_with(answer), {});
    return true;
  }
  const auto answer = StatusBody::from(frame);
  if (const auto status = status_in(answer)) liveness_.told(frame.from, *status, now(), answer.owed_demands);
  return true;
}

std::span<std::byte> Engine::place_whole(const Frame& frame) {
  if (!peers_.knows(frame)) return {};
  const std::uint64_t bytes_max = frame.kind == FrameKind::batch ? bounds_.batch : bounds_.part;
  if (frame.bytes > bytes_max) {
    hooks_.refused("a message of " + std::to_string(frame.bytes) + " bytes, at most " +
                   std::to_string(bytes_max) + " were agreed");
    return {};
  }
  return whole_.place(frame);
}

std::span<std::byte> Engine::place_piece(const Frame& frame) {
  if (!peers_.knows(frame)) return {};
  const Intake::Place place =
      intake_.place(frame, frame.kind == FrameKind::record ? bounds_.record : bounds_.state);
  if (place.had) send_loading(frame.from, acknowledgement(frame), {});
  if (!place.wrong.empty()) refuse(frame.from, place.wrong);
  return place.bytes;
}

// What cannot be used may have been damaged on the way, or come of one who does not follow the protocol.
void Engine::refuse(PeerId peer, const std::string& reason) {
  hooks_.refused(reason);
  blame(peer, reason);
}

void Engine::whole_arrived(const Frame& frame, std::span<const std::byte> payload) {
  auto bytes = whole_.take(payload);
  // If its view ended while it came, numbers of a new one could be taken for its.
  if (!bytes || !peers_.knows(frame)) return;
  if (frame.kind != FrameKind::batch) return hooks_.transferred(frame, std::move(*bytes));
  demands_.answered(frame.from, BatchBody::from(frame));
  hooks_.batch(frame, std::move(*bytes));
}

void Engine::piece_arrived(const Frame& frame, std::span<const std::byte> piece) {
  Intake::Taken taken = intake_.arrived(frame, piece);
  if (!taken.known || !peers_.knows(frame)) return;  // its view ended while it came
  if (!taken.wrong.empty()) return refuse(frame.from, taken.wrong);
  send_loading(frame.from, acknowledgement(frame), {});
  if (taken.whole) hooks_.transferred(frame, std::move(*taken.whole));
}

std::span<std::byte> Engine::place(const Frame& frame) {
  if (peers_.knows(frame)) liveness_.heard(frame.from);  // also by what is refused
  if (frame.view > peers_.view() && frame.kind == FrameKind::header) {
    const EarlyFrames::Place early = early_.place(frame);
    if (!early.wrong.empty()) hooks_.refused(early.wrong);
    return early.bytes;
  }
  if (comes_whole(frame.kind)) return place_whole(frame);
  if (comes_in_pieces(frame.kind)) return place_piece(frame);
  if (!reduction_) return {};
  const auto target = reduction_->place(frame);
  if (!target.empty()) ++placed_;
  return target;
}

bool Engine::arrived_in_place(const Frame& frame, std::span<const std::byte> payload, BorrowedBuffer borrow) {
  if (frame.kind != FrameKind::contribution || !reduction_ ||
      !reduction_->arrived_in_place(frame, payload, borrow))
    return false;
  liveness_.heard(frame.from);
  report_closed_if_drained();
  return true;
}

void Engine::arrived(const Frame& frame, std::span<std::byte> payload) {
  if (about_life(frame)) return;
  if (comes_in_pieces(frame.kind)) return piece_arrived(frame, payload);
  if (comes_whole(frame.kind)) return whole_arrived(frame, payload);
  if (frame.kind == FrameKind::demand) {
    if (peers_.knows(frame) && demands_.taken(frame.from, DemandBody::from(frame))) hooks_.demand(frame);
    return;
  }
  if (frame.kind == FrameKind::taken) {
    if (peers_.knows(frame)) hooks_.transferred(frame, {});
    return;
  }
  if (frame.kind == FrameKind::received) {
    if (!peers_.knows(frame)) return;
    transfer_sender_.arrived(frame.from, ReceivedBody::from(frame), now());
    return go_on_giving();
  }
  if (!early_.empty() && early_.arrived(payload)) {
    if (frame.view <= peers_.view()) replay_early_frames();
    return;
  }
  if (!reduction_) return;
  if (!payload.empty()) --placed_;
  reduction_->arrived(frame, payload);
  report_closed_if_drained();
}

void Engine::dropped(const Frame& frame) {
  if (comes_in_pieces(frame.kind)) intake_.dropped(frame, false);
  whole_.dropped(frame);
  // What is left of an older view may have come over a connection that this side has cut since.
  if (frame.view >= peers_.view()) blame(frame.from, "it broke off in the middle of a message");
  if (!early_.dropped(frame) && !is_loaded(frame.kind) && reduction_) {
    --placed_;
    reduction_->close();
  }
  report_closed_if_drained();
}

// Dropped, but where it was to go may still be written to: that memory is given up.
void Engine::abandoned(const Frame& frame) {
  if (comes_in_pieces(frame.kind)) intake_.dropped(frame, true);
  whole_.abandoned(frame);
  early_.abandoned(frame);
  if (!is_loaded(frame.kind) && reduction_) {
    reduction_->abandoned(frame);
    reduction_abandoned_ = true;
  }
  if (frame.kind == FrameKind::result) result_abandoned_ = true;
  dropped(frame);
}

// What this side cut itself fails, too, and says nothing of a connection that was made since.
void Engine::sent(PeerId to, SendToken token, bool ok) {
  const bool loads = KeptSends::has(token);
  const auto ended = loads ? sends_.take(token) : std::nullopt;
  const bool let_go = ended && ended->let_go;
  if (!ok && !let_go) blame(to, "a send to it failed");  // said before what follows from it
  if (loads) {
    const bool given = ended && ended->frame.kind == FrameKind::batch;
    if (given && ended->frame.view == peers_.view()) demands_.given(to, BatchBody::from(ended->frame));
  } else if (reduction_) {
    reduction_->sent(to, token, ok);
    if (!reduction_->sending()) go_on_giving();
  }
  report_closed_if_drained();
}

void Engine::peer_failed(PeerId peer, const std::string& reason) {
  blame(peer, reason);
}

// Its connection, a send to it and a message from it may each fail by themselves: the first is said.
void Engine::blame(PeerId peer, const std::string& reason) {
  if (peers_.blame(peer)) hooks_.peer_failed(peers_.view(), peer, reason);
}

void Engine::refused(const std::string& reason) {
  hooks_.refused(reason);
}

}  // namespace muster
