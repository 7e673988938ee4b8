#include "actors/processes/descriptors.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <limits>

namespace muster {

namespace {

// Standard streams, libraries, data files, the checkpoint's files, event queues, sockets that listen. A
// replica of a small job has 20.
constexpr std::uint64_t kBase = 64;
constexpr std::uint64_t kOfPeer = 3;
constexpr std::uint64_t kOfNode = 2;

std::uint64_t nodes_of(const Job& job) {
  return std::uint64_t{job.cluster.replicas} + job.cluster.loaders;
}

std::uint64_t count(rlim_t limit) {
  return limit == RLIM_INFINITY ? std::numeric_limits<std::uint64_t>::max() : limit;
}

}  // namespace

void open_standard_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    const int null = ::open("/dev/null", O_RDWR);  // the lowest number that is free: this one
    if (null >= 0 && null != stream && ::dup2(null, stream) >= 0) ::close(null);
  }
}

std::uint64_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlimit raised{limit.rlim_max, limit.rlim_max};
  if (limit.rlim_cur != limit.rlim_max && ::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  return count(limit.rlim_cur);
}

std::uint64_t descriptors_allowed() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? count(limit.rlim_max) : 0;
}

std::uint64_t descriptors_of_node(const Job& job) {
  return kBase + kOfPeer * (nodes_of(job) - 1);
}

std::uint64_t descriptors_of_coordinator(const Job& job, bool in_process) {
  const std::uint64_t own = kBase + kOfNode * nodes_of(job);
  return in_process ? own + nodes_of(job) * descriptors_of_node(job) : own;
}

std::optional<std::string> too_few_descriptors(std::uint64_t needed, std::uint64_t allowed) {
  if (allowed >= needed) return std::nullopt;
  return "a process may need " + std::to_string(needed) + " file descriptors, and the hard limit is " +
         std::to_string(allowed) + ": raise it (`ulimit -n " + std::to_string(needed) +
         "` as root, LimitNOFILE= of a systemd unit, nofile in limits.conf)";
}

}  // namespace muster
