#include "base/bounded/host_resolver.hpp"

#include <netdb.h>
#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <map>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/mutex.hpp"
#include "base/units.hpp"

namespace muster {

namespace {

using Clock = std::chrono::steady_clock;
using Kind = HostAnswer::Kind;

constexpr std::chrono::milliseconds kSilentMax{1500};  // then it is said what is tried
constexpr std::chrono::milliseconds kLookAgain{500};   // of a resolver that gives up at once

HostAnswer no_answer_within(std::chrono::milliseconds time) {
  return {Kind::no_answer, {}, "no name server answered within " + human_duration(time)};
}

HostAnswer failed_with(int code, int error) {
  const bool unknown = code == EAI_NONAME || code == EAI_NODATA;
  return {unknown ? Kind::unknown : Kind::no_answer,
          {},
          code == EAI_SYSTEM ? std::strerror(error) : ::gai_strerror(code)};
}

}  // namespace

std::string HostAnswer::problem(const std::string& host) const {
  if (kind == Kind::unknown)
    return "the host name " + host + " is not known here (" + why +
           "): give a name that `getent hosts` finds on this machine, or an address";
  return "the host name " + host + " cannot be looked up (" + why +
         "): give the host's address instead, or an entry in /etc/hosts, or see which name servers "
         "/etc/resolv.conf has";
}

HostAnswer ask_resolver(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int code = ::getaddrinfo(host.c_str(), nullptr, &hints, &found); code != 0)
    return failed_with(code, errno);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  HostAnswer answer{Kind::known, {}, {}};
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next)
    answer.addresses.push_back(SocketAddress::copy_of(each->ai_addr, each->ai_addrlen));
  return answer;
}

// Outlives the resolver where a look-up does.
struct HostResolver::Shared {
  struct LookUp {  // the mutex guards it, too
    std::optional<HostAnswer> answer;
    Clock::time_point answered;
    bool taken = false;

    bool is_of_use() const {
      if (!answer) return true;
      return Clock::now() - answered < kKept && (answer->kind == Kind::known || !taken);
    }
  };

  explicit Shared(Resolve given) : resolve(std::move(given)) {}

  // False: all names are under way.
  bool make_room() MUSTER_REQUIRES(mutex) {
    if (by_name.size() < kNamesMax) return true;
    const auto oldest = std::ranges::min_element(by_name, {}, [](const auto& each) {
      return each.second->answer ? each.second->answered : Clock::time_point::max();
    });
    if (!oldest->second->answer) return false;
    by_name.erase(oldest);
    return true;
  }

  // The one of this name, unless what it says is of no more use.
  std::shared_ptr<LookUp> find(const std::string& host) MUSTER_REQUIRES(mutex) {
    const auto found = by_name.find(host);
    if (found == by_name.end()) return nullptr;
    if (found->second->is_of_use()) return found->second;
    by_name.erase(found);
    return nullptr;
  }

  void answer(LookUp& look_up, HostAnswer found) {
    const MutexLock lock(mutex);
    look_up.answer = std::move(found);
    look_up.answered = Clock::now();
    changed.notify_all();
  }

  HostAnswer ask(const std::string& host) const {
    try {
      return resolve(host);
    } catch (const std::exception& error) {  // no memory
      return {Kind::no_answer, {}, error.what()};
    }
  }

  const Resolve resolve;
  Mutex mutex;
  ConditionVariable changed;
  std::map<std::string, std::shared_ptr<LookUp>> by_name MUSTER_GUARDED_BY(mutex);
};

HostResolver::HostResolver(Resolve resolve) : shared_(std::make_shared<Shared>(std::move(resolve))) {}

HostAnswer HostResolver::look_up(const std::string& host, std::chrono::milliseconds most) {
  if (const auto numeric = SocketAddress::from_text(host)) return {Kind::known, {*numeric}, {}};
  const auto until = Clock::now() + most;
  Shared& shared = *shared_;
  const MutexLock lock(shared.mutex);
  for (std::shared_ptr<Shared::LookUp> own;;) {
    if (!own) own = shared.find(host);
    if (!own && shared.make_room()) {
      own = std::make_shared<Shared::LookUp>();
      try {
        std::thread([all = shared_, own, host] {
          pthread_setname_np(pthread_self(), "muster-names");
          all->answer(*own, all->ask(host));
        }).detach();
      } catch (const std::system_error& error) {  // no thread is left
        return {Kind::no_answer, {}, error.what()};
      }
      shared.by_name[host] = own;
    }
    if (own && own->answer) {
      own->taken = true;
      return *own->answer;
    }
    if (Clock::now() >= until) return no_answer_within(most);
    shared.changed.wait_until(shared.mutex, until);
  }
}

HostResolver& host_resolver() {
  static auto* const resolver = new HostResolver();
  return *resolver;
}

std::string why_no_answer(const std::string& host, std::chrono::milliseconds patience,
                          const std::function<void(const std::string&)>& say, HostResolver& resolver) {
  const auto until = Clock::now() + patience;
  bool said = false;
  for (auto left = patience; left.count() > 0;
       left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now())) {
    const auto asked = Clock::now();
    const auto most = said ? left : std::min(left, kSilentMax);
    if (resolver.look_up(host, most).kind != Kind::no_answer) return {};
    if (!std::exchange(said, true))
      say("looks up the host name " + host + " for up to " + human_duration(patience) +
          ": no name server has answered yet");
    if (Clock::now() - asked < most) std::this_thread::sleep_for(std::min(left, kLookAgain));
  }
  return no_answer_within(patience).problem(host);
}

}  // namespace muster
