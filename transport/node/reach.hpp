// Where TCP carries between two nodes, to see whether its ports can be reached: firewalls are found before
// anything depends on them.
#pragma once

#include <optional>
#include <string>

#include "transport/tcp/address.hpp"

namespace muster {

/// Where the node of `other` listens for the one of `own`; none if they share a host, or if UCX carries
/// between them. Both are addresses of make_node_transport; throws Error if they are not.
std::optional<tcp::Address> tcp_address_between(const std::string& own, const std::string& other);

}  // namespace muster
