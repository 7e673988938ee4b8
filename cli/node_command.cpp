// muster node: one process of a run. Started by `run`, with the address of its coordinator.
#include "actors/node/node_process.hpp"
#include "actors/preflight/preflight_apart.hpp"
#include "actors/processes/spawn.hpp"
#include "cli/bench/bench_replica.hpp"
#include "cli/job_arguments.hpp"
#include "config/values/address.hpp"
#include "muster/run.hpp"

namespace muster::cli {

int node_command(const Arguments& arguments, const Registry& registry) {
  po::options_description options("Options");
  options.add_options()("coordinator", po::value<std::string>(), "HOST:PORT")(
      "kind", po::value<std::string>(), "replica or loader")("slot", po::value<std::uint32_t>(),
                                                             "number of the replica or loader")(
      "parent", po::value<int>()->default_value(0), "the process that this one must not outlive")(
      "launched", po::value<std::uint64_t>()->default_value(0), "number of this start, for its launcher")(
      "joins", "comes while others train: the coordinator gives it the next free number")(
      "device", po::value<std::string>(), "asked for, by one that joins: that of the lost one it is for")(
      "bench-iterations", po::value<std::uint64_t>(), "measure the reducer instead of training")(
      "bench-flip", po::value<std::int64_t>()->default_value(-1), "iteration at which one bit is flipped")(
      "preflight", "look at the job before a run, as the starting process asks by descriptors")("help",
                                                                                                "this text");
  int code = kCompleted;
  const auto given = parse("node", "Usage: muster node --coordinator HOST:PORT --kind KIND --slot N\n",
                           arguments, options, nullptr, code);
  if (!given) return code;
  end_with_parent((*given)["parent"].as<int>());
  if (given->count("preflight")) return run_preflight_child(registry);
  for (const char* needed : {"coordinator", "kind", "slot"}) {
    if (!given->count(needed)) return wrong_usage("node", std::string("--") + needed + " is missing");
  }
  NodeArguments node;
  if (!parse_address((*given)["coordinator"].as<std::string>(), node.host, node.port))
    return wrong_usage("node", "--coordinator is HOST:PORT");
  node.name = {(*given)["kind"].as<std::string>() == "loader", (*given)["slot"].as<std::uint32_t>()};
  node.parent = (*given)["parent"].as<int>();
  node.launched = (*given)["launched"].as<std::uint64_t>();
  node.joins = given->count("joins") > 0;
  if (given->count("device")) node.device = (*given)["device"].as<std::string>();
  if (!given->count("bench-iterations")) return run_node(node, registry);
  BenchOptions bench;
  bench.iterations = (*given)["bench-iterations"].as<std::uint64_t>();
  bench.flip_at = (*given)["bench-flip"].as<std::int64_t>();
  NodeSeams seams = real_seams();
  seams.spawn_replica = [bench](caf::actor_system& system, ReplicaSetup setup) {
    return system.spawn(bench_replica, std::move(setup), bench);
  };
  return run_node(node, registry, std::move(seams));
}

}  // namespace muster::cli
