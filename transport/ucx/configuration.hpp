// What UCX is told before it starts: Muster's defaults, the user's environment first.
#pragma once

#include <ucp/api/ucp.h>

#include <filesystem>
#include <string>

#include "transport/ucx/ucx_transport.hpp"

namespace muster::ucx {

/// "what: the text of the status".
std::string describe_status(const std::string& what, ucs_status_t status);
/// Throws Error unless the status is UCS_OK.
void require(ucs_status_t status, const std::string& what);

/// UCX's names of the devices that carry the address: the network interface, and its RDMA port if it has one.
/// Empty for a wildcard. Throws Error if no interface has the address, or if its name is not known within
/// kOwnNameMax. `interfaces` is where the kernel lists them.
std::string net_devices(const std::string& listen,
                        const std::filesystem::path& interfaces = "/sys/class/net");

/// Owns a ucp_config_t that holds the user's environment and, where it is silent, Muster's defaults.
class Configuration {
 public:
  explicit Configuration(const UcxOptions& options);
  ~Configuration() { ucp_config_release(config_); }
  Configuration(const Configuration&) = delete;
  Configuration& operator=(const Configuration&) = delete;

  const ucp_config_t* get() const { return config_; }

 private:
  void set_default(const std::string& variable, const std::string& key, const std::string& value);

  ucp_config_t* config_ = nullptr;
};

}  // namespace muster::ucx
