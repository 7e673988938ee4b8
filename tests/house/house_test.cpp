// What a machine can check of the house: sizes of files and functions, arrows between rooms, words,
// registrations.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFileLinesMax = 500;
constexpr std::size_t kFunctionLinesMax = 70;
const fs::path kRoot = MUSTER_SOURCE_DIR;

using Lines = std::vector<std::string>;

Lines lines_of(const fs::path& file) {
  std::ifstream stream(file);
  Lines lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool is_cpp(const fs::path& file) {
  return file.extension() == ".cpp" || file.extension() == ".hpp" || file.extension() == ".cu";
}

std::vector<fs::path> files_below(const std::set<std::string>& folders,
                                  const std::function<bool(const fs::path&)>& wanted) {
  std::vector<fs::path> files;
  for (const std::string& folder : folders) {
    if (!fs::exists(kRoot / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      if (entry.is_regular_file() && wanted(entry.path())) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

const std::set<std::string> kCode{"include", "config", "transport", "gpu",
                                  "actors",  "cli",    "tests",     "examples"};

std::string shown(const fs::path& file) {
  return fs::relative(file, kRoot).string();
}

TEST(House, ThereIsSomethingToLookAt) {
  EXPECT_GT(files_below(kCode, is_cpp).size(), 150u);
}

TEST(House, FilesFitOneIdea) {
  for (const auto& file : files_below(kCode, is_cpp)) {
    EXPECT_LE(lines_of(file).size(), kFileLinesMax) << shown(file);
  }
}

// With the repository's format, a definition begins in the column in which its brace closes.
struct Function {
  std::size_t begin = 0;
  std::size_t lines = 0;
};
std::vector<Function> functions_of(const Lines& lines, std::size_t indent) {
  std::vector<Function> functions;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t column = lines[i].find_first_not_of(' ');
    if (column != indent) continue;
    const char first = lines[i][column];
    if (std::isalpha(static_cast<unsigned char>(first)) || first == '~') begin = i;
    if (lines[i].substr(column) == "}") functions.push_back({begin, i - begin + 1});
  }
  return functions;
}

TEST(House, FunctionsFitOnAScreen) {
  for (const auto& file : files_below(kCode, is_cpp)) {
    const Lines lines = lines_of(file);
    for (const std::size_t indent : {0u, 2u}) {
      for (const Function& function : functions_of(lines, indent)) {
        EXPECT_LE(function.lines, kFunctionLinesMax)
            << shown(file) << ':' << function.begin + 1 << ": " << lines[function.begin];
      }
    }
  }
}

TEST(House, SizesAreMeasured) {
  Lines lines{"int f(int a,", "      int b) {"};
  lines.insert(lines.end(), 80, "  a();");
  lines.push_back("}");
  const auto functions = functions_of(lines, 0);
  ASSERT_EQ(functions.size(), 1u);
  EXPECT_EQ(functions[0].lines, 83u);
}

std::string included(const std::string& line) {
  const std::string mark = "#include \"";
  return line.starts_with(mark) ? line.substr(mark.size(), line.find('"', mark.size()) - mark.size()) : "";
}

// "config/rules.hpp" is of room "config". The public headers stand below all rooms.
std::string included_room(const std::string& line) {
  const std::string path = included(line);
  const std::string room = path.substr(0, path.find('/'));
  return room.size() == path.size() || room == "muster" ? "" : room;
}

bool is_header(const fs::path& file) {
  return file.extension() == ".hpp";
}

void expect_arrows(const std::string& room, const std::set<std::string>& rooms_below) {
  // Checks that every room may use.
  const std::set<std::string> common{"#include \"config/check.hpp\"", "#include \"config/canary.hpp\""};
  for (const auto& file : files_below({room}, is_cpp)) {
    for (const std::string& line : lines_of(file)) {
      const std::string target = included_room(line);
      if (target.empty() || target == room || rooms_below.contains(target)) continue;
      EXPECT_TRUE(common.contains(line)) << shown(file) << ": " << line;
    }
  }
}

TEST(House, ArrowsBetweenRoomsRunOneWay) {
  expect_arrows("config", {});
  expect_arrows("transport", {});
  expect_arrows("gpu", {});
  expect_arrows("actors", {"config", "transport", "gpu"});
  expect_arrows("cli", {"config", "transport", "gpu", "actors"});
}

// What a compiler, an editor or a reader looks for is where the include says.
TEST(House, IncludesNameTheFileWhereItLies) {
  for (const auto& file : files_below(kCode, is_cpp)) {
    if (shown(file).starts_with("examples/")) continue;  // programs of their own
    for (const std::string& line : lines_of(file)) {
      const std::string path = included(line);
      if (path.empty() || path == "muster_version.hpp") continue;  // made by the build
      EXPECT_TRUE(fs::exists(kRoot / (path.starts_with("muster/") ? "include" : "") / path))
          << shown(file) << ": " << line;
    }
  }
}

// They are all that is installed: the standard library, CAF and each other, and libtorch where it is asked
// for.
TEST(House, PublicHeadersNeedNothingElseOfTheProject) {
  const auto headers = files_below({"include"}, is_cpp);
  EXPECT_GE(headers.size(), 12u);
  EXPECT_LE(headers.size(), 20u);
  for (const auto& file : headers) {
    EXPECT_EQ(shown(file.parent_path()), "include/muster");
    for (const std::string& line : lines_of(file)) {
      if (!line.starts_with("#include ")) continue;
      const bool standard = line.find('/') == std::string::npos;
      const bool caf = line.starts_with("#include <caf/");
      const bool torch = line.starts_with("#include <torch/") && file.filename() == "torch_model.hpp";
      EXPECT_TRUE(standard || caf || torch || line.starts_with("#include \"muster/"))
          << shown(file) << ": " << line;
    }
  }
}

TEST(House, PublicHeadersOpenWithAnExample) {
  for (const auto& file : files_below({"include"}, is_cpp)) {
    const Lines lines = lines_of(file);
    const auto end = std::find(lines.begin(), lines.end(), "#pragma once");
    const auto of_example = [](const std::string& line) { return line.starts_with("//   "); };
    EXPECT_GE(std::count_if(lines.begin(), end, of_example), 4) << shown(file);
  }
}

TEST(House, NetworkAndActorsStayInTheirRooms) {
  for (const auto& file : files_below({"config", "gpu", "transport"}, is_cpp)) {
    for (const std::string& line : lines_of(file)) {
      EXPECT_EQ(line.find("#include <caf/"), std::string::npos) << shown(file) << ": " << line;
      const bool network = line.find("#include <ucp/") != std::string::npos;
      EXPECT_FALSE(network && file.string().find("/transport/") == std::string::npos) << shown(file);
    }
  }
}

TEST(House, HeadersSayWhatTheyAreForAndGuardThemselves) {
  for (const auto& file :
       files_below({"include", "config", "transport", "gpu", "actors", "cli"}, is_header)) {
    const Lines lines = lines_of(file);
    ASSERT_FALSE(lines.empty()) << shown(file);
    EXPECT_EQ(lines[0].rfind("// ", 0), 0u) << shown(file) << " opens without a word";
    EXPECT_NE(std::find(lines.begin(), lines.end(), "#pragma once"), lines.end()) << shown(file);
  }
}

// Put together here, so that this file does not hold them.
const std::vector<std::string> kWords{std::string("TO") + "DO",       std::string("FIX") + "ME",
                                      std::string("GTEST_") + "SKIP", std::string("DISAB") + "LED_",
                                      std::string("/wo") + "rk/",     std::string("/ho") + "me/"};

TEST(House, NothingIsPutOffOrTiedToOneMachine) {
  const auto all = [](const fs::path& file) {
    return file.string().find("__pycache__") == std::string::npos;
  };
  auto folders = kCode;
  folders.insert({"cmake", "scripts", "docs", ".ci"});
  for (const auto& file : files_below(folders, all)) {
    for (const std::string& line : lines_of(file)) {
      if (line.find("<< here.cuda_reason;") != std::string::npos)
        continue;  // there is no card, and it says why
      for (const std::string& word : kWords) {
        EXPECT_EQ(line.find(word), std::string::npos) << shown(file) << ": " << line;
      }
    }
  }
}

TEST(House, TestsWaitForConditionsAndNotForTime) {
  const std::string sleeping = std::string("sleep") + "_for(";
  for (const auto& file : files_below({"tests"}, is_cpp)) {
    for (const std::string& line : lines_of(file)) {
      EXPECT_EQ(line.find(sleeping), std::string::npos) << shown(file) << ": " << line;
    }
  }
}

TEST(House, EveryExampleIsRegistered) {
  std::ostringstream text;
  text << std::ifstream(kRoot / "examples" / "CMakeLists.txt").rdbuf();
  for (const auto& entry : fs::directory_iterator(kRoot / "examples")) {
    const bool job = entry.path().extension() == ".toml";
    if (!entry.is_directory() && !job) continue;
    const std::string name = entry.path().filename().string();
    if (name.rfind("__", 0) == 0) continue;
    EXPECT_NE(text.str().find(job ? entry.path().stem().string() : name), std::string::npos) << name;
  }
}

}  // namespace
