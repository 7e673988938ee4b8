// muster coordinate: a run whose nodes are started by hand, on as many machines as there are.
#include <chrono>
#include <filesystem>

#include "base/bounded/host_resolver.hpp"
#include "base/bounded/line_output.hpp"
#include "base/this_machine.hpp"
#include "cli/training.hpp"
#include "config/values/address.hpp"

namespace muster::cli {

namespace {

constexpr const char* kCoordinateUsage =
    "Usage: muster coordinate JOB.toml --listen HOST:PORT [--insecure] [--replicas N] [--set "
    "table.key=value]...\n\n"
    "Keeps the membership of a run, and starts no process. Training begins when cluster.replicas replicas "
    "(and\n"
    "cluster.loaders loaders) have come with `muster join --coordinator HOST:PORT`; more may come at any "
    "time.\n"
    "With checkpoint.folder a journal is kept there: a coordinator that died is started again by the same\n"
    "command, and finds its replicas, which have gone on with their steps. Not with --resume: that goes\n"
    "back to the last checkpoint, and looks for no replica of before.\n"
    "Exit codes as those of `muster run`; 1 also when every replica was asked to leave.\n";

std::string adjust(const po::variables_map& given, RunOptions& options, std::vector<std::string>& sets) {
  std::string host;
  if (!given.count("listen"))
    return "--listen HOST:PORT is needed: the address that the others reach this machine by";
  const std::string address = given["listen"].as<std::string>();
  if (!parse_address(address, host, options.port))
    return "--listen is HOST:PORT, with a port from 1 to 65535; found '" + address + "'";
  if (host.find('/') != std::string::npos)
    return "--listen is HOST:PORT; found '" + address + "'" +
           (address_in_url(address) ? ", which is a URL; write " + *address_in_url(address) : "");
  const std::string why = why_no_answer(
      host, kOwnNameMax, [](const std::string& text) { error_output().print("muster coordinate: " + text); });
  if (!why.empty()) return "--listen " + address + ": " + why;
  if (!is_loopback(host) && !given.count("insecure")) {
    return "--listen " + host +
           " reaches beyond this machine, and nothing is encrypted or authenticated: whoever reaches the "
           "port "
           "can take part. If the network is trusted, say so with --insecure";
  }
  options.by_hand = true;
  sets.push_back("cluster.listen=\"" + host + "\"");
  const std::string reached =
      is_any_address(host) ? address_text(host_name(), options.port) : given["listen"].as<std::string>();
  options.on_listening = [reached] {
    error_output().print(
        "muster coordinate: on each machine:  " + std::filesystem::path(program()).filename().string() +
        " join --coordinator " + reached);
  };
  return {};
}

}  // namespace

int coordinate_command(const Arguments& arguments, const Registry& registry) {
  Training training{"coordinate", kCoordinateUsage, po::options_description(), adjust};
  training.options.add_options()("listen", po::value<std::string>()->value_name("HOST:PORT"),
                                 "the address that the nodes reach this machine by")(
      "insecure", "allow an address beyond this machine, without encryption or authentication");
  return train(training, arguments, registry);
}

}  // namespace muster::cli
