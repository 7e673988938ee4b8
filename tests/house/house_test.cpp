// What a machine can check of the house: sizes of files and functions, arrows between rooms, words,
// registrations.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFileLinesMax = 500;
constexpr std::size_t kFunctionLinesMax = 70;
constexpr std::size_t kFolderFilesMax = 25;
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

const std::set<std::string> kCode{"include", "base", "config", "transport", "gpu",
                                  "actors",  "cli",  "tests",  "examples"};

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

// What a line includes: by which name, and whether in angle brackets.
struct Include {
  std::string path;
  bool angle = false;
};
Include include_of(const std::string& line) {
  static const std::regex kInclude(R"(\s*#\s*include\s*([<"])([^>"]+)[>"].*)");
  std::smatch found;
  if (line.find("include") == std::string::npos || !std::regex_match(line, found, kInclude)) return {};
  return {found[2], found[1] == "<"};
}
// What is meant to be of the project; the compiler would find it in angle brackets, too.
std::string included(const std::string& line) {
  const Include include = include_of(line);
  const bool ours = !include.angle || include.path.starts_with("muster/") || fs::exists(kRoot / include.path);
  return ours ? include.path : "";
}

// "config/schema/constraints.hpp" is of room "config". The public headers stand below all rooms.
std::string included_room(const std::string& line) {
  const std::string path = included(line);
  const std::string room = path.substr(0, path.find('/'));
  return room.size() == path.size() || room == "muster" ? "" : room;
}

bool is_header(const fs::path& file) {
  return file.extension() == ".hpp";
}

void expect_arrows(const std::string& room, const std::set<std::string>& rooms_below) {
  for (const auto& file : files_below({room}, is_cpp)) {
    for (const std::string& line : lines_of(file)) {
      const std::string target = included_room(line);
      EXPECT_TRUE(target.empty() || target == room || rooms_below.contains(target))
          << shown(file) << ": " << line;
    }
  }
}

TEST(House, ArrowsBetweenRoomsRunOneWay) {
  expect_arrows("base", {});
  expect_arrows("config", {"base"});
  expect_arrows("transport", {"base"});
  expect_arrows("gpu", {"base"});
  expect_arrows("actors", {"base", "config", "transport", "gpu"});
  expect_arrows("cli", {"base", "config", "transport", "gpu", "actors"});
}

const std::set<std::string> kProduct{"base", "config", "transport", "gpu", "actors", "cli"};

std::string folder_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

// Which folders the files of a folder include.
using Arrows = std::map<std::string, std::set<std::string>>;
Arrows arrows_between_folders() {
  Arrows arrows;
  for (const auto& file : files_below(kProduct, is_cpp)) {
    const std::string from = folder_of(shown(file));
    for (const std::string& line : lines_of(file)) {
      const std::string to = folder_of(included(line));
      if (!included_room(line).empty() && to != from) arrows[from].insert(to);
    }
  }
  return arrows;
}

// A path along arrows that ends where it has been before; empty: there is none from `at` on.
std::vector<std::string> circle(const Arrows& arrows, std::vector<std::string> trail,
                                std::set<std::string>& done) {
  const auto found = arrows.find(trail.back());
  if (found == arrows.end() || done.contains(trail.back())) return {};
  for (const std::string& next : found->second) {
    const bool seen = std::find(trail.begin(), trail.end(), next) != trail.end();
    trail.push_back(next);
    if (seen) return trail;
    if (auto further = circle(arrows, trail, done); !further.empty()) return further;
    trail.pop_back();
  }
  done.insert(trail.back());
  return {};
}

TEST(House, NoFolderIncludesUpwards) {
  const Arrows arrows = arrows_between_folders();
  EXPECT_GT(arrows.size(), 30u);
  std::set<std::string> done;
  for (const auto& [folder, targets] : arrows) {
    std::string shown_trail;
    for (const std::string& each : circle(arrows, {folder}, done)) shown_trail += each + " -> ";
    ASSERT_EQ(shown_trail, "") << "these folders include each other in a circle";
  }
}

// All that the files of these folders include of the project, however far around, themselves among it.
std::set<std::string> all_that_is_included(const std::set<std::string>& folders) {
  std::set<std::string> seen;
  std::vector<std::string> open;
  for (const auto& file : files_below(folders, is_cpp)) open.push_back(shown(file));
  while (!open.empty()) {
    const std::string path = open.back();
    open.pop_back();
    if (!seen.insert(path).second) continue;
    for (const std::string& line : lines_of(kRoot / path)) {
      if (line.starts_with("#ifdef MUSTER_MESSAGE_BODIES")) break;  // for one file, messages.cpp
      const std::string next = included(line);
      if (!next.empty()) open.push_back(next.starts_with("muster/") ? "include/" + next : next);
    }
  }
  return seen;
}

void expect_no_actors(const std::set<std::string>& folders) {
  const auto files = all_that_is_included(folders);
  EXPECT_GT(files.size(), 10u);
  for (const std::string& file : files) {
    EXPECT_NE(file, "include/muster/run.hpp");
    for (const std::string& line : lines_of(kRoot / file)) {
      EXPECT_FALSE(include_of(line).path.starts_with("caf/")) << file << ": " << line;
    }
  }
}

// Decisions stand on values alone.
TEST(House, RulesKnowNoActors) {
  expect_no_actors({"actors/rules"});
}

TEST(House, RoomsBelowKnowNoActors) {
  expect_no_actors({"base", "config", "transport"});
  expect_no_actors({"gpu"});
}

TEST(House, CirclesAreFound) {
  std::set<std::string> done;
  EXPECT_EQ(circle({{"a", {"b"}}, {"b", {"c"}}, {"c", {"b"}}}, {"a"}, done).size(), 4u);
  EXPECT_TRUE(circle({{"a", {"b", "c"}}, {"b", {"c"}}}, {"a"}, done).empty());
}

TEST(House, AFolderIsOneRoom) {
  std::map<std::string, std::size_t> files;
  auto folders = kProduct;
  folders.insert({"include", "tests/unit"});
  for (const auto& file : files_below(folders, [](const fs::path&) { return true; }))
    ++files[folder_of(shown(file))];
  for (const auto& [folder, count] : files) EXPECT_LE(count, kFolderFilesMax) << folder;
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
      const Include include = include_of(line);
      const std::string& path = include.path;
      const bool standard = include.angle && path.find_first_of("/.") == std::string::npos;
      const bool caf = include.angle && path.starts_with("caf/");
      const bool torch = include.angle && path.starts_with("torch/") && file.filename() == "torch_model.hpp";
      const bool ours = !include.angle && path.starts_with("muster/");
      EXPECT_TRUE(path.empty() || standard || caf || torch || ours || line.starts_with("//"))
          << shown(file) << ": " << line;
    }
  }
}

// A reader of an installed header finds each file that it names beside it.
TEST(House, PublicHeadersNameNoPrivateFile) {
  static const std::regex kHeader(R"([A-Za-z_/]+\.hpp)");
  for (const auto& file : files_below({"include"}, is_cpp)) {
    for (const std::string& line : lines_of(file)) {
      if (include_of(line).angle || line.find("include <") != std::string::npos) continue;
      for (std::sregex_iterator name(line.begin(), line.end(), kHeader), end; name != end; ++name) {
        const fs::path path = name->str();
        EXPECT_TRUE(fs::exists(kRoot / "include/muster" / path.filename())) << shown(file) << ": " << line;
      }
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

TEST(House, TheNetworkStaysInItsRoom) {
  for (const auto& file : files_below({"base", "config", "gpu", "actors", "cli"}, is_cpp)) {
    for (const std::string& line : lines_of(file)) {
      EXPECT_FALSE(include_of(line).path.starts_with("ucp/")) << shown(file) << ": " << line;
    }
  }
}

// clang does not know what a lock of the standard library guards. libtorch's generator has such a lock.
bool has_lock_of_the_standard_library(const std::string& line) {
  static const std::regex kLock("std::(\\w*mutex|\\w+_lock|lock_guard|condition_variable\\w*)\\b");
  return line.find("std::") != std::string::npos && std::regex_search(line, kLock) &&
         line.find("(generator.mutex())") == std::string::npos;
}

TEST(House, ClangChecksEveryLock) {
  static const std::regex kMutex("\\bMutex (\\w+);");
  std::size_t mutexes = 0;
  for (const auto& file : files_below(kProduct, is_cpp)) {
    if (shown(file) == "base/mutex.hpp") continue;
    const Lines lines = lines_of(file);
    const auto is_guarded_by = [](const std::string& mutex) {
      return [guard = "GUARDED_BY(" + mutex + ")"](const std::string& line) {
        return line.find(guard) != std::string::npos;
      };
    };
    for (const std::string& line : lines) {
      EXPECT_FALSE(has_lock_of_the_standard_library(line))
          << shown(file) << ": " << line << " -- take those of base/mutex.hpp";
      EXPECT_EQ(line.find("no_thread_safety_analysis"), std::string::npos) << shown(file) << ": " << line;
      std::smatch mutex;
      if (line.find("Mutex ") == std::string::npos || !std::regex_search(line, mutex, kMutex)) continue;
      ++mutexes;
      EXPECT_TRUE(std::ranges::any_of(lines, is_guarded_by(mutex[1])))
          << shown(file) << ": " << line << " guards no member";
    }
  }
  EXPECT_GT(mutexes, 15u);
}

TEST(House, LocksOfTheStandardLibraryAreFound) {
  for (const char* line : {"std::mutex m;", "std::shared_mutex m;", "std::condition_variable changed_;",
                           "const std::lock_guard lock(mutex_);", "std::unique_lock<std::mutex> lock_;",
                           "std::scoped_lock lock(mutex_);"}) {
    EXPECT_TRUE(has_lock_of_the_standard_library(line)) << line;
  }
  EXPECT_FALSE(has_lock_of_the_standard_library("const MutexLock lock(mutex_);"));
  EXPECT_FALSE(has_lock_of_the_standard_library("const std::lock_guard lock(generator.mutex());"));
}

TEST(House, HeadersSayWhatTheyAreForAndGuardThemselves) {
  for (const auto& file :
       files_below({"include", "base", "config", "transport", "gpu", "actors", "cli"}, is_header)) {
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
        continue;  // there is no GPU, and it says why
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

// muster-sim-canary has objects of its own of the .cpp files with canaries: in a header one would be switched
// on in some objects, and not in others.
TEST(House, CanariesAreInNoHeader) {
  for (const auto& file : files_below({"base", "config", "transport", "gpu", "actors", "cli"}, is_header)) {
    if (file.filename() == "canary.hpp") continue;
    for (const std::string& line : lines_of(file))
      EXPECT_EQ(line.find("canary(\""), std::string::npos) << shown(file) << ": " << line;
  }
}

// GoogleTest's own names inside `testing`. Tests have a `muster::testing` of their own, so that a bare
// `testing::` names one or the other by what the file happens to include.
bool has_bare_name_of_gtest(const std::string& line) {
  static const std::regex kBare(
      "(^|[^:A-Za-z_])testing::(internal|Test|UnitTest|Values|Combine|InitGoogle|Range|Bool|Assertion)");
  return std::regex_search(line, kBare);
}

TEST(House, TestsNameGoogleTestFromTheTop) {
  for (const auto& file : files_below({"tests"}, is_cpp)) {
    if (file.filename() == "house_test.cpp") continue;
    for (const std::string& line : lines_of(file)) {
      EXPECT_FALSE(has_bare_name_of_gtest(line)) << shown(file) << ": " << line << "\nwrite ::testing";
    }
  }
}

TEST(House, BareNamesOfGoogleTestAreFound) {
  EXPECT_TRUE(has_bare_name_of_gtest("  testing::internal::CaptureStderr();"));
  EXPECT_TRUE(has_bare_name_of_gtest("class OnDevice : public testing::TestWithParam<int> {"));
  EXPECT_FALSE(has_bare_name_of_gtest("class OnDevice : public ::testing::Test {"));
  EXPECT_FALSE(has_bare_name_of_gtest("store_(disk_, testing::tiny_identity(kJobHash))"));
}

// `rules/watch/suspicion` in a page about the internals is a file or a folder, and so is `base/canary.hpp`.
TEST(House, PagesAboutInternalsNameWhatThereIs) {
  static const std::regex kName(R"(`([a-z_0-9]+(/[a-z_0-9]+)+)(/|\.[ch]pp)?`)");
  std::set<std::string> all;
  auto folders = kProduct;
  folders.insert({"include", "tests"});
  const auto any = [](const fs::path&) { return true; };
  for (const auto& file : files_below(folders, any)) {
    fs::path path = "/" + shown(file);
    for (path.replace_extension(); path.has_relative_path(); path = path.parent_path())
      all.insert(path.string());
  }
  const auto pages = files_below({"docs/internals"}, any);
  EXPECT_GT(pages.size(), 5u);
  for (const auto& page : pages) {
    for (const std::string& line : lines_of(page)) {
      for (std::sregex_iterator name(line.begin(), line.end(), kName), end; name != end; ++name) {
        const std::string wanted = "/" + (*name)[1].str();
        EXPECT_TRUE(std::ranges::any_of(all, [&](const std::string& path) { return path.ends_with(wanted); }))
            << shown(page) << ": " << line;
      }
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
