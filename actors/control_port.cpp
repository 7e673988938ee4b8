#include "muster/actors/control_port.hpp"

#include <caf/io/all.hpp>
#include <caf/io/network/default_multiplexer.hpp>
#include <caf/io/network/scribe_impl.hpp>

namespace muster {

namespace {

using caf::io::receive_policy;
using caf::io::receive_policy_flag;

const caf::atom_value kRefusals = caf::atom("refusals");

// One connection.
class BoundedScribe final : public caf::io::network::scribe_impl {
 public:
  BoundedScribe(caf::io::network::default_multiplexer& multiplexer, caf::io::network::native_socket socket)
      : scribe_impl(multiplexer, socket), multiplexer_(multiplexer) {}

  // A length beyond the bound gets room for a single byte: with the next one that comes, what there is does
  // not fit its header, and CAF ends the connection by its own rules.
  void configure_read(receive_policy::config config) override {
    const bool fits = config.second <= kControlBytesMax;
    scribe_impl::configure_read(fits ? config : receive_policy::at_most(1));
  }

  // CAF calls it when it cannot read what has come.
  void graceful_shutdown() override {
    refuse("what came over it is no message of CAF");
    scribe_impl::graceful_shutdown();
  }

 private:
  void refuse(const std::string& why) {
    const auto coordinator = multiplexer_.system().registry().get(kRefusals);
    if (!coordinator) return;
    const std::string reason = "a connection from " + addr() + ": " + why;
    caf::anon_send(caf::actor_cast<coordinator_actor>(coordinator),
                   Raised{make_event("refused", {{"reason", reason}})});
  }

  caf::io::network::default_multiplexer& multiplexer_;
};

class BoundedMultiplexer final : public caf::io::network::default_multiplexer {
 public:
  using default_multiplexer::default_multiplexer;

  caf::io::scribe_ptr new_scribe(caf::io::network::native_socket socket) override {
    caf::io::network::keepalive(socket, true);
    return caf::make_counted<BoundedScribe>(*this, socket);
  }
};

}  // namespace

void load_middleman(caf::actor_system_config& config) {
  config.load<caf::io::middleman, BoundedMultiplexer>();
}

RefusalsTold::RefusalsTold(caf::actor_system& system, const coordinator_actor& coordinator)
    : system_(system) {
  system.registry().put(kRefusals, caf::actor_cast<caf::strong_actor_ptr>(coordinator));
}

RefusalsTold::~RefusalsTold() {
  system_.registry().erase(kRefusals);
}

}  // namespace muster
