// What a node stands on in a real process.
#include "muster/actors/node.hpp"
#include "muster/actors/workbench.hpp"
#include "muster/config/port_range.hpp"
#include "muster/gpu/device.hpp"

namespace muster {

namespace {

// A connection outlives what pings and complaints judge, and ends within a time that the job decides.
constexpr int kConnectionPatiences = 20;

int core_of(const std::string& device) {
  if (device.rfind("cpu:", 0) != 0) return -1;
  const auto cores = discover_devices().cores;
  const auto index = static_cast<std::size_t>(std::stoul(device.substr(4)));
  return index < cores.size() ? cores[index] : -1;
}

}  // namespace

NodeSeams real_seams(const std::string& address) {
  NodeSeams seams;
  seams.make_executor = [](const std::string& name, const std::string& device) {
    return std::shared_ptr<Executor>(make_thread_executor(name, core_of(device)));
  };
  seams.open_disk = open_disk;
  seams.make_data_plane = [address](const Job& job, const NodeName&, const std::string& device,
                                    Engine::Hooks hooks) {
    NodeTransportOptions transport;
    transport.listen = address.empty() ? job.cluster.listen : address;
    const PortRange ports = parse_port_range(job.cluster.data_ports).value_or(PortRange{});
    transport.first_port = ports.first;
    transport.last_port = ports.last;
    transport.silence_max = kConnectionPatiences * job.cluster.detect.patience;
    HandoverOptions handover;
    handover.share = job.cluster.join_share;
    const std::string& carried = may_sum_on_cards(job) ? device : "-";  // whose memory transports carry
    return std::shared_ptr<DataPlane>(make_real_data_plane(transport, carried, std::move(hooks), handover));
  };
  return seams;
}

}  // namespace muster
