#include "muster/actors/data_plane.hpp"

#include "muster/transport/node_transport.hpp"
#include "muster/transport/progress/progress_thread.hpp"

namespace muster {

namespace {

class RealDataPlane final : public DataPlane {
 public:
  RealDataPlane(const std::string& listen, Engine::Hooks hooks, const HandoverOptions& handover)
      : RealDataPlane(make_node_transport({listen}), std::move(hooks), handover) {}

  void post(std::function<void(Engine&)> command) override {
    thread_.post([this, command = std::move(command)] { command(engine_); });
  }

  void run(std::function<void(Engine&)> command) override {
    thread_.run([this, command = std::move(command)] { command(engine_); });
  }
  void drive(std::function<void(Engine&)> command) override {
    thread_.drive([this, command = std::move(command)] { command(engine_); });
  }

  std::string address() const override { return address_; }
  std::string host_of(const std::string& address) const override { return muster::host_of(address); }
  std::string describe() const override { return description_; }
  bool shares_memory() const override { return shares_memory_; }

 private:
  RealDataPlane(std::unique_ptr<Transport> transport, Engine::Hooks hooks, const HandoverOptions& handover)
      : address_(transport->address()),
        description_(transport->describe()),
        shares_memory_(transport->lends()),
        engine_(*transport, std::move(hooks), handover),
        thread_(std::move(transport), options()) {}

  ProgressOptions options() {
    ProgressOptions options;
    options.busy = [this] { return engine_.busy(); };
    return options;
  }

  std::string address_;
  std::string description_;
  bool shares_memory_;
  Engine engine_;
  ProgressThread thread_;  // last: ends first, and with it the transport that the engine refers to
};

}  // namespace

std::unique_ptr<DataPlane> make_real_data_plane(const std::string& listen, Engine::Hooks hooks,
                                                const HandoverOptions& handover) {
  return std::make_unique<RealDataPlane>(listen, std::move(hooks), handover);
}

}  // namespace muster
