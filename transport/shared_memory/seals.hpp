// Memory without a name that its maker writes and others only read: nobody can take it away from its readers.
#pragma once

#include <cstddef>

#include "transport/shared_memory/descriptor.hpp"

namespace muster::shm {

/// None if the kernel gives none; errno says why.
Descriptor new_shared_memory(const char* name, std::size_t bytes);

/// To be called when the maker has mapped it. A descriptor that only reads; none if the kernel refuses.
Descriptor seal_for_readers(const Descriptor& memory);

/// Whether memory of another process is of this size for ever: to read it cannot fail.
bool stays_whole(const Descriptor& memory, std::size_t bytes);

}  // namespace muster::shm
