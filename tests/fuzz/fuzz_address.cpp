// The address of a data plane, as a stranger may send it (transport/ucx/address.hpp): UCX trusts what is in
// it.
#include "muster/config/error.hpp"
#include "muster/transport/ucx/address.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace muster::fuzz {

bool accepts(Input input) {
  const std::string sealed = text_of(input);
  try {
    MUSTER_CHECK(ucx::seal_address(ucx::open_address(sealed)) == sealed);
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::vector<Bytes> seeds() {
  return {bytes_of(ucx::seal_address("x")), bytes_of(ucx::seal_address("an address as long as UCX likes"))};
}

}  // namespace muster::fuzz
