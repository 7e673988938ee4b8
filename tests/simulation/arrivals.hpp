// What happens to frames between the network and the engine of a process.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "transport/transport.hpp"

namespace muster::simulation {

struct Arrivals {
  struct Of {
    bool twice = false;                  ///< each comes a second time, at once
    std::optional<std::uint64_t> flips;  ///< this bit of the next one, of its header or of what is behind it
  };

  bool deaf = false;   ///< greetings do not arrive
  bool twice = false;  ///< each frame comes a second time, of whomever
  std::map<PeerId, Of> of;
  /// A transport that cannot read a frame ends the connection.
  std::function<void(PeerId)> breaks = nullptr;
};

}  // namespace muster::simulation
