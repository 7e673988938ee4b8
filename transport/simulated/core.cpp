#include "muster/transport/simulated/core.hpp"

#include <algorithm>
#include <utility>

#include "muster/config/check.hpp"
#include "muster/config/error.hpp"

namespace muster::simulated {

using std::chrono::nanoseconds;

Core::Core(SimulatedNetwork::After after, std::uint64_t seed, const SimulatedNetworkOptions& options)
    : after_(std::move(after)), options_(options), random_(seed) {
  MUSTER_CHECK(options.delay_min.count() >= 0 && options.delay_min <= options.delay_max, "delay_max",
               options.delay_max.count());
  MUSTER_CHECK(options.bandwidth > 0, "bandwidth", options.bandwidth);
}

nanoseconds Core::draw(nanoseconds max) {
  const auto span =
      static_cast<std::uint64_t>(std::max(max - options_.delay_min, nanoseconds(0)).count()) + 1;
  return options_.delay_min + nanoseconds(static_cast<std::int64_t>(random_() % span));
}

nanoseconds Core::transfer_time(std::uint64_t bytes) const {
  return nanoseconds(static_cast<std::int64_t>(static_cast<double>(bytes) / options_.bandwidth * 1e9));
}

// ---- nodes

Node& Core::attach(const std::string& name) {
  const auto old = names_.find(name);
  MUSTER_CHECK(old == names_.end() || !old->second->alive, "a node of this name lives: ", name);
  const std::string address = name + "#" + std::to_string(++lives_[name]);
  auto& node = nodes_[address] = std::make_unique<Node>();
  node->address = address;
  names_[name] = node.get();
  return *node;
}

void Core::cut(const std::string& name) {
  const auto found = names_.find(name);
  if (found != names_.end()) vanish(*found->second);
}

void Core::vanish(Node& node) {
  if (!node.alive) return;
  node.alive = false;
  node.sink = nullptr;
  for (auto& [peer, link] : node.links) sever(*link, false);
  node.links.clear();
  for (auto& [address, other] : nodes_) {
    for (auto& [peer, link] : other->links) {
      if (link->remote != &node || link->state != Link::State::open) continue;
      sever(*link, true);
      notice_later(*other, link, "the node is gone");
    }
  }
}

// ---- connections

void Core::connect(Node& node, PeerId peer, const std::string& address) {
  if (!node.alive) return;
  const auto found = nodes_.find(address);
  if (found == nodes_.end()) throw Error(Advice::give_up, "no node ever had the address '" + address + "'");
  if (found->second.get() == &node)
    throw Error(Advice::report_bug, "a transport cannot be connected to itself");
  auto& link = node.links[peer];
  MUSTER_CHECK(link == nullptr || link->state != Link::State::open, "connected twice: peer", peer);
  link = std::make_shared<Link>();
  link->peer = peer;
  link->remote = found->second.get();
  if (link->remote->alive) return;
  sever(*link, true);
  notice_later(node, link, "the node is gone");
}

void Core::disconnect(Node& node, PeerId peer) {
  const auto found = node.links.find(peer);
  if (found == node.links.end()) return;
  const std::shared_ptr<Link> link = found->second;
  node.links.erase(found);
  if (std::exchange(link->state, Link::State::closed) != Link::State::open) return;
  sever(*link, false);
  after_(hop(), [self = shared_from_this(), &node, link] { self->fail_sends(node, *link); });
  for (auto& [number, back] : link->remote->links) {
    if (back->remote != &node || back->state != Link::State::open) continue;
    sever(*back, true);
    notice_later(*link->remote, back, "the peer cut the connection");
  }
}

void Core::sever(Link& link, bool by_receiver) {
  link.severed = true;
  link.severed_by_receiver = link.severed_by_receiver || by_receiver;
}

void Core::notice_later(Node& node, const std::shared_ptr<Link>& link, const std::string& reason) {
  after_(draw(options_.notice_max),
         [self = shared_from_this(), &node, link, reason] { self->notice(node, *link, reason); });
}

void Core::notice(Node& node, Link& link, const std::string& reason) {
  if (!node.alive || link.state != Link::State::open) return;
  link.state = Link::State::failed;
  fail_sends(node, link);
  // The sink may have disconnected it meanwhile.
  const auto current = node.links.find(link.peer);
  if (node.alive && node.sink != nullptr && current != node.links.end() && current->second.get() == &link) {
    node.sink->peer_failed(link.peer, reason);
  }
}

void Core::fail_sends(Node& node, Link& link) {
  auto unsent = std::exchange(link.unsent, {});
  for (const auto& [number, token] : unsent) {
    if (node.alive && node.sink != nullptr) node.sink->sent(link.peer, token, false);
  }
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
  link->unsent.emplace(number, token);
  auto transfer = std::make_shared<Transfer>();
  transfer->frame = frame;
  transfer->payload.assign(payload.begin(), payload.end());
  transfer->to = link->remote;
  transfer->link = link;
  const nanoseconds way = hop() + transfer_time(frame.bytes);
  // A small payload is copied and free at once; the buffer of a large one may be free before or after it
  // arrived.
  const nanoseconds freed =
      frame.bytes <= options_.at_once_bytes ? options_.delay_min : way + hop() - options_.delay_min;
  after_(way, [self = shared_from_this(), transfer] { self->begin(transfer); });
  after_(freed, [self = shared_from_this(), &node, link, number] { self->report(node, *link, number); });
}

void Core::report(Node& node, Link& link, std::uint64_t number) {
  if (!node.alive || link.severed) return;  // reported, or will be, by what cut the connection
  const auto found = link.unsent.find(number);
  if (found == link.unsent.end()) return;
  const SendToken token = found->second;
  link.unsent.erase(found);
  if (node.sink != nullptr) node.sink->sent(link.peer, token, true);
}

void Core::begin(const std::shared_ptr<Transfer>& transfer) {
  Node& to = *transfer->to;
  const Link& link = *transfer->link;
  const bool under_way = !link.severed || (!link.severed_by_receiver && coin());
  if (!to.alive || to.sink == nullptr || !under_way) {
    ++counts_.lost;
    return;
  }
  if (!transfer->payload.empty()) {
    transfer->place = to.sink->place(transfer->frame);
    if (transfer->place.empty()) {
      ++counts_.refused;
      return;
    }
    MUSTER_CHECK(transfer->place.size() == transfer->frame.bytes, "place", transfer->place.size());
  }
  if (transfer->payload.size() > options_.at_once_bytes) {
    after_(hop(), [self = shared_from_this(), transfer] { self->finish(*transfer); });
    return;
  }
  std::copy(transfer->payload.begin(), transfer->payload.end(), transfer->place.begin());
  ++counts_.arrived;
  to.sink->arrived(transfer->frame, transfer->place);
}

void Core::finish(Transfer& transfer) {
  Node& to = *transfer.to;
  if (!to.alive || transfer.link->severed) {
    ++counts_.dropped;
    if (to.alive) to.sink->dropped(transfer.frame);
    return;
  }
  std::copy(transfer.payload.begin(), transfer.payload.end(), transfer.place.begin());
  ++counts_.arrived;
  to.sink->arrived(transfer.frame, transfer.place);
}

}  // namespace muster::simulated
