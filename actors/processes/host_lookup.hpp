// Looking up the name of a host, with a bound: where no name server answers the resolver may take a minute.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <string>

namespace muster {

/// 0: the name is known; else an error of getaddrinfo. Blocks for as long as the resolver does.
int resolve_host(const std::string& host);

/// One look-up. Its thread outlives this object where the resolver does not return.
class HostLookup {
 public:
  using Resolve = std::function<int(const std::string&)>;

  explicit HostLookup(std::string host, Resolve resolve = resolve_host);

  /// Waits for the answer of `resolve`, at most for so long; nothing: it is not there yet.
  std::optional<int> wait(std::chrono::milliseconds most) const;

 private:
  std::shared_future<int> answer_;
};

/// Looks a name up until a name server answers, whatever that is, or `patience` is over. Empty: it was
/// answered, and whoever connects finds out what. Else why not, and what to do. `say` is told within 2 s what
/// is tried, if that lasts. Blocks.
std::string why_no_answer(const std::string& host, std::chrono::milliseconds patience,
                          const std::function<void(const std::string&)>& say,
                          const HostLookup::Resolve& resolve = resolve_host);

}  // namespace muster
