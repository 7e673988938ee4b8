// What a simulated cluster shows of itself, as it happens: the invariants, the counts and the trace look on
// through this. Everything is called on the one thread of the simulation; nothing may be changed from here.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <caf/all.hpp>

#include "actors/messages/messages.hpp"
#include "actors/trainer/trainer_state.hpp"
#include "tests/simulation/world.hpp"
#include "transport/collective/rounds/round.hpp"
#include "transport/frame.hpp"
#include "transport/transport.hpp"

namespace muster::simulation {

class Watch {
 public:
  virtual ~Watch() = default;

  virtual void process_began(ProcessId, const NodeName&, std::uint64_t /*incarnation*/) {}
  /// One that joined by itself has been given its name.
  virtual void process_named(ProcessId, const NodeName&) {}
  virtual void process_ended(ProcessId) {}

  /// The data plane of a process: a round is over in this view; a record has been transferred to it.
  virtual void record(ProcessId, std::uint32_t /*view*/, const RoundRecord&) {}
  virtual void transferred(ProcessId) {}
  virtual void view_entered(ProcessId, std::uint32_t /*view*/) {}
  virtual void view_closed(ProcessId, std::uint32_t /*view*/) {}
  /// An executor of a process has finished a job, after which this many steps are applied.
  virtual void applied(ProcessId, std::uint64_t /*step*/, std::span<const float> /*state*/) {}

  /// Frames as the transport and the engine see them. `accepted`: the engine gave a place, or took it.
  virtual void sending(ProcessId, const Frame&, std::span<const std::byte>, std::uint64_t /*number*/) {}
  virtual void send_ended(ProcessId, std::uint64_t /*number*/, bool /*ok*/) {}
  virtual void placed(ProcessId, const Frame&, std::span<std::byte> /*place*/) {}
  virtual void taken(ProcessId, const Frame&, std::span<std::byte>) {}
  virtual void arrived_in_place(ProcessId, const Frame&) {}
  /// It has read what it had borrowed, and is told that its owner had taken it back.
  virtual void revoked(ProcessId, const Frame&) {}
  virtual void dropped(ProcessId, const Frame&) {}

  /// Messages between processes.
  virtual void sent(ProcessId, ProcessId, const caf::message&) {}
  virtual void delivered(ProcessId, ProcessId, const caf::message&) {}

  /// Bits of a process are wrong from now on (bits.hpp).
  virtual void flipped(ProcessId) {}
  virtual void computes_odd(ProcessId, bool /*at_times*/) {}
  /// By a signal.
  virtual void asked_to_go(ProcessId) {}
  /// It is told to keep what it holds, and to end, alone.
  virtual void keeps_alone(ProcessId) {}

  virtual void event(const Event&) {}
  virtual void mistake(const std::string&) {}
};

}  // namespace muster::simulation
