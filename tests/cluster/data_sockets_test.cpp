// The connections between real replicas over TCP: the kernel ends one whose other end is gone after a time
// that follows from the job.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tests/cluster/muster_process.hpp"

namespace muster::data_sockets_test {
namespace {

using namespace muster::cluster_test;

constexpr int kPatienceMs = 1617, kSilenceMs = 20 * kPatienceMs;

/// How many sockets of a process of this test the kernel ends after this silence.
int sockets_that_end_after(int silence_ms, pid_t pid) {
  const int process = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  EXPECT_GE(process, 0) << std::strerror(errno);
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
    const int number = std::stoi(file.path().filename());
    const int copy = static_cast<int>(::syscall(SYS_pidfd_getfd, process, number, 0));
    if (copy < 0 && errno == EBADF) continue;  // it has been closed meanwhile
    EXPECT_GE(copy, 0) << std::strerror(errno);
    int value = 0;
    socklen_t length = sizeof value;
    const int rc = ::getsockopt(copy, IPPROTO_TCP, TCP_USER_TIMEOUT, &value, &length);
    count += rc == 0 && value == silence_ms;
    ::close(copy);
  }
  ::close(process);
  return count;
}

TEST(DataSockets, TheKernelEndsThemAfterTwentyPatiences) {
  const Folder folder;
  std::string text = linear_job();
  text.replace(text.find("epochs = 2"), 10, "epochs = 1000000000\nevaluate = false");
  MusterProcess process({"run", folder.write("job.toml", text), "--events", "-", "--set",
                         "cluster.detect.patience=" + std::to_string(kPatienceMs) + "ms"},
                        {{"UCX_TLS", "tcp"}});
  const std::map<int, pid_t> replicas = process.replicas(2);
  ASSERT_EQ(replicas.size(), 2u);
  ASSERT_TRUE(process.event("epoch").is_object());
  for (const auto& [slot, pid] : replicas)
    EXPECT_EQ(sockets_that_end_after(kSilenceMs, pid), 2) << "one it has dialed, and one accepted: " << slot;
}

}  // namespace
}  // namespace muster::data_sockets_test
