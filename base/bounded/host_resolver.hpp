// Looking up the name of a host with a deadline. Where no name server answers, getaddrinfo may take a minute.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/socket_address.hpp"

namespace muster {

/// What is known of a name.
struct HostAnswer {
  enum class Kind {
    known,     ///< it has addresses
    unknown,   ///< there is no such name; to ask again changes nothing
    no_answer  ///< nobody has answered in time, or not now; to ask again may help
  };
  Kind kind = Kind::no_answer;
  std::vector<SocketAddress> addresses;  ///< where known: at least one, in the order to try them, with port 0
  std::string why;                       ///< else: what the resolver says, or that it has not answered

  /// What is wrong, of this host, and what to do, for people. Only where it is not known.
  std::string problem(const std::string& host) const;
};

/// Asks the resolver of the C library. Blocks for as long as it does.
HostAnswer ask_resolver(const std::string& host);

/// Look-ups that end in bounded time. Each runs on a thread of its own; one that does not return is left
/// behind, and may outlive this object. From any thread.
class HostResolver {
 public:
  /// May block, and be called from several threads at once.
  using Resolve = std::function<HostAnswer(const std::string&)>;

  /// So many names are remembered or under way. A further one waits until one of these is answered.
  static constexpr std::size_t kNamesMax = 16;
  /// An address that is known is not looked up again for so long. Any other answer goes to those who wait for
  /// it; where none of them is left, to the next who asks within this time.
  static constexpr std::chrono::milliseconds kKept{5000};

  explicit HostResolver(Resolve resolve = ask_resolver);

  /// Blocks for at most `most`; a numeric address is answered at once, without a thread. A name whose look-up
  /// is under way is waited for, and not asked for again.
  HostAnswer look_up(const std::string& host, std::chrono::milliseconds most);

 private:
  struct Shared;
  const std::shared_ptr<Shared> shared_;
};

/// The one of this process. It is never destroyed, so that it can be used until the end.
HostResolver& host_resolver();

/// For the name of this very host, where something begins to listen: its own /etc/hosts answers at once.
inline constexpr std::chrono::milliseconds kOwnNameMax{5000};

/// Looks a name up until it is known, or known not to exist, or `patience` is over. Empty: it was answered,
/// and whoever connects finds out what. Else what is wrong, and what to do. `say` is told within 2 s what is
/// tried, if that lasts. Blocks.
std::string why_no_answer(const std::string& host, std::chrono::milliseconds patience,
                          const std::function<void(const std::string&)>& say,
                          HostResolver& resolver = host_resolver());

}  // namespace muster
