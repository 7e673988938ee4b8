// Who is let in at the control port. A process whose descriptors are used up by strangers could write no
// journal any more, and its listening socket would be readable again and again.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <caf/io/network/native_socket.hpp>

#include "base/mutex.hpp"

namespace muster {

/// The sockets of a control port that are open. Any thread.
class OpenSockets {
 public:
  using Clock = std::chrono::steady_clock;

  void add(int socket);
  /// Before it is closed: then its number may be given to another one.
  void remove(int socket);
  /// Something has come over it.
  void heard(int socket);

  void shut_down_all();
  /// Those over which nothing has come since they were opened, `age` ago or longer.
  void shut_down_unheard(std::chrono::milliseconds age);

 private:
  struct Open {
    Clock::time_point since;
    bool heard = false;
  };
  Mutex mutex_;
  std::map<int, Open> open_ MUSTER_GUARDED_BY(mutex_);
};

/// How connections are accepted: a policy of CAF's acceptor_impl. The last kReserved descriptors stay free
/// for files; who would take one of them is turned away, and strangers that have said nothing make room.
/// `report` hears so, at most every kReportAgain: strangers may come again and again.
class ControlAccept {
 public:
  static constexpr int kReserved = 16;
  static constexpr std::chrono::milliseconds kUnheard{1000};
  static constexpr std::chrono::milliseconds kPause{50};  ///< of the thread, where none can be accepted
  static constexpr std::chrono::seconds kReportAgain{60};

  ControlAccept(std::shared_ptr<OpenSockets> open, std::function<void(const std::string&)> report);

  /// False: nobody was accepted. True with an invalid socket: somebody was turned away.
  bool try_accept(caf::io::network::native_socket& accepted, caf::io::network::native_socket listener);

 private:
  void turn_away();

  std::shared_ptr<OpenSockets> open_;
  std::function<void(const std::string&)> report_;
  std::optional<OpenSockets::Clock::time_point> reported_at_;
};

}  // namespace muster
