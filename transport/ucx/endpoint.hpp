// One connection to one peer.
#pragma once

#include <ucp/api/ucp.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "transport/transport.hpp"

namespace muster::ucx {

/// Owns a UCX endpoint. Stays where it is, and alive until `ended`: UCX holds its address.
class Endpoint {
 public:
  /// `failures` gets this endpoint when it fails, from within the worker's progress; at most once, and not
  /// after `disconnect`. Throws Error if UCX refuses the address.
  Endpoint(ucp_worker_h worker, PeerId peer, const std::string& worker_address,
           std::vector<Endpoint*>& failures);
  /// What has not `ended` by now goes with the worker, which must be gone already.
  ~Endpoint() = default;
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  PeerId peer() const { return peer_; }
  ucp_ep_h get() const { return endpoint_; }
  /// Connected and not known to have failed.
  bool usable() const { return state_ == State::open; }
  bool disconnected() const { return state_ == State::disconnected; }
  const std::string& reason() const { return reason_; }

  /// From now on it is silent. What it has in flight ends after `close`.
  void disconnect() { state_ = State::disconnected; }

  /// Cuts it by force, which ends its sends and receives. Not within the worker's progress. Only the first
  /// call acts.
  void close();
  /// Nothing of it is in UCX's hands any more.
  bool ended();
  /// It was closed so long ago that all of its messages ought to have ended.
  bool overdue() const;
  std::chrono::steady_clock::time_point close_started_at() const { return close_started_at_; }

  void send_started() { ++sends_in_flight_; }
  void send_ended() { --sends_in_flight_; }

 private:
  enum class State { open, failed, disconnected };
  static void on_error(void* self, ucp_ep_h endpoint, ucs_status_t status);

  const PeerId peer_;
  std::vector<Endpoint*>& failures_;
  ucp_ep_h endpoint_ = nullptr;
  State state_ = State::open;
  std::string reason_;
  bool close_started_ = false;
  std::chrono::steady_clock::time_point close_started_at_{};
  ucs_status_ptr_t close_request_ = nullptr;
  std::uint64_t sends_in_flight_ = 0;
};

}  // namespace muster::ucx
