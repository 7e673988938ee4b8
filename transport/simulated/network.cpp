#include "transport/simulated/network.hpp"

#include <utility>

#include "transport/simulated/core.hpp"

namespace muster {
namespace {

class NodeTransport final : public Transport {
 public:
  NodeTransport(std::shared_ptr<simulated::Core> core, simulated::Node& node)
      : core_(std::move(core)), node_(node) {}
  ~NodeTransport() override { core_->vanish(node_, true); }

  std::string address() const override { return node_.address; }
  std::string describe() const override { return "simulated"; }
  void set_sink(FrameSink* sink) override { node_.sink = node_.alive ? sink : nullptr; }
  void connect(PeerId peer, const std::string& address) override { core_->connect(node_, peer, address); }
  void disconnect(PeerId peer) override { core_->disconnect(node_, peer); }
  void send(PeerId peer, const Frame& frame, std::span<const std::byte> payload, SendToken token) override {
    core_->send(node_, peer, frame, payload, token);
  }
  bool supports_borrowing() const override { return core_->supports_borrowing(); }
  bool stands(BorrowedBuffer borrow) const override { return core_->stands(borrow.number); }
  void give_back(BorrowedBuffer borrow) override { core_->give_back(borrow.number); }
  Traffic traffic() const override { return node_.traffic; }
  bool progress() override { return false; }

 private:
  const std::shared_ptr<simulated::Core> core_;
  simulated::Node& node_;
};

}  // namespace

SimulatedNetwork::SimulatedNetwork(After after, std::uint64_t seed, SimulatedNetworkOptions options)
    : core_(std::make_shared<simulated::Core>(std::move(after), seed, options)) {}

SimulatedNetwork::~SimulatedNetwork() {
  core_->hold_nothing();
}

std::unique_ptr<Transport> SimulatedNetwork::attach(const std::string& name) {
  return std::make_unique<NodeTransport>(core_, core_->attach(name));
}

void SimulatedNetwork::cut(const std::string& name) {
  core_->cut(name);
}

void SimulatedNetwork::lose(const std::string& name) {
  core_->lose(name);
}

void SimulatedNetwork::disturb(const std::string& from, const std::string& to,
                               const Disturbance& disturbance) {
  core_->disturb(from, to, disturbance);
}

bool SimulatedNetwork::reaches(const std::string& from, const std::string& to) const {
  return core_->reaches(from, to);
}

void SimulatedNetwork::sever(const std::string& a, const std::string& b) {
  core_->break_between(a, b);
}

void SimulatedNetwork::pause(const std::string& name) {
  core_->pause(name);
}

void SimulatedNetwork::resume(const std::string& name) {
  core_->resume(name);
}

SimulatedCounts SimulatedNetwork::counts() const {
  return core_->counts();
}

}  // namespace muster
