// The way in for messages of other processes: CAF's middleman, with a bound on what a stranger can make it
// hold. CAF takes the length of a message from its header, and makes room for it before anything of it has
// come: 32 bytes of garbage cost up to 4 GiB, and the thread that all connections share stands still
// meanwhile.
//
// Connections have deadlines (control_socket.hpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include <caf/all.hpp>

#include "actors/messages/messages.hpp"

namespace muster {

/// Of one message between actors of different processes; views of thousands of members fit.
constexpr std::size_t kControlBytesMax = std::size_t{16} << 20;

/// Loads CAF's middleman with that bound. Call before the actor system is made.
void load_middleman(caf::actor_system_config& config);

/// The coordinator that listens there; or an error, after `most` at the latest. Blocks.
caf::expected<coordinator_actor> find_coordinator(caf::scoped_actor& self, const std::string& host,
                                                  std::uint16_t port, std::chrono::milliseconds most);

/// Ends every control connection of this system, as if the network had. From any thread.
void drop_connections(caf::actor_system& system);

/// As long as it lives the coordinator raises `refused` for each connection that is ended because what came
/// over it cannot be read. One in a system at a time; must end before the system does.
class RefusalReports {
 public:
  RefusalReports(caf::actor_system& system, const coordinator_actor& coordinator);
  ~RefusalReports();
  RefusalReports(const RefusalReports&) = delete;
  RefusalReports& operator=(const RefusalReports&) = delete;

 private:
  caf::actor_system& system_;
};

}  // namespace muster
