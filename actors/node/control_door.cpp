#include "actors/node/control_door.hpp"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "transport/accept_pause.hpp"

namespace muster {

namespace {

bool is_reserved(int descriptor) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  return static_cast<rlim_t>(descriptor + ControlAccept::kReserved) >= limit.rlim_cur;
}

}  // namespace

void OpenSockets::add(int socket) {
  const MutexLock lock(mutex_);
  open_[socket] = {Clock::now()};
}

void OpenSockets::remove(int socket) {
  const MutexLock lock(mutex_);
  open_.erase(socket);
}

void OpenSockets::heard(int socket) {
  const MutexLock lock(mutex_);
  if (const auto found = open_.find(socket); found != open_.end()) found->second.heard = true;
}

void OpenSockets::shut_down_all() {
  const MutexLock lock(mutex_);
  for (const auto& [socket, open] : open_) ::shutdown(socket, SHUT_RDWR);
}

void OpenSockets::shut_down_unheard(std::chrono::milliseconds age) {
  const auto before = Clock::now() - age;
  const MutexLock lock(mutex_);
  for (const auto& [socket, open] : open_) {
    if (!open.heard && open.since <= before) ::shutdown(socket, SHUT_RDWR);
  }
}

ControlAccept::ControlAccept(std::shared_ptr<OpenSockets> open,
                             std::function<void(const std::string&)> report)
    : open_(std::move(open)), report_(std::move(report)) {}

bool ControlAccept::try_accept(caf::io::network::native_socket& accepted,
                               caf::io::network::native_socket listener) {
  accepted = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (accepted >= 0 && !is_reserved(accepted)) return true;
  if (accepted >= 0) {
    ::close(std::exchange(accepted, caf::io::network::invalid_native_socket));
    turn_away();
    return true;
  }
  if (!AcceptPause::is_shortage(errno)) return false;
  turn_away();
  ::poll(nullptr, 0, static_cast<int>(kPause.count()));  // the socket stays readable
  return false;
}

void ControlAccept::turn_away() {
  open_->shut_down_unheard(kUnheard);
  const auto now = OpenSockets::Clock::now();
  if (reported_at_ && now - *reported_at_ < kReportAgain) return;
  reported_at_ = now;
  report_(
      "who connects is turned away, for this process may open too few file descriptors; connections "
      "that say nothing are closed. More: `ulimit -n`");
}

}  // namespace muster
