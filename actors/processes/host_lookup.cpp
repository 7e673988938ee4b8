#include "actors/processes/host_lookup.hpp"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace muster {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kSilentMax{1500};  // then it is said what is tried
constexpr std::chrono::milliseconds kLookAgain{500};   // of a resolver that gives up at once

std::string in_seconds(std::chrono::milliseconds time) {
  return std::to_string(std::chrono::ceil<std::chrono::seconds>(time).count()) + " s";
}

// It may be answered later.
bool is_no_answer(int code) {
  return code == EAI_AGAIN;
}

}  // namespace

int resolve_host(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (code == 0) ::freeaddrinfo(found);
  return code;
}

HostLookup::HostLookup(std::string host, Resolve resolve) {
  std::packaged_task<int()> task(
      [host = std::move(host), resolve = std::move(resolve)] { return resolve(host); });
  answer_ = task.get_future().share();
  std::thread(std::move(task)).detach();
}

std::optional<int> HostLookup::wait(std::chrono::milliseconds most) const {
  if (answer_.wait_for(most) != std::future_status::ready) return std::nullopt;
  return answer_.get();
}

std::string why_no_answer(const std::string& host, std::chrono::milliseconds patience,
                          const std::function<void(const std::string&)>& say,
                          const HostLookup::Resolve& resolve) {
  const auto began = Clock::now();
  bool said = false;
  std::optional<HostLookup> lookup;
  for (;;) {
    const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began);
    if (passed >= patience) break;
    if (!lookup) lookup.emplace(host, resolve);
    const auto answer = lookup->wait(std::min(patience - passed, said ? patience : kSilentMax));
    if (answer && !is_no_answer(*answer)) return {};
    if (!std::exchange(said, true))
      say("looks up the host name " + host + " for up to " + in_seconds(patience) +
          ": no name server has answered yet");
    if (!answer) continue;
    lookup.reset();
    std::this_thread::sleep_for(std::min(patience, kLookAgain));
  }
  return "the host name " + host + " is not known here, and no name server answered within " +
         in_seconds(patience) +
         ": give the host's address instead, or an entry in /etc/hosts, or see which name servers "
         "/etc/resolv.conf "
         "has";
}

}  // namespace muster
