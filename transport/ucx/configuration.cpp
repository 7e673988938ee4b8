#include "transport/ucx/configuration.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>
#include <ucs/config/global_opts.h>
#include <ucs/debug/debug.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <vector>

#include "base/bounded/host_resolver.hpp"
#include "muster/error.hpp"
#include "transport/ucx/ucx_transport.hpp"

namespace muster::ucx {
namespace {

struct Default {
  const char* variable;  // with which the user overrides it
  const char* key;  // under which UCX 1.13 takes it: without the prefix for TCP, with it for shared memory
  const char* value;
};

constexpr Default kDefaults[] = {
    // Without it UCX drops shared memory in silence as soon as an endpoint asks to be told of failures.
    {"UCX_MM_ERROR_HANDLING", "MM_ERROR_HANDLING", "y"},
    // Fewer, larger reads than with the default of 128K: up to a tenth more bandwidth over TCP.
    {"UCX_TCP_RX_SEG_SIZE", "RX_SEG_SIZE", "256K"},
    // How soon a dead process is noticed over shared memory; the default is 20 s. It asks the kernel whether
    // the process
    // lives, so that a short interval makes no false alarm.
    {"UCX_KEEPALIVE_INTERVAL", "KEEPALIVE_INTERVAL", "200ms"},
    // No one-sided writes: a peer that wakes after its eviction must not reach a buffer that has a new use.
    {"UCX_RNDV_SCHEME", "RNDV_SCHEME", "am"},
};

using AddressList = std::unique_ptr<ifaddrs, decltype(&freeifaddrs)>;

bool set_by_user(const std::string& variable) {
  return std::getenv(variable.c_str()) != nullptr;
}

/// The raw address, 4 or 16 bytes.
std::string address_bytes(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
    return std::string(reinterpret_cast<const char*>(&in), sizeof in);
  }
  if (address->sa_family == AF_INET6) {
    const auto& in = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
    return std::string(reinterpret_cast<const char*>(&in), sizeof in);
  }
  return {};
}

// For an address of this machine.
SocketAddress resolve(const std::string& listen) {
  const HostAnswer answer = host_resolver().look_up(listen, kOwnNameMax);
  if (answer.kind != HostAnswer::Kind::known) throw Error(answer.problem(listen));
  return answer.addresses.front();
}

bool is_loopback_v4(const std::string& bytes) {
  return bytes.size() == 4 && bytes[0] == 127;
}

std::string interface_of(const std::string& listen, const std::string& bytes) {
  ifaddrs* found = nullptr;
  if (getifaddrs(&found) != 0) throw Error("the network interfaces cannot be listed");
  const AddressList owner(found, &freeifaddrs);
  for (const ifaddrs* entry = found; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    const bool loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0 && entry->ifa_addr->sa_family == AF_INET;
    // All of 127.0.0.0/8 is the loopback interface's, though it lists one address.
    if (address_bytes(entry->ifa_addr) == bytes || (loopback && is_loopback_v4(bytes)))
      return entry->ifa_name;
  }
  throw Error("no network interface of this node has the address " + listen);
}

/// ",mlx5_0:1" for an interface of an RDMA GPU.
std::string rdma_port_of(const std::string& interface, const std::filesystem::path& interfaces) {
  std::error_code absent;
  std::string names;
  int port = 0;
  std::ifstream(interfaces / interface / "dev_port") >> port;
  for (const auto& gpu :
       std::filesystem::directory_iterator(interfaces / interface / "device" / "infiniband", absent)) {
    names += "," + gpu.path().filename().string() + ":" + std::to_string(port + 1);
  }
  return names;
}

}  // namespace

std::string describe_status(const std::string& what, ucs_status_t status) {
  return what + ": " + ucs_status_string(status);
}

void require(ucs_status_t status, const std::string& what) {
  if (status != UCS_OK) throw Error(describe_status("UCX: " + what, status));
}

std::string net_devices(const std::string& listen, const std::filesystem::path& interfaces) {
  if (listen.empty()) return {};
  const SocketAddress address = resolve(listen);
  if (address.is_wildcard()) return {};
  const std::string interface = interface_of(listen, address_bytes(address.get()));
  return interface + rdma_port_of(interface, interfaces);
}

Configuration::Configuration(const UcxOptions& options) {
  prepare_ucx_process();
  const std::string devices = set_by_user("UCX_NET_DEVICES") ? std::string() : net_devices(options.listen);
  require(ucp_config_read(nullptr, nullptr, &config_),
          "its settings (UCX_... in the environment) cannot be read");
  for (const Default& setting : kDefaults) set_default(setting.variable, setting.key, setting.value);
  if (options.between_hosts) set_default("UCX_TLS", "TLS", "^sm");
  if (!devices.empty()) set_default("UCX_NET_DEVICES", "NET_DEVICES", devices);
}

void Configuration::set_default(const std::string& variable, const std::string& key,
                                const std::string& value) {
  if (!set_by_user(variable)) ucp_config_modify(config_, key.c_str(), value.c_str());
}

}  // namespace muster::ucx

namespace muster {

void prepare_ucx_process() {
  static std::once_flag once;
  std::call_once(once, [] {
    // The library read these when it was loaded, so that a later setenv would come too late.
    if (!ucx::set_by_user("UCX_LOG_LEVEL")) ucs_global_opts_set_value("LOG_LEVEL", "fatal");
    if (!ucx::set_by_user("UCX_WARN_UNUSED_ENV_VARS")) ucs_global_opts_set_value("WARN_UNUSED_ENV_VARS", "n");
    if (!ucx::set_by_user("UCX_DEBUG_SIGNO")) ucs_debug_disable_signal(SIGHUP);
  });
}

void release_error_signals_of_ucx() {
  prepare_ucx_process();
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) ucs_debug_disable_signal(signal);
}

std::string ucx_version() {
  return ucp_get_version_string();
}

}  // namespace muster
