// What a person sees on a terminal: the line of progress is written over, and never wider than the terminal.
#include <gtest/gtest.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string_view>
#include <utility>

#include "tests/cluster/muster_process.hpp"
#include "tests/cluster/paced_job.hpp"

namespace muster::terminal_test {
namespace {

using namespace muster::cluster_test;

constexpr unsigned short kColumns = 40;

constexpr std::string_view kErase = "\x1b[K";

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size()))
    ++count;
  return count;
}

// All that a run writes to a terminal of that width. Its samples come slowly until a few lines of progress
// have been seen. Then it goes on to its end, or Ctrl-C is typed.
std::string on_terminal(const Folder& folder, bool interrupted = false) {
  winsize size{};
  size.ws_row = 25;
  size.ws_col = kColumns;
  const std::string job = folder.write("job.toml", paced_job({}));
  Arguments arguments = paced_sets(folder);
  arguments.insert(arguments.begin(), {MUSTER_BINARY_DIR "/bin/muster_paced", "run", job});
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    ::execv(words[0], words.data());
    ::_exit(127);
  }
  std::string text;
  bool typed = false;
  char part[4096];
  for (ssize_t read = 0; (read = ::read(terminal, part, sizeof part)) > 0;) {
    text.append(part, static_cast<std::size_t>(read));
    if (count_of(text, kErase) < 3) continue;
    if (!interrupted) folder.write("gate", "");
    if (interrupted && !std::exchange(typed, true)) {
      EXPECT_EQ(::write(terminal, "\x03", 1), 1);
    }
  }
  ::close(terminal);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << text;
  EXPECT_EQ(WEXITSTATUS(status), interrupted ? 128 + SIGINT : 0) << text;
  return text;
}

// As a service manager or a daemon may start it. What it prints goes nowhere, least of all into its files.
TEST(Terminal, ClosedStandardStreamsAreNone) {
  const Folder folder;
  const std::string job = folder.write("job.toml", paced_job({}));
  folder.write("gate", "");
  for (const char* closed : {">&- 2>&-", "<&- >&- 2>&-", "2>&-"}) {
    std::string command = MUSTER_BINARY_DIR "/bin/muster_paced run " + job;
    for (const std::string& word : paced_sets(folder)) command += " '" + word + "'";
    command += " --report " + folder.path("r.json") + " --events " + folder.path("e.jsonl") + " " + closed;
    const int status = std::system(command.c_str());
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << closed << ": " << status;
    EXPECT_EQ(read_json(folder.path("r.json"))["outcome"], "completed") << closed;
    std::ifstream events(folder.path("e.jsonl"));
    for (std::string line; std::getline(events, line);)
      EXPECT_EQ(line.front(), '{') << closed << ": " << line;
  }
}

TEST(Terminal, WhatIsSaidAtTheEndBeginsALine) {
  const Folder folder;
  const std::string text = on_terminal(folder, true);
  std::size_t said = 0;
  for (std::size_t at = 0; (at = text.find("muster: ", at)) != std::string::npos; ++at) {
    const std::string before = text.substr(at < 4 ? 0 : at - 4, at < 4 ? at : 4);
    EXPECT_TRUE(before.empty() || before.ends_with('\n') || before.ends_with('\r') || before == "\r\x1b[K")
        << text;
    ++said;
  }
  EXPECT_GT(said, 0u) << text;
}

TEST(Terminal, TheLineOfProgressFitsIt) {
  const Folder folder;
  const std::string text = on_terminal(folder);
  std::size_t lines = 0;
  for (std::size_t end = 0; (end = text.find(kErase, end)) != std::string::npos; end += kErase.size()) {
    const std::size_t begin = text.rfind('\r', end) + 1;
    const std::size_t behind = end + kErase.size();
    if (text.compare(behind, 2, "\r\n") == 0 || text.compare(behind, 1, "\n") == 0) continue;
    ++lines;  // it is written over by the next one
    EXPECT_LT(end - begin, kColumns) << text.substr(begin, end - begin);
  }
  EXPECT_GT(lines, 0U) << text;
}

}  // namespace
}  // namespace muster::terminal_test
