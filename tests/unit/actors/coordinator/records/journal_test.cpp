#include "actors/coordinator/records/journal.hpp"

#include <gtest/gtest.h>

#include <caf/deep_to_string.hpp>
#include <concepts>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "gpu/optimizer/state_hash.hpp"
#include "muster/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace muster {
namespace {

/// Gives every field of a message another value, none of them the one that it begins with.
class Filler {
 public:
  void fill(bool& x) { x = true; }
  void fill(std::integral auto& x) { x = static_cast<std::remove_reference_t<decltype(x)>>(++last_); }
  void fill(std::string& x) { x = "text " + std::to_string(++last_); }
  void fill(std::set<std::uint32_t>& x) { x = {++last_, ++last_}; }
  template <class T>
  void fill(std::vector<T>& x) {
    x.resize(2);
    for (T& each : x) fill(each);
  }
  template <class T>
  requires requires(T& x) { T::fields(x); }
  void fill(T& x) {
    std::apply([this](auto&... field) { (fill(field), ...); }, T::fields(x));
  }

 private:
  std::uint32_t last_ = 0;
};

// A field that is forgotten is one that a restarted coordinator does not know.
TEST(Journal, KeepsEveryFieldOfAView) {
  JournalEntry entry;
  Filler().fill(entry.view);
  const auto read = decode_journal(encode_journal(entry));
  ASSERT_TRUE(read);
  EXPECT_EQ(caf::deep_to_string(read->view), caf::deep_to_string(entry.view));
}

// A run that was completed by a program whose epochs had no view yet.
TEST(Journal, OfAnOlderProgramIsRead) {
  JournalEntry entry;
  entry.epochs.push_back({.epoch = 3, .steps = 70, .train_loss = 0.5, .view = 9});
  const std::string text = encode_journal(entry);
  auto json = nlohmann::json::from_cbor(text.begin(), text.end() - 64);
  json["epochs"][0].erase(13);
  const auto bytes = nlohmann::json::to_cbor(json);
  const auto read =
      decode_journal(std::string(bytes.begin(), bytes.end()) + sha256_hex(std::as_bytes(std::span(bytes))));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->epochs.at(0).view, 0u);
  EXPECT_TRUE(read->epochs.at(0).same_as(entry.epochs[0]));
}

JournalEntry entry_of(std::uint64_t term, std::uint64_t writer) {
  JournalEntry entry;
  entry.term = term;
  entry.writer = writer;
  return entry;
}

bool refuses(const JournalEntry& entry, const std::optional<JournalEntry>& there) {
  try {
    refuse_usurped(entry, there, "here");
  } catch (const TakenOver&) {
    return true;
  }
  return false;
}

TEST(Journal, RefusesWhoWritesBehindAnotherCoordinator) {
  EXPECT_FALSE(refuses(entry_of(5, 7), std::nullopt));
  EXPECT_FALSE(refuses(entry_of(5, 7), entry_of(4, 8)));
  EXPECT_FALSE(refuses(entry_of(5, 7), entry_of(5, 7))) << "it wrote that itself";
  EXPECT_TRUE(refuses(entry_of(5, 7), entry_of(5, 8)));
  EXPECT_TRUE(refuses(entry_of(5, 7), entry_of(6, 8)));
}

// Two that were started at the same time on two hosts.
TEST(Journal, ComparesTermAndWriterAtEachWrite) {
  const testing::TemporaryFolder folder;
  const auto journal = make_journal(folder.path() / "job.journal");
  journal->write(entry_of(5, 7));
  journal->write(entry_of(5, 7));
  const std::string others = encode_journal(entry_of(5, 8));
  std::ofstream(folder.path() / "job.journal", std::ios::binary) << others;
  EXPECT_THROW(journal->write(entry_of(5, 7)), TakenOver);
  EXPECT_EQ(journal->read()->writer, 8u);
}

// One whose place cannot be looked at may be there.
TEST(Journal, ThatCannotBeReadIsNoneThatIsMissing) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "muster-journal-test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::filesystem::create_symlink(folder / "job.journal", folder / "job.journal");
  const auto journal = make_journal(folder / "job.journal");
  EXPECT_THROW(journal->read(), Error);
  std::filesystem::remove(folder / "job.journal");
  EXPECT_FALSE(journal->read());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace muster
