#include "actors/data_plane/data_plane.hpp"

#include "gpu/compute_device.hpp"
#include "gpu/device.hpp"
#include "gpu/thread_gpu_guard.hpp"
#include "muster/error.hpp"
#include "transport/node/node_transport.hpp"
#include "transport/progress/progress_thread.hpp"
#include "transport/ucx/ucx_transport.hpp"

namespace muster {

namespace {

// UCX takes what moves a GPU's memory only where the thread is on that GPU.
std::unique_ptr<Transport> make_transport(NodeTransportOptions options, int gpu) {
  if (gpu < 0 || !ucx_carries_gpu_memory({.listen = options.listen, .on_gpu = &is_gpu_memory}))
    return make_node_transport(options);
  const ThreadGpuGuard here(gpu);
  options.on_gpu = &is_gpu_memory;
  return make_node_transport(options);
}

class RealDataPlane final : public DataPlane {
 public:
  RealDataPlane(const NodeTransportOptions& options, int gpu, Engine::Hooks hooks,
                const TransferOptions& transfer_sender)
      : RealDataPlane(make_transport(options, gpu), gpu, std::move(hooks), transfer_sender) {}

  void post(std::function<void(Engine&)> command) override {
    thread_.post([this, command = std::move(command)] { command(engine_); });
  }

  void run(std::function<void(Engine&)> command) override {
    const ThreadGpuGuard here(gpu_);
    thread_.run([this, command = std::move(command)] { command(engine_); });
  }
  void drive(std::function<void(Engine&)> command) override {
    const ThreadGpuGuard here(gpu_);
    thread_.drive([this, command = std::move(command)] { command(engine_); });
  }

  std::string address() const override { return address_; }
  std::string host_of(const std::string& address) const override { return muster::host_of(address); }
  std::string describe() const override { return description_; }
  bool shares_memory() const override { return shares_memory_; }
  bool carries_gpu_memory() const override { return gpu_ >= 0; }

 private:
  RealDataPlane(std::unique_ptr<Transport> transport, int gpu, Engine::Hooks hooks,
                const TransferOptions& transfer_sender)
      : address_(transport->address()),
        description_(transport->describe()),
        shares_memory_(transport->supports_borrowing()),
        gpu_(transport->carries_gpu_memory() ? gpu : -1),
        engine_(*transport, std::move(hooks), transfer_sender),
        thread_(std::move(transport), options()) {
    if (gpu_ >= 0) thread_.post([gpu] { stay_on_gpu(gpu); });
  }

  static void stay_on_gpu(int gpu) {
    try {
      use_gpu(gpu);
    } catch (const Error&) {  // the first of UCX's own calls there fails
    }
  }

  ProgressOptions options() {
    ProgressOptions options;
    options.busy = [this] { return engine_.busy(); };
    if (gpu_ >= 0) {
      options.poll = [this] { return engine_.fold_on(); };
      options.polled = [this] { return engine_.folding(); };
    }
    return options;
  }

  std::string address_;
  std::string description_;
  bool shares_memory_;
  const int gpu_;  // whose memory it carries; -1: none
  Engine engine_;
  ProgressThread thread_;  // last: ends first, and with it the transport that the engine refers to
};

}  // namespace

std::unique_ptr<DataPlane> make_real_data_plane(const NodeTransportOptions& options,
                                                const std::string& device, Engine::Hooks hooks,
                                                const TransferOptions& transfer_sender) {
  return std::make_unique<RealDataPlane>(options, gpu_number(device), std::move(hooks), transfer_sender);
}

}  // namespace muster
