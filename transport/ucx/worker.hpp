// A UCX context with one worker: what progresses, what others connect to, and what one waits on.
#pragma once

#include <ucp/api/ucp.h>

#include <set>
#include <string>

#include "transport/ucx/ucx_transport.hpp"

namespace muster::ucx {

/// Owns context and worker. One thread at a time.
class Worker {
 public:
  /// Throws Error if UCX cannot start.
  explicit Worker(const UcxOptions& options);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  ucp_worker_h get() const { return worker_; }
  /// UCX's own, opaque.
  std::string address() const;
  int event_descriptor() const { return event_descriptor_; }
  /// Whether it is now safe to wait for the descriptor.
  bool arm();
  /// The transports that UCX may use here: "sysv", "tcp".
  std::set<std::string> transports() const;

 private:
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int event_descriptor_ = -1;
};

/// The transports that carry an endpoint now.
std::set<std::string> transports_of(ucp_ep_h endpoint);

}  // namespace muster::ucx
