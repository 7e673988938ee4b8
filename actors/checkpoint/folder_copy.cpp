#include "actors/checkpoint/folder_copy.hpp"

#include <cerrno>
#include <map>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "actors/checkpoint/checkpoint_list.hpp"
#include "actors/checkpoint/checkpoint_verdicts.hpp"

namespace muster {

namespace {

bool is_manifest_name(std::string name) {
  if (name.ends_with(kSetAside)) name.resize(name.size() - std::string_view(kSetAside).size());
  const auto parsed = parse_checkpoint_name(name, "");
  return parsed && parsed->is_manifest();
}

class FolderCopy final : public Disk {
 public:
  FolderCopy(Disk& there, const std::string& job_hash) : folder_(there.folder()), writer_(there.writer()) {
    for (File& file : there.list()) {
      if (!is_manifest_name(file.name)) continue;
      add(there, file.name);
      listed_.push_back(std::move(file));
    }
    add(there, verdicts_name(job_hash));
  }

  std::string folder() const override { return folder_; }
  std::uint64_t writer() const override { return writer_; }
  std::vector<File> list() override { return listed_; }
  Bytes read(const std::string& name) override {
    const auto found = files_.find(name);
    if (found == files_.end())
      throw DiskError(ENOENT, "cannot open " + folder_ + "/" + name + ": there is none");
    if (const auto* refusal = std::get_if<DiskError>(&found->second)) throw DiskError(*refusal);
    return std::get<Bytes>(found->second);
  }
  void write(const std::string&, Pieces) override { refuse(); }
  void rename(const std::string&, const std::string&) override { refuse(); }
  void remove(const std::string&) override { refuse(); }
  void sync_folder() override { refuse(); }

 private:
  void add(Disk& there, const std::string& name) {
    try {
      Bytes bytes = there.read(name);
      if (bytes.size() > kManifestBytesMax)
        bytes.clear();  // it is neither of these, and takes no memory here
      files_.emplace(name, std::move(bytes));
    } catch (const DiskError& error) {
      files_.emplace(name, error);
    }
  }
  [[noreturn]] void refuse() const { throw DiskError(EROFS, "a copy of " + folder_ + " takes no change"); }

  std::string folder_;
  std::uint64_t writer_;
  std::vector<File> listed_;
  std::map<std::string, std::variant<Bytes, DiskError>> files_;
};

}  // namespace

std::shared_ptr<Disk> copy_of_manifests(Disk& folder, const std::string& job_hash) {
  return std::make_shared<FolderCopy>(folder, job_hash);
}

}  // namespace muster
