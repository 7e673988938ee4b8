// The sockets by which the processes of a host find each other, hand over outboxes, and wake who rests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "transport/shared_memory/descriptor.hpp"

namespace muster::shm {

/// The first message on a connection, with the descriptor of the outbox. All others hand a segment over, or
/// are a single byte: look.
struct Hello {
  static constexpr std::uint64_t kMagic = 0x314d4853'5254534d;  // "MSTRSHM1"
  std::uint64_t magic = kMagic;
  std::uint64_t stream = 0;    ///< differs between any two outboxes
  std::uint64_t capacity = 0;  ///< of the outbox
  char name[32] = {};          ///< of the socket that the sender listens on
};

/// With the descriptor of a segment (segment.hpp).
struct Handed {
  static constexpr std::uint64_t kMagic = 0x324d4853'5254534d;  // "MSTRSHM2"
  std::uint64_t magic = kMagic;
  std::uint64_t segment = 0;
  std::uint64_t bytes = 0;
  char unused[32] = {};
};
static_assert(sizeof(Handed) == sizeof(Hello));

/// Listens under the name. Throws Error if it cannot.
Descriptor listen_as(const std::string& name);

enum class Dialed { yes, busy, nobody };
/// Connects to who listens under the name. busy: too many do so at once; to be tried again.
/// Throws Error if this process has no descriptor left.
Dialed dial(const std::string& name, Descriptor& socket);

/// The next process that connects; none if none waits, or if it is another user's (then `refused` says so).
Descriptor accept_from(const Descriptor& listener, std::string& refused);

/// False if the other side is gone.
bool send_hello(const Descriptor& socket, const Hello& hello, int outbox);
/// False if the other side is gone, or has not listened for long.
bool send_segment(const Descriptor& socket, const Handed& handed, int segment);
/// Wakes the other side. What cannot be said is not needed: there is enough to be read, or nobody is left.
void poke(const Descriptor& socket);

struct Heard {
  bool ended = false;            ///< the other side is gone
  std::optional<Hello> hello;    ///< with `memory`
  std::optional<Handed> handed;  ///< with `memory`
  Descriptor memory;
  bool strange = false;  ///< a message that is none of ours
  bool cut_off = false;  ///< its memory could not be taken: no file descriptor is left
};
/// Takes all pokes, or one other message.
Heard hear(const Descriptor& socket);

}  // namespace muster::shm
