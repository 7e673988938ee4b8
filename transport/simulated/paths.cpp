// What is wrong with the paths between nodes: what a blocked one holds, and what becomes of it.
#include <utility>

#include "transport/simulated/core.hpp"

namespace muster::simulated {

Path* Core::path(const Node& from, const Node& to) {
  if (paths_.empty()) return nullptr;
  const auto found = paths_.find({from.name, to.name});
  return found == paths_.end() ? nullptr : &found->second;
}

bool Core::reaches(const std::string& from, const std::string& to) {
  const Node* const one = nodes_.at(from);
  const Node* const other = nodes_.at(to);
  if (!one || !other || !other->alive) return false;
  const auto open = [](const Path* path) { return path == nullptr || !path->disturbance.blocked; };
  return open(path(*one, *other)) && open(path(*other, *one));
}

void Core::disturb(const std::string& from, const std::string& to, const Disturbance& disturbance) {
  Path& path = paths_[{from, to}];
  path.disturbance = disturbance;
  if (disturbance.blocked) return;
  let_go(path);
  const auto back = paths_.find({to, from});
  if (back != paths_.end()) back->second.unanswered_bytes = 0;
}

void Core::hold_nothing() {
  paths_.clear();
  nodes_.end_pauses();
}

// What was held is sent again, at times of its own.
void Core::let_go(Path& path) {
  for (Path::Held& held : std::exchange(path.held, {})) {
    --held.link->held;
    after_(chance_.again(), std::move(held.event));
  }
}

// A connection that is cut waits for no way any more, nor for a sender that stands still: what stood still
// half arrived ends.
void Core::let_go(const Link& link) {
  for (Node::Waiting& waiting : link.owner->waiting) {
    if (waiting.arriving == &link) after_(chance_.hop(), std::move(waiting.event));
  }
  std::erase_if(link.owner->waiting, [&](const Node::Waiting& waiting) { return waiting.arriving == &link; });
  for (auto& [between_whom, path] : paths_) {
    for (Path::Held& held : path.held) {
      if (held.link.get() != &link || !held.arriving) continue;
      --held.link->held;
      after_(chance_.hop(), std::move(held.event));
      held.link = nullptr;
    }
    std::erase_if(path.held, [](const Path::Held& held) { return held.link == nullptr; });
  }
}

// Whether the path is blocked; then the event happens again when it is free. What stands still for too long
// ends its connection.
bool Core::holds(Path* path, const std::shared_ptr<Link>& link, Event event, bool arriving) {
  if (!path || !path->disturbance.blocked) return false;
  path->held.push_back({link, std::move(event), arriving});
  if (link->held++ > 0 || !path->disturbance.times_out) return true;
  after_(chance_.stall(),
         [self = shared_from_this(), link, stall = ++link->stalls] { self->stalled(link, stall); });
  return true;
}

// The first packets of a small frame need no answer: they get through although the way back is blocked.
bool Core::holds_small(const Transfer& transfer, const std::shared_ptr<Link>& link, Event event) {
  Path* back = path(*link->remote, *link->owner);
  if (!back || !back->disturbance.blocked) return false;
  Path& there = paths_[{link->owner->name, link->remote->name}];
  if (small(transfer) && there.unanswered_bytes + transfer.payload.size() <= options_.window_bytes) {
    there.unanswered_bytes += transfer.payload.size();
    return false;
  }
  return holds(back, link, std::move(event));
}

// Its owner gives it up; the other end learns of that when a message of it gets through, or by its own
// time-out.
void Core::stalled(const std::shared_ptr<Link>& link, std::uint64_t stall_number) {
  if (link->held == 0 || link->stalls != stall_number || link->state != Link::State::open) return;
  sever(*link, false);
  notice(link, "nothing was answered for too long", true);
  const auto back = other_side(*link);
  if (!back || back->state != Link::State::open) return;
  sever(*back, true);
  notice_later(back, "the peer gave the connection up");
  after_(chance_.stall(), [self = shared_from_this(), back] {
    self->notice(back, "nothing was answered for too long", true);
  });
}

}  // namespace muster::simulated
