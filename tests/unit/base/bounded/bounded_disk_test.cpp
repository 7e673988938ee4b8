#include "base/bounded/bounded_disk.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <functional>
#include <string_view>

#include "tests/support/faulty_disk.hpp"
#include "tests/support/gate.hpp"

namespace muster {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kShort{1};
constexpr milliseconds kLong{300'000};  // longer than any test is allowed to run

// Every call stands at a gate first.
class GatedDisk final : public Disk {
 public:
  GatedDisk(std::shared_ptr<Disk> disk, std::shared_ptr<testing::Gate> gate)
      : disk_(std::move(disk)), gate_(std::move(gate)) {}

  std::string folder() const override { return disk_->folder(); }
  std::uint64_t writer() const override { return disk_->writer(); }
  std::vector<File> list() override { return gated().list(); }
  Bytes read(const std::string& name) override { return gated().read(name); }
  void write(const std::string& name, Pieces pieces) override { gated().write(name, pieces); }
  void rename(const std::string& from, const std::string& to) override { gated().rename(from, to); }
  void remove(const std::string& name) override { gated().remove(name); }
  void sync_folder() override { gated().sync_folder(); }

 private:
  Disk& gated() {
    gate_->pass();
    return *disk_;
  }

  const std::shared_ptr<Disk> disk_;
  const std::shared_ptr<testing::Gate> gate_;
};

class BoundedDiskTest : public ::testing::Test {
 protected:
  ~BoundedDiskTest() override { gate_->open(); }

  std::shared_ptr<Disk> bounded(milliseconds most) {
    return bounded_disk(std::make_shared<GatedDisk>(disk_, gate_), most);
  }
  static void write(Disk& disk, const std::string& name, std::string_view text) {
    const auto piece = std::as_bytes(std::span(text));
    disk.write(name, std::array{piece});
  }
  static int code_of(const std::function<void()>& call) {
    try {
      call();
    } catch (const DiskError& error) {
      return error.code();
    }
    return 0;
  }

  const std::shared_ptr<FaultyDisk> disk_ = std::make_shared<FaultyDisk>();
  const std::shared_ptr<testing::Gate> gate_ = std::make_shared<testing::Gate>();
};

TEST_F(BoundedDiskTest, ADiskThatAnswersIsAsItWas) {
  const auto disk = bounded(kLong);
  write(*disk, "a", "text");
  disk->rename("a", "b");
  EXPECT_EQ(disk->read("b").size(), 4u);
  EXPECT_EQ(disk->list().size(), 1u);
  disk->remove("b");
  EXPECT_EQ(code_of([&] { disk->read("b"); }), ENOENT);
  EXPECT_EQ(disk->folder(), disk_->folder());
}

TEST_F(BoundedDiskTest, ACallThatIsNotAnsweredIsRefused) {
  gate_->close();
  const auto disk = bounded(kShort);
  try {
    disk->list();
    FAIL() << "it has answered";
  } catch (const DiskError& error) {
    EXPECT_EQ(error.code(), ETIMEDOUT);
    EXPECT_NE(std::string(error.what()).find("has not answered for"), std::string::npos) << error.what();
  }
  EXPECT_FALSE(disk->room());
}

TEST_F(BoundedDiskTest, NoChangeIsMadeBeforeTheOneBeforeIsAnswered) {
  gate_->close();
  {
    const auto disk = bounded(kShort);
    EXPECT_EQ(code_of([&] { write(*disk, "first", "1"); }), ETIMEDOUT);
    gate_->await_someone();
    EXPECT_EQ(code_of([&] { write(*disk, "second", "2"); }), ETIMEDOUT);
    EXPECT_EQ(code_of([&] { disk->read("first"); }), ETIMEDOUT);
  }
  EXPECT_TRUE(disk_->list().empty());
}

}  // namespace
}  // namespace muster
