// The transport of a node: shared memory to the processes of its own host; to all others UCX where both have
// a fabric, TCP elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "transport/transport.hpp"

namespace muster {

struct NodeTransportOptions {
  /// The IP address that this node is reached by from other hosts; see make_tcp_transport.
  std::string listen = "127.0.0.1";
  /// Of TCP: as in TcpOptions.
  std::uint16_t first_port = 0, last_port = 0;
  /// Of TCP: TcpOptions::silence_max.
  std::chrono::milliseconds silence_max{0};
  /// Of a replica that computes on a GPU: whether memory is a GPU's. Where UCX moves such memory, it
  /// carries all between nodes that both do so, of one host as well; their sums then need not come to the
  /// host (Transport::carries_gpu_memory). Null: of all others.
  bool (*on_gpu)(const void* memory) = nullptr;
};

/// Makes them. If the user has set UCX_TLS, what is named there carries everything: UCX, or, where it names
/// nothing but TCP, tcp/tcp_transport.hpp. If the user has set UCX_NET_DEVICES, UCX carries TCP, too.
///
/// Thread rule and errors are those of make_ucx_transport and make_tcp_transport.
std::unique_ptr<Transport> make_node_transport(const NodeTransportOptions& options);

/// What it makes for other hosts when the user has set nothing: UCX to those who have a fabric, too, if this
/// node has one; TCP to all others. Nodes with and without one may be mixed: both sides of a pair choose
/// alike.
std::unique_ptr<Transport> make_far_transport(const NodeTransportOptions& options);

/// Which host a node's address is on: equal for two nodes that share one. Throws Error if it is no address of
/// make_node_transport.
std::string host_of(const std::string& address);

/// Two transports as one: `near` to whom it can reach, `far` to all others, and to those on both sides of
/// whom it carries the memory of GPUs. Both addresses are told as one. `reaches` says of an address of a
/// near transport whether this one can connect to it.
std::unique_ptr<Transport> join_transports(std::unique_ptr<Transport> near, std::unique_ptr<Transport> far,
                                           bool (*reaches)(const std::string& near_address));

}  // namespace muster
