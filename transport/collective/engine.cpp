#include "muster/transport/collective/engine.hpp"

#include <algorithm>
#include <utility>

#include "muster/config/check.hpp"

namespace muster {

Engine::Engine(Transport& transport, Hooks hooks) : transport_(transport), hooks_(std::move(hooks)) {
  transport_.set_sink(this);
}

void Engine::install(std::uint32_t view, PeerId self, std::uint64_t incarnation,
                     const std::vector<Peer>& peers, const ReductionShape* shape,
                     std::size_t batch_bytes_max) {
  MUSTER_CHECK(view > view_ && (!reduction_ || (reduction_->failed() && reduction_->drained())), view, view_);
  view_ = view;
  self_ = self;
  incarnation_ = incarnation;
  batch_bytes_max_ = batch_bytes_max;
  blamed_.clear();
  closing_.reset();
  liveness_.enter();
  for (const Peer& peer : peers) {
    if (peer.number == self) continue;
    if (connected_.insert(peer.number).second) transport_.connect(peer.number, peer.address);
    incarnations_[peer.number] = peer.incarnation;
  }
  if (shape) {
    record_bytes_max_ =
        kRecordBytesMin + shape->elements * sizeof(float) + std::size_t{shape->shards} * kRecordShardBytes;
    const auto done = [this](RoundRecord record) {
      liveness_.round_done(record.kind == RoundKind::train, now());
      hooks_.round_done(std::move(record));
    };
    reduction_ = std::make_unique<Reduction>(*shape, transport_,
                                             Reduction::Hooks{done, hooks_.reduction_failed, hooks_.now});
  }
  replay_early_frames();
}

void Engine::close(std::uint32_t view, const std::vector<PeerId>& lost) {
  if (view != view_) return;  // of a view that this node has left, or never entered
  closing_ = view;
  if (reduction_) reduction_->close();
  for (const PeerId peer : lost) {
    incarnations_.erase(peer);
    if (connected_.erase(peer) > 0) transport_.disconnect(peer);
  }
  say_closed_if_drained();
}

void Engine::say_closed_if_drained() {
  if (!closing_ || placed_ > 0 || (reduction_ && !reduction_->drained())) return;
  hooks_.closed(*std::exchange(closing_, std::nullopt));
}

// A faster member may greet before this node has heard of the view: its first frames are kept, within bounds.
void Engine::replay_early_frames() {
  auto early = std::move(early_);
  early_.clear();
  for (auto& held : early) {
    if (held->whole) {
      replay(*held);
    } else {
      early_.push_back(std::move(held));  // still arriving: `arrived` finds it here
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
  const SendToken token = next_batch_token_++;
  const auto& kept = sending_[token] = std::move(payload);
  transport_.send(to, frame, kept, token);
}

std::chrono::nanoseconds Engine::now() const {
  return hooks_.now ? hooks_.now() : std::chrono::nanoseconds{0};
}

void Engine::tick() {
  if (!reduction_ || reduction_->failed() || !reduction_->waits_since()) return;
  RoundSight sight = reduction_->sight();
  if (!liveness_.again(sight.round)) return;
  sight.now = now();
  sight.median_step = liveness_.median_step();
  for (PeerSight& peer : sight.peers) {
    liveness_.describe(peer);
    Frame ping;
    ping.kind = FrameKind::ping;
    if (peer.owes()) send_loading(peer.peer, ping, {});
  }
  if (hooks_.stalled) hooks_.stalled(std::move(sight));
}

// Every frame of a peer is a sign of life. Those that are nothing else end here.
bool Engine::about_life(const Frame& frame) {
  const bool life = frame.kind == FrameKind::ping || frame.kind == FrameKind::word;
  if (!known(frame)) return life;
  liveness_.heard(frame.from, now());
  if (!life) return false;
  if (frame.kind == FrameKind::ping) {
    Frame word;
    word.kind = FrameKind::word;
    if (hooks_.progress) put_word(hooks_.progress(), word);
    send_loading(frame.from, word, {});
  } else if (const auto word = word_in(frame)) {
    liveness_.told(frame.from, *word, now());
  }
  return true;
}

bool Engine::known(const Frame& frame) const {
  const auto peer = incarnations_.find(frame.from);
  return frame.view == view_ && peer != incarnations_.end() && peer->second == frame.incarnation;
}

std::span<std::byte> Engine::place_whole(const Frame& frame) {
  if (!known(frame)) return {};
  const std::size_t bytes_max = frame.kind == FrameKind::batch ? batch_bytes_max_ : record_bytes_max_;
  if (frame.bytes > bytes_max) {
    hooks_.refused("a message of " + std::to_string(frame.bytes) + " bytes, at most " +
                   std::to_string(bytes_max) + " were agreed");
    return {};
  }
  std::vector<std::byte> bytes(frame.bytes);
  std::byte* where = bytes.data();
  arriving_[where] = std::move(bytes);
  return arriving_[where];
}

std::span<std::byte> Engine::place(const Frame& frame) {
  if (frame.view > view_ && frame.kind == FrameKind::header && early_.size() < kEarlyFramesMax &&
      early_bytes_ + frame.bytes <= kEarlyBytesMax) {
    early_.push_back(std::make_unique<Early>(Early{frame, std::vector<std::byte>(frame.bytes), false}));
    early_bytes_ += frame.bytes;
    return early_.back()->payload;
  }
  if (frame.kind == FrameKind::batch || frame.kind == FrameKind::record) return place_whole(frame);
  if (!reduction_) return {};
  const auto target = reduction_->place(frame);
  if (!target.empty()) ++placed_;
  return target;
}

void Engine::arrived(const Frame& frame, std::span<std::byte> payload) {
  if (about_life(frame)) return;
  if (frame.kind == FrameKind::batch || frame.kind == FrameKind::record) {
    const auto held = arriving_.find(payload.data());
    if (payload.empty() || held == arriving_.end()) return;
    std::vector<std::byte> bytes = std::move(held->second);
    arriving_.erase(held);
    if (frame.kind == FrameKind::record) return hooks_.handed_out(std::move(bytes));
    return hooks_.batch(frame, std::move(bytes));
  }
  if (frame.kind == FrameKind::demand) {
    if (known(frame)) hooks_.demand(frame);
    return;
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
  say_closed_if_drained();
}

void Engine::dropped(const Frame& frame) {
  blame(frame.from, "it broke off in the middle of a message");
  const auto early = std::find_if(early_.begin(), early_.end(), [&](const auto& held) {
    return !held->whole && held->frame.from == frame.from && held->frame.view == frame.view;
  });
  if (early != early_.end()) {
    early_bytes_ -= (*early)->payload.size();
    early_.erase(early);
  } else if (frame.kind != FrameKind::batch && frame.kind != FrameKind::record && reduction_) {
    --placed_;
    reduction_->close();
  }
  say_closed_if_drained();
}

void Engine::sent(PeerId to, SendToken token, bool ok) {
  if (!ok) blame(to, "a send to it failed");  // said before what follows from it
  if (token >= kBatchTokens) {
    sending_.erase(token);
  } else if (reduction_) {
    reduction_->sent(token, ok);
  }
  say_closed_if_drained();
}

void Engine::peer_failed(PeerId peer, const std::string& reason) {
  blame(peer, reason);
}

// Its connection, a send to it and a message from it may each fail by themselves: the first is said.
void Engine::blame(PeerId peer, const std::string& reason) {
  if (blamed_.insert(peer).second) hooks_.peer_failed(peer, reason);
}

void Engine::refused(const std::string& reason) {
  hooks_.refused(reason);
}

}  // namespace muster
