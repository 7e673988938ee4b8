// A harness as a test: every seed, every file of the corpus (what once was a finding), and a fixed number of
// changed ones, the same ones in each run.
//
//   replay_<what> CORPUS INPUTS     runs them
//   replay_<what> --write FOLDER    writes the seeds, for libFuzzer
//   replay_<what> --one FILE        runs one input
//
// An input that ends the process is left in replay_<what>.input, in the working folder.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "tests/fuzz/fuzz.hpp"

namespace {

namespace fs = std::filesystem;
using muster::fuzz::Bytes;

constexpr std::size_t kInputBytesMax = 1 << 14;

Bytes read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  return muster::fuzz::bytes_of(text);
}

// ---- what is in the works when the process ends

Bytes running;
std::string left_as;

extern "C" void keep_input(int signal) {
  const int file = ::open(left_as.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file >= 0 && ::write(file, running.data(), running.size()) >= 0) ::close(file);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

bool run(Bytes input) {
  running = std::move(input);
  return muster::fuzz::accepts(running);
}

// ---- inputs

class Mutations {
 public:
  explicit Mutations(std::vector<Bytes> sources) : sources_(std::move(sources)) {}

  Bytes next() {
    Bytes bytes = sources_[below(sources_.size())];
    for (std::size_t count = 1 + below(4); count > 0; --count) change(bytes);
    if (bytes.size() > kInputBytesMax) bytes.resize(kInputBytesMax);
    return bytes;
  }

 private:
  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : random_() % bound; }

  void change(Bytes& bytes) {
    const auto at = bytes.begin() + static_cast<std::ptrdiff_t>(below(bytes.size() + 1));
    const auto left = static_cast<std::size_t>(bytes.end() - at);
    const auto some = static_cast<std::ptrdiff_t>(below(std::min<std::size_t>(left, 16) + 1));
    switch (below(6)) {
      case 0:
        if (left > 0) *at ^= static_cast<std::byte>(1u << below(8));
        break;
      case 1:
        if (left > 0) *at = interesting();
        break;
      case 2:
        bytes.erase(at, at + some);
        break;
      case 3:
        bytes.insert(at, 1 + below(8), interesting());
        break;
      case 4:
        std::fill(at, at + some, interesting());
        break;
      default: {  // the rest of another one
        const Bytes& other = sources_[below(sources_.size())];
        bytes.erase(at, bytes.end());
        bytes.insert(bytes.end(), other.begin() + static_cast<std::ptrdiff_t>(below(other.size() + 1)),
                     other.end());
      }
    }
  }

  std::byte interesting() {
    constexpr unsigned char kBytes[] = {0x00, 0x01, 0x7f, 0x80, 0xff, 0xfe, '"', '{', '[', '0'};
    return static_cast<std::byte>(below(2) == 0 ? kBytes[below(std::size(kBytes))] : below(256));
  }

  std::vector<Bytes> sources_;
  std::mt19937_64 random_{7};
};

int write_seeds(const fs::path& folder) {
  fs::create_directories(folder);
  int number = 0;
  for (const Bytes& seed : muster::fuzz::seeds()) {
    std::ofstream stream(folder / ("seed-" + std::to_string(++number)), std::ios::binary);
    stream.write(reinterpret_cast<const char*>(seed.data()), static_cast<std::streamsize>(seed.size()));
    if (!stream.flush()) return 1;
  }
  return 0;
}

int replay(const fs::path& corpus, std::size_t inputs) {
  std::vector<Bytes> sources = muster::fuzz::seeds();
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (run(sources[i])) continue;
    std::printf("seed %zu is refused: it must be a good input\n", i + 1);
    return 1;
  }
  std::vector<fs::path> files;
  if (fs::exists(corpus)) {  // no finding yet: no folder
    for (const auto& entry : fs::directory_iterator(corpus)) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    sources.push_back(read(file));
    run(sources.back());
  }
  Mutations mutations(sources);
  std::size_t accepted = 0;
  for (std::size_t count = 0; count < inputs; ++count) accepted += run(mutations.next()) ? 1 : 0;
  std::printf("%zu seeds and files, %zu changed ones, of which %zu were accepted\n", sources.size(), inputs,
              accepted);
  if (accepted < inputs) return 0;  // whoever refuses nothing has looked at nothing
  std::printf("nothing was refused\n");
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  left_as = fs::path(argv[0]).filename().string() + ".input";
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) ::signal(signal, &keep_input);
  const std::string first = argc == 3 ? argv[1] : "";
  if (first == "--write") return write_seeds(argv[2]);
  if (first == "--one") return run(read(argv[2])) ? 0 : 3;
  if (argc == 3) return replay(first, std::strtoull(argv[2], nullptr, 10));
  std::fprintf(stderr, "usage: %s CORPUS INPUTS | --write FOLDER | --one FILE\n", argv[0]);
  return 2;
}
