// Many systems give a process a low soft limit of open descriptors, and a high hard one. Every process of a
// run raises its own.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <vector>

#include "config/values/address.hpp"
#include "tests/cluster/muster_process.hpp"

namespace muster::descriptor_limit_test {
namespace {

using namespace muster::cluster_test;

// With 8 replicas, each of them needs more than this.
constexpr rlim_t kFew = 30;
constexpr const char* kReplicas = "8";

rlimit limit_of(pid_t process) {
  rlimit limit{};
  EXPECT_EQ(::prlimit(process, RLIMIT_NOFILE, nullptr, &limit), 0);
  return limit;
}

// What is started meanwhile begins with the low soft limit.
class FewDescriptors {
 public:
  FewDescriptors() : before_(limit_of(0)) { set({kFew, before_.rlim_max}); }
  ~FewDescriptors() { set(before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  static void set(const rlimit& limit) { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0); }

  rlimit before_;
};

// Connections to an address, over which nothing is said.
class Strangers {
 public:
  Strangers(const std::string& where, int count) {
    std::string host;
    std::uint16_t port = 0;
    EXPECT_TRUE(muster::parse_address(where, host, port));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = ::htons(port);
    EXPECT_EQ(::inet_pton(AF_INET, host.c_str(), &address.sin_addr), 1);
    for (int i = 0; i < count; ++i) {
      sockets_.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      EXPECT_EQ(::connect(sockets_.back(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    }
  }
  ~Strangers() {
    for (const int socket : sockets_) ::close(socket);
  }
  Strangers(const Strangers&) = delete;
  Strangers& operator=(const Strangers&) = delete;

 private:
  std::vector<int> sockets_;
};

void expect_raised(pid_t process) {
  const rlimit limit = limit_of(process);
  EXPECT_EQ(limit.rlim_cur, limit.rlim_max) << process;
  EXPECT_GT(limit.rlim_cur, kFew) << process;
}

std::string job_of_8(const std::string& epochs) {
  std::string text = linear_job();
  text.replace(text.find("shards = 5"), 10, "shards = 8");
  return text.replace(text.find("epochs = 2"), 10, "epochs = " + epochs + "\nevaluate = false");
}

TEST(DescriptorLimit, IsRaisedByARunWhichCompletes) {
  const Folder folder;
  const std::string job = folder.write("job.toml", job_of_8("2"));
  std::optional<FewDescriptors> few(std::in_place);
  const RunResult run = run_job(job, folder, {"--replicas", kReplicas});
  few.reset();
  EXPECT_EQ(run.outcome.code, 0) << run.outcome.err;
  EXPECT_EQ(run.report["outcome"], "completed");
  EXPECT_EQ(run.report["weights_sha256"], run_job(job, folder).report["weights_sha256"]);
}

TEST(DescriptorLimit, IsRaisedByTheLauncherAndItsReplicas) {
  const Folder folder;
  std::optional<FewDescriptors> few(std::in_place);
  MusterProcess process(
      {"run", folder.write("job.toml", job_of_8("1000000000")), "--events", "-", "--replicas", kReplicas});
  few.reset();
  const std::map<int, pid_t> replicas = process.replicas(8);
  ASSERT_EQ(replicas.size(), 8u);
  expect_raised(process.pid());
  for (const auto& [slot, pid] : replicas) expect_raised(pid);
}

// Who joins has no launcher that raised one for it.
TEST(DescriptorLimit, IsRaisedByEachProcessThatIsStartedByHand) {
  const Folder folder;
  const std::string where = free_address();
  std::optional<FewDescriptors> few(std::in_place);
  MusterProcess coordinator({"coordinate", folder.write("job.toml", job_of_8("1000000000")), "--listen",
                             where, "--events", "-", "--replicas", kReplicas});
  std::vector<std::unique_ptr<MusterProcess>> joined;
  while (joined.size() < 8)
    joined.push_back(std::make_unique<MusterProcess>(Arguments{"join", "--coordinator", where}));
  few.reset();
  const Json view = coordinator.event("view");
  ASSERT_TRUE(view.is_object());
  EXPECT_EQ(view["members"], 8);
  expect_raised(coordinator.pid());
  for (const auto& process : joined) expect_raised(process->pid());
  EXPECT_TRUE(coordinator.event("epoch").is_object()) << "the replicas train";
}

// Strangers that connect and say nothing take no descriptor that a run needs.
TEST(DescriptorLimit, StrangersKeepNobodyOut) {
  const Folder folder;
  const std::string where = free_address();
  MusterProcess coordinator({"coordinate", folder.write("job.toml", linear_job()), "--listen", where,
                             "--events", "-", "--set", "checkpoint.folder=" + folder.path("kept")});
  ASSERT_TRUE(coordinator.event("listening").is_object());
  constexpr rlimit kLow{80, 80};
  ASSERT_EQ(::prlimit(coordinator.pid(), RLIMIT_NOFILE, &kLow, nullptr), 0);
  const Strangers strangers(where, 100);
  const Json refused = coordinator.event("refused");
  EXPECT_NE(refused["reason"].get<std::string>().find("too few file descriptors"), std::string::npos)
      << refused;
  MusterProcess one({"join", "--coordinator", where}), other({"join", "--coordinator", where});
  EXPECT_TRUE(coordinator.event("view").is_object()) << "nobody gets in";
  const Outcome outcome = coordinator.wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err.find("journal_delayed"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace muster::descriptor_limit_test
