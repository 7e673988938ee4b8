// Two transports as one: which of them a pair of nodes takes, so that both take the same.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "transport/node/node_transport.hpp"
#include "transport/ucx/ucx_transport.hpp"

namespace muster {
namespace {

/// Remembers whom it was connected to, and what it was given to send.
class NamedTransport final : public Transport {
 public:
  struct Log {
    std::map<PeerId, std::string> connected;
    std::size_t sends = 0;
  };
  NamedTransport(Log& log, std::string name, bool carries_gpu_memory)
      : log_(log), name_(std::move(name)), carries_gpu_memory_(carries_gpu_memory) {}

  std::string address() const override { return name_; }
  std::string describe() const override { return name_; }
  void set_sink(FrameSink*) override {}
  void connect(PeerId peer, const std::string& address) override { log_.connected[peer] = address; }
  void disconnect(PeerId peer) override { log_.connected.erase(peer); }
  void send(PeerId, const Frame&, std::span<const std::byte>, SendToken) override { ++log_.sends; }
  bool carries_gpu_memory() const override { return carries_gpu_memory_; }
  bool progress() override { return false; }

 private:
  Log& log_;
  const std::string name_;
  const bool carries_gpu_memory_;
};

struct Node {
  Node(const std::string& name, bool carries_gpu_memory)
      : transport(join_transports(std::make_unique<NamedTransport>(near, "near " + name, false),
                                  std::make_unique<NamedTransport>(far, "far " + name, carries_gpu_memory),
                                  [](const std::string& address) { return address != "near elsewhere"; })) {}
  NamedTransport::Log near, far;
  std::unique_ptr<Transport> transport;
};

TEST(JoinedTransport, BothTakeTheFarOneWhereBothCarryTheMemoryOfGpus) {
  Node a("a", true), b("b", true), host("host", false), elsewhere("elsewhere", true);
  EXPECT_TRUE(a.transport->carries_gpu_memory());
  EXPECT_FALSE(host.transport->carries_gpu_memory());
  a.transport->connect(1, b.transport->address());
  a.transport->connect(2, host.transport->address());
  a.transport->connect(3, elsewhere.transport->address());
  EXPECT_EQ(a.far.connected, (std::map<PeerId, std::string>{{1, "far b"}, {3, "far elsewhere"}}));
  EXPECT_EQ(a.near.connected, (std::map<PeerId, std::string>{{2, "near host"}}));
  b.transport->connect(0, a.transport->address());
  host.transport->connect(0, a.transport->address());
  EXPECT_EQ(b.far.connected, (std::map<PeerId, std::string>{{0, "far a"}}));
  EXPECT_EQ(host.near.connected, (std::map<PeerId, std::string>{{0, "near a"}}));
}

TEST(JoinedTransport, TrafficIsCountedByWhereThePeerIsNotByTheWayThere) {
  Node a("a", true), b("b", true), elsewhere("elsewhere", true);
  a.transport->connect(1, b.transport->address());
  a.transport->connect(3, elsewhere.transport->address());
  Frame frame;
  frame.kind = FrameKind::contribution;
  frame.bytes = 8;
  const std::vector<std::byte> payload(8);
  a.transport->send(1, frame, payload, 1);
  a.transport->send(3, frame, payload, 2);
  EXPECT_EQ(a.far.sends, 2u);
  EXPECT_EQ(a.transport->traffic().within_host.payload_bytes, 8u);
  EXPECT_EQ(a.transport->traffic().between_hosts.payload_bytes, 8u);
}

TEST(NodeTransport, CarriesTheMemoryOfGpusWhereUcxDoesAndTheReplicaIsOnOne) {
  const auto on_gpu = [](const void*) { return true; };
  const bool knows_cuda = ucx_carries_gpu_memory({.on_gpu = on_gpu});
  EXPECT_FALSE(ucx_carries_gpu_memory({}));
  EXPECT_FALSE(make_node_transport({})->carries_gpu_memory());
  EXPECT_EQ(make_node_transport({.listen = "127.0.0.1", .on_gpu = on_gpu})->carries_gpu_memory(), knows_cuda);
}

}  // namespace
}  // namespace muster
