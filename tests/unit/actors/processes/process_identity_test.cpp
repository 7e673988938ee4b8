#include <gtest/gtest.h>
#include <unistd.h>

#include <caf/actor_system_config.hpp>
#include <caf/node_id.hpp>

namespace muster {
namespace {

/// What a new actor system asks CAF for; without its threads.
unsigned next_process_id(const caf::actor_system_config& config) {
  const caf::node_id id = caf::node_id::default_data::local(config);
  return dynamic_cast<const caf::node_id::default_data&>(*id).process_id();
}

// The pid may be that of another process, in another pid namespace of the same network.
TEST(ProcessIdentity, OfEachActorSystemIsANumberOfItsOwn) {
  const caf::actor_system_config config;
  const unsigned one = next_process_id(config), other = next_process_id(config);
  EXPECT_NE(one, other);
  EXPECT_NE(one, static_cast<unsigned>(::getpid()));
  EXPECT_NE(other, static_cast<unsigned>(::getpid()));
}

}  // namespace
}  // namespace muster
