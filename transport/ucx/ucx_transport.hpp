// UCX behind the seam: active messages between workers, over shared memory, TCP or RDMA as UCX chooses.
//
// Settings. Muster hands UCX the defaults that make failures visible (see configuration.cpp); every
// environment variable UCX_... that the user has set wins, UCX_TLS among them. The environment itself is not
// changed.
//
// What differs from one network to another, and is no promise of this class: a peer that was killed is
// noticed within milliseconds over TCP, by UCX's keep-alive (200 ms) over shared memory; a stopped one is
// never noticed; a peer in the same process that disconnects is not noticed over shared memory. Deadlines
// belong to the layer above.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transport/transport.hpp"

namespace muster {

struct UcxOptions {
  /// The IP address that this node is reached by. UCX uses the network interface that carries it, and no
  /// other, unless the user set UCX_NET_DEVICES. Empty or a wildcard (0.0.0.0, ::): UCX chooses among all
  /// interfaces.
  std::string listen = "127.0.0.1";
  /// No shared memory: for peers on other hosts only.
  bool between_hosts = false;
  /// Whether memory is a GPU's. With it, payloads may lie on GPUs, if UCX moves such memory
  /// (ucx_memory_types): they come into their place by rendezvous, however small. Null: all is the host's.
  bool (*on_gpu)(const void* memory) = nullptr;
};

/// Makes a transport with a worker of its own. It may be made on one thread and used on another, never on two
/// at once.
///
/// Throws Error: no interface has the address, or UCX finds no network that it can use.
/// `connect` refuses what is no address of this transport, and its own address, with an Error.
/// The destructor cuts all connections, calls nothing in the sink, and returns within `kCloseSecondsMax`;
/// after it every buffer given to `send` or by `place` is free.
std::unique_ptr<Transport> make_ucx_transport(const UcxOptions& options);

/// Whether UCX would find more than TCP between hosts (InfiniBand, RoCE, ...). Throws as make_ucx_transport.
bool ucx_finds_fabric(const UcxOptions& options);

/// How long the destructor waits for connections to close.
inline constexpr int kCloseSecondsMax = 2;

/// The kinds of memory that UCX moves here, as it calls them: "host", "cuda", ...; Debian's build knows no
/// device memory. Throws as make_ucx_transport.
std::vector<std::string> ucx_memory_types(const UcxOptions& options);

/// Whether its transport would carry the memory of GPUs. Throws as make_ucx_transport.
bool ucx_carries_gpu_memory(const UcxOptions& options);

/// The version of the UCX library in use, "1.13.1".
std::string ucx_version();

/// Undoes what the UCX library does to a process when it is loaded: SIGHUP ends the process again unless
/// UCX_DEBUG_SIGNO is set, and UCX prints nothing but fatal errors unless UCX_LOG_LEVEL is set. Called by
/// make_ucx_transport; a program that may run long before that calls it first in main. Any thread; only the
/// first call acts.
void prepare_ucx_process();

/// The UCX library takes SIGSEGV, SIGBUS, SIGFPE and SIGILL, and lets nobody else have them, until this is
/// called. Its handler may still be called by whoever has the signal then.
void release_error_signals_of_ucx();

}  // namespace muster
