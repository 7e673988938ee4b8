// Lines for people: whoever prints them waits for nobody who reads them.
#include "base/bounded/line_output.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>

namespace muster {
namespace {

using namespace std::chrono_literals;
constexpr auto kLong = 60s;

// What is written to it waits for the test to read it.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(::pipe2(ends_.data(), O_CLOEXEC), 0); }
  ~Pipe() {
    for (const int end : ends_) ::close(end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int end() const { return ends_[1]; }
  void fill() const {
    const std::string dots(static_cast<std::size_t>(::fcntl(ends_[1], F_SETPIPE_SZ, 4096)), '.');
    EXPECT_EQ(::write(ends_[1], dots.data(), dots.size()), static_cast<ssize_t>(dots.size()));
  }
  /// All up to and with these words, but for what filled it.
  std::string read_to(const std::string& words) const {
    std::string text;
    pollfd readable{ends_[0], POLLIN, 0};
    while (text.find(words) == std::string::npos &&
           ::poll(&readable, 1, std::chrono::milliseconds(kLong).count()) > 0) {
      std::array<char, 256> some;
      const ssize_t got = ::read(ends_[0], some.data(), some.size());
      for (ssize_t i = 0; i < got; ++i) {
        if (some[static_cast<std::size_t>(i)] != '.') text += some[static_cast<std::size_t>(i)];
      }
    }
    return text;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

TEST(LineOutput, WritesLinesInTheirOrder) {
  const Pipe pipe;
  LineOutput output(pipe.end());
  output.print("one");
  output.print("two\nand three");
  EXPECT_TRUE(output.written_within(kLong));
  EXPECT_EQ(pipe.read_to("three\n"), "one\ntwo\nand three\n");
}

TEST(LineOutput, HoldsUpNobodyAndSaysHowManyLinesWereLeftOut) {
  const Pipe pipe;
  pipe.fill();
  LineOutput output(pipe.end(), 2);
  for (int line = 0; line < 100; ++line) output.print("line " + std::to_string(line));
  EXPECT_FALSE(output.written_within(0ms));
  const std::string text = pipe.read_to("not read)\n");
  EXPECT_EQ(text.find("line 0\nline 1\n"), 0u) << text;
  EXPECT_NE(text.find(" lines are left out here"), std::string::npos) << text;
  EXPECT_TRUE(output.written_within(kLong));
  output.print("again");
  EXPECT_TRUE(pipe.read_to("again\n").ends_with("again\n"));
}

TEST(LineOutput, WritesOverALine) {
  const Pipe pipe;
  LineOutput output(pipe.end());
  const auto print_over = [&](const char* text) {
    output.print_over(text);
    EXPECT_TRUE(output.written_within(kLong));
  };
  print_over("step 1");
  print_over("step 2");
  output.print("lost");
  output.print("found");
  EXPECT_TRUE(output.written_within(kLong));
  print_over("step 3");
  print_over("");
  print_over("");
  output.print("end");
  EXPECT_EQ(pipe.read_to("end\n"),
            "\rstep 1\x1b[K\rstep 2\x1b[K\rlost\x1b[K\nfound\n\rstep 3\x1b[K\r\x1b[Kend\n");
}

TEST(LineOutput, OfWhatIsWrittenOverTheLastLineWaits) {
  const Pipe pipe;
  pipe.fill();
  LineOutput output(pipe.end());
  output.print("first");
  for (int step = 0; step < 10; ++step) output.print_over("step " + std::to_string(step));
  EXPECT_EQ(pipe.read_to("\x1b[K"), "first\n\rstep 9\x1b[K");
}

}  // namespace
}  // namespace muster
