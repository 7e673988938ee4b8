// Cores of this machine for processes that share it. A process whose threads stay on cores of their own finds
// in their caches what it has put there; one that is moved about fetches it from another core's, again and
// again.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

namespace muster {

/// For each of so many processes the logical cores that it stays on: of those that this process may use, all
/// of them, as many for each as can be, those of one process near each other (caches, memory) and those of
/// two far apart (hwloc_distrib; Goglin 2014). Where there are more processes than cores, and as many for
/// each, those that follow each other have one core together; none where they cannot be shared out evenly:
/// the system does better then. `machine`: another machine than this one, as hwloc describes them
/// ("package:2 l3:2 core:4 pu:2").
std::vector<std::vector<int>> share_cores(std::size_t processes, const std::string& machine = {});

/// "0-3,8".
std::string text_of_cores(const std::vector<int>& cores);

/// Binds all threads of a process of this user's, and those that they will start. Nothing, where it has
/// ended.
void move_to_cores(pid_t process, const std::vector<int>& cores);

/// While it lives, the calling thread runs on these cores only, and so does every process and thread that it
/// starts meanwhile, as long as these live. No cores: it changes nothing. Throws Error if the
/// system refuses.
class OnCores {
 public:
  explicit OnCores(const std::vector<int>& cores);
  ~OnCores();
  OnCores(const OnCores&) = delete;
  OnCores& operator=(const OnCores&) = delete;

 private:
  std::vector<int> before_;
};

}  // namespace muster
