// CAF knows a node by its host and by what get_process_id() returns, which is the pid. Two processes with one
// pid, in two pid namespaces of one network (containers with the host's network, where each is process 1),
// would be one node: each would get messages of the other, and the end of one would be that of both. This
// definition replaces CAF's: programs link libmuster before libcaf_core.
#include <caf/detail/get_process_id.hpp>
#include <random>

namespace caf::detail {

/// A random number. CAF asks once for each actor system; only log files, which Muster does not write,
/// would name it.
unsigned get_process_id() {
  return std::random_device()();
}

}  // namespace caf::detail
