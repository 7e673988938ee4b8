// Connections to a coordinator whose host does not answer.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <caf/io/all.hpp>
#include <fstream>
#include <thread>

#include "actors/node/control_port.hpp"
#include "muster/run.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

// Listens, and accepts nothing: once its queue is full the kernel answers no greeting any more.
class SilentListener {
 public:
  SilentListener() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    const int listener = open();
    EXPECT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener, 0), 0);
    socklen_t size = sizeof address;
    EXPECT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ::ntohs(address.sin_port);
    for (int i = 0; i < 4; ++i) ::connect(open(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  }
  ~SilentListener() {
    for (const int descriptor : descriptors_) ::close(descriptor);
  }
  SilentListener(const SilentListener&) = delete;
  SilentListener& operator=(const SilentListener&) = delete;

  std::uint16_t port() const { return port_; }
  /// Sockets that have sent a greeting, and have no answer.
  std::size_t greeting() const {
    constexpr const char* kSynSent = "02";
    char remote[16];
    std::snprintf(remote, sizeof remote, "0100007F:%04X", port_);
    std::ifstream table("/proc/net/tcp");
    std::size_t count = 0;
    for (std::string number, local, to, state, rest; table >> number >> local >> to >> state;) {
      std::getline(table, rest);
      count += to == remote && state == kSynSent;
    }
    return count;
  }

 private:
  int open() {
    descriptors_.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    return descriptors_.back();
  }
  std::vector<int> descriptors_;
  std::uint16_t port_ = 0;
};

TEST(ControlPort, WhileACoordinatorIsLookedForActorsGoOn) {
  const SilentListener listener;
  const std::size_t before = listener.greeting();
  ASSERT_GT(before, 0u) << "the queue is not full";
  caf::actor_system_config config;
  load_middleman(config);
  configure(config);
  caf::actor_system system(config);
  std::thread looks([&] {
    caf::scoped_actor self(system);
    EXPECT_FALSE(find_coordinator(self, "127.0.0.1", listener.port(), 5000ms));
  });
  while (listener.greeting() == before) std::this_thread::yield();
  {
    caf::scoped_actor self(system);
    // With an argument: without one CAF reads through a null pointer.
    const auto add = system.spawn(
        [](int more) -> caf::behavior { return {[more](int number) { return number + more; }}; }, 1);
    self->request(add, caf::infinite, 7)
        .receive([](int number) { EXPECT_EQ(number, 8); }, [](const caf::error&) { ADD_FAILURE(); });
    EXPECT_GT(listener.greeting(), before) << "the actor had to wait for the connection";
    caf::anon_send_exit(add, caf::exit_reason::kill);
  }
  looks.join();
}

}  // namespace
}  // namespace muster
