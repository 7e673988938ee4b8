// The settings of CAF.
#include <caf/all.hpp>

#include "actors/messages/messages.hpp"
#include "muster/run.hpp"

namespace muster {

void configure(caf::actor_system_config& config) {
  config.add_message_types<caf::id_block::muster_observer>();
  config.add_message_types<caf::id_block::muster>();
  config.set("scheduler.policy", caf::atom("sharing"));
  config.set("scheduler.max-threads", std::size_t{1});
  config.set("middleman.workers", std::size_t{0});
  // The actor that connects blocks meanwhile: it has a thread of its own.
  config.set("middleman.attach-utility-actors", false);
}

}  // namespace muster
