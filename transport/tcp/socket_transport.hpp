// The transport itself; made by make_tcp_transport.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "transport/accept_pause.hpp"
#include "transport/ended_transfers.hpp"
#include "transport/tcp/address.hpp"
#include "transport/tcp/connection.hpp"
#include "transport/tcp/sockets.hpp"
#include "transport/tcp/tcp_transport.hpp"
#include "transport/transport.hpp"

namespace muster::tcp {

/// See tcp_transport.hpp. Sockets and connections: connections.cpp; what is said: streams.cpp.
class SocketTransport final : public Transport {
 public:
  explicit SocketTransport(const TcpOptions& options);

  std::string address() const override { return seal_address(self_); }
  std::string describe() const override { return "tcp"; }
  void set_sink(FrameSink* sink) override { sink_ = sink; }
  void connect(PeerId peer, const std::string& address) override;
  void disconnect(PeerId peer) override;
  void send(PeerId peer, const Frame& frame, std::span<const std::byte> payload, SendToken token) override;
  bool progress() override;
  int event_descriptor() const override { return sockets_.get(); }
  bool arm() override;

 private:
  using In = std::shared_ptr<Incoming>;
  using Out = std::shared_ptr<Outgoing>;

  void watch(const Descriptor& socket, std::uint64_t number, std::uint32_t events);
  void dial(const Out& out, const Address& address);
  void greet(const Out& out);
  bool look();
  void look_at(const Out& out, std::uint32_t events);
  void welcome();
  void check_greetings();
  Out outgoing_to(const std::string& name) const;
  static void pair(Incoming& in, Outgoing& out);
  bool begin(const In& in);
  void refuse(const In& in, const std::string& why);
  void break_off(Incoming& in);
  void end(const In& in);
  void fail(const Out& out, const std::string& reason);
  bool report_ends();

  void list(const Out& out);
  void list(const In& in);
  void drain(const In& in);
  bool write_all();
  bool write(const Out& out);
  void written(Outgoing& out, std::size_t bytes);
  bool read_all();
  bool read(const In& in);
  void take(const In& in, std::size_t bytes);
  bool take_frame(const In& in);
  void take_payload(const In& in, std::size_t bytes);

  const TcpOptions options_;
  Address self_;
  FrameSink* sink_ = nullptr;
  std::map<PeerId, Out> outgoing_;
  std::map<std::uint64_t, Out> dialed_;   // the same, by the number of their socket
  std::map<std::uint64_t, In> incoming_;  // likewise
  std::uint64_t next_number_ = 1;
  AcceptPause accept_pause_;
  std::size_t strangers_ = 0;                      // of the incoming: that have not said their hello
  bool all_seen_ = true;                           // what the kernel told of at the last look
  bool greeting_ = false;                          // some dial, or have not said their hello
  Time next_check_{};                              // of those
  std::vector<Out> to_write_, writing_;            // with something in the queue, and perhaps room
  std::vector<SendToken> done_;                    // of one write
  std::vector<In> to_read_, reading_;              // with something to be read, perhaps
  std::vector<std::pair<Out, std::string>> lost_;  // failed outside of progress, and not told yet
  EndedTransfers ended_;
  std::vector<std::byte> thrown_away_;
  Descriptor listener_;
  Descriptor sockets_;
};

}  // namespace muster::tcp
