// The settings of CAF, and the child's side of a run.
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <random>

#include <caf/io/all.hpp>

#include "muster/actors/node.hpp"
#include "muster/actors/run.hpp"
#include "muster/transport/ucx/ucx_transport.hpp"

namespace muster {

void configure(caf::actor_system_config& config) {
  config.add_message_types<caf::id_block::muster>();
  config.set("scheduler.policy", caf::atom("sharing"));
  config.set("scheduler.max-threads", std::size_t{1});
  config.set("middleman.workers", std::size_t{0});
  config.set("middleman.attach-utility-actors", true);
}

std::uint64_t new_incarnation() {
  std::random_device device;
  return (std::uint64_t{device()} << 32 | device()) | 1;
}

std::vector<std::string> to_arguments(const NodeArguments& arguments) {
  return {"--coordinator", arguments.host + ":" + std::to_string(arguments.port),
          "--kind",        arguments.name.loader ? "loader" : "replica",
          "--slot",        std::to_string(arguments.name.slot),
          "--parent",      std::to_string(arguments.parent)};
}

int run_node(const NodeArguments& arguments, const Registry& registry) {
  return run_node(arguments, registry, real_seams());
}

int run_node(const NodeArguments& arguments, const Registry& registry, NodeSeams seams) {
  // Whatever becomes of the launcher, this process does not outlive it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (arguments.parent != 0 && ::getppid() != arguments.parent) return 1;
  ::prctl(PR_SET_NAME, "muster");
  prepare_ucx_process();

  caf::actor_system_config config;
  config.load<caf::io::middleman>();
  configure(config);
  caf::actor_system system(config);
  system.await_actors_before_shutdown(false);
  auto coordinator = system.middleman().remote_actor<coordinator_actor>(arguments.host, arguments.port);
  if (!coordinator) {
    std::fprintf(stderr, "muster: %s: no coordinator at %s:%u: %s\n", arguments.name.text().c_str(),
                 arguments.host.c_str(), arguments.port, system.render(coordinator.error()).c_str());
    return 1;
  }
  int code = 1;
  {
    caf::scoped_actor self(system);
    auto actor = system.spawn(node, NodeParts{arguments.name, ::getpid(), new_incarnation(), registry,
                                              std::move(seams), *coordinator});
    self->monitor(actor);
    actor = nullptr;
    self->receive(
        [&](const caf::down_msg& down) { code = down.reason == caf::exit_reason::user_shutdown ? 0 : 1; });
  }
  *coordinator = nullptr;
  return code;
}

}  // namespace muster
