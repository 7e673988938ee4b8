// By what a replica sees that its checkpoint.folder is that of the coordinator: who the coordinator is, as it
// stands in the lock of its journal there (folder_lease.hpp).
#pragma once

#include <string>

#include "muster/job.hpp"

namespace muster {

/// The coordinator's: what others are to find. Empty where it stands not there (no folder, a full disk): then
/// nobody looks. Blocks.
std::string folder_mark(const Job& job);

/// For people: that the mark is not to be found in this host's folder. Empty: it is. Blocks.
std::string folder_without(const std::string& mark, const Job& job);

}  // namespace muster
