#include "actors/processes/spawn.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "actors/processes/memory_file.hpp"
#include "base/bounded/line_output.hpp"

namespace muster {

const char* const kNoMainAdvice =
    "begin your main with: if (argc > 1 && std::strcmp(argv[1], \"node\") == 0) return muster::main(argc, "
    "argv, "
    "registry);";

namespace {

// Its value is the pid of the process that started the child, and kHasNote, if it was handed a note.
constexpr const char* kMark = "MUSTER_CHILD";
// The number of its note's descriptor, in the child.
constexpr int kNote = 5;
constexpr const char* kHasNote = "+note";

class Settings {
 public:
  explicit Settings(const std::vector<Handed>& handed) {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (::fcntl(STDERR_FILENO, F_GETFD) < 0)  // closed, or a child could not be started
      ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    for (const Handed& each : handed)
      ::posix_spawn_file_actions_adddup2(&actions, each.descriptor, each.number);
    ::posix_spawnattr_init(&attributes);
    sigset_t none, standard;
    sigemptyset(&none);
    sigemptyset(&standard);
    sigaddset(&standard, SIGINT);
    sigaddset(&standard, SIGTERM);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &standard);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes,
                               POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~Settings() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

// This process's environment, with the mark of its children.
std::vector<std::string> marked_environment(bool has_note) {
  const std::string mark = std::string(kMark) + "=";
  std::vector<std::string> all;
  for (char** entry = environ; entry && *entry; ++entry) {
    if (std::strncmp(*entry, mark.c_str(), mark.size()) != 0) all.emplace_back(*entry);
  }
  all.push_back(mark + std::to_string(::getpid()) + (has_note ? kHasNote : ""));
  return all;
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

std::string mark_of_this_process() {
  const char* mark = std::getenv(kMark);
  return mark ? mark : "";
}

pid_t spawn_with(const std::vector<std::string>& command, const std::vector<Handed>& handed, bool has_note) {
  const Settings settings(handed);
  const std::vector<std::string> environment = marked_environment(has_note);
  pid_t pid = -1;
  errno = ::posix_spawn(&pid, command.front().c_str(), &settings.actions, &settings.attributes,
                        pointers_to(command).data(), pointers_to(environment).data());
  return errno == 0 ? pid : -1;
}

}  // namespace

std::string text_of_exit(int status) {
  if (!WIFEXITED(status)) {
    const int signal = WTERMSIG(status);
    return "was ended by signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
  }
  const int code = WEXITSTATUS(status);
  const std::string text = "exited with code " + std::to_string(code);
  if (code != kNoMainCode) return text;
  return text + ": its program starts a run in place of a replica; " + kNoMainAdvice;
}

pid_t spawn_child(const std::vector<std::string>& command, const std::vector<Handed>& handed, int note) {
  std::vector<Handed> all = handed;
  const int high = note < 0 ? -1 : ::fcntl(note, F_DUPFD_CLOEXEC, kHandedLowest);
  if (high >= 0) all.push_back({high, kNote});
  const pid_t pid = spawn_with(command, all, high >= 0);
  const int error = errno;
  if (high >= 0) ::close(high);
  errno = error;
  return pid;
}

int take_note_descriptor() {
  static bool taken = false;
  if (mark_of_this_process() != std::to_string(::getppid()) + kHasNote || std::exchange(taken, true))
    return -1;
  ::fcntl(kNote, F_SETFD, FD_CLOEXEC);
  return kNote;
}

int open_pidfd(pid_t pid) {
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
}

void end_with_parent(pid_t parent) {
  if (parent == 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
}

void end_if_child() {
  const std::string parent = std::to_string(::getppid()), mark = mark_of_this_process();
  if (mark != parent && mark != parent + kHasNote) return;
  print_at_once("muster: process " + std::to_string(::getpid()) +
                " was started as a child of a run, and its program starts a run of its own; " +
                kNoMainAdvice + "\n");
  ::_exit(kNoMainCode);
}

}  // namespace muster
