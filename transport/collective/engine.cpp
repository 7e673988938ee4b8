#include "transport/collective/engine.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/canary.hpp"
#include "base/check.hpp"
#include "transport/quarantine.hpp"

namespace muster {

namespace {

// In a buffer of its own, in one message.
bool comes_whole(FrameKind kind) {
  return kind == FrameKind::batch || kind == FrameKind::part || kind == FrameKind::gathered;
}

// What is not the reduction's.
bool is_loaded(FrameKind kind) {
  return comes_whole(kind) || comes_in_pieces(kind);
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
  const bool again = view == view_ && !reduction_ && !shape;
  MUSTER_CHECK(again || (view > view_ && (!reduction_ || (reduction_->failed() && reduction_->drained()))),
               view, view_);
  report_what_was_given(peers);
  transfer_sender_.forget_all(now());
  transfer_sender_.enter(transfer_window(bounds.record));
  intake_.forget();
  const std::uint32_t left = std::exchange(view_, view);
  self_ = self;
  incarnation_ = incarnation;
  bounds_ = bounds;
  blamed_.clear();
  closing_.reset();
  liveness_.enter();
  demands_.enter();
  loading_ = {};
  for (const PeerId peer : std::set(connected_)) {
    const bool stays = std::any_of(peers.begin(), peers.end(), [&](const Peer& other) {
      return other.number == peer && other.since <= left + 1;
    });
    if (!stays) disconnect(peer);
  }
  for (const Peer& peer : peers) connect(peer);
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
  blamed_.erase(peer.number);
  connect(peer);
}

void Engine::connect(const Peer& peer) {
  if (peer.number == self_) return;
  if (connected_.insert(peer.number).second) transport_.connect(peer.number, peer.address);
  incarnations_[peer.number] = peer.incarnation;
}

void Engine::disconnect(PeerId peer) {
  transfer_sender_.forget(peer, now());
  incarnations_.erase(peer);
  if (connected_.erase(peer) == 0) return;
  for (auto& [token, sending] : sending_) sending.let_go |= sending.to == peer;
  transport_.disconnect(peer);
}

void Engine::close(std::uint32_t view, const std::vector<PeerId>& lost) {
  if (view != view_) return;  // of a view that this node has left, or never entered
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

// A faster member may greet before this node has heard of the view: its first frames are kept, within bounds.
void Engine::replay_early_frames() {
  auto early = std::move(early_);
  early_.clear();
  for (auto& held : early) {
    if (held->whole && held->frame.view <= view_) {
      replay(*held);
    } else {
      early_.push_back(std::move(held));  // of a later view, or still arriving: `arrived` finds it here
    }
  }
}

void Engine::replay(const Early& held) {
  early_bytes_ -= held.payload.size();
  if (held.frame.view != view_ || !reduction_) return;
  const auto target = place(held.frame);
  if (target.size() != held.payload.size()) return;
  std::copy(held.payload.begin(), held.payload.end(), target.begin());
  arrived(held.frame, target);
}

void Engine::send_loading(PeerId to, Frame frame, std::vector<std::byte> payload) {
  frame.view = view_;
  frame.from = self_;
  frame.incarnation = incarnation_;
  frame.bytes = payload.size();
  if (frame.kind == FrameKind::demand) demands_.asked(to, DemandBody::from(frame), now());
  const SendToken token = next_batch_token_++;
  const Sending& kept = sending_[token] = {to, frame, std::move(payload)};
  transport_.send(to, frame, kept.payload, token);
}

bool Engine::fold_on() {
  const bool any = reduction_ && reduction_->fold_on();
  if (any) report_closed_if_drained();
  return any;
}

void Engine::transfer_state(PeerId to, FrameKind kind, std::uint64_t number,
                            std::shared_ptr<const TransferPayload> transfer) {
  if (!connected_.contains(to)) return;  // it is gone
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

// What is under way with a member whose progress thread stands still does not end. Its silence tells which.
void Engine::look_while_closing() {
  if (!reduction_) return;
  RoundSight sight;
  sight.view = view_;
  sight.kind = RoundKind::greeting;  // nobody is late for a step
  sight.waiting_since = sight.now = now();
  sight.median_step = liveness_.median_step();
  for (const PeerId peer : reduction_->others()) {
    if (!connected_.contains(peer)) continue;
    sight.peers.emplace_back().peer = peer;
    liveness_.describe(sight.peers.back(), sight.now);
    ask_for_life(peer);
  }
  if (hooks_.stalled) hooks_.stalled(std::move(sight));
}

// Every frame of a peer is a sign of life. Those that are nothing else end here.
bool Engine::about_life(const Frame& frame) {
  const bool life = frame.kind == FrameKind::ping || frame.kind == FrameKind::status;
  if (!known(frame)) return life;
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

bool Engine::known(const Frame& frame) const {
  const auto peer = incarnations_.find(frame.from);
  return frame.view == view_ && peer != incarnations_.end() && peer->second == frame.incarnation;
}

std::span<std::byte> Engine::place_whole(const Frame& frame) {
  if (!known(frame)) return {};
  const std::uint64_t bytes_max = frame.kind == FrameKind::batch ? bounds_.batch : bounds_.part;
  if (frame.bytes > bytes_max) {
    hooks_.refused("a message of " + std::to_string(frame.bytes) + " bytes, at most " +
                   std::to_string(bytes_max) + " were agreed");
    return {};
  }
  std::vector<std::byte> bytes(frame.bytes);
  std::byte* where = bytes.data();
  return (arriving_[where] = Arriving{frame, std::move(bytes)}).bytes;
}

std::span<std::byte> Engine::place_piece(const Frame& frame) {
  if (!known(frame)) return {};
  const Intake::Place place =
      intake_.place(frame, frame.kind == FrameKind::record ? bounds_.record : bounds_.state);
  if (place.had) acknowledge(frame);
  if (!place.wrong.empty()) refuse(frame.from, place.wrong);
  return place.bytes;
}

// What cannot be used may have been damaged on the way, or come of one who does not follow the protocol.
void Engine::refuse(PeerId peer, const std::string& reason) {
  hooks_.refused(reason);
  blame(peer, reason);
}

void Engine::acknowledge(const Frame& piece) {
  const auto body = PieceBody::from(piece);
  send_loading(piece.from, frame_with(ReceivedBody{body.of, body.number, body.first_byte}), {});
}

void Engine::piece_arrived(const Frame& frame, std::span<const std::byte> piece) {
  Intake::Taken taken = intake_.arrived(frame, piece);
  if (!taken.known || !known(frame)) return;  // its view ended while it came
  if (!taken.wrong.empty()) return refuse(frame.from, taken.wrong);
  acknowledge(frame);
  if (taken.whole) hooks_.transferred(frame, std::move(*taken.whole));
}

// What is refused here does not come again: this node then counts as lost, when its time to enter the view is
// over.
std::span<std::byte> Engine::place_early(const Frame& frame) {
  if (early_.size() >= kEarlyFramesMax || early_bytes_ + frame.bytes > kEarlyBytesMax) {
    if (std::exchange(early_refused_, frame.view) != frame.view)
      hooks_.refused("more greetings of view " + std::to_string(frame.view) +
                     " came before this node had heard of it than any view has members");
    return {};
  }
  early_.push_back(std::make_unique<Early>(Early{frame, std::vector<std::byte>(frame.bytes), false}));
  early_bytes_ += frame.bytes;
  return early_.back()->payload;
}

std::span<std::byte> Engine::place(const Frame& frame) {
  if (known(frame)) liveness_.heard(frame.from);  // also by what is refused
  if (frame.view > view_ && frame.kind == FrameKind::header) return place_early(frame);
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
  if (comes_whole(frame.kind)) {
    const auto held = arriving_.find(payload.data());
    if (payload.empty() || held == arriving_.end()) return;
    std::vector<std::byte> bytes = std::move(held->second.bytes);
    arriving_.erase(held);
    if (!known(frame)) return;  // its view ended while it came; numbers of a new one could be taken for its
    if (frame.kind == FrameKind::batch) {
      demands_.answered(frame.from, BatchBody::from(frame));
      return hooks_.batch(frame, std::move(bytes));
    }
    return hooks_.transferred(frame, std::move(bytes));
  }
  if (frame.kind == FrameKind::demand) {
    if (known(frame) && demands_.taken(frame.from, DemandBody::from(frame))) hooks_.demand(frame);
    return;
  }
  if (frame.kind == FrameKind::taken) {
    if (known(frame)) hooks_.transferred(frame, {});
    return;
  }
  if (frame.kind == FrameKind::received) {
    if (!known(frame)) return;
    transfer_sender_.arrived(frame.from, ReceivedBody::from(frame), now());
    return go_on_giving();
  }
  for (auto held = early_.begin(); held != early_.end() && !payload.empty(); ++held) {
    if ((*held)->payload.data() != payload.data()) continue;
    (*held)->whole = true;
    if (frame.view > view_) return;  // kept until the view is installed
    const auto early = std::move(*held);
    early_.erase(held);
    return replay(*early);
  }
  if (!reduction_) return;
  if (!payload.empty()) --placed_;
  reduction_->arrived(frame, payload);
  report_closed_if_drained();
}

void Engine::dropped(const Frame& frame) {
  if (comes_in_pieces(frame.kind)) intake_.dropped(frame, false);
  const auto half = std::find_if(arriving_.begin(), arriving_.end(), [&](const auto& held) {
    return std::memcmp(&held.second.frame, &frame, sizeof frame) == 0;
  });
  if (half != arriving_.end()) arriving_.erase(half);
  // What is left of an older view may have come over a connection that this side has cut since.
  if (frame.view >= view_) blame(frame.from, "it broke off in the middle of a message");
  const auto early = std::find_if(early_.begin(), early_.end(), [&](const auto& held) {
    return !held->whole && held->frame.from == frame.from && held->frame.view == frame.view;
  });
  if (early != early_.end()) {
    early_bytes_ -= (*early)->payload.size();
    early_.erase(early);
  } else if (!is_loaded(frame.kind) && reduction_) {
    --placed_;
    reduction_->close();
  }
  report_closed_if_drained();
}

// Dropped, but where it was to go may still be written to: that memory is given up.
void Engine::abandoned(const Frame& frame) {
  if (comes_in_pieces(frame.kind)) intake_.dropped(frame, true);
  for (auto& [where, arriving] : arriving_) {
    if (std::memcmp(&arriving.frame, &frame, sizeof frame) == 0) quarantine(std::move(arriving.bytes));
  }
  for (auto& early : early_) {
    if (early->whole || std::memcmp(&early->frame, &frame, sizeof frame) != 0) continue;
    std::vector<std::byte> bytes(early->payload.size());
    bytes.swap(early->payload);
    quarantine(std::move(bytes));
  }
  if (!is_loaded(frame.kind) && reduction_) {
    reduction_->abandoned(frame);
    reduction_abandoned_ = true;
  }
  if (frame.kind == FrameKind::result) result_abandoned_ = true;
  dropped(frame);
}

// What this side cut itself fails, too, and says nothing of a connection that was made since.
void Engine::sent(PeerId to, SendToken token, bool ok) {
  const bool loads = token >= kBatchTokens;
  const auto ended = loads ? sending_.extract(token) : decltype(sending_)::node_type();
  const bool let_go = ended && ended.mapped().let_go;
  if (!ok && !let_go) blame(to, "a send to it failed");  // said before what follows from it
  if (loads) {
    const bool given = ended && ended.mapped().frame.kind == FrameKind::batch;
    if (given && ended.mapped().frame.view == view_)
      demands_.given(to, BatchBody::from(ended.mapped().frame));
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
  if (blamed_.insert(peer).second) hooks_.peer_failed(view_, peer, reason);
}

void Engine::refused(const std::string& reason) {
  hooks_.refused(reason);
}

}  // namespace muster
