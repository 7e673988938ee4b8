#include "actors/checkpoint/folder_lease.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <future>
#include <thread>

#include "actors/coordinator/records/journal.hpp"
#include "muster/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace muster {
namespace {

std::string refusal(const std::filesystem::path& path) {
  try {
    FolderLease lease(path);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

void write_holder(const std::filesystem::path& path, const std::string& holder) {
  std::ofstream(path, std::ios::trunc) << holder;
}

TEST(FolderLease, ASecondHolderIsToldWhoTheFirstIs) {
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "of" / "job.lock";
  {
    FolderLease first(path);
    EXPECT_NE(refusal(path).find("process " + std::to_string(::getpid()) + " on host "), std::string::npos);
  }
  EXPECT_EQ(refusal(path), "") << "it was given back";
}

// Each says what is there, and the way out.
TEST(FolderLease, WhatStandsInTheWayIsNamed) {
  const testing::TemporaryFolder folder;
  write_holder(folder.path() / "runs", "a file");
  EXPECT_EQ(
      refusal(folder.path() / "runs" / "job.lock"),
      (folder.path() / "runs").string() +
          " is a file, and is to be a folder; move it away, or give this job another checkpoint.folder");
  EXPECT_EQ(refusal(folder.path() / "runs" / "deeper" / "job.lock"),
            "the folder " + (folder.path() / "runs" / "deeper").string() +
                " cannot be made: Not a directory; make it, writable for this user, or give this job another "
                "checkpoint.folder");
  std::filesystem::create_directory(folder.path() / "job.lock");
  EXPECT_EQ(refusal(folder.path() / "job.lock"),
            "the lock " + (folder.path() / "job.lock").string() +
                " cannot be opened: Is a directory; make it writable for this user, or give this job another "
                "checkpoint.folder");
}

TEST(Journal, AFolderInItsPlaceIsNamed) {
  const testing::TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "job.journal");
  const auto journal = make_journal(folder.path() / "job.journal");
  try {
    journal->read();
    FAIL() << "it was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), "the journal " + (folder.path() / "job.journal").string() +
                                " is a folder, and is to be a file; move it away, or give this job another "
                                "checkpoint.folder");
  }
}

TEST(FolderLease, AHolderOfAnotherHostThatBeatsIsNotRobbed) {
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "job.lock";
  const std::string other = lease_holder(42, "far", "another-boot");
  write_holder(path, other);
  std::promise<void> over;
  std::thread beats([&path, ended = over.get_future()] {  // its lock does not reach this host
    while (ended.wait_for(FolderLease::kBeat / 4) == std::future_status::timeout)
      std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now());
  });
  const std::string why = refusal(path);
  over.set_value();
  beats.join();
  EXPECT_NE(why.find(other), std::string::npos) << why;
}

TEST(FolderLease, AHolderOfAnotherHostThatIsGoneIsReplaced) {
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "job.lock";
  write_holder(path, lease_holder(42, "far", "another-boot"));
  EXPECT_EQ(refusal(path), "");
}

JournalEntry entry_of(std::uint64_t term) {
  JournalEntry entry;
  entry.job_hash = "job";
  entry.term = term;
  return entry;
}

TEST(Journal, ACoordinatorWithALowerTermCannotWriteAnyMore) {
  const testing::TemporaryFolder folder;
  const auto journal = make_journal(folder.path() / "job.journal");
  journal->write(entry_of(4));
  journal->write(entry_of(4));
  EXPECT_THROW(journal->write(entry_of(3)), TakenOver);
  ASSERT_TRUE(journal->read());
  EXPECT_EQ(journal->read()->term, 4u);
  journal->write(entry_of(5));
}

}  // namespace
}  // namespace muster
