#include "tests/unit/transport/transport_world.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "transport/node/node_transport.hpp"
#include "transport/shared_memory/shared_memory_transport.hpp"
#include "transport/tcp/tcp_transport.hpp"
#include "transport/ucx/ucx_transport.hpp"

namespace muster::testing {

std::vector<std::byte> pattern(std::uint64_t message, std::size_t bytes) {
  std::vector<std::byte> result(bytes);
  std::uint64_t value = message * 0x9e3779b97f4a7c15 + 1;
  for (std::byte& byte : result) {
    byte = static_cast<std::byte>(value >> 56);
    value = value * 0x5851f42d4c957f2d + 0x14057b7ef767814f;
  }
  return result;
}

Frame frame_of(std::uint32_t from, std::uint64_t message, std::size_t bytes) {
  Frame frame;
  frame.kind = FrameKind::contribution;
  frame.from = from;
  frame.round = message;
  frame.bytes = bytes;
  return frame;
}

// ---- RecordingSink

std::span<std::byte> RecordingSink::place(const Frame& frame) {
  ++calls;
  if (refuse_places) {
    ++places_refused;
    return {};
  }
  auto& payload = placed[{frame.from, frame.round}];
  EXPECT_TRUE(payload.empty()) << "placed twice: " << frame.round;
  payload.resize(frame.bytes);
  return payload;
}

void RecordingSink::arrived(const Frame& frame, std::span<std::byte> payload) {
  ++calls;
  const Key key{frame.from, frame.round};
  if (frame.bytes != 0) {
    EXPECT_EQ(placed.count(key), 1u);
    EXPECT_EQ(payload.data(), placed[key].data());
    EXPECT_TRUE(placed[key] == pattern(frame.round, frame.bytes)) << "damaged: " << frame.round;
  }
  EXPECT_TRUE(whole.insert(key).second) << "arrived twice: " << frame.round;
  placed.erase(key);
}

void RecordingSink::dropped(const Frame& frame) {
  ++calls;
  ++drops;
  EXPECT_EQ(placed.erase({frame.from, frame.round}), 1u) << "dropped, but not placed: " << frame.round;
}

void RecordingSink::sent(PeerId, SendToken token, bool ok) {
  ++calls;
  tokens.insert(token);
  EXPECT_EQ(tokens.count(token), 1u) << "a token came back twice: " << token;
  ++(ok ? sent_ok : sent_failed);
}

void RecordingSink::peer_failed(PeerId peer, const std::string& reason) {
  ++calls;
  EXPECT_FALSE(reason.empty());
  failures.push_back(peer);
}

void RecordingSink::refused(const std::string& reason) {
  ++calls;
  refusals.push_back(reason);
}

// ---- worlds

void WorldNode::send(PeerId to, std::uint32_t from, std::uint64_t message, std::size_t bytes) {
  buffers.push_back(pattern(message, bytes));
  transport->send(to, frame_of(from, message, bytes), buffers.back(), message);
}

WorldNode& World::add(const std::string& name) {
  auto& node = *nodes_.emplace_back(std::make_unique<WorldNode>());
  node.transport = attach(name);
  node.transport->set_sink(&node.sink);
  return node;
}

void connect(WorldNode& a, PeerId number_of_a, WorldNode& b, PeerId number_of_b) {
  a.transport->connect(number_of_b, b.transport->address());
  b.transport->connect(number_of_a, a.transport->address());
}

void EventQueue::after(std::chrono::nanoseconds delay, std::function<void()> event) {
  events_.emplace(std::pair(now_ + delay, number_++), std::move(event));
}

bool EventQueue::step() {
  if (events_.empty()) return false;
  auto next = events_.extract(events_.begin());
  now_ = next.key().first;
  next.mapped()();
  return true;
}

ScopedVariable::ScopedVariable(const char* name, const std::string& value)
    : name_(name), set_(!value.empty()) {
  if (!set_) return;
  if (const char* before = std::getenv(name)) {
    was_set_ = true;
    before_ = before;
  }
  setenv(name, value.c_str(), 1);
}

ScopedVariable::~ScopedVariable() {
  if (!set_) return;
  if (was_set_) {
    setenv(name_, before_.c_str(), 1);
  } else {
    unsetenv(name_);
  }
}

namespace {

class RealWorld final : public World {
 public:
  explicit RealWorld(MakeTransport make) : make_(std::move(make)) {}

  bool until(const std::function<bool()>& done) override {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!done()) {
      if (std::chrono::steady_clock::now() > give_up) return false;
      poll();
    }
    return true;
  }
  void settle() override {
    for (int count = 0; count < 2000; ++count) poll();
  }

 protected:
  std::unique_ptr<Transport> attach(const std::string&) override { return make_(); }

 private:
  void poll() {
    for (const auto& node : nodes_) {
      if (node->transport) node->transport->progress();
    }
  }
  const MakeTransport make_;
};

class SimulatedWorld final : public World {
 public:
  explicit SimulatedWorld(std::uint64_t seed) : network_(queue_.handle(), seed) {}
  ~SimulatedWorld() override { nodes_.clear(); }

  bool until(const std::function<bool()>& done) override {
    while (!done()) {
      if (!queue_.step()) return false;
    }
    return true;
  }
  void settle() override {
    while (queue_.step()) {
    }
  }

 protected:
  std::unique_ptr<Transport> attach(const std::string& name) override { return network_.attach(name); }

 private:
  EventQueue queue_;
  SimulatedNetwork network_;
};

}  // namespace

MakeTransport real_transport(const std::string& kind) {
  if (kind == "shared_memory") return make_shared_memory_transport;
  if (kind == "tcp") return [] { return make_tcp_transport(); };
  if (kind == "node") return [] { return make_node_transport({}); };
  return [kind] {
    const ScopedVariable set_tls("UCX_TLS", kind == "ucx_tcp" ? "tcp" : "");
    UcxOptions options;
    if (kind == "ucx_gpus") options.on_gpu = [](const void*) { return true; };
    return make_ucx_transport(options);
  };
}

std::unique_ptr<World> make_real_world(MakeTransport make) {
  return std::make_unique<RealWorld>(std::move(make));
}
std::unique_ptr<World> make_simulated_world(std::uint64_t seed) {
  return std::make_unique<SimulatedWorld>(seed);
}

}  // namespace muster::testing
