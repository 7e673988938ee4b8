// The engine of one node, where it lives: on a progress thread, over the transports of node_transport.hpp,
// or in virtual time over a simulated network.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "transport/collective/engine.hpp"
#include "transport/node/node_transport.hpp"

namespace muster {

class DataPlane {
 public:
  /// Ends the engine; after it no hook is called, and every buffer given to the engine is free.
  virtual ~DataPlane() = default;

  /// Runs `command` where the engine lives, after those posted before. Any thread; does not block. The
  /// command is short and does not throw.
  virtual void post(std::function<void(Engine&)> command) = 0;

  /// As `post`, but the calling thread, if it can, runs the command now. Never within a hook.
  virtual void run(std::function<void(Engine&)> command) { post(std::move(command)); }
  /// As `run`; and the calling thread moves the engine on for a while if a round is under way, for nothing is
  /// as quick as not to wake another thread.
  virtual void drive(std::function<void(Engine&)> command) { post(std::move(command)); }

  virtual std::string address() const = 0;
  /// Equal for two addresses of the same host.
  virtual std::string host_of(const std::string& address) const = 0;
  virtual std::string describe() const = 0;
  /// Whether nodes of one host read each other's memory.
  virtual bool shares_memory() const { return false; }
  /// Whether sums and results may lie in memory of GPUs, between nodes that all say so.
  virtual bool carries_gpu_memory() const { return false; }
};

/// Over the transport of a node (transport/node/node_transport.hpp). `device`: what a replica computes on.
std::unique_ptr<DataPlane> make_real_data_plane(const NodeTransportOptions& options,
                                                const std::string& device, Engine::Hooks hooks,
                                                const TransferOptions& transfer_sender = {});

}  // namespace muster
