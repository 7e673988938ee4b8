#include "tests/simulation/control_link.hpp"

#include <algorithm>

#include <caf/actor_proxy.hpp>
#include <caf/binary_deserializer.hpp>
#include <caf/binary_serializer.hpp>
#include <caf/uniform_type_info_map.hpp>

namespace muster::simulation {

// Stands in one process for an actor of another; forwards what it is sent.
class ControlNet::Proxy final : public caf::actor_proxy {
 public:
  Proxy(caf::actor_config& config, ControlNet& net, std::weak_ptr<Connection> connection, int side,
        caf::strong_actor_ptr target)
      : actor_proxy(config),
        net_(net),
        connection_(std::move(connection)),
        side_(side),
        target_(std::move(target)),
        alive_(net.proxies_alive_) {
    ++*alive_;
  }
  ~Proxy() override { --*alive_; }

  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit*) override {
    if (const auto connection = connection_.lock(); connection && target_) {
      net_.send(connection, side_, target_, *what);
    }
  }
  // Whoever monitors it gets its down message now.
  void kill_proxy(caf::execution_unit* unit, caf::error reason) override {
    target_ = nullptr;
    cleanup(std::move(reason), unit);
  }

 private:
  ControlNet& net_;
  std::weak_ptr<Connection> connection_;
  int side_;  // that it stands on
  caf::strong_actor_ptr target_;
  std::shared_ptr<std::size_t> alive_;  // the net may be gone before the last handle is
};

ControlNet::ControlNet(World& world, caf::actor_system& system, ControlOptions options)
    : world_(world), system_(system), options_(options) {}

ControlNet::~ControlNet() {
  close_all();
}

void ControlNet::close_all() {
  for (const ConnectionPtr& connection : connections_) {
    for (Side& side : connection->sides) {
      side.in_flight.clear();
      close(side);
    }
  }
  connections_.clear();
}

caf::strong_actor_ptr ControlNet::connect(ProcessId from, ProcessId to, const caf::strong_actor_ptr& target) {
  auto connection = std::make_shared<Connection>();
  connection->sides[0].process = from;
  connection->sides[1].process = to;
  connections_.push_back(connection);
  return proxy(connection, 0, target);
}

caf::strong_actor_ptr ControlNet::proxy(const ConnectionPtr& connection, int side,
                                        const caf::strong_actor_ptr& target) {
  auto& known = connection->sides[side].proxies[target->id()];
  if (known) return known;
  caf::actor_config config;
  known =
      caf::make_actor<Proxy, caf::strong_actor_ptr>(system_.next_actor_id(), system_.node(), &system_, config,
                                                    *this, std::weak_ptr(connection), side, target);
  // The other middleman tells when the actor itself ends.
  auto* actor = caf::actor_cast<caf::abstract_actor*>(target);
  actor->attach_functor([this, weak = std::weak_ptr(connection), side, id = target->id()] {
    const auto open = weak.lock();
    if (!open || !world_.alive(open->sides[1 - side].process)) return;
    Packet packet;
    packet.kind = Packet::Kind::actor_down;
    packet.gone = id;
    push(open, 1 - side, std::move(packet));
  });
  return known;
}

const Disturbance* ControlNet::in_flight(const Side& from, const Side& to) const {
  if (paths_.empty()) return nullptr;
  const auto found = paths_.find({world_.name(from.process), world_.name(to.process)});
  return found == paths_.end() ? nullptr : &found->second;
}

bool ControlNet::blocked(ProcessId a, ProcessId b) const {
  for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
    const auto found = paths_.find({world_.name(from), world_.name(to)});
    if (found != paths_.end() && found->second.blocked) return true;
  }
  return false;
}

void ControlNet::disturb(const std::string& from, const std::string& to, const Disturbance& disturbance) {
  paths_[{from, to}] = disturbance;
  if (disturbance.blocked) return;
  for (const ConnectionPtr& connection : connections_) {
    for (int side = 0; side < 2; ++side) {
      const Side& sender = connection->sides[side];
      if (sender.stalled && world_.name(sender.process) == from &&
          world_.name(connection->sides[1 - side].process) == to)
        go_on(connection, side);
    }
  }
}

// What is sent again to a process that has ended is answered by its kernel: there is no such connection.
void ControlNet::go_on(const ConnectionPtr& connection, int side) {
  Side& sender = connection->sides[side];
  const Side& receiver = connection->sides[1 - side];
  if (receiver.vanished) return;
  sender.stalled = false;
  const Nanoseconds now = world_.now();
  Nanoseconds again = world_.between(options_.delay_min, again_max(now - sender.stalled_at));
  if (!world_.alive(receiver.process)) {
    again = std::min(again, std::max(sender.stalled_at + options_.stall_max - now, Nanoseconds(0)));
    return world_.after(sender.process, again, [this, connection, side] { close(connection->sides[side]); });
  }
  for (Packet& packet : sender.in_flight) packet.ready = std::max(packet.ready, now + again);
  world_.after(receiver.process, again, [this, connection, side] { pump(connection, side); });
}

// Packets that were lost are sent again after waits that double: a long cut costs up to as long once more.
Nanoseconds ControlNet::again_max(Nanoseconds stood_still) const {
  constexpr int kLong = 8;
  if (stood_still < kLong * options_.again_max) return options_.again_max;
  return std::min(stood_still, options_.stall_min);
}

void ControlNet::machine_is_back(ProcessId process, Nanoseconds after) {
  for (const ConnectionPtr& connection : connections_) {
    for (int side = 0; side < 2; ++side) {
      if (connection->sides[side].process != process || !connection->sides[side].vanished) continue;
      const Nanoseconds again = world_.between(options_.delay_min, again_max(after));
      world_.after(connection->sides[1 - side].process, again,
                   [this, connection, side] { close(connection->sides[1 - side]); });
    }
  }
}

void ControlNet::ended(ProcessId process, bool told) {
  for (const ConnectionPtr& connection : std::vector(connections_)) {
    for (int side = 0; side < 2; ++side) {
      Side& dead = connection->sides[side];
      if (dead.process != process || !dead.open) continue;
      dead.open = false;
      dead.proxies.clear();
      dead.vanished = !told;
      if (!told) continue;
      Packet packet;
      packet.kind = Packet::Kind::end;
      push(connection, side, std::move(packet));
    }
  }
}

void ControlNet::send(const ConnectionPtr& connection, int side, const caf::strong_actor_ptr& target,
                      caf::mailbox_element& what) {
  Side& from = connection->sides[side];
  if (!from.open || !world_.alive(from.process)) return;
  Packet packet;
  caf::message message = what.copy_content_to_message();
  const std::string type = message.empty() ? "empty" : system_.types().portable_name(message.type(0));
  try {
    caf::binary_serializer sink(system_, packet.bytes);
    if (sink(message)) throw std::runtime_error("the serializer refused it");
  } catch (const std::exception& error) {
    if (on_mistake) on_mistake("a message of type '" + type + "' cannot leave its process: " + error.what());
    return;
  }
  ControlCount& count = counts_[type];
  ++count.messages;
  count.bytes += packet.bytes.size();
  if (sent_) sent_(from.process, connection->sides[1 - side].process, message);
  packet.from = what.sender;
  packet.to = target;
  packet.id = what.mid;
  push(connection, side, std::move(packet));
}

void ControlNet::push(const ConnectionPtr& connection, int side, Packet packet) {
  Side& from = connection->sides[side];
  const ProcessId to = connection->sides[1 - side].process;
  Nanoseconds delay = world_.between(options_.delay_min, options_.delay_max);
  if (const Disturbance* how = in_flight(from, connection->sides[1 - side])) {
    delay = Nanoseconds(static_cast<std::int64_t>(static_cast<double>(delay.count()) * how->slower));
    if (how->loss > 0 && world_.chance(how->loss)) delay += world_.up_to(options_.again_max);
  }
  packet.ready = world_.now() + delay;
  if (!from.in_flight.empty()) packet.ready = std::max(packet.ready, from.in_flight.back().ready);
  from.in_flight.push_back(std::move(packet));
  // Whether its receiver lives or not, its way may be blocked.
  world_.after(world_.alive(to) ? to : kNobody, from.in_flight.back().ready - world_.now(),
               [this, connection, side] { pump(connection, side); });
}

// What has crossed the network lies in the receiver's kernel until its process runs.
void ControlNet::pump(const ConnectionPtr& connection, int side) {
  Side& from = connection->sides[side];
  const ProcessId to = connection->sides[1 - side].process;
  if (const auto deaf = deaf_until_.find(to); deaf != deaf_until_.end() && deaf->second > world_.now())
    return world_.after(to, deaf->second - world_.now(),
                        [this, connection, side] { pump(connection, side); });
  while (!from.in_flight.empty() && from.in_flight.front().ready <= world_.now()) {
    const Disturbance* how = in_flight(from, connection->sides[1 - side]);
    if ((how && how->blocked) || connection->sides[1 - side].vanished) return stall(connection, side);
    Packet packet = std::move(from.in_flight.front());
    from.in_flight.pop_front();
    deliver(connection, side, packet);
  }
}

void ControlNet::deliver(const ConnectionPtr& connection, int side, Packet& packet) {
  Side& to = connection->sides[1 - side];
  if (!to.open || !world_.alive(to.process)) return;
  if (packet.kind == Packet::Kind::end) return close(to);
  if (packet.kind == Packet::Kind::actor_down) {
    const auto found = to.proxies.find(packet.gone);
    if (found == to.proxies.end()) return;
    const caf::strong_actor_ptr gone = found->second;
    to.proxies.erase(found);
    static_cast<Proxy*>(caf::actor_cast<caf::abstract_actor*>(gone))
        ->kill_proxy(nullptr, caf::exit_reason::unknown);
    return;
  }
  caf::binary_deserializer source(system_, packet.bytes);
  caf::message message;
  if (source(message) || source.remaining() != 0) {
    if (on_mistake) on_mistake("a message could not be read back");
    return;
  }
  if (delivered_) delivered_(connection->sides[side].process, to.process, message);
  const caf::strong_actor_ptr sender =
      packet.from ? proxy(connection, 1 - side, packet.from) : caf::strong_actor_ptr();
  packet.to->enqueue(sender, packet.id, std::move(message), nullptr);
}

// A way that stays blocked ends the connection on the sender's side; the other one hears of it when it can.
// The kernel does that for a process that has ended, too.
void ControlNet::stall(const ConnectionPtr& connection, int side) {
  Side& from = connection->sides[side];
  if (std::exchange(from.stalled, true)) return;
  from.stalled_at = world_.now();
  const Nanoseconds patience = world_.between(options_.stall_min, options_.stall_max);
  const auto give_up = [this, connection, side, number = ++from.stalls](bool lives) {
    Side& stuck = connection->sides[side];
    if (!stuck.stalled || stuck.stalls != number || stuck.open != lives) return;
    if (lives) close(stuck);
    stuck.in_flight.clear();
    if (!world_.alive(connection->sides[1 - side].process)) return;
    Packet packet;
    packet.kind = Packet::Kind::end;
    push(connection, side, std::move(packet));
  };
  world_.after(from.process, patience, [give_up] { give_up(true); });
  world_.after(patience, [give_up] { give_up(false); });
}

void ControlNet::close(Side& side) {
  side.open = false;
  auto proxies = std::exchange(side.proxies, {});
  for (const auto& [id, gone] : proxies) {
    static_cast<Proxy*>(caf::actor_cast<caf::abstract_actor*>(gone))
        ->kill_proxy(nullptr, caf::exit_reason::remote_link_unreachable);
  }
}

}  // namespace muster::simulation
