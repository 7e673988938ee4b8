#include "base/bounded/bounded_disk.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/support/faulty_disk.hpp"
#include "tests/support/gated_disk.hpp"
#include "tests/support/slow_disk.hpp"

namespace muster {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kShort{1};
constexpr milliseconds kLong{300'000};  // longer than any test is allowed to run

class BoundedDiskTest : public ::testing::Test {
 protected:
  ~BoundedDiskTest() override { gate_->open(); }

  std::shared_ptr<Disk> bounded(milliseconds most) {
    return bounded_disk(std::make_shared<testing::GatedDisk>(disk_, gate_), {most, most, kShort});
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

// Else a disk that takes longer each time would never be heard.
TEST_F(BoundedDiskTest, ALateAnswerIsForWhoeverAsksTheSameAgain) {
  write(*disk_, "a", "text");
  gate_->close();
  const auto disk = bounded(kShort);
  EXPECT_EQ(code_of([&] { disk->read("a"); }), ETIMEDOUT);
  gate_->await_someone();
  EXPECT_EQ(code_of([&] { disk->read("a"); }), ETIMEDOUT) << "nobody waits for it twice";
  gate_->open();
  Disk::Bytes bytes;
  testing::until_answered([&] { bytes = disk->read("a"); });
  EXPECT_EQ(bytes.size(), 4u);
}

TEST_F(BoundedDiskTest, ALateAnswerIsForNoOtherQuestion) {
  write(*disk_, "a", "text");
  write(*disk_, "b", "longer");
  gate_->close();
  const auto disk = bounded(kShort);
  EXPECT_EQ(code_of([&] { disk->read("a"); }), ETIMEDOUT);
  gate_->open();
  Disk::Bytes bytes;
  testing::until_answered([&] { bytes = disk->read("b"); });
  EXPECT_EQ(bytes.size(), 6u);
}

TEST_F(BoundedDiskTest, AChangeThatWasMadeLateIsNotMadeAgain) {
  const auto disk = testing::slow_disk(disk_);
  testing::until_answered([&] { write(*disk, "a", "text"); });
  const auto changes = disk_->operations();
  EXPECT_EQ(code_of([&] { write(*disk, "a", "text"); }), 0);
  EXPECT_EQ(disk_->operations(), changes);
  testing::until_answered([&] { write(*disk, "a", "other"); });
  EXPECT_GT(disk_->operations(), changes) << "that is another change";
}

TEST_F(BoundedDiskTest, ALateRefusalIsReportedAndThenTheChangeIsTriedAgain) {
  disk_->set_read_only(true);
  const auto disk = testing::slow_disk(disk_);
  EXPECT_EQ(code_of([&] { testing::until_answered([&] { write(*disk, "a", "text"); }); }), EROFS);
  disk_->set_read_only(false);
  testing::until_answered([&] { write(*disk, "a", "text"); });
  EXPECT_TRUE(disk_->holds("a"));
}

TEST_F(BoundedDiskTest, WhatWasReadBeforeAChangeIsReadAnew) {
  const auto disk = testing::slow_disk(disk_);
  std::vector<Disk::File> files;
  testing::until_answered([&] { files = disk->list(); });
  EXPECT_TRUE(files.empty());
  testing::until_answered([&] { write(*disk, "a", "text"); });
  testing::until_answered([&] { files = disk->list(); });
  EXPECT_EQ(files.size(), 1u);
}

// The old one is on the disk before the newer one, and is made anew if it is asked for behind that.
TEST_F(BoundedDiskTest, AnOldChangeIsMadeBeforeANewerOne) {
  gate_->close();
  const auto disk = bounded(kShort);
  EXPECT_EQ(code_of([&] { write(*disk, "a", "old"); }), ETIMEDOUT);
  gate_->await_someone();
  EXPECT_EQ(code_of([&] { write(*disk, "a", "newer"); }), ETIMEDOUT);
  gate_->open();
  const auto bytes_behind = [&](std::string_view text) {
    testing::until_answered([&] { write(*disk, "a", text); });
    Disk::Bytes bytes;
    testing::until_answered([&] { bytes = disk->read("a"); });
    return bytes.size();
  };
  EXPECT_EQ(bytes_behind("newer"), 5u);
  EXPECT_EQ(bytes_behind("old"), 3u);
}

TEST_F(BoundedDiskTest, ASlowDiskMakesSeveralCallsAsOne) {
  const auto disk = testing::slow_disk(disk_);
  testing::until_answered([&] {
    change_as_one(*disk, "replace a", [](Disk& there) {
      const std::string text = "text";
      const auto piece = std::as_bytes(std::span(text));
      replace_file(there, "a", std::array{piece});
      there.sync_folder();
    });
  });
  std::size_t bytes = 0;
  testing::until_answered([&] {
    bytes = read_as_one(*disk, "bytes of all", [](Disk& there) {
      std::size_t sum = 0;
      for (const Disk::File& file : there.list()) sum += there.read(file.name).size();
      return sum;
    });
  });
  EXPECT_EQ(bytes, 4u);
}

TEST_F(BoundedDiskTest, TheFirstCallIsWaitedForLongerAndItsAnswerIsKept) {
  gate_->close();
  const auto disk =
      bounded_disk(std::make_shared<testing::GatedDisk>(disk_, gate_), {kLong, milliseconds(0), kShort});
  std::thread opens([this] {
    gate_->await_someone();
    gate_->open();
  });
  EXPECT_TRUE(disk->list().empty());
  opens.join();
  gate_->close();
  EXPECT_TRUE(disk->list().empty()) << "it would not be answered again";
  EXPECT_EQ(code_of([&] { disk->read("a"); }), ETIMEDOUT);
}

}  // namespace
}  // namespace muster
