#include "gpu/files/file_io.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/temporary_folder.hpp"

namespace muster {
namespace {

std::string text_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// In a shared folder the pid may be that of a writer on another host, which has not ended yet.
TEST(FileIo, NoFileOfAnotherProcessIsInTheWay) {
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "journal";
  const auto of_another = folder.path() / ("journal.tmp." + std::to_string(::getpid()));
  std::ofstream(of_another) << "half of it";
  const auto bytes = std::as_bytes(std::span("new", 3));
  replace_file(path, std::span(&bytes, 1));
  EXPECT_EQ(text_in(path), "new");
  EXPECT_EQ(text_in(of_another), "half of it");
}

}  // namespace
}  // namespace muster
