#include "actors/checkpoint/folder_mark.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "actors/checkpoint/checkpoint_manifest.hpp"
#include "actors/checkpoint/folder_lease.hpp"
#include "base/this_machine.hpp"

namespace muster {

namespace {

std::string mark_in(const Job& job) {
  std::ifstream file(std::filesystem::path(job.checkpoint.folder) /
                     (file_name_of(job.name) + ".journal.lock"));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

std::string folder_mark(const Job& job) {
  if (job.checkpoint.folder.empty()) return {};
  const std::string own = lease_holder(::getpid(), host_name(), boot_id());
  return mark_in(job) == own ? own : std::string();
}

std::string folder_without(const std::string& mark, const Job& job) {
  if (mark.empty() || job.checkpoint.folder.empty() || mark_in(job) == mark) return {};
  std::error_code error;
  const auto here = std::filesystem::absolute(job.checkpoint.folder, error).lexically_normal().string();
  return "checkpoint.folder is " + here + " on " + host_name() +
         ", where the files of the coordinator are not to be seen. Checkpoints that this replica writes "
         "there "
         "are not found by --resume on another host: give the absolute path of a folder that all hosts share";
}

}  // namespace muster
