// A terminal that is stopped (Ctrl-S) and a pipe that nobody reads take no more of what a process prints.
// They hold up no actor, no signal and no end of a process.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/cluster/muster_process.hpp"
#include "tests/cluster/paced_job.hpp"

namespace muster::stopped_output_test {
namespace {

using namespace muster::cluster_test;

// So long a test waits for one condition: its process, and others, may hang in it.
constexpr std::chrono::milliseconds kWaitMax = std::chrono::milliseconds(kDeadline) / 3;

/// A program whose standard output and error are the test's. Killed at the end of the test, if it lives.
class Started {
 public:
  ~Started() { kill(); }

  void start(Arguments arguments, int output, bool is_terminal) {
    arguments.insert(arguments.begin(), MUSTER_BINARY_DIR "/bin/muster_paced");
    std::vector<char*> words;
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ > 0) return;
    if (is_terminal) ::login_tty(output);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    ::execv(words[0], words.data());
    ::_exit(127);
  }
  void signal(int number) const { EXPECT_EQ(::kill(pid_, number), 0); }

  /// Waits for its end: its exit code, or 128 + signal; -1: it lives.
  int wait() {
    pollfd ended{static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)), POLLIN, 0};
    const bool has_ended = ::poll(&ended, 1, static_cast<int>(kWaitMax.count())) > 0;
    ::close(ended.fd);
    if (!has_ended) return -1;
    const int status = reap();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  void kill() {
    if (pid_ > 0) ::kill(pid_, SIGKILL), reap();
  }

 private:
  int reap() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }
  pid_t pid_ = -1;
};

/// One in a terminal of its own.
class OnTerminal {
 public:
  explicit OnTerminal(const Arguments& arguments) {
    EXPECT_EQ(::openpty(&reader_, &terminal_, nullptr, nullptr, nullptr), 0);
    for (const int end : {reader_, terminal_}) ::fcntl(end, F_SETFD, FD_CLOEXEC);
    program.start(arguments, terminal_, true);
    reading_ = std::thread([this] { read(); });
  }
  ~OnTerminal() {
    go_on();
    program.kill();
    ::close(terminal_);
    reading_.join();
    ::close(reader_);
  }
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;

  void stop() const { EXPECT_EQ(::tcflow(terminal_, TCOOFF), 0); }
  void go_on() const { EXPECT_EQ(::tcflow(terminal_, TCOON), 0); }

  /// Waits until it has printed that, `times` times; whether it has.
  bool prints(const std::string& words, int times = 1) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kWaitMax, [&] {
      std::size_t at = 0;
      for (int seen = 0; seen < times; ++seen, ++at) {
        if ((at = text_.find(words, at)) == std::string::npos) return false;
      }
      return true;
    });
  }

  Started program;

 private:
  void read() {
    char part[4096];
    for (ssize_t got = 0; (got = ::read(reader_, part, sizeof part)) > 0;) {
      const std::lock_guard lock(mutex_);
      text_.append(part, static_cast<std::size_t>(got));
      changed_.notify_all();
    }
  }

  int reader_ = -1, terminal_ = -1;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
  std::thread reading_;
};

/// A pipe that is full, and that nobody reads.
class FullPipe {
 public:
  FullPipe() {
    EXPECT_EQ(::pipe2(ends_.data(), O_CLOEXEC), 0);
    const std::string filling(static_cast<std::size_t>(::fcntl(ends_[1], F_SETPIPE_SZ, 4096)), '.');
    EXPECT_EQ(::write(ends_[1], filling.data(), filling.size()), static_cast<ssize_t>(filling.size()));
  }
  ~FullPipe() {
    for (const int end : ends_) ::close(end);
  }
  FullPipe(const FullPipe&) = delete;
  FullPipe& operator=(const FullPipe&) = delete;
  int end() const { return ends_[1]; }

 private:
  std::array<int, 2> ends_{-1, -1};
};

/// A coordinator of `replicas` that join it; it trains until the gate is opened, and then to its end.
struct Coordinated {
  explicit Coordinated(int replicas) : coordinator(arguments(folder, address, replicas), {}, "muster_paced") {
    EXPECT_TRUE(coordinator.event("listening").is_object());
  }
  static Arguments arguments(const Folder& folder, const std::string& address, int replicas) {
    PacedJob job;
    job.epochs = 1000000;
    job.checkpoint_every = "1000000 steps";
    Arguments all{"coordinate", folder.write("job.toml", paced_job(job)),
                  "--listen",   address,
                  "--events",   "-",
                  "--report",   folder.path("r.json"),
                  "--replicas", std::to_string(replicas)};
    const Arguments sets = paced_sets(folder);
    all.insert(all.end(), sets.begin(), sets.end());
    return all;
  }
  Arguments join() const { return {"join", "--coordinator", address}; }

  /// Reads on until so many epochs more have ended; whether no replica was lost meanwhile.
  bool goes_on(int epochs) {
    while (const auto line = coordinator.line()) {
      const Json event = Json::parse(*line, nullptr, false);
      if (event["event"] == "lost") return ADD_FAILURE() << *line, false;
      if (event["event"] == "epoch" && --epochs == 0) return true;
    }
    return false;
  }
  Json report() const { return read_json(folder.path("r.json")); }

  Folder folder;
  const std::string address = free_address();
  MusterProcess coordinator;
};

bool says(const MusterProcess& process, const std::string& words) {
  const auto deadline = std::chrono::steady_clock::now() + kWaitMax;
  while (process.err().find(words) == std::string::npos) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    ::poll(nullptr, 0, 10);
  }
  return true;
}

TEST(StoppedOutput, AReplicaOnAStoppedTerminalLeavesWhenItIsToldTo) {
  Coordinated run(2);
  MusterProcess other(run.join(), {}, "muster_paced");
  OnTerminal node(run.join());
  ASSERT_TRUE(run.goes_on(3));
  node.stop();
  node.program.signal(SIGTERM);
  other.signal(SIGTERM);
  EXPECT_EQ(node.program.wait(), 0);
  EXPECT_EQ(other.wait().code, 0);
  run.coordinator.wait();
  EXPECT_EQ(run.report()["event_counts"].value("state_kept", 0), 1);
}

TEST(StoppedOutput, AReplicaOnAStoppedTerminalOutlivesAPauseOfTheCoordinator) {
  Coordinated run(2);
  MusterProcess other(run.join(), {}, "muster_paced");
  OnTerminal node(run.join());
  ASSERT_TRUE(run.goes_on(3));
  node.stop();
  run.coordinator.signal(SIGSTOP);
  EXPECT_TRUE(says(other, "no message from the coordinator"));
  // The other one wants to say so by the time that a third one has looked for it in vain.
  EXPECT_EQ(run_muster({"join", "--coordinator", run.address, "--patience", "1"}).code, 1);
  run.coordinator.signal(SIGCONT);
  EXPECT_TRUE(says(other, "is heard again"));
  EXPECT_TRUE(run.goes_on(100));
  node.go_on();
  EXPECT_TRUE(node.prints("no message from the coordinator")) << "what waits is printed";
}

TEST(StoppedOutput, AReplicaBeforeAFullPipeTrains) {
  const FullPipe full;
  Coordinated run(1);
  Started node;
  node.start(run.join(), full.end(), false);
  ASSERT_TRUE(run.goes_on(3));
  node.signal(SIGTERM);
  EXPECT_EQ(node.wait(), 0);
}

Arguments run_arguments(const Folder& folder, int epochs) {
  PacedJob job;
  job.epochs = epochs;
  Arguments all{
      "run", folder.write("job.toml", paced_job(job)), "--replicas", "2", "--report", folder.path("r.json")};
  const Arguments sets = paced_sets(folder);
  all.insert(all.end(), sets.begin(), sets.end());
  return all;
}

TEST(StoppedOutput, ARunOnAStoppedTerminalComesToItsEnd) {
  const Folder folder;
  OnTerminal run(run_arguments(folder, 100));
  ASSERT_TRUE(run.prints("epoch ", 3));
  run.stop();
  folder.write("gate", "");
  EXPECT_EQ(run.program.wait(), 0);
  EXPECT_EQ(read_json(folder.path("r.json"))["outcome"], "completed");
}

TEST(StoppedOutput, ARunOnAStoppedTerminalEndsByASignal) {
  const Folder folder;
  OnTerminal run(run_arguments(folder, 1000000));
  ASSERT_TRUE(run.prints("epoch ", 3));
  run.stop();
  run.program.signal(SIGTERM);
  EXPECT_EQ(run.program.wait(), 143);
  EXPECT_EQ(read_json(folder.path("r.json"))["event_counts"].value("state_kept", 0), 1);
}

TEST(StoppedOutput, ACoordinatorBeforeAFullPipeTakesReplicasAndASignal) {
  const FullPipe full;
  const Folder folder;
  const std::string address = free_address();
  Arguments arguments = run_arguments(folder, 1000000);
  arguments[0] = "coordinate";
  arguments.insert(arguments.end(), {"--listen", address});
  Started coordinator;
  coordinator.start(arguments, full.end(), false);
  MusterProcess node({"join", "--coordinator", address}, {}, "muster_paced");
  EXPECT_TRUE(says(node, "was taken in"));
  coordinator.signal(SIGTERM);
  EXPECT_EQ(coordinator.wait(), 143);
  EXPECT_EQ(read_json(folder.path("r.json"))["outcome"], "interrupted");
}

}  // namespace
}  // namespace muster::stopped_output_test
