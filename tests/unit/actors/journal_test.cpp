#include "muster/actors/journal.hpp"

#include <gtest/gtest.h>

#include <caf/deep_to_string.hpp>
#include <concepts>
#include <set>
#include <string>
#include <vector>

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

}  // namespace
}  // namespace muster
