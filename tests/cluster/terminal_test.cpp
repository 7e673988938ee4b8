// What a person sees on a terminal: the line of progress is written over, and never wider than the terminal.
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>

#include "tests/cluster/muster_process.hpp"

namespace {

using namespace muster::cluster_test;

constexpr unsigned short kColumns = 40;

// All that `muster run` writes to a terminal of that width; it ends with the run.
std::string on_terminal(const std::string& job) {
  winsize size{};
  size.ws_row = 25;
  size.ws_col = kColumns;
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    const std::string program = MUSTER_BINARY_DIR "/bin/muster";
    ::execl(program.c_str(), program.c_str(), "run", job.c_str(), "--set", "train.epochs=40", nullptr);
    ::_exit(127);
  }
  std::string text;
  char part[4096];
  for (ssize_t read = 0; (read = ::read(terminal, part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(read));
  ::close(terminal);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << text;
  return text;
}

TEST(Terminal, TheLineOfProgressFitsIt) {
  const Folder folder;
  const std::string text = on_terminal(folder.write("job.toml", linear_job()));
  constexpr std::string_view kErase = "\x1b[K";
  std::size_t lines = 0;
  for (std::size_t end = 0; (end = text.find(kErase, end)) != std::string::npos; end += kErase.size()) {
    const std::size_t begin = text.rfind('\r', end) + 1;
    if (text.compare(end + kErase.size(), 1, "\r") == 0 || text[end + kErase.size()] == '\n') continue;
    ++lines;  // it is written over by the next one
    EXPECT_LT(end - begin, kColumns) << text.substr(begin, end - begin);
  }
  EXPECT_GT(lines, 0U) << text;
}

}  // namespace
