// How many files and sockets a process may have open, and how many a job needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "muster/job.hpp"

namespace muster {

/// Opens /dev/null in the place of each of the standard streams that is closed (`muster run ... 2>&-`): else
/// a file, a socket or a pipe gets its number, and what is printed goes there. First thing in a program's
/// main.
void open_standard_streams();

/// Raises the process's soft limit of open descriptors to the hard one; children inherit it. Returns what may
/// be open then.
std::uint64_t raise_descriptor_limit();

/// The hard limit of this process.
std::uint64_t descriptors_allowed();

/// Of a replica or loader: a base, and for each other process two connections and a segment of memory.
std::uint64_t descriptors_of_node(const Job& job);
/// Of the process that runs the coordinator: a base, and for each node its connection and its end. With
/// `in_process` all nodes are in it, too.
std::uint64_t descriptors_of_coordinator(const Job& job, bool in_process);

/// What is missing, and how to mend it; nothing if `allowed` is enough.
std::optional<std::string> too_few_descriptors(std::uint64_t needed, std::uint64_t allowed);

}  // namespace muster
