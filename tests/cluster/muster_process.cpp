#include "tests/cluster/muster_process.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace muster::cluster_test {

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kPrograms = MUSTER_BINARY_DIR "/bin/";

int milliseconds_to(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return left < 0 ? 0 : static_cast<int>(left) + 1;
}

std::string unique_mark() {
  static std::atomic<int> number{0};
  return "MUSTER_TEST_MARK=" + std::to_string(::getpid()) + "-" + std::to_string(++number);
}

// The environment of this process with changes, and with the mark.
std::vector<std::string> environment_of(const Environment& changes, const std::string& mark) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!changes.contains(text.substr(0, text.find('=')))) all.push_back(text);
  }
  for (const auto& [name, value] : changes) all.push_back(name + "=" + value);
  all.push_back(mark);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

int exit_code(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Readable once the process has ended.
class PidDescriptor {
 public:
  explicit PidDescriptor(pid_t pid) : descriptor_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {}
  ~PidDescriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  PidDescriptor(const PidDescriptor&) = delete;
  PidDescriptor& operator=(const PidDescriptor&) = delete;

  void wait(Clock::time_point deadline) const {
    pollfd one{descriptor_, POLLIN, 0};
    if (descriptor_ >= 0) ::poll(&one, 1, milliseconds_to(deadline));
  }

 private:
  int descriptor_;
};

}  // namespace

MusterProcess::MusterProcess(const Arguments& arguments, const Environment& environment,
                             const std::string& program, Group group)
    : mark_(unique_mark()), began_(Clock::now()) {
  const std::string file = kPrograms + program;
  std::vector<std::string> texts{file};
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = environment_of(environment, mark_);
  err_file_ = ::testing::TempDir() + "muster-stderr-" + mark_.substr(mark_.find('=') + 1);
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err_file_.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
  posix_spawnattr_t attributes;  // nohup around the tests is not around what they start
  ::posix_spawnattr_init(&attributes);
  sigset_t standard;
  sigemptyset(&standard);
  sigaddset(&standard, SIGHUP);
  ::posix_spawnattr_setsigdefault(&attributes, &standard);
  const int own_group = group == Group::own ? POSIX_SPAWN_SETPGROUP : 0;
  ::posix_spawnattr_setflags(&attributes, static_cast<short>(POSIX_SPAWN_SETSIGDEF | own_group));
  const int error = ::posix_spawn(&pid_, file.c_str(), &actions, &attributes, pointers(texts).data(),
                                  pointers(variables).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  ::close(ends[1]);
  out_ = ends[0];
  EXPECT_EQ(error, 0) << file << ": " << std::strerror(error);
}

MusterProcess::~MusterProcess() {
  for (const pid_t pid : alive()) ::kill(pid, SIGKILL);
  if (!reaped_ && pid_ > 0) ::waitpid(pid_, nullptr, 0);
  ::close(out_);
  std::remove(err_file_.c_str());
}

void MusterProcess::signal(int number) const {
  EXPECT_EQ(::kill(pid_, number), 0);
}

void MusterProcess::signal_group(int number) const {
  EXPECT_EQ(::getpgid(pid_), pid_);
  EXPECT_EQ(::kill(-pid_, number), 0);
}

void MusterProcess::close_output() {
  ::close(out_);
  out_ = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

// Adds what has come to text_; false at the end of the output, or when the time is over.
bool MusterProcess::read_some(Clock::time_point deadline) {
  pollfd one{out_, POLLIN, 0};
  if (::poll(&one, 1, milliseconds_to(deadline)) <= 0) return false;
  char buffer[4096];
  const ssize_t got = ::read(out_, buffer, sizeof buffer);
  if (got <= 0) return false;
  text_.append(buffer, static_cast<std::size_t>(got));
  all_out_.append(buffer, static_cast<std::size_t>(got));
  return true;
}

std::optional<std::string> MusterProcess::line() {
  const auto deadline = Clock::now() + kDeadline;
  for (;;) {
    const auto end = text_.find('\n');
    if (end != std::string::npos) {
      std::string line = text_.substr(0, end);
      text_.erase(0, end + 1);
      return line;
    }
    if (!read_some(deadline)) return std::nullopt;
  }
}

bool MusterProcess::quiet_for(std::chrono::milliseconds time) {
  const auto deadline = Clock::now() + kDeadline;
  while (Clock::now() < deadline) {
    if (!read_some(Clock::now() + time)) return !alive().empty();
  }
  return false;
}

std::map<int, pid_t> MusterProcess::replicas(int count) {
  std::map<int, pid_t> pids;
  const auto is_replica = [](const Json& event) { return event.contains("replica"); };
  while (static_cast<int>(pids.size()) < count) {
    const Json joined = event("joined", is_replica);
    if (!joined.is_object()) break;
    pids[joined["replica"].get<int>()] = joined["pid"].get<pid_t>();
  }
  return pids;
}

Outcome MusterProcess::wait() {
  const auto deadline = Clock::now() + kDeadline;
  while (read_some(deadline)) {
  }
  PidDescriptor(pid_).wait(deadline);
  Outcome outcome;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) {
    ADD_FAILURE() << "muster did not end within its deadline";
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &status, 0);
  }
  reaped_ = true;
  outcome.seconds = Clock::now() - began_;
  outcome.code = exit_code(status);
  outcome.out = all_out_;
  outcome.err = read_text(err_file_);
  return outcome;
}

std::string MusterProcess::err() const {
  return read_text(err_file_);
}

// By the mark in their environment: so those are found, too, whose parent is gone. What has ended has none.
std::vector<pid_t> MusterProcess::alive() const {
  std::vector<pid_t> pids;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string variables = '\0' + read_text(entry.path().string() + "/environ");
    if (variables.find('\0' + mark_ + '\0') == std::string::npos) continue;
    pids.push_back(static_cast<pid_t>(std::stol(name)));
  }
  return pids;
}

bool MusterProcess::none_left_within(std::chrono::milliseconds patience) const {
  const auto deadline = Clock::now() + patience;
  for (auto pids = alive(); !pids.empty(); pids = alive()) {
    if (Clock::now() >= deadline) return false;
    for (const pid_t pid : pids) PidDescriptor(pid).wait(deadline);
  }
  return true;
}

Outcome run_muster(const Arguments& arguments, const Environment& environment) {
  MusterProcess process(arguments, environment);
  const Outcome outcome = process.wait();
  EXPECT_EQ(process.alive(), std::vector<pid_t>{}) << "processes were left over";
  return outcome;
}

std::string free_address() {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  EXPECT_EQ(::bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length), 0);
  ::close(descriptor);
  return "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

Folder::Folder() {
  std::string pattern = ::testing::TempDir() + "muster-cluster-XXXXXX";
  path_ = ::mkdtemp(pattern.data());
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string Folder::write(const std::string& name, const std::string& text) const {
  std::ofstream(path(name), std::ios::binary) << text;
  return path(name);
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Json read_json(const std::string& path) {
  return Json::parse(read_text(path), nullptr, false);
}

RunResult run_job(const std::string& job_file, const Folder& folder, const Arguments& more,
                  const Environment& environment) {
  const std::string file = folder.path("report.json");
  std::filesystem::remove(file);
  // Nobody is to be lost: a busy machine may hold a process up for a second or two.
  Arguments arguments{"run", job_file, "--report", file, "--quiet", "--set", "cluster.detect.patience=20s"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  RunResult result;
  result.outcome = run_muster(arguments, environment);
  result.report = read_json(file);
  EXPECT_TRUE(result.report.is_object()) << "no report; " << result.outcome.err;
  return result;
}

std::string linear_job() {
  return R"(name = "linear"
seed = 7
[model]
name = "linear"
inputs = 8
outputs = 3
[data]
source = "synthetic"
samples = 1237
inputs = 8
outputs = 3
test_samples = 100
[train]
shards = 5
batch = 16
epochs = 2
[train.optimizer]
name = "sgd"
learning_rate = 0.01
[cluster]
replicas = 2
)";
}

}  // namespace muster::cluster_test
