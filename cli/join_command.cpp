// muster join: one replica (or loader) of a run that is coordinated elsewhere.
#include "actors/node/node_process.hpp"
#include "base/bounded/host_resolver.hpp"
#include "base/bounded/line_output.hpp"
#include "cli/job_arguments.hpp"
#include "config/placement.hpp"
#include "config/values/address.hpp"
#include "gpu/device.hpp"

namespace muster::cli {

namespace {

constexpr const char* kJoinUsage =
    "Usage: muster join --coordinator HOST:PORT [--device cpu:K|cuda:K] [--loader] [--unchecked]\n\n"
    "Adds a replica (--loader: a loader) to a run of `muster coordinate`, before it begins or while it\n"
    "trains. The coordinator sends the job. Another replica sends the state while training goes on.\n"
    "SIGTERM, SIGINT (Ctrl-C) or SIGHUP: the replica leaves at the next step boundary, and the others take\n"
    "its shards. If all replicas are told so, one of them writes a last checkpoint (checkpoint.folder).\n"
    "A second signal: the process ends at once, as in a crash.\n"
    "A replica that was cut off and evicted joins again as soon as it can reach the coordinator.\n"
    "Exit codes: 0 the run is completed or was stopped, or the replica left in good order;\n"
    "1 failed, the reason is on stderr; 2 wrong command line; 129, 130 or 143 ended by a second signal.\n";

constexpr std::int64_t kSecondsMax = 366 * 24 * 3600;

// Of a device that was asked for; empty if this machine has it, or none was.
std::string wrong_device(const std::string& name) {
  if (name.empty() || name == "cpu") return {};
  const DeviceInventory here = discover_devices();
  const auto mistake = missing_device(name, "--device", {here.cores, here.cuda_devices, here.cuda_reason});
  return mistake ? render(*mistake) : std::string();
}

std::string without_scheme(const std::string& address) {
  const auto found = address_in_url(address);
  return found ? "; write " + *found : "";
}

}  // namespace

int join_command(const Arguments& arguments, const Registry& registry) {
  po::options_description options("Options");
  options.add_options()("coordinator", po::value<std::string>()->value_name("HOST:PORT")->required(),
                        "where the coordinator listens")(
      "device", po::value<std::string>()->value_name("D"),
      "the device to compute on; default: a core of this machine, assigned in turn")(
      "unchecked", "skip the check of model and data on the first samples (docs/guides/contract.md)")(
      "loader", "a loader process instead of a replica (cluster.loaders > 0)")(
      "patience", po::value<std::int64_t>()->value_name("SECONDS")->default_value(60),
      "how long to try to reach the coordinator")(
      "orphan-after", po::value<std::int64_t>()->value_name("SECONDS"),
      "how long the coordinator may be unreachable later before this process ends; default: the job's "
      "cluster.orphan_after")("help", "this text");
  int code = kCompleted;
  const auto given = parse("join", kJoinUsage, arguments, options, nullptr, code);
  if (!given) return code;
  JoinOptions join;
  const std::string address = (*given)["coordinator"].as<std::string>();
  if (!parse_address(address, join.node.host, join.node.port) ||
      join.node.host.find('/') != std::string::npos)
    return wrong_usage("join", "--coordinator is HOST:PORT, as `muster coordinate` prints it; found '" +
                                   address + "'" + without_scheme(address));
  join.node.joins = true;
  join.node.name.loader = given->count("loader") > 0;
  if (given->count("device")) join.node.device = (*given)["device"].as<std::string>();
  if (const std::string wrong = wrong_device(join.node.device); !wrong.empty())
    return wrong_usage("join", wrong);
  for (const char* option : {"patience", "orphan-after"}) {
    if (!given->count(option)) continue;
    const std::int64_t seconds = (*given)[option].as<std::int64_t>();
    if (seconds < 1 || seconds > kSecondsMax)
      return wrong_usage("join", std::string("--") + option + " is 1 to " + std::to_string(kSecondsMax) +
                                     " seconds; found " + std::to_string(seconds));
  }
  join.patience = std::chrono::seconds((*given)["patience"].as<std::int64_t>());
  if (given->count("orphan-after"))
    join.orphan_after = std::chrono::seconds((*given)["orphan-after"].as<std::int64_t>());
  join.unchecked = given->count("unchecked") > 0;
  join.say = [](const std::string& text) { error_output().print("muster join: " + text); };
  if (const std::string why = why_no_answer(join.node.host, join.patience, join.say); !why.empty()) {
    join.say("no coordinator at " + address + ": " + why);
    return kFailed;
  }
  return run_joining_node(join, registry);
}

}  // namespace muster::cli
