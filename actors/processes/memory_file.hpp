// Anonymous memory that a child process can be handed as a descriptor.
#pragma once

namespace muster {

/// A descriptor of this process that is handed on lies at this number or above, so that none lies where a
/// child has its own.
inline constexpr int kHandedLowest = 10;

/// Empty, closed at exec, at kHandedLowest or above. `name`: for people who look at /proc. Throws Error.
int make_memory_file(const char* name);

}  // namespace muster
