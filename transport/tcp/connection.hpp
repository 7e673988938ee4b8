// The two directions of a connection between two processes.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "transport/ring.hpp"
#include "transport/tcp/sockets.hpp"
#include "transport/transport.hpp"

namespace muster::tcp {

using Time = std::chrono::steady_clock::time_point;

struct Outgoing;

/// What another process says to this one.
struct Incoming {
  Descriptor socket;
  std::uint64_t number = 0;
  Time give_up;              // unless it has said its hello by then
  std::string name;          // of the other process; empty before its hello
  Outgoing* back = nullptr;  // the way back, once this side has connected
  bool closed = false;       // nothing of it is told any more
  bool listed = false;       // among those to be read
  bool readable = false;     // there may be something
  bool ending = false;       // the other side writes no more: read until the end is seen

  std::optional<Frame> frame;  // whose payload is being read
  std::span<std::byte> place;  // where it goes; empty: thrown away
  std::size_t read = 0;        // of the payload

  // What came behind the payload, or without one: hello, headers, small payloads. Never more than a part of a
  // header when nothing is being read.
  std::array<std::byte, 8192> buffer;
  std::size_t begin = 0, end = 0;

  std::size_t left() const { return frame ? static_cast<std::size_t>(frame->bytes) - read : 0; }
};

struct Pending {
  Frame frame;
  std::span<const std::byte> payload;
  SendToken token = 0;
  std::size_t put = 0;  // of both

  std::size_t bytes() const { return sizeof(Frame) + payload.size(); }
};

/// What this process says to another one.
struct Outgoing {
  PeerId peer = 0;
  std::string name;  // of the other process
  Descriptor socket;
  std::uint64_t number = 0;
  Time give_up;  // unless it has accepted by then
  Ring<Pending> queue;
  Incoming* in = nullptr;  // what the other process says to this one, once it has connected
  bool greeted = false;    // connected, and the hello is written
  bool writable = false;   // there may be room
  bool listed = false;     // among those to be written to
  bool failed = false;
  bool closed = false;

  bool open() const { return !failed && !closed; }
};

}  // namespace muster::tcp
