// What of UCX's many settings Muster depends on.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include "muster/error.hpp"
#include "tests/unit/transport/transport_world.hpp"
#include "transport/ucx/address.hpp"
#include "transport/ucx/configuration.hpp"
#include "transport/ucx/ucx_transport.hpp"

namespace {

using namespace muster;
using muster::testing::ScopedVariable;

constexpr PeerId kPeer = 1;

/// The transports that carry a connection within this machine.
std::string carried_by(const std::string& tls, const char* other = "UCX_TLS", const std::string& value = "") {
  const ScopedVariable set_tls("UCX_TLS", tls);
  const ScopedVariable set_other(other, value);
  muster::testing::RecordingSink sinks[2];
  const auto a = make_ucx_transport({});
  const auto b = make_ucx_transport({});
  a->set_sink(&sinks[0]);
  b->set_sink(&sinks[1]);
  a->connect(kPeer, b->address());
  return a->describe();
}

TEST(UcxSettings, SharedMemoryIsNotLostToErrorHandling) {
  EXPECT_NE(carried_by("").find("sysv"), std::string::npos) << carried_by("");
}

TEST(UcxSettings, TheUsersEnvironmentWins) {
  EXPECT_EQ(carried_by("tcp"), "ucx " + ucx_version() + ": tcp");
  EXPECT_EQ(carried_by("tcp,self"), "ucx " + ucx_version() + ": tcp");
  EXPECT_EQ(carried_by("", "UCX_MM_ERROR_HANDLING", "n").find("sysv"), std::string::npos);
}

TEST(UcxSettings, AWrongSettingIsAnErrorThatSaysSo) {
  const ScopedVariable tls("UCX_TLS", "carrier_pigeon");
  EXPECT_THROW(make_ucx_transport({}), Error);
}

TEST(UcxSettings, TheInterfaceIsTheOneThatCarriesTheAddress) {
  EXPECT_EQ(ucx::net_devices("127.0.0.1"), "lo");
  EXPECT_EQ(ucx::net_devices("127.0.0.2"), "lo");
  EXPECT_EQ(ucx::net_devices(""), "");
  EXPECT_EQ(ucx::net_devices("0.0.0.0"), "");
  EXPECT_EQ(ucx::net_devices("::"), "");
  EXPECT_THROW(ucx::net_devices("192.0.2.7"), Error);  // reserved for documentation
  EXPECT_THROW(make_ucx_transport({.listen = "192.0.2.7"}), Error);
}

TEST(UcxSettings, AnRdmaPortOfTheInterfaceIsNamedToo) {
  const std::filesystem::path root = std::filesystem::path(::testing::TempDir()) / "muster-interfaces";
  std::filesystem::create_directories(root / "lo" / "device" / "infiniband" / "mlx5_3");
  std::ofstream(root / "lo" / "dev_port") << "1\n";
  EXPECT_EQ(ucx::net_devices("127.0.0.1", root), "lo,mlx5_3:2");
  std::filesystem::remove_all(root);
}

TEST(UcxSettings, SighupIsLeftAlone) {
  prepare_ucx_process();
  struct sigaction action {};
  ASSERT_EQ(sigaction(SIGHUP, nullptr, &action), 0);
  EXPECT_TRUE(action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN);  // ignored under nohup
}

TEST(UcxSettings, TheEventGuardStandsBeforeTheLibrary) {
  // What libuct finds when it looks for the function must not lie in libucs; see event_guard.cpp.
  Dl_info information{};
  ASSERT_NE(dladdr(dlsym(RTLD_DEFAULT, "ucs_event_set_wait"), &information), 0);
  EXPECT_EQ(std::string(information.dli_fname).find("libucs"), std::string::npos) << information.dli_fname;
}

TEST(UcxSettings, AddressesAreSealed) {
  const std::string sealed = ucx::seal_address(std::string("\0bytes", 6));
  EXPECT_EQ(ucx::open_address(sealed), std::string("\0bytes", 6));
  for (std::size_t place = 0; place < sealed.size(); ++place) {
    std::string damaged = sealed;
    damaged[place] = static_cast<char>(damaged[place] ^ 4);
    EXPECT_THROW(ucx::open_address(damaged), Error) << place;
    EXPECT_THROW(ucx::open_address(sealed.substr(0, place)), Error) << place;
  }
}

}  // namespace
