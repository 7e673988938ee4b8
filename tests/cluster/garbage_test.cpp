// Strangers on the coordinator's port, who speak something else or nothing at all: each is refused by an
// event, costs little, and the run ends as if none had come.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <memory>

#include "tests/cluster/muster_process.hpp"

namespace muster::garbage_test {
namespace {

using namespace muster::cluster_test;

constexpr std::size_t kMemoryKibMax = 1u << 20;

/// A TCP connection to a port of this machine.
class Socket {
 public:
  Socket() : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  ~Socket() { ::close(descriptor_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  void send(int port, const std::string& bytes) const {
    const sockaddr_in address = loopback(port);
    ASSERT_EQ(::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }

 private:
  static sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }

  int descriptor_;
};

// A header of CAF's protocol: kind of message, length of what follows, all else zero.
std::string header(char operation, const std::string& length, char version) {
  return std::string{operation, 0, 0, 0} + length + std::string(7, '\0') + version + std::string(16, '\0');
}

const std::vector<std::string>& what_strangers_say() {
  static const std::vector<std::string> all = [] {
    const std::string huge = "\xff\xff\xff\xf0";
    std::vector<std::string> texts{std::string(64, '\0'), "GET / HTTP/1.1\r\nHost: somewhere\r\n\r\n",
                                   std::string(1000, '\xff')};
    for (char operation = 0; operation < 8; ++operation) {
      // A length that nothing has, and a byte of it: more would not be read.
      texts.push_back(header(operation, huge, 3) + "x");
      texts.push_back(header(operation, huge, 4) + "x");
      texts.push_back(header(operation, std::string("\0\0\0\x10", 4), 3) + std::string(16, '\x7f'));
    }
    return texts;
  }();
  return all;
}

std::size_t memory_peak_kib(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string word; status >> word;) {
    if (word != "VmHWM:") continue;
    std::size_t kib = 0;
    status >> kib;
    return kib;
  }
  return 0;
}

TEST(Garbage, OnTheCoordinatorsPortIsRefusedAndHarmsNobody) {
  const Folder folder;
  std::string text = linear_job();
  text.replace(text.find("epochs = 2"), 10, "epochs = 200");
  const std::string job = folder.write("job.toml", text);
  const std::string where = free_address();
  const int port = std::stoi(where.substr(where.find(':') + 1));
  MusterProcess coordinator({"coordinate", job, "--listen", where, "--events", "-", "--report",
                             folder.path("report.json"), "--set", "cluster.detect.patience=4s"});
  ASSERT_TRUE(coordinator.event("started").is_object());
  MusterProcess first({"join", "--coordinator", where});
  MusterProcess second({"join", "--coordinator", where});
  ASSERT_TRUE(coordinator.event("view").is_object());

  std::vector<std::unique_ptr<Socket>> strangers;
  for (const std::string& texts : what_strangers_say()) {
    strangers.push_back(std::make_unique<Socket>());
    strangers.back()->send(port, texts);
  }
  strangers.push_back(std::make_unique<Socket>());
  strangers.back()->send(port, {});  // says nothing, and stays
  EXPECT_TRUE(coordinator.event("refused").is_object());
  EXPECT_LT(memory_peak_kib(coordinator.pid()), kMemoryKibMax);

  EXPECT_EQ(coordinator.wait().code, 0);
  const Json report = read_json(folder.path("report.json"));
  EXPECT_FALSE(report["event_counts"].contains("lost")) << report["event_counts"];
  EXPECT_EQ(report["event_counts"]["refused"], what_strangers_say().size());
  const RunResult undisturbed = run_job(job, folder, {"--set", "cluster.replicas=1"});
  EXPECT_EQ(report["weights_sha256"], undisturbed.report["weights_sha256"]);
}

}  // namespace
}  // namespace muster::garbage_test
