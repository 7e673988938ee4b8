// Shared memory behind the seam, for the processes of one host. Each process says what it has to say in an
// outbox of its own, one for each peer, which the others can only read: who is killed or stopped in the
// middle of a message holds up nobody but those who wait for that message. (UCX 1.13 has one queue for each
// receiver that all others write to; one that dies in it blocks all.)
//
// Processes find each other by Unix sockets in the kernel's abstract namespace, which carry the outboxes'
// descriptors and wake who rests; when a process ends, however it does, the kernel closes them, and its peers
// know at once. A stopped process is not noticed. Nothing is left behind: neither memory nor sockets have a
// name in the file system.
//
// Only processes of the same user are let in.
#pragma once

#include <memory>

#include "transport/transport.hpp"

namespace muster {

/// `connect` refuses what is no address of such a transport on this host, and its own address, with an Error.
/// Every buffer given to `send` or by `place` is free as soon as its end was told, and after the destructor.
/// Throws Error if the kernel gives no socket.
std::unique_ptr<Transport> make_shared_memory_transport();

}  // namespace muster
