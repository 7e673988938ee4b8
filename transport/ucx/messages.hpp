// Frames as active messages: the frame is the message's header, the payload its data. Small payloads are
// copied out of UCX's buffers; large ones come by rendezvous, straight into their place.
#pragma once

#include <ucp/api/ucp.h>

#include <chrono>
#include <cstddef>
#include <span>

#include "transport/transport.hpp"
#include "transport/ucx/endpoint.hpp"
#include "transport/ucx/object_pool.hpp"

namespace muster::ucx {

/// A sink that refuses everything: in place before the user's is set, and after it is no longer wanted.
class DeafSink final : public FrameSink {
 public:
  std::span<std::byte> place(const Frame&) override { return {}; }
  void arrived(const Frame&, std::span<std::byte>) override {}
  void dropped(const Frame&) override {}
  void sent(PeerId, SendToken, bool) override {}
  void peer_failed(PeerId, const std::string&) override {}
  void refused(const std::string&) override {}
};

/// The active message that every frame travels in.
inline constexpr unsigned kFrameMessage = 1;

/// Sends and receives frames on one worker. Must be destroyed after the worker, which holds its records.
class Messages {
 public:
  /// As UcxOptions::on_gpu.
  explicit Messages(bool (*on_gpu)(const void*) = nullptr) : on_gpu_(on_gpu) {}

  /// Receives from now on. Throws Error if UCX refuses.
  void listen(ucp_worker_h worker);

  void set_sink(FrameSink* sink) { sink_ = sink; }
  FrameSink& sink() { return *sink_; }
  void deafen() { sink_ = &deaf_; }

  void send(Endpoint& endpoint, const Frame& frame, std::span<const std::byte> payload, SendToken token);

  /// What is in flight to and from the peer of an endpoint that was closed by force counts as failed,
  /// although UCX has not ended it.
  void abandon(Endpoint& endpoint);

  /// Whether a message from the peer is still arriving that had begun to when its endpoint was closed.
  bool receives_from(const Endpoint& endpoint);

 private:
  struct Sending {
    Frame frame;
    SendToken token = 0;
    Endpoint* endpoint = nullptr;  // null: not in flight, or abandoned
    Messages* owner = nullptr;
  };
  struct Receiving {
    Frame frame;
    std::span<std::byte> place;
    Messages* owner = nullptr;
    std::chrono::steady_clock::time_point began{};
    bool in_flight = false;  // and not abandoned
  };

  static void on_sent(void* request, ucs_status_t status, void* record);
  static void on_received(void* request, ucs_status_t status, std::size_t bytes, void* record);
  static ucs_status_t on_message(void* self, const void* header, std::size_t header_bytes, void* data,
                                 std::size_t bytes, const ucp_am_recv_param_t* parameters);

  ucs_status_t receive_small(const Frame& frame, const void* data, std::span<std::byte> place);
  ucs_status_t receive_large(const Frame& frame, void* descriptor, std::span<std::byte> place);
  void end_send(Sending& record, ucs_status_t status);
  void end_receive(Receiving& record, bool ok);
  template <class Act>
  void for_each_from(const Endpoint& endpoint, Act&& act);

  bool (*const on_gpu_)(const void*);
  DeafSink deaf_;
  FrameSink* sink_ = &deaf_;
  ucp_worker_h worker_ = nullptr;
  ObjectPool<Sending> sending_;
  ObjectPool<Receiving> receiving_;
};

}  // namespace muster::ucx
