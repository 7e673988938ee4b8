// How large the classes of the product are: a class that does many things cannot hide in several files.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

struct Size {
  int methods = 0;
  int members = 0;  ///< data members that are not static
};

constexpr Size kMost{40, 25};

// Larger ones, as they are: none. Should one have to be: it may shrink, and not grow.
const std::map<std::string, Size> kTooLarge{};

std::string without_comments_and_texts(std::string source) {
  std::string out;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const char c = source[i];
    if (source.compare(i, 2, "//") == 0 || (c == '#' && (i == 0 || source[i - 1] == '\n'))) {
      while (i < source.size() && source[i] != '\n') ++i;
      out += '\n';
    } else if (source.compare(i, 2, "/*") == 0) {
      i = std::min(source.find("*/", i), source.size()) + 1;
    } else if (c == '"' ||
               (c == '\'' && (i == 0 || !std::isalnum(static_cast<unsigned char>(source[i - 1]))))) {
      for (++i; i < source.size() && source[i] != c; ++i) {
        if (source[i] == '\\') ++i;
      }
      out += "\"\"";
    } else {
      out += c;
    }
  }
  return out;
}

// What a class declares, from behind its opening brace on: bodies left out, each ended by its semicolon or
// body.
std::vector<std::string> declarations(const std::string& source, std::size_t at) {
  std::vector<std::string> all;
  std::string declaration;
  const auto end = [&] {
    all.push_back(declaration);
    declaration.clear();
  };
  for (int depth = 1; at < source.size(); ++at) {
    const char c = source[at];
    if (c == '{' && ++depth == 2) declaration += '{';
    if (c == '}' && --depth == 0) break;
    if (c == '}' && depth == 1) {
      declaration += '}';
      const std::size_t next = source.find_first_not_of(" \t\n", at + 1);
      if (next != std::string::npos && std::string(";,=)").find(source[next]) == std::string::npos) end();
    }
    if (depth != 1 || c == '}') continue;
    c == ';' ? end() : void(declaration += c);
  }
  return all;
}

std::string without_template_arguments(std::string text) {
  static const std::regex kInnermost("<[^<>]*>");
  for (std::string before; before != text;) {
    before = text;
    text = std::regex_replace(text, kInnermost, "");
  }
  return text;
}

Size size_of(const std::vector<std::string>& declarations) {
  static const std::regex kAccess("\\b(public|private|protected)\\s*:");
  static const std::regex kNeither(
      "^\\s*(using|friend|static_assert|enum|typedef|class|struct|static\\s+constexpr|static\\s+inline|"
      "constexpr\\s+static|static\\s+const|template\\s*<[^>]*>\\s*(class|struct|using))\\b[^]*");
  static const std::regex kAnnotation("\\bMUSTER_[A-Z_]+\\([^()]*\\)");
  Size size;
  for (const std::string& each : declarations) {
    const std::string text = std::regex_replace(std::regex_replace(each, kAccess, ""), kAnnotation, "");
    if (text.find_first_not_of(" \t\n") == std::string::npos) continue;
    if (std::regex_match(text, kNeither) && text.find('(') == std::string::npos) continue;
    const bool is_operator = text.find("operator") != std::string::npos;
    const std::string head = is_operator ? text : text.substr(0, text.find_first_of("={"));
    if (std::regex_match(text, kNeither) && without_template_arguments(head).find('(') == std::string::npos)
      continue;
    const std::string plain = without_template_arguments(head);
    if (plain.find('(') != std::string::npos) {
      ++size.methods;
    } else {
      // `double loss = 0, weight = 0;` is two members.
      const std::string whole = without_template_arguments(text);
      size.members += 1 + (whole.find('{') == std::string::npos
                               ? static_cast<int>(std::count(whole.begin(), whole.end(), ','))
                               : 0);
    }
  }
  return size;
}

std::map<std::string, Size> classes_in(const std::string& text) {
  static const std::regex kClass("\\b(?:class|struct)\\s+(\\w+)(?:\\s+final)?(?:\\s*:[^;{(]*)?\\s*\\{");
  const std::string source = without_comments_and_texts(text);
  std::map<std::string, Size> classes;
  for (std::sregex_iterator it(source.begin(), source.end(), kClass), none; it != none; ++it) {
    const auto at = static_cast<std::size_t>(it->position() + it->length());
    const Size size = size_of(declarations(source, at));
    Size& largest = classes[(*it)[1].str()];  // several classes may have one name
    largest = {std::max(largest.methods, size.methods), std::max(largest.members, size.members)};
  }
  return classes;
}

TEST(ClassSizes, AreMeasured) {
  const auto classes = classes_in(R"(
    struct Plain { int a = 0; double loss = 0, weight = 0; std::map<int, std::pair<int, int>> pairs; };
    class Thing final : public Base<int, 2> {
     public:
      Thing(int x) : x_(x) {}
      virtual ~Thing() = default;
      void on(const Message& message);  // void not_counted();
      bool is_it() const { return f(x_) ? true : false; }
      bool operator==(const Thing&) const = default;
      template <class T> void each(T job) { job(1); }
      using Name = std::function<void(int)>;
      enum class Kind { one, two };
      static constexpr int kMost = 3;
     private:
      struct Inner { int b; int c; };
      std::function<void(int)> callback_;
      std::optional<Inner> inner_ = std::nullopt;
      std::string text_{"a; b"};
    };
    class Locked {
      void add() MUSTER_REQUIRES(mutex_);
      Mutex mutex_;
      int count_ MUSTER_GUARDED_BY(mutex_) = 0;
      Time now_ MUSTER_GUARDED_BY(mutex_){};
    };)");
  EXPECT_EQ(classes.at("Plain").methods, 0);
  EXPECT_EQ(classes.at("Plain").members, 4);
  EXPECT_EQ(classes.at("Thing").methods, 6);
  EXPECT_EQ(classes.at("Thing").members, 3);
  EXPECT_EQ(classes.at("Inner").members, 2);
  EXPECT_EQ(classes.at("Locked").methods, 1);
  EXPECT_EQ(classes.at("Locked").members, 3);
}

TEST(ClassSizes, FitOneIdea) {
  std::map<std::string, Size> found;
  for (const char* folder : {"actors", "transport", "gpu"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(MUSTER_SOURCE_DIR) / folder)) {
      const fs::path& file = entry.path();
      if (file.extension() != ".hpp" && file.extension() != ".cpp") continue;
      std::ostringstream text;
      text << std::ifstream(file).rdbuf();
      for (const auto& [name, size] : classes_in(text.str())) {
        Size& largest = found[name];
        largest = {std::max(largest.methods, size.methods), std::max(largest.members, size.members)};
      }
    }
  }
  EXPECT_GT(found.size(), 200u);
  for (const auto& [name, size] : found) {
    const auto listed = kTooLarge.find(name);
    const Size most = listed == kTooLarge.end() ? kMost : listed->second;
    EXPECT_LE(size.methods, std::max(most.methods, kMost.methods)) << name << ": methods";
    EXPECT_LE(size.members, std::max(most.members, kMost.members)) << name << ": members";
  }
  for (const auto& [name, size] : kTooLarge) {
    ASSERT_TRUE(found.contains(name)) << name << " is gone: take it from the list";
    EXPECT_FALSE(found[name].methods <= kMost.methods && found[name].members <= kMost.members)
        << name << " fits now: take it from the list";
    EXPECT_EQ(found[name].methods, size.methods) << name << " has shrunk (methods): say so in the list";
    EXPECT_EQ(found[name].members, size.members) << name << " has shrunk (members): say so in the list";
  }
}

}  // namespace
