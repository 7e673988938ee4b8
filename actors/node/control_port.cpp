#include "actors/node/control_port.hpp"

#include <sys/socket.h>

#include <set>
#include <utility>

#include <caf/io/all.hpp>
#include <caf/io/network/acceptor_impl.hpp>
#include <caf/io/network/default_multiplexer.hpp>
#include <caf/io/network/scribe_impl.hpp>

#include "actors/events/event.hpp"
#include "actors/node/control_door.hpp"
#include "actors/node/control_socket.hpp"
#include "actors/rules/watch/return_time.hpp"

namespace muster {

namespace {

using caf::io::receive_policy;
using caf::io::receive_policy_flag;

const caf::atom_value kRefusals = caf::atom("refusals");

void report_refused(caf::actor_system& system, const std::string& reason) {
  const auto coordinator = system.registry().get(kRefusals);
  if (!coordinator) return;
  caf::anon_send(caf::actor_cast<coordinator_actor>(coordinator),
                 Raised{make_event("refused", {{"reason", reason}})});
}

// One connection.
class BoundedScribe final : public caf::io::network::scribe_impl {
 public:
  BoundedScribe(caf::io::network::default_multiplexer& multiplexer, caf::io::network::native_socket socket,
                std::shared_ptr<OpenSockets> open)
      : scribe_impl(multiplexer, socket),
        multiplexer_(multiplexer),
        socket_(socket),
        silence_(socket),
        open_(std::move(open)) {
    open_->add(socket_);
  }
  ~BoundedScribe() override { open_->remove(socket_); }

  // A length beyond the bound gets room for a single byte: with the next one that comes, what there is does
  // not fit its header, and CAF ends the connection by its own rules.
  void configure_read(receive_policy::config config) override {
    if (std::exchange(configured_, true)) open_->heard(socket_);  // what it waited for has come
    const bool fits = config.second <= kControlBytesMax;
    scribe_impl::configure_read(fits ? config : receive_policy::at_most(1));
  }

  // After each message that is to be sent, so at least with each heartbeat.
  void flush() override {
    silence_.look(BoundedSilence::Time::clock::now());
    scribe_impl::flush();
  }

  // CAF calls it when it cannot read what has come.
  void graceful_shutdown() override {
    report_refused(multiplexer_.system(),
                   "a connection from " + addr() + ": what came over it is no message of CAF");
    scribe_impl::graceful_shutdown();
  }

 private:
  caf::io::network::default_multiplexer& multiplexer_;
  const caf::io::network::native_socket socket_;
  BoundedSilence silence_;
  std::shared_ptr<OpenSockets> open_;
  bool configured_ = false;
};

// Where connections come in: CAF's doorman_impl, with another way to accept.
class BoundedDoorman final : public caf::io::doorman {
 public:
  BoundedDoorman(caf::io::network::default_multiplexer& multiplexer, caf::io::network::native_socket socket,
                 std::shared_ptr<OpenSockets> open)
      : doorman(caf::io::network::accept_hdl_from_socket(socket)),
        acceptor_(multiplexer, socket, std::move(open),
                  [&system = multiplexer.system()](const std::string& why) { report_refused(system, why); }) {
  }

  bool new_connection() override {
    if (detached()) return false;
    auto& multiplexer = acceptor_.backend();
    auto scribe = multiplexer.new_scribe(acceptor_.accepted_socket());
    const auto handle = scribe->hdl();
    parent()->add_scribe(std::move(scribe));
    return doorman::new_connection(&multiplexer, handle);
  }
  void graceful_shutdown() override {
    acceptor_.graceful_shutdown();
    detach(&acceptor_.backend(), false);
  }
  void launch() override { acceptor_.start(this); }
  std::string addr() const override {
    const auto address = caf::io::network::local_addr_of_fd(acceptor_.fd());
    return address ? *address : std::string();
  }
  std::uint16_t port() const override {
    const auto port = caf::io::network::local_port_of_fd(acceptor_.fd());
    return port ? *port : 0;
  }
  void add_to_loop() override { acceptor_.activate(this); }
  void remove_from_loop() override { acceptor_.passivate(); }

 private:
  caf::io::network::acceptor_impl<ControlAccept> acceptor_;
};

class BoundedMultiplexer final : public caf::io::network::default_multiplexer {
 public:
  using default_multiplexer::default_multiplexer;

  caf::io::scribe_ptr new_scribe(caf::io::network::native_socket socket) override {
    caf::io::network::keepalive(socket, true);
    return caf::make_counted<BoundedScribe>(*this, socket, open_);
  }

  caf::io::doorman_ptr new_doorman(caf::io::network::native_socket socket) override {
    return caf::make_counted<BoundedDoorman>(*this, socket, open_);
  }

  // CAF's own waits for as long as TCP tries, which is two minutes.
  caf::expected<caf::io::scribe_ptr> new_tcp_scribe(const std::string& host, std::uint16_t port) override {
    ConnectError why;
    const auto socket = connect_within(host, port, kConnectMax, why);
    if (!socket) return caf::make_error(caf::sec::cannot_connect_to_node, why.text());
    return new_scribe(*socket);
  }

  void drop_connections() { open_->shut_down_all(); }

 private:
  std::shared_ptr<OpenSockets> open_ = std::make_shared<OpenSockets>();
};

}  // namespace

void load_middleman(caf::actor_system_config& config) {
  config.load<caf::io::middleman, BoundedMultiplexer>();
}

// As middleman::remote_actor does, with a deadline.
caf::expected<coordinator_actor> find_coordinator(caf::scoped_actor& self, const std::string& host,
                                                  std::uint16_t port, std::chrono::milliseconds most) {
  caf::actor_system& system = self->system();
  caf::expected<coordinator_actor> found{caf::make_error(caf::sec::request_timeout)};
  self->request(system.middleman().actor_handle(), most, caf::connect_atom::value, host, port)
      .receive(
          [&](const caf::node_id&, caf::strong_actor_ptr& actor, const std::set<std::string>& interface) {
            if (!actor) {
              found = caf::make_error(caf::sec::no_actor_published_at_port);
            } else if (!system.assignable(interface, system.message_types<coordinator_actor>())) {
              found = caf::make_error(caf::sec::unexpected_actor_messaging_interface);
            } else {
              found = caf::actor_cast<coordinator_actor>(std::move(actor));
            }
          },
          [&](caf::error& error) { found = std::move(error); });
  return found;
}

void drop_connections(caf::actor_system& system) {
  if (auto* multiplexer = dynamic_cast<BoundedMultiplexer*>(&system.middleman().backend()))
    multiplexer->drop_connections();
}

RefusalReports::RefusalReports(caf::actor_system& system, const coordinator_actor& coordinator)
    : system_(system) {
  system.registry().put(kRefusals, caf::actor_cast<caf::strong_actor_ptr>(coordinator));
}

RefusalReports::~RefusalReports() {
  system_.registry().erase(kRefusals);
}

}  // namespace muster
