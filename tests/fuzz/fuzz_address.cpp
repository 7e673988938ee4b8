// The address of a data plane, as a stranger may send it: UCX trusts what is in it
// (transport/ucx/address.hpp, transport/tcp/address.hpp).
#include "muster/error.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "transport/tcp/address.hpp"
#include "transport/ucx/address.hpp"

namespace muster::fuzz {

bool accepts(Input input) {
  const std::string sealed = text_of(input);
  try {
    MUSTER_CHECK(tcp::seal_address(tcp::open_address(sealed)) == sealed);
    return true;
  } catch (const Error&) {
  }
  try {
    MUSTER_CHECK(ucx::seal_address(ucx::open_address(sealed)) == sealed);
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::vector<Bytes> seeds() {
  const tcp::Address address{std::string(tcp::kNameBytes, 'n'), "10.0.0.7", 4711};
  return {bytes_of(tcp::seal_address(address)), bytes_of(ucx::seal_address("x")),
          bytes_of(ucx::seal_address("an address as long as UCX likes"))};
}

}  // namespace muster::fuzz
