// A second process for tests: this test program started again, in a role of the test's own.
#pragma once

#include <sys/types.h>

#include <string>

namespace muster::testing {

/// Owns the child; kills it at the end if it still lives.
class ChildProcess {
 public:
  /// Starts the program again with only the named test, which sees `role()`. Throws std::runtime_error if it
  /// cannot.
  explicit ChildProcess(const std::string& test);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  int channel() const { return channel_; }
  void kill();
  /// Its exit status, once it ended by itself; 128 + signal if a signal ended it.
  int wait();

  /// In the child: the descriptor to the parent. In the parent, and in a program that was started by hand:
  /// -1.
  static int role();

 private:
  pid_t pid_ = -1;
  int channel_ = -1;
};

/// One message of any bytes over a channel. Blocks; throws std::runtime_error if the other side is gone.
void put_message(int channel, const std::string& message);
std::string get_message(int channel);

}  // namespace muster::testing
