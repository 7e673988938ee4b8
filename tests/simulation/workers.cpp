#include "tests/simulation/workers.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "base/check.hpp"

namespace muster::simulation {

namespace {

// What a worker tells: "begin SEED", then "count NAME<tab>TIMES" for each, then "end SEED ...".
std::string told(const RunResult& result) {
  std::ostringstream out;
  for (const auto& [what, times] : result.tally.counts()) out << "count " << what << '\t' << times << '\n';
  std::string what = result.wrong.what;
  std::replace(what.begin(), what.end(), '\n', ' ');
  out << "end " << result.seed << ' ' << result.hash << ' ' << result.deliveries << ' '
      << result.virtual_time.count() << ' ' << result.wrong.invariant << ' ' << what << '\n';
  return out.str();
}

void write_all(int file, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t wrote = ::write(file, text.data() + done, text.size() - done);
    if (wrote <= 0) ::_exit(3);  // nobody listens any more
    done += static_cast<std::size_t>(wrote);
  }
}

struct Worker {
  pid_t pid = 0;
  int file = -1;
  std::uint64_t next = 0;     // the seed that it begins with, or would begin with after this one
  std::uint64_t running = 0;  // 0: none
  std::string rest;           // of a line
  Tally tally;                // of the run that is told
};

class Crew {
 public:
  Crew(const WorkOptions& options, const std::function<RunResult(std::uint64_t)>& run)
      : options_(options), run_(run), workers_(std::max(1u, options.workers)) {}

  Summary work() {
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      workers_[i].next = options_.from + i;
      start(workers_[i]);
    }
    while (listen()) {
    }
    std::sort(summary_.findings.begin(), summary_.findings.end(),
              [](const Finding& a, const Finding& b) { return a.seed < b.seed; });
    return std::move(summary_);
  }

 private:
  bool enough() const { return summary_.findings.size() >= options_.findings_max; }

  void start(Worker& worker) {
    if (worker.next > options_.to || enough()) return;
    int ends[2];
    MUSTER_CHECK(::pipe(ends) == 0, std::strerror(errno));
    std::fflush(nullptr);
    worker.pid = ::fork();
    MUSTER_CHECK(worker.pid >= 0, std::strerror(errno));
    if (worker.pid == 0) {
      ::close(ends[0]);
      for (std::uint64_t seed = worker.next; seed <= options_.to; seed += workers_.size()) {
        write_all(ends[1], "begin " + std::to_string(seed) + "\n");
        write_all(ends[1], told(run_(seed)));
      }
      ::_exit(0);
    }
    ::close(ends[1]);
    worker.file = ends[0];
  }

  // Waits for what a worker says; false when all have ended.
  bool listen() {
    std::vector<pollfd> files;
    for (const Worker& worker : workers_) files.push_back({worker.file, POLLIN, 0});
    if (std::all_of(files.begin(), files.end(), [](const pollfd& file) { return file.fd < 0; })) return false;
    ::poll(files.data(), files.size(), -1);
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (files[i].fd >= 0 && files[i].revents != 0) hear(workers_[i]);
    }
    return true;
  }

  void hear(Worker& worker) {
    char bytes[65536];
    const ssize_t count = ::read(worker.file, bytes, sizeof bytes);
    if (count <= 0) return ended(worker);
    worker.rest.append(bytes, static_cast<std::size_t>(count));
    std::size_t begin = 0;
    for (std::size_t end; (end = worker.rest.find('\n', begin)) != std::string::npos; begin = end + 1)
      line(worker, worker.rest.substr(begin, end - begin));
    worker.rest.erase(0, begin);
    if (enough()) {
      ::kill(worker.pid, SIGKILL);
      worker.running = 0;
    }
  }

  void line(Worker& worker, const std::string& text) {
    std::istringstream in(text);
    std::string word;
    in >> word;
    if (word == "begin") {
      in >> worker.running;
      worker.tally = {};
    } else if (word == "count") {
      const std::size_t tab = text.find('\t');
      worker.tally.count(text.substr(6, tab - 6), std::stoull(text.substr(tab + 1)));
    } else if (word == "end") {
      std::uint64_t seed = 0, hash = 0, deliveries = 0;
      std::int64_t time = 0;
      Wrong wrong;
      in >> seed >> hash >> deliveries >> time >> wrong.invariant;
      std::getline(in >> std::ws, wrong.what);
      ++summary_.runs;
      summary_.deliveries += deliveries;
      summary_.virtual_time += Nanoseconds(time);
      summary_.hash ^= hash * (2 * seed + 1);
      summary_.tally.add(worker.tally);
      if (wrong) summary_.findings.push_back({seed, wrong});
      worker.running = 0;
      worker.next = seed + workers_.size();
    }
  }

  void ended(Worker& worker) {
    int status = 0;
    ::waitpid(worker.pid, &status, 0);
    ::close(worker.file);
    worker.file = -1;
    if (worker.running == 0) return;
    const std::string how = WIFSIGNALED(status)
                                ? "was ended by signal " + std::to_string(WTERMSIG(status))
                                : "ended with exit code " + std::to_string(WEXITSTATUS(status));
    summary_.findings.push_back({worker.running, {9, "its process " + how + "; what it said stands above"}});
    worker.next = std::exchange(worker.running, 0) + workers_.size();
    worker.rest.clear();
    start(worker);
  }

  const WorkOptions options_;
  const std::function<RunResult(std::uint64_t)>& run_;
  std::vector<Worker> workers_;
  Summary summary_;
};

}  // namespace

Summary run_seeds(const WorkOptions& options, const std::function<RunResult(std::uint64_t)>& run) {
  return Crew(options, run).work();
}

}  // namespace muster::simulation
