// The transport itself; made by make_shared_memory_transport.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "transport/accept_pause.hpp"
#include "transport/ended_transfers.hpp"
#include "transport/shared_memory/address.hpp"
#include "transport/shared_memory/connection.hpp"
#include "transport/shared_memory/sockets.hpp"
#include "transport/shared_memory/wake_ups.hpp"
#include "transport/transport.hpp"

namespace muster::shm {

/// See shared_memory_transport.hpp. Sockets and connections: connections.cpp; what is said: streams.cpp.
class SharedMemoryTransport final : public Transport {
 public:
  SharedMemoryTransport();

  std::string address() const override { return seal_address(self_); }
  std::string describe() const override { return "shared memory"; }
  void set_sink(FrameSink* sink) override { sink_ = sink; }
  void connect(PeerId peer, const std::string& address) override;
  void disconnect(PeerId peer) override;
  void send(PeerId peer, const Frame& frame, std::span<const std::byte> payload, SendToken token) override;
  bool supports_borrowing() const override { return true; }
  bool stands(BorrowedBuffer borrow) const override;
  void give_back(BorrowedBuffer borrow) override;
  bool progress() override;
  int event_descriptor() const override { return sockets_.get(); }
  bool arm() override;

 private:
  using In = std::shared_ptr<Incoming>;
  using Out = std::shared_ptr<Outgoing>;

  void watch(const Descriptor& socket, std::uint64_t number);
  Dialed dial(Outgoing& out);
  bool dial_again();
  bool look();
  void welcome();
  void hear(const In& in);
  void begin(Incoming& in, const Hello& hello, const Descriptor& memory);
  bool read_all();
  bool read(const In& in);
  bool read_frame(const In& in, std::size_t unread);
  bool read_reference(const In& in, std::size_t unread);
  bool take_borrow(const In& in, const Frame& frame, const Reference& reference);
  void refuse(const In& in, const std::string& why);
  bool write_all();
  bool write(const Out& out);
  bool write_queue(Outgoing& out);
  bool offer(Outgoing& out);
  bool report_returned(Outgoing& out);
  void end(const In& in);
  void break_off(Incoming& in);
  void fail(const Out& out, const std::string& reason);
  Out outgoing_to(const std::string& name) const;

  const LocalAddress self_;
  FrameSink* sink_ = nullptr;
  std::map<PeerId, Out> outgoing_;
  std::map<std::uint64_t, In> incoming_;  // by the number of their socket
  std::map<std::uint64_t, In>
      owners_;  // whose buffers are borrowed; also such as have ended, until all are given back
  std::uint64_t next_number_ = 1;
  AcceptPause accept_pause_;
  EndedTransfers ended_;
  bool to_dial_ = false;  // some are to be dialed again
  WakeUps wake_ups_;
  bool look_ = true;
  unsigned polls_ = 0;
  Descriptor listener_;
  Descriptor sockets_;
};

}  // namespace muster::shm
