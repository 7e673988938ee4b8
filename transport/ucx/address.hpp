// The address of a UCX transport as others get it: UCX's bytes behind a mark and a checksum, because UCX
// trusts what it is given and may crash on anything else.
#pragma once

#include <string>
#include <string_view>

namespace muster::ucx {

std::string seal_address(std::string_view worker_address);

/// The worker address within. Throws Error if the bytes are no sealed address, or a damaged one.
std::string open_address(std::string_view sealed);

}  // namespace muster::ucx
