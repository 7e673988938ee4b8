// Both directions of a connection over shared memory within one process, for the tests of what they are made
// of: what side A writes, side B reads, and the other way round.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>

#include "transport/shared_memory/connection.hpp"

namespace muster::testing {

struct ShmSide {
  std::shared_ptr<shm::Outgoing> out = std::make_shared<shm::Outgoing>();
  shm::Incoming in;
};

class TwoSides : public ::testing::Test {
 protected:
  void SetUp() override {
    join(a_, 11, b_);
    join(b_, 22, a_);
  }

  /// What `from` writes is read by `to`.
  static void join(ShmSide& from, std::uint64_t stream, ShmSide& to) {
    int sockets[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
    from.out->stream = to.in.stream = stream;
    from.out->socket = shm::Descriptor(sockets[0]);
    to.in.socket = shm::Descriptor(sockets[1]);
    to.in.box = std::make_unique<shm::Inbox>(shm::Descriptor(::dup(from.out->box.descriptor())),
                                             from.out->box.capacity());
  }
  /// Whether something lies in the socket; it is taken.
  static bool was_poked(const shm::Incoming& in) {
    char byte = 0;
    return ::recv(in.socket.get(), &byte, 1, MSG_DONTWAIT) == 1;
  }

  ShmSide a_, b_;
};

}  // namespace muster::testing
