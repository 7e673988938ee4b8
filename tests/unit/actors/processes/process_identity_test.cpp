#include <gtest/gtest.h>
#include <unistd.h>

#include <caf/all.hpp>

#include "actors/node/control_port.hpp"
#include "muster/run.hpp"

namespace muster {
namespace {

struct NodeSystem {
  NodeSystem() : system((load_middleman(config), configure(config), config)) {}

  unsigned process_id() const {
    return dynamic_cast<const caf::node_id::default_data&>(*system.node()).process_id();
  }

  caf::actor_system_config config;
  caf::actor_system system;
};

// The pid may be that of another process, in another pid namespace of the same network.
TEST(ProcessIdentity, OfEachActorSystemIsANumberOfItsOwn) {
  const NodeSystem one, other;
  EXPECT_NE(one.process_id(), other.process_id());
  EXPECT_NE(one.process_id(), static_cast<unsigned>(::getpid()));
  EXPECT_NE(other.process_id(), static_cast<unsigned>(::getpid()));
}

}  // namespace
}  // namespace muster
