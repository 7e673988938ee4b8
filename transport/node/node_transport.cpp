#include "transport/node/node_transport.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <utility>

#include "base/check.hpp"
#include "muster/error.hpp"
#include "transport/node/reach.hpp"
#include "transport/seal.hpp"
#include "transport/shared_memory/address.hpp"
#include "transport/shared_memory/descriptor.hpp"
#include "transport/shared_memory/shared_memory_transport.hpp"
#include "transport/tcp/address.hpp"
#include "transport/tcp/tcp_transport.hpp"
#include "transport/ucx/ucx_transport.hpp"

namespace muster {
namespace {

constexpr std::string_view kMark = "muster-node-2:";
// How often a far transport without connections is polled beside a near one with some: its polls are calls of
// the kernel, and nothing but a first message can come.
constexpr unsigned kPollsPerIdlePoll = 64;

struct NodeAddress {
  std::string near, far;
  bool carries_gpu_memory = false;
};

// Sealed: whether it carries the memory of GPUs, the length of the near address in 16 bits, both addresses.
std::string seal_address(const NodeAddress& address) {
  const auto length = static_cast<std::uint16_t>(address.near.size());
  std::string bytes(1, address.carries_gpu_memory ? '\1' : '\0');
  bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
  return seal(kMark, bytes + address.near + address.far);
}

NodeAddress open_address(std::string_view sealed) {
  const std::string bytes = unseal(kMark, sealed, "the address of a node");
  std::uint16_t length = 0;
  constexpr std::size_t kFixed = 1 + sizeof length;
  if (bytes.size() >= kFixed) std::memcpy(&length, bytes.data() + 1, sizeof length);
  if (bytes.size() < kFixed + length) throw Error("the address of a node is cut short");
  return {bytes.substr(kFixed, length), bytes.substr(kFixed + length), bytes[0] != '\0'};
}

bool is_of_this_host(const std::string& near_address) {
  return shm::open_address(near_address).host == shm::this_host();
}

class JoinedTransport final : public Transport {
 public:
  JoinedTransport(std::unique_ptr<Transport> near, std::unique_ptr<Transport> far,
                  bool (*reaches)(const std::string&))
      : near_(std::move(near)),
        far_(std::move(far)),
        reaches_(reaches),
        waiter_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (!waiter_) throw Error("no file descriptor left for the transport");
    for (const Transport* one : {near_.get(), far_.get()}) {
      epoll_event event{};
      event.events = EPOLLIN;
      if (one->event_descriptor() < 0) continue;  // nothing ever happens there
      MUSTER_CHECK(::epoll_ctl(waiter_.get(), EPOLL_CTL_ADD, one->event_descriptor(), &event) == 0);
    }
  }

  std::string address() const override {
    return seal_address({near_->address(), far_->address(), carries_gpu_memory()});
  }
  std::string describe() const override {
    const std::string near = near_->describe();
    return near + (near.empty() ? "" : ", ") + far_->describe();
  }
  void set_sink(FrameSink* sink) override {
    sink_ = sink;
    near_->set_sink(sink);
    far_->set_sink(sink);
  }
  void connect(PeerId peer, const std::string& address) override {
    const NodeAddress other = open_address(address);
    const bool reaches = reaches_(other.near);
    const bool gpus_go_far = far_->carries_gpu_memory() && other.carries_gpu_memory;
    const Path path{reaches && !gpus_go_far ? near_.get() : far_.get(), reaches};
    auto old = paths_.find(peer);
    if (old != paths_.end() && old->second.by != path.by) {  // its process has another host now
      disconnect(peer);
      old = paths_.end();
    }
    path.by->connect(peer, path.by == near_.get() ? other.near : other.far);
    if (old != paths_.end() && old->second.by == path.by) return;
    paths_[peer] = path;
    far_peers_ += path.by == far_.get() ? 1 : 0;
  }
  void disconnect(PeerId peer) override {
    const auto found = paths_.find(peer);
    if (found == paths_.end()) return;
    found->second.by->disconnect(peer);
    far_peers_ -= found->second.by == far_.get() ? 1 : 0;
    paths_.erase(found);
    far_leaves_ = true;
  }
  void send(PeerId peer, const Frame& frame, std::span<const std::byte> payload, SendToken token) override {
    const auto found = paths_.find(peer);
    if (found == paths_.end()) return sink_->sent(peer, token, false);
    count(found->second.is_near ? traffic_.within_host : traffic_.between_hosts, frame, payload.size());
    found->second.by->send(peer, frame, payload, token);
  }
  Traffic traffic() const override { return traffic_; }
  bool supports_borrowing() const override { return near_->supports_borrowing(); }
  bool carries_gpu_memory() const override {
    return near_->carries_gpu_memory() || far_->carries_gpu_memory();
  }
  bool stands(BorrowedBuffer borrow) const override { return near_->stands(borrow); }
  void give_back(BorrowedBuffer borrow) override {
    near_->give_back(borrow);
  }  // the far one has no borrowed buffers
  bool progress() override {
    const bool any = near_->progress();
    const bool woken = far_armed_ && !any;  // by what, nobody says
    if (far_peers_ == 0 && !far_leaves_ && !woken && ++idle_polls_ < kPollsPerIdlePoll) return any;
    idle_polls_ = 0;
    far_armed_ = false;
    far_leaves_ = far_->progress();
    return any || far_leaves_;
  }
  int event_descriptor() const override { return waiter_.get(); }
  bool arm() override {
    if (far_leaves_) return false;
    if (!far_armed_) far_armed_ = far_->arm();
    return far_armed_ && near_->arm();
  }

 private:
  struct Path {
    Transport* by;
    bool is_near;  // although it may go by the far one
  };

  const std::unique_ptr<Transport> near_, far_;
  bool (*const reaches_)(const std::string&);
  const shm::Descriptor waiter_;
  FrameSink* sink_ = nullptr;
  std::map<PeerId, Path> paths_;
  Traffic traffic_;
  std::size_t far_peers_ = 0;
  bool far_leaves_ = false;  // what was disconnected may still end
  bool far_armed_ = false;   // and not looked at since
  unsigned idle_polls_ = 0;
};

/// Reaches nobody.
class NoTransport final : public Transport {
 public:
  std::string address() const override { return {}; }
  std::string describe() const override { return {}; }
  void set_sink(FrameSink* sink) override { sink_ = sink; }
  void connect(PeerId, const std::string&) override { throw Error("no network"); }
  void disconnect(PeerId) override {}
  void send(PeerId peer, const Frame&, std::span<const std::byte>, SendToken token) override {
    sink_->sent(peer, token, false);
  }
  bool progress() override { return false; }

 private:
  FrameSink* sink_ = nullptr;
};

/// One transport for all, whose addresses say their host nevertheless.
class FarTransport final : public Transport {
 public:
  explicit FarTransport(std::unique_ptr<Transport> far) : far_(std::move(far)) {}

  std::string address() const override {
    const shm::LocalAddress here{shm::this_host(),
                                 std::string(shm::kNameBytes, '-')};  // nobody listens there
    return seal_address({shm::seal_address(here), far_->address()});
  }
  std::string describe() const override { return far_->describe(); }
  void set_sink(FrameSink* sink) override { far_->set_sink(sink); }
  void connect(PeerId peer, const std::string& address) override {
    const NodeAddress other = open_address(address);
    far_->connect(peer, other.far);
    shares_host_[peer] = is_of_this_host(other.near);
  }
  void disconnect(PeerId peer) override {
    shares_host_.erase(peer);
    far_->disconnect(peer);
  }
  void send(PeerId peer, const Frame& frame, std::span<const std::byte> payload, SendToken token) override {
    if (const auto found = shares_host_.find(peer); found != shares_host_.end())
      count(found->second ? traffic_.within_host : traffic_.between_hosts, frame, payload.size());
    far_->send(peer, frame, payload, token);
  }
  Traffic traffic() const override { return traffic_; }
  bool carries_gpu_memory() const override { return far_->carries_gpu_memory(); }
  bool stands(BorrowedBuffer borrow) const override { return far_->stands(borrow); }
  void give_back(BorrowedBuffer borrow) override { far_->give_back(borrow); }
  bool progress() override { return far_->progress(); }
  int event_descriptor() const override { return far_->event_descriptor(); }
  bool arm() override { return far_->arm(); }

 private:
  const std::unique_ptr<Transport> far_;
  std::map<PeerId, bool> shares_host_;  // of those who are connected
  Traffic traffic_;
};

}  // namespace

std::unique_ptr<Transport> join_transports(std::unique_ptr<Transport> near, std::unique_ptr<Transport> far,
                                           bool (*reaches)(const std::string&)) {
  return std::make_unique<JoinedTransport>(std::move(near), std::move(far), reaches);
}

std::string host_of(const std::string& address) {
  return shm::open_address(open_address(address).near).host;
}

// What make_far_transport makes says within its address whether it has a fabric; TCP alone stands there by
// itself.
std::optional<tcp::Address> tcp_address_between(const std::string& own, const std::string& other) {
  const NodeAddress here = open_address(own), there = open_address(other);
  if (is_of_this_host(there.near) && is_of_this_host(here.near)) return std::nullopt;
  const auto ends = [](const std::string& far) {
    if (tcp::is_address(far)) return NodeAddress{{}, far};
    return far.starts_with(kMark) ? open_address(far) : NodeAddress{};
  };
  const NodeAddress from = ends(here.far), to = ends(there.far);
  const bool by_fabric = !from.near.empty() && !to.near.empty();
  if (by_fabric || to.far.empty()) return std::nullopt;
  return tcp::open_address(to.far);
}

namespace {

TcpOptions tcp_options(const NodeTransportOptions& options) {
  return {.listen = options.listen,
          .first_port = options.first_port,
          .last_port = options.last_port,
          .silence_max = options.silence_max};
}

bool names_only_tcp(const std::string& networks) {
  std::istringstream names(networks);
  bool any = false;
  for (std::string name; std::getline(names, name, ',');) {
    if (name != "tcp" && name != "self") return false;
    any = any || name == "tcp";
  }
  return any;
}

}  // namespace

std::unique_ptr<Transport> make_far_transport(const NodeTransportOptions& options) {
  UcxOptions ucx{.listen = options.listen, .between_hosts = true, .on_gpu = options.on_gpu};
  ucx.between_hosts = !ucx_carries_gpu_memory(ucx);
  auto tcp = make_tcp_transport(tcp_options(options));
  if (ucx.between_hosts && !std::getenv("UCX_NET_DEVICES") && !ucx_finds_fabric(ucx))
    return join_transports(std::make_unique<NoTransport>(), std::move(tcp),
                           [](const auto&) { return false; });
  return join_transports(make_ucx_transport(ucx), std::move(tcp),
                         [](const std::string& fabric) { return !fabric.empty(); });
}

std::unique_ptr<Transport> make_node_transport(const NodeTransportOptions& options) {
  const char* const networks = std::getenv("UCX_TLS");
  if (networks == nullptr)
    return join_transports(make_shared_memory_transport(), make_far_transport(options), &is_of_this_host);
  if (names_only_tcp(networks) && !std::getenv("UCX_NET_DEVICES"))
    return std::make_unique<FarTransport>(make_tcp_transport(tcp_options(options)));
  return std::make_unique<FarTransport>(
      make_ucx_transport({.listen = options.listen, .on_gpu = options.on_gpu}));
}

}  // namespace muster
