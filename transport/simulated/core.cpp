#include "transport/simulated/core.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "muster/error.hpp"

namespace muster::simulated {

using std::chrono::nanoseconds;

Core::Core(SimulatedNetwork::After after, std::uint64_t seed, const SimulatedNetworkOptions& options)
    : after_(std::move(after)), options_(options), chance_(seed, options) {}

// ---- nodes

void Core::cut(const std::string& name) {
  if (Node* node = nodes_.live(name)) vanish(*node, true);
}

void Core::lose(const std::string& name) {
  if (Node* node = nodes_.live(name)) vanish(*node, false);
}

void Core::vanish(Node& node, bool told) {
  if (!node.alive) return;
  node.alive = false;
  node.sink = nullptr;
  for (auto& [peer, link] : node.links) {
    sever(*link, false);
    link->remote->inbound.erase({node.number, link->sequence});
  }
  node.links.clear();
  // Frames that waited for the end of a pause come to nothing; what they were is counted there.
  for (Node::Waiting& waiting : std::exchange(node.waiting, {}))
    after_(chance_.hop(), std::move(waiting.event));
  for (auto& [place, link] : node.inbound) {
    if (link->state != Link::State::open) continue;
    sever(*link, true);
    if (told) {
      notice_later(link, "the node is gone");
    } else {
      after_(chance_.stall(), [self = shared_from_this(), link = link] {
        self->notice(link, "nothing was answered for too long", true);
      });
    }
  }
}

void Core::pause(const std::string& name) {
  if (Node* node = nodes_.live(name)) node->paused = true;
}

void Core::resume(const std::string& name) {
  Node* node = nodes_.live(name);
  if (!node || !std::exchange(node->paused, false)) return;
  for (Node::Waiting& waiting : std::exchange(node->waiting, {}))
    after_(chance_.hop(), std::move(waiting.event));
}

// ---- connections

void Core::connect(Node& node, PeerId peer, const std::string& address) {
  if (!node.alive) return;
  Node* const remote = nodes_.at(address);
  if (!remote) throw Error("no node ever had the address '" + address + "'");
  if (remote == &node) throw Error("a transport cannot be connected to itself");
  auto& link = node.links[peer];
  MUSTER_CHECK(link == nullptr || link->state != Link::State::open, "connected twice: peer", peer);
  link = std::make_shared<Link>();
  link->peer = peer;
  link->owner = &node;
  link->remote = remote;
  link->sequence = ++node.connections[link->remote->number];
  link->remote->inbound[{node.number, link->sequence}] = link;
  const bool ended = node.ended_before.erase({link->remote->number, link->sequence}) > 0;
  if (link->remote->alive && !ended) return;
  sever(*link, true);
  notice_later(link, ended ? "the peer cut the connection" : "the node is gone");
}

void Core::disconnect(Node& node, PeerId peer) {
  const auto found = node.links.find(peer);
  if (found == node.links.end()) return;
  const std::shared_ptr<Link> link = found->second;
  node.links.erase(found);
  if (std::exchange(link->state, Link::State::closed) != Link::State::open) return;
  revoke_borrows(*link);
  sever(*link, false);
  fail_sends_later(link);
  link->remote->inbound.erase({node.number, link->sequence});
  const auto back = other_side(*link);
  if (!back) link->remote->ended_before.insert({node.number, link->sequence});
  if (!back || back->state != Link::State::open) return;
  sever(*back, true);
  notice_later(back, "the peer cut the connection");
}

void Core::break_between(const std::string& a, const std::string& b) {
  Node* one = nodes_.live(a);
  Node* other = nodes_.live(b);
  if (!one || !other) return;
  for (const auto& [from, to] : {std::pair(one, other), std::pair(other, one)}) {
    for (const auto& [place, link] : to->inbound) {
      if (place.first != from->number || link->state != Link::State::open) continue;
      sever(*link, true);
      notice_later(link, "the connection was reset");
    }
  }
}

void Core::sever(Link& link, bool by_receiver) {
  link.severed = true;
  link.severed_by_receiver = link.severed_by_receiver || by_receiver;
  let_go(link);
}

void Core::notice_later(const std::shared_ptr<Link>& link, const std::string& reason) {
  const bool at_once = options_.supports_borrowing && chance_.coin();  // as between processes of one host
  after_(at_once ? chance_.hop() : chance_.notice(),
         [self = shared_from_this(), link, reason] { self->notice(link, reason, false); });
}

// The owner learns that its connection is no more. The report of it needs a free path; a time-out needs none.
void Core::notice(const std::shared_ptr<Link>& link, const std::string& reason, bool by_time_out) {
  Node& node = *link->owner;
  if (node.waits([self = shared_from_this(), link, reason] { self->notice(link, reason, true); })) return;
  if (!node.alive || link->state != Link::State::open) return;
  if (!by_time_out && holds(path(*link->remote, node), link, [self = shared_from_this(), link, reason] {
        self->notice(link, reason, false);
      })) {
    return;
  }
  link->state = Link::State::failed;
  revoke_borrows(*link);
  fail_sends(*link);
  // The sink may have disconnected it meanwhile.
  const auto current = node.links.find(link->peer);
  if (node.alive && node.sink != nullptr && current != node.links.end() && current->second == link) {
    node.sink->peer_failed(link->peer, reason);
  }
}

void Core::fail_sends(Link& link) {
  Node& node = *link.owner;
  auto unsent = std::exchange(link.unsent, {});
  for (const auto& [number, token] : unsent) {
    if (node.alive && node.sink != nullptr) node.sink->sent(link.peer, token, false);
  }
}

void Core::fail_sends_later(const std::shared_ptr<Link>& link) {
  after_(chance_.hop(), [self = shared_from_this(), link] {
    if (link->owner->waits([self, link] { self->fail_sends_later(link); })) return;
    self->fail_sends(*link);
  });
}

// ---- frames

void Core::send(Node& node, PeerId peer, const Frame& frame, std::span<const std::byte> payload,
                SendToken token) {
  MUSTER_CHECK(payload.size() == frame.bytes, "payload", payload.size(), "frame", frame.bytes);
  if (!node.alive) return;
  const auto found = node.links.find(peer);
  if (found == node.links.end() || found->second->state != Link::State::open) {
    if (node.sink != nullptr) node.sink->sent(peer, token, false);
    return;
  }
  const std::shared_ptr<Link> link = found->second;
  const std::uint64_t number = ++sends_;
  ++counts_.started;
  counts_.bytes += frame.bytes;
  count(node.traffic.between_hosts, frame, frame.bytes);
  link->unsent.emplace(number, token);
  auto transfer = std::make_shared<Transfer>();
  transfer->frame = frame;
  transfer->payload.assign(payload.begin(), payload.end());
  transfer->link = link;
  transfer->number = number;
  const Path* const on = path(node, *link->remote);
  const nanoseconds time = chance_.path_time(frame.bytes, on ? &on->disturbance : nullptr);
  // A small payload is copied and free at once; the buffer of a large one may be free before or after it
  // arrived.
  const bool at_once = small(*transfer);
  const nanoseconds freed = at_once ? options_.delay_min : time + chance_.hop() - options_.delay_min;
  after_(time, [self = shared_from_this(), transfer] { self->begin(transfer); });
  after_(freed, [self = shared_from_this(), link, number, at_once] { self->report(link, number, !at_once); });
}

bool Core::vanishes(const Transfer& transfer) {
  const FrameKind kind = transfer.frame.kind;
  if (kind != FrameKind::demand && kind != FrameKind::batch) return false;
  const Path* on = path(*transfer.link->owner, *transfer.link->remote);
  return on && chance_.happens(on->disturbance.loses_loading);
}

// The buffer of a send is free. For a large one the receiver has said so.
void Core::report(const std::shared_ptr<Link>& link, std::uint64_t number, bool acknowledged) {
  Node& node = *link->owner;
  const Event again = [self = shared_from_this(), link, number, acknowledged] {
    self->report(link, number, acknowledged);
  };
  if (node.waits(again)) return;
  if (!node.alive || link->severed) return;  // reported, or will be, by what cut the connection
  const auto found = link->unsent.find(number);
  if (found == link->unsent.end()) return;
  if (const auto borrowed = borrows_.find(number); borrowed != borrows_.end()) {
    borrowed->second.report_waits = true;
    return;
  }
  if (acknowledged && (link->remote->waits(again) || holds(path(node, *link->remote), link, again) ||
                       holds(path(*link->remote, node), link, again))) {
    return;
  }
  const SendToken token = found->second;
  link->unsent.erase(found);
  if (node.sink != nullptr) node.sink->sent(link->peer, token, true);
}

void Core::begin(const std::shared_ptr<Transfer>& transfer) {
  const std::shared_ptr<Link> link = transfer->link;
  Node& to = *link->remote;
  const Event again = [self = shared_from_this(), transfer] { self->begin(transfer); };
  if (to.alive && !link->severed &&
      (holds(path(*link->owner, to), link, again) || holds_small(*transfer, link, again))) {
    return;
  }
  if (to.waits(again)) return;
  // Of a connection that its receiver cut, a large frame's request may still lie in a queue; its bytes never
  // come.
  const bool stale = link->severed_by_receiver && !small(*transfer);
  if (vanishes(*transfer)) {
    ++counts_.lost;
    return;
  }
  const bool under_way =
      !link->severed || lies_in_memory(*link) || ((!link->severed_by_receiver || stale) && chance_.coin());
  if (!to.alive || to.sink == nullptr || !under_way) {
    ++counts_.lost;
    return;
  }
  if (!transfer->payload.empty()) {
    if (offer(transfer)) {
      ++counts_.arrived;
      return;
    }
    transfer->place = to.sink->place(transfer->frame);
    if (transfer->place.empty()) {
      ++counts_.refused;
      return;
    }
    MUSTER_CHECK(transfer->place.size() == transfer->frame.bytes, "place", transfer->place.size());
  }
  if (!small(*transfer)) {
    after_(chance_.hop(), [self = shared_from_this(), transfer] { self->finish(transfer); });
    return;
  }
  std::copy(transfer->payload.begin(), transfer->payload.end(), transfer->place.begin());
  ++counts_.arrived;
  to.sink->arrived(transfer->frame, transfer->place);
}

void Core::finish(const std::shared_ptr<Transfer>& transfer) {
  const std::shared_ptr<Link> link = transfer->link;
  Node& from = *link->owner;
  Node& to = *link->remote;
  const Event again = [self = shared_from_this(), transfer] { self->finish(transfer); };
  if (to.waits(again)) return;
  if (to.alive && !link->severed &&
      (from.waits(again, link.get()) || holds(path(from, to), link, again, true) ||
       holds(path(to, from), link, again, true))) {
    return;
  }
  if (!to.alive || (link->severed && !lies_in_memory(*link))) {
    ++counts_.dropped;
    if (to.alive) to.sink->dropped(transfer->frame);
    return;
  }
  std::copy(transfer->payload.begin(), transfer->payload.end(), transfer->place.begin());
  ++counts_.arrived;
  to.sink->arrived(transfer->frame, transfer->place);
}

}  // namespace muster::simulated
