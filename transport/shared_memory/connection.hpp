// The two directions of a connection between two processes.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "muster/transport/shared_memory/outbox.hpp"
#include "muster/transport/shared_memory/sockets.hpp"
#include "muster/transport/transport.hpp"

namespace muster::shm {

struct Outgoing;

/// What another process says to this one.
struct Incoming {
  Descriptor socket;
  std::uint64_t number = 0;
  std::string name;            // of the other process; empty before its hello
  std::uint64_t stream = 0;    // of its outbox
  std::unique_ptr<Inbox> box;  // none before its hello
  Outgoing* back = nullptr;    // the way back, once this side has connected
  bool closed = false;         // nothing of it is told any more
  std::optional<Frame> frame;  // whose payload is being read
  std::span<std::byte> place;  // where it goes; empty: thrown away
  std::size_t read = 0;        // of the payload
};

struct Pending {
  Frame frame;
  std::span<const std::byte> payload;
  SendToken token = 0;
  bool begun = false;   // the header is written
  std::size_t put = 0;  // of the payload
};

/// What this process says to another one.
struct Outgoing {
  PeerId peer = 0;
  std::string name;  // of the other process
  std::uint64_t stream = 0;
  Descriptor socket;  // none while the other side is too busy to be dialled
  std::uint64_t number = 0;
  Outbox box;
  std::deque<Pending> queue;
  Incoming* in = nullptr;   // what the other process says to this one, once it has connected
  std::uint64_t poked = 0;  // the rest word for which it was
  bool writing = false;     // what is sent from within its callbacks waits for its turn
  bool failed = false;
  bool closed = false;
};

}  // namespace muster::shm
