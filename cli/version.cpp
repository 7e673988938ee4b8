#include <caf/config.hpp>

#include "cli/command.hpp"
#include "muster_version.hpp"
#include "transport/ucx/ucx_transport.hpp"

namespace muster::cli {

std::string version_text() {
  const auto caf = std::to_string(CAF_VERSION / 10000) + "." + std::to_string(CAF_VERSION / 100 % 100) + "." +
                   std::to_string(CAF_VERSION % 100);
  return std::string("muster ") + kVersion + " (" + kBuildType + ", " + kCompiler + ")\n" + "CAF " + caf +
         "\nUCX " + ucx_version() + "\nCUDA " + kCuda + "\nlibtorch " + kTorch + "\n" + kLeftOut;
}

}  // namespace muster::cli
