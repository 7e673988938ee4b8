// Token files (actors/sources/tokens.hpp). The first bytes choose the width of a token, the length of a
// window and the vocabulary; the rest is the file. What is accepted gives every token back.
#include <array>

#include "actors/sources/tokens.hpp"
#include "muster/error.hpp"
#include "tests/fuzz/memory_file.hpp"

namespace muster::fuzz {
namespace {

constexpr std::array<const char*, 3> kTypes{"uint8", "uint16", "uint32"};

std::int64_t token(Input content, std::size_t index, std::size_t bytes) {
  std::int64_t value = 0;
  for (std::size_t i = bytes; i-- > 0;) {
    value = value << 8 | std::to_integer<std::int64_t>(content[index * bytes + i]);
  }
  return value;
}

// Every window begins with the last token of the one before, and nothing but -1 follows the end.
void check_windows(IndexedSource& source, Input content, std::size_t bytes, std::size_t context,
                   std::int64_t vocabulary) {
  const std::size_t count = content.size() / bytes;
  MUSTER_CHECK(source.size() == (count - 1 + context - 1) / context, source.size(), count, context);
  std::vector<std::int64_t> window(context + 1);
  const std::array<std::span<std::byte>, 1> row{std::as_writable_bytes(std::span(window))};
  for (std::size_t i = 0; i < source.size(); ++i) {
    source.read(i, row);
    for (std::size_t k = 0; k <= context; ++k) {
      const std::size_t place = i * context + k;
      const std::int64_t expected = place < count ? token(content, place, bytes) : -1;
      MUSTER_CHECK(window[k] == expected && expected < vocabulary, window[k], expected, place);
    }
  }
}

}  // namespace

bool accepts(Input input) {
  Choices choices(input);
  const std::uint32_t type = choices.below(3);
  const std::size_t context = 1 + choices.below(9);
  const std::int64_t vocabulary = 1 + std::int64_t{choices.number<std::uint32_t>()};
  const Input content = choices.rest();
  const MemoryFile file(content);
  try {
    const Dataset data = make_tokens({{"train", file.path()},
                                      {"test", std::string()},
                                      {"type", std::string(kTypes[type])},
                                      {"vocabulary", vocabulary},
                                      {"context", static_cast<std::int64_t>(context)}});
    check_windows(*data.train->indexed(), content, std::size_t{1} << type, context, vocabulary);
    return true;
  } catch (const JobError&) {
    return false;
  }
}

std::vector<Bytes> seeds() {
  const auto seed = [](std::uint8_t type, std::uint8_t context, std::uint32_t last,
                       std::string_view content) {
    return joined({raw(type), raw(context), raw(last), bytes_of(content)});
  };
  return {seed(0, 3, 255, "in the beginning"), seed(1, 1, 65535, "two bytes each.."),
          seed(2, 0, 0xffffffff, "four bytes each."), seed(0, 8, 127, "ab")};
}

}  // namespace muster::fuzz
