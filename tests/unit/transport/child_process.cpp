#include "tests/unit/transport/child_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <vector>

namespace muster::testing {
namespace {

constexpr char kVariable[] = "MUSTER_TEST_CHANNEL";

}  // namespace

ChildProcess::ChildProcess(const std::string& test) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0) throw std::runtime_error("no socket pair");
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  channel_ = ends[0];
  std::string variable = kVariable;
  variable.append("=").append(std::to_string(ends[1]));
  std::string filter = "--gtest_filter=" + test;
  std::string program = "/proc/self/exe";
  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  environment.push_back(variable.data());
  environment.push_back(nullptr);
  std::string quiet = "--gtest_brief=1";
  char* arguments[] = {program.data(), filter.data(), quiet.data(), nullptr};
  const int error = posix_spawn(&pid_, program.c_str(), nullptr, nullptr, arguments, environment.data());
  ::close(ends[1]);
  if (error != 0) throw std::runtime_error("the test program cannot be started again");
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) {
    kill();
    wait();
  }
  ::close(channel_);
}

void ChildProcess::kill() {
  ::kill(pid_, SIGKILL);
}

int ChildProcess::wait() {
  int status = 0;
  if (waitpid(pid_, &status, 0) != pid_) throw std::runtime_error("no child to wait for");
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int ChildProcess::role() {
  const char* channel = std::getenv(kVariable);
  if (channel == nullptr) return -1;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  return std::atoi(channel);
}

void put_message(int channel, const std::string& message) {
  if (::send(channel, message.data(), message.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(message.size())) {
    throw std::runtime_error("the other process is gone");
  }
}

std::string get_message(int channel) {
  std::string message(65536, '\0');
  const ssize_t size = ::recv(channel, message.data(), message.size(), 0);
  if (size <= 0) throw std::runtime_error("the other process is gone");
  message.resize(static_cast<std::size_t>(size));
  return message;
}

}  // namespace muster::testing
