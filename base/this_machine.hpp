// Which machine this is, as others are told.
#pragma once

#include <string>

namespace muster {

/// Its name, as `hostname` prints it; "unknown" if it has none.
std::string host_name();

/// Of this boot of its kernel: equal in all processes until it is started again; empty where the kernel tells
/// none.
std::string boot_id();

/// The process ids that this process sees: another one in another container; empty where the kernel tells
/// none.
std::string pid_space();

}  // namespace muster
