// A folder that only its user may look into, where others may write beside it.
#include "base/disk.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

namespace muster {
namespace {

namespace fs = std::filesystem;

class PrivateFolder : public ::testing::Test {
 protected:
  PrivateFolder() {
    std::string pattern = (fs::temp_directory_path() / "muster-disk-XXXXXX").string();
    parent_ = ::mkdtemp(pattern.data());
    folder_ = parent_ / "own";
    disk_ = open_disk(folder_.string());
    disk_->keep_private();
  }
  ~PrivateFolder() override { fs::remove_all(parent_); }

  void write() { disk_->write("file", {}); }
  int refused() {
    try {
      write();
    } catch (const DiskError& error) {
      return error.code();
    }
    return 0;
  }

  fs::path parent_, folder_;
  std::shared_ptr<Disk> disk_;
};

TEST_F(PrivateFolder, IsMade) {
  write();
  write();
  EXPECT_EQ(fs::status(folder_).permissions(), fs::perms::owner_all);
  EXPECT_EQ(disk_->list().size(), 1u);
}

// As one whose server is down: whoever tidies up must know of it.
TEST_F(PrivateFolder, ListsWhatCannotBeLookedAt) {
  write();
  fs::create_symlink("circle", folder_ / "circle");
  fs::create_symlink("nowhere", folder_ / "vanished");
  const auto files = disk_->list();
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].name, "circle");
  EXPECT_EQ(files[0].bytes, 0u);
  EXPECT_THROW(disk_->read("circle"), DiskError);
}

TEST_F(PrivateFolder, OfAnOlderRunIsClosedToOthers) {
  fs::create_directory(folder_);
  fs::permissions(folder_, fs::perms::all);
  write();
  EXPECT_EQ(fs::status(folder_).permissions(), fs::perms::owner_all);
}

TEST_F(PrivateFolder, IsNoLinkToElsewhere) {
  fs::create_directory(parent_ / "elsewhere");
  fs::create_directory_symlink(parent_ / "elsewhere", folder_);
  EXPECT_EQ(refused(), ENOTDIR);
  EXPECT_TRUE(fs::is_empty(parent_ / "elsewhere"));
}

TEST_F(PrivateFolder, OfAnotherUserIsRefused) {
  if (::geteuid() == 0) {
    fs::create_directory(folder_);
    ASSERT_EQ(::chown(folder_.c_str(), 12345, 12345), 0);
    EXPECT_EQ(refused(), EPERM);
    return;
  }
  const auto disk = open_disk("/usr");  // it is root's
  disk->keep_private();
  EXPECT_THROW(disk->write("file", {}), DiskError);
}

}  // namespace
}  // namespace muster
