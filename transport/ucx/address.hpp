// The address of a UCX transport as others get it.
#pragma once

#include <string>
#include <string_view>

#include "transport/seal.hpp"

namespace muster::ucx {

inline constexpr std::string_view kAddressMark = "muster-ucx-1:";

inline std::string seal_address(std::string_view worker_address) {
  return seal(kAddressMark, worker_address);
}

/// The worker address within. Throws Error if the bytes are no sealed address, or a damaged one.
inline std::string open_address(std::string_view sealed) {
  return unseal(kAddressMark, sealed, "the address of a UCX transport");
}

}  // namespace muster::ucx
