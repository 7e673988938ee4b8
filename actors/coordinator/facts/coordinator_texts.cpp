#include "actors/coordinator/facts/coordinator_texts.hpp"

#include "actors/coordinator/states/waits/gathering.hpp"
#include "base/count_of.hpp"
#include "config/values/address.hpp"
#include "muster/error.hpp"
#include "transport/node/reach.hpp"

namespace muster {

namespace {

// Nodes of the job's places that are not taken.
std::string missing_nodes(const Membership& membership) {
  std::string text;
  for (const bool loader : {false, true}) {
    const auto [here, places] = membership.admission().arrived(loader);
    if (here < places)
      text += (text.empty() ? "" : ", ") + count_of(places - here, loader ? "loader" : "replica");
  }
  return text;
}

std::string names_with_hosts(const Membership& membership, bool (*chosen)(const NodeRecord&)) {
  std::string text;
  for (const auto& [who, record] : membership.nodes()) {
    if (chosen(record)) text += (text.empty() ? "" : ", ") + membership.nodes().name_at_host(who);
  }
  return text;
}

// Where `to` takes what `from` sends, as far as TCP carries it.
std::string data_port_of(const NodeTable& nodes, const NodeName& from, const NodeName& to) {
  try {
    const auto port = tcp_address_between(nodes.at(from).prepared.address, nodes.at(to).prepared.address);
    return port ? ", which takes data at " + address_text(port->ip, port->port) : "";
  } catch (const Error&) {
    return {};  // its address says nothing of a port
  }
}

}  // namespace

std::string link_ends(const NodeTable& nodes, const NodeName& one, const NodeName& other) {
  const NodeRecord *from = nodes.find(one), *to = nodes.find(other);
  if (!from || !to || from->prepared.host == to->prepared.host) return {};
  const std::string there = data_port_of(nodes, one, other), here = data_port_of(nodes, other, one);
  const bool is_known = nodes.name_at_place(one) != one.text() || nodes.name_at_place(other) != other.text();
  if (!is_known && there.empty() && here.empty()) return {};
  return "; the link is between " + nodes.name_at_host(one) + here + ", and " + nodes.name_at_host(other) +
         there;
}

std::string why_not_begun(const Job& job, const Membership& membership) {
  const std::string here = names_with_hosts(membership, alive);
  const std::string left = names_with_hosts(membership, gone);
  const std::uint32_t replicas = membership.admission().arrived(false).first;
  return "no node came for " +
         std::to_string((Gathering::kPatienceTimes * job.cluster.start_patience).count()) + " ms (" +
         std::to_string(Gathering::kPatienceTimes) +
         " times cluster.start_patience). Missing: " + missing_nodes(membership) +
         "; here: " + (here.empty() ? "nobody" : here) +
         (left.empty() ? "" : "; was here, and is gone: " + left) +
         ". Start `muster join` for each one that is missing: it prints why it does not come. More time: "
         "--set cluster.start_patience=5min" +
         (replicas > 0 && replicas < job.cluster.replicas
              ? "; fewer replicas: --replicas " + std::to_string(replicas)
              : "");
}

std::string why_resume(const View& view) {
  return "the run was to go on from " + view.source.checkpoint +
         ", and its coordinator ended before the first view: start it with --resume, or move the journal "
         "away "
         "to begin the run anew";
}

std::string why_suspected(const SuspectSteps& suspects) {
  const std::string those = "step " + std::to_string(suspects.from()) + " and later";
  return suspects.were_suspected_before()
             ? those +
                   " were given up before the coordinator was started again: their results "
                   "may be wrong, or parts of the state were lost"
             : "results of " + those + " may be wrong (event corrupt)";
}

std::string why_not_reached(const Membership& membership, const std::string& ports, const NodeName& from,
                            const NotReached& closed) {
  return membership.nodes().name_at_host(from) + " does not reach " + closed.where + ", where " +
         membership.nodes().name_at_host(closed.peer) + " takes data: " + closed.why +
         ". Let what runs between the two hosts through: each node takes a port of " +
         (ports.empty() ? "any number; cluster.data_ports names a range for firewalls"
                        : "cluster.data_ports (" + ports + ")");
}

std::string text_of(const std::vector<ShardInterval>& deal) {
  std::string text;
  for (const ShardInterval& interval : deal) {
    text += text.empty() ? "" : " ";
    text += interval.begin == interval.end
                ? "-"
                : std::to_string(interval.begin) + "-" + std::to_string(interval.end - 1);
  }
  return text;
}

}  // namespace muster
