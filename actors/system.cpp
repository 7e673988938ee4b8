// The settings of CAF.
#include <caf/all.hpp>

#include "muster/actors/run.hpp"

namespace muster {

void configure(caf::actor_system_config& config) {
  config.add_message_types<caf::id_block::muster>();
  config.set("scheduler.policy", caf::atom("sharing"));
  config.set("scheduler.max-threads", std::size_t{1});
  config.set("middleman.workers", std::size_t{0});
  config.set("middleman.attach-utility-actors", true);
}

}  // namespace muster
