// What a node stands on in a real process.
#include "actors/node/node.hpp"
#include "actors/rules/membership/reach.hpp"
#include "actors/trainer/trainer_state.hpp"
#include "config/values/port_range.hpp"
#include "gpu/device.hpp"
#include "transport/node/reach.hpp"
#include "transport/tcp/reach.hpp"

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

namespace {

std::vector<NotReached> not_reached(const std::string& own, const std::vector<Member>& peers) {
  std::vector<NodeName> names;
  std::vector<tcp::Address> ports;
  for (const Member& peer : peers) {
    const auto port = tcp_address_between(own, peer.address);
    if (!port) continue;
    names.push_back(peer.name);
    ports.push_back(*port);
  }
  std::vector<NotReached> found;
  for (tcp::ClosedPort& closed : tcp::closed_ports(ports, kDialPatience))
    found.push_back({names[closed.which], std::move(closed.where), std::move(closed.why)});
  return found;
}

// On a thread that is there from the first time on. What cannot be dialed at all is met when the nodes
// connect.
void dial_ports(Executor& thread, const std::string& own, const std::vector<Member>& peers,
                std::function<void(std::vector<NotReached>)> done) {
  thread.submit([own, peers, done = std::move(done)] {
    std::vector<NotReached> found;
    try {
      found = not_reached(own, peers);
    } catch (const std::exception&) {
    }
    done(std::move(found));
  });
}

}  // namespace

NodeSeams real_seams(const std::string& address) {
  NodeSeams seams;
  seams.make_executor = [](const std::string& name, const std::string& device) {
    return std::shared_ptr<Executor>(make_thread_executor(name, core_of(device)));
  };
  seams.open_disk = open_disk;
  seams.dial_ports = [thread = std::shared_ptr<Executor>()](
                         const std::string& own, const std::vector<Member>& peers,
                         std::function<void(std::vector<NotReached>)> done) mutable {
    if (!thread) thread = make_thread_executor("muster-dial", -1);
    dial_ports(*thread, own, peers, std::move(done));
  };
  seams.make_data_plane = [address](const Job& job, const NodeName&, const std::string& device,
                                    Engine::Hooks hooks) {
    NodeTransportOptions transport;
    transport.listen = address.empty() ? job.cluster.listen : address;
    const PortRange ports = parse_port_range(job.cluster.data_ports).value_or(PortRange{});
    transport.first_port = ports.first;
    transport.last_port = ports.last;
    transport.silence_max = kConnectionPatiences * job.cluster.detect.patience;
    TransferOptions transfer_sender;
    transfer_sender.share = job.cluster.join_share;
    const std::string& carried = may_sum_on_gpus(job) ? device : "-";  // whose memory transports carry
    return std::shared_ptr<DataPlane>(
        make_real_data_plane(transport, carried, std::move(hooks), transfer_sender));
  };
  return seams;
}

}  // namespace muster
