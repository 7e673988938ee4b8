// How bytes move between nodes: the seam. Shared memory (shared_memory/), TCP (tcp/), UCX (ucx/) and a
// simulated network (simulated/) stand behind it as equals; node_transport.hpp makes what a node uses.
//
// Thread rule: a transport and its sink belong to one thread, the progress thread; every call and every
// callback is on it. Nothing here blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "transport/frame.hpp"
#include "transport/traffic.hpp"

namespace muster {

/// A number that the user of the transport gives to a connected peer, and gets back in callbacks.
using PeerId = std::uint32_t;
/// Comes back with `sent`; says which buffer is free again.
using SendToken = std::uint64_t;

/// A payload that is read where the sender has it.
struct BorrowedBuffer {
  std::uint64_t owner = 0;
  std::uint64_t number = 0;
};

/// Receives what a transport delivers.
class FrameSink {
 public:
  virtual ~FrameSink() = default;

  /// A frame with a payload has begun to arrive. Returns where its payload goes: exactly frame.bytes bytes,
  /// valid until `arrived`, or until `dropped`. An empty span refuses the frame; its payload is thrown away
  /// and `arrived` is not called.
  virtual std::span<std::byte> place(const Frame& frame) = 0;

  /// Instead of `place` and `arrived`: the whole payload lies in memory of the sender, and may be read there
  /// until the borrowed buffer is given back, also when the connection has failed. The owner may revoke it at
  /// any time and change the memory: what was read counts only if Transport::stands afterwards. Returns
  /// whether the sink takes it; if not, it is copied to where `place` says.
  virtual bool arrived_in_place(const Frame&, std::span<const std::byte>, BorrowedBuffer) { return false; }

  /// The payload lies whole where `place` said. For a frame without a payload it is the only call.
  virtual void arrived(const Frame& frame, std::span<std::byte> payload) = 0;

  /// A placed payload will not come: its peer failed or was disconnected. Its place is free again.
  virtual void dropped(const Frame& frame) = 0;

  /// As `dropped`, but what has begun to arrive may still be written there: the place must never be used
  /// again (quarantine.hpp).
  virtual void abandoned(const Frame& frame) { dropped(frame); }

  /// The send with this token has ended, its buffer may be reused; `ok` is false if the peer failed or was
  /// disconnected. Comes exactly once for each send, also after `disconnect`; may come within the call of
  /// `send`.
  virtual void sent(PeerId to, SendToken token, bool ok) = 0;

  /// The connection to the peer has failed. Comes at most once for each `connect`.
  virtual void peer_failed(PeerId peer, const std::string& reason) = 0;

  /// Something arrived that is no frame of this protocol. It was thrown away.
  virtual void refused(const std::string& reason) = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;

  /// Where others reach this node; opaque bytes to hand out by other means.
  virtual std::string address() const = 0;

  /// What is in use ("ucx: sysv, tcp"), for people.
  virtual std::string describe() const = 0;

  /// The sink that receives everything; set once, before the first connect. Not owned.
  virtual void set_sink(FrameSink* sink) = 0;

  /// Makes a peer reachable under a number. Both sides connect. Throws Error if the address is of no use.
  virtual void connect(PeerId peer, const std::string& address) = 0;

  /// Cuts the connection at once. Its sends and half-arrived payloads end within later calls of `progress`.
  virtual void disconnect(PeerId peer) = 0;

  /// Starts a send. `payload` stays valid and unchanged until `sent` brings the token back. From borrowable
  /// memory (borrowable.hpp) nothing is copied on the way to a process of the same host. Frames to one peer
  /// may arrive in another order.
  virtual void send(PeerId peer, const Frame& frame, std::span<const std::byte> payload, SendToken token) = 0;

  /// What `send` was given so far for peers that are connected, by where they are. Those who do not know that
  /// count nothing: shared memory, TCP and UCX, each by itself.
  virtual Traffic traffic() const { return {}; }

  /// Whether processes of this host read borrowable memory where it lies.
  virtual bool supports_borrowing() const { return false; }

  /// Whether payloads may lie in memory of this process's GPUs, on their way to and from peers whose
  /// transport says the same.
  virtual bool carries_gpu_memory() const { return false; }

  /// Whether the owner has not revoked the borrowed buffer: all that was read of it before this call is what
  /// was sent.
  virtual bool stands(BorrowedBuffer) const { return true; }

  /// Gives a borrowed buffer back. For each that was taken, once.
  virtual void give_back(BorrowedBuffer) {}

  /// Moves what can be moved; calls the sink. Returns whether anything happened.
  virtual bool progress() = 0;

  /// A descriptor that becomes readable when `progress` has work, or -1 if there is none (simulated). Before
  /// it is waited for, `arm` must return true; false means: call `progress` again first.
  virtual int event_descriptor() const { return -1; }
  virtual bool arm() { return true; }
};

}  // namespace muster
