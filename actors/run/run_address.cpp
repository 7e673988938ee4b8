#include "actors/run/run_address.hpp"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <memory>
#include <span>
#include <utility>

#include <nlohmann/json.hpp>

#include "actors/checkpoint/checkpoint_manifest.hpp"
#include "base/bounded/bounded_calls.hpp"
#include "base/this_machine.hpp"
#include "config/values/address.hpp"
#include "gpu/files/file_io.hpp"
#include "muster/error.hpp"

namespace muster {

namespace {

using Json = nlohmann::json;

constexpr const char* kEnding = ".address";

// The run does not wait longer for the disk of this file.
constexpr std::chrono::milliseconds kWaitMax{2000};

// False: the call has not returned within that time, and is left to a thread of its own.
bool within(std::chrono::milliseconds most, BoundedCalls::Call call) {
  BoundedCalls calls(std::chrono::milliseconds(100));
  return calls.make(std::move(call), most) == BoundedCalls::Outcome::returned;
}

std::optional<RunAddress> read_address(const std::filesystem::path& path) {
  try {
    const auto bytes = read_file(path);
    const auto* letters = reinterpret_cast<const char*>(bytes.data());
    const Json json = Json::parse(letters, letters + bytes.size());
    return RunAddress{json.at("job"),       json.at("host"),   json.at("boot"), json.at("pid"),
                      json.at("pid_space"), json.at("listen"), json.at("port")};
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

bool is_of_this_boot(const RunAddress& address) {
  return !address.boot.empty() && address.boot == boot_id();
}

// Its pid means the same process to this one.
bool is_known_here(const RunAddress& address) {
  return is_of_this_boot(address) && address.pid_space == pid_space();
}

}  // namespace

AddressFile::AddressFile(const std::filesystem::path& folder, const RunAddress& address)
    : path_(folder / (file_name_of(address.job) + kEnding)), address_(address) {
  const std::string text =
      Json{{"job", address.job},  {"host", address.host},           {"boot", address.boot},
           {"pid", address.pid},  {"pid_space", address.pid_space}, {"listen", address.listen},
           {"port", address.port}}
          .dump() +
      "\n";
  const auto why_not = std::make_shared<std::string>();
  const auto written = within(kWaitMax, [path = path_, text, why_not] {
    const auto bytes = std::as_bytes(std::span(text));
    try {
      replace_file(path, std::span(&bytes, 1));
    } catch (const Error& error) {
      *why_not = error.what();
    }
  });
  why_not_ = written ? *why_not
                     : "the disk of " + path_.string() + " has not answered for " +
                           std::to_string(kWaitMax.count()) + " ms";
}

AddressFile::~AddressFile() {
  within(kWaitMax, [path = path_, address = address_] {
    if (read_address(path) != address) return;  // another coordinator has taken the run over
    std::error_code error;
    std::filesystem::remove(path, error);
  });
}

std::vector<RunAddress> addresses_in(const std::filesystem::path& folder) {
  std::vector<RunAddress> all;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() != kEnding) continue;
    if (auto address = read_address(entry.path())) all.push_back(std::move(*address));
  }
  std::ranges::sort(all, {}, &RunAddress::job);
  return all;
}

std::optional<std::string> host_to_reach(const RunAddress& address) {
  const bool here = is_of_this_boot(address);
  if (is_any_address(address.listen)) return here ? std::string("localhost") : address.host;
  if (is_loopback(address.listen) && !here) return std::nullopt;
  return address.listen;
}

bool has_died(const RunAddress& address) {
  if (!is_known_here(address)) return false;
  return ::kill(static_cast<pid_t>(address.pid), 0) != 0 && errno == ESRCH;
}

bool is_stopped(const RunAddress& address) {
  if (!is_known_here(address)) return false;
  std::ifstream file("/proc/" + std::to_string(address.pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const auto name_end = text.rfind(')');  // proc(5): pid (name) state
  return name_end != std::string::npos && name_end + 2 < text.size() &&
         (text[name_end + 2] == 'T' || text[name_end + 2] == 't');
}

}  // namespace muster
