#include "actors/data_plane/data_plane.hpp"

#include "gpu/compute_device.hpp"
#include "gpu/device.hpp"
#include "gpu/thread_card.hpp"
#include "muster/error.hpp"
#include "transport/node/node_transport.hpp"
#include "transport/progress/progress_thread.hpp"
#include "transport/ucx/ucx_transport.hpp"

namespace muster {

namespace {

// UCX takes what moves a card's memory only where the thread is on that card.
std::unique_ptr<Transport> make_transport(NodeTransportOptions options, int card) {
  if (card < 0 || !ucx_carries_cards({.listen = options.listen, .on_card = &is_card_memory}))
    return make_node_transport(options);
  const ThreadCard here(card);
  options.on_card = &is_card_memory;
  return make_node_transport(options);
}

class RealDataPlane final : public DataPlane {
 public:
  RealDataPlane(const NodeTransportOptions& options, int card, Engine::Hooks hooks,
                const HandoverOptions& handover)
      : RealDataPlane(make_transport(options, card), card, std::move(hooks), handover) {}

  void post(std::function<void(Engine&)> command) override {
    thread_.post([this, command = std::move(command)] { command(engine_); });
  }

  void run(std::function<void(Engine&)> command) override {
    const ThreadCard here(card_);
    thread_.run([this, command = std::move(command)] { command(engine_); });
  }
  void drive(std::function<void(Engine&)> command) override {
    const ThreadCard here(card_);
    thread_.drive([this, command = std::move(command)] { command(engine_); });
  }

  std::string address() const override { return address_; }
  std::string host_of(const std::string& address) const override { return muster::host_of(address); }
  std::string describe() const override { return description_; }
  bool shares_memory() const override { return shares_memory_; }
  bool carries_cards() const override { return card_ >= 0; }

 private:
  RealDataPlane(std::unique_ptr<Transport> transport, int card, Engine::Hooks hooks,
                const HandoverOptions& handover)
      : address_(transport->address()),
        description_(transport->describe()),
        shares_memory_(transport->lends()),
        card_(transport->carries_cards() ? card : -1),
        engine_(*transport, std::move(hooks), handover),
        thread_(std::move(transport), options()) {
    if (card_ >= 0) thread_.post([card] { stay_on_card(card); });
  }

  static void stay_on_card(int card) {
    try {
      use_card(card);
    } catch (const Error&) {  // the first of UCX's own calls there fails
    }
  }

  ProgressOptions options() {
    ProgressOptions options;
    options.busy = [this] { return engine_.busy(); };
    if (card_ >= 0) {
      options.poll = [this] { return engine_.fold_on(); };
      options.polled = [this] { return engine_.folding(); };
    }
    return options;
  }

  std::string address_;
  std::string description_;
  bool shares_memory_;
  const int card_;  // whose memory it carries; -1: none
  Engine engine_;
  ProgressThread thread_;  // last: ends first, and with it the transport that the engine refers to
};

}  // namespace

std::unique_ptr<DataPlane> make_real_data_plane(const NodeTransportOptions& options,
                                                const std::string& device, Engine::Hooks hooks,
                                                const HandoverOptions& handover) {
  return std::make_unique<RealDataPlane>(options, card_number(device), std::move(hooks), handover);
}

}  // namespace muster
