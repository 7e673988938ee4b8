// The coordinator's journal (actors/coordinator/records/journal.hpp). The first byte chooses whether the
// digest at the end is made to fit, so that what lies behind it is reached.
#include "actors/coordinator/records/journal.hpp"
#include "gpu/optimizer/state_hash.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace muster::fuzz {

bool accepts(Input input) {
  Choices choices(input);
  const bool sealed = choices.below(2) == 1;
  const Input rest = choices.rest();
  const auto entry = decode_journal(text_of(rest) + (sealed ? sha256_hex(rest) : std::string()));
  if (!entry) return false;
  const std::string once = encode_journal(*entry);
  const auto again = decode_journal(once);
  MUSTER_CHECK(again.has_value());
  MUSTER_CHECK(encode_journal(*again) == once);
  return true;
}

std::vector<Bytes> seeds() {
  JournalEntry entry;
  entry.job_hash = "abc";
  entry.term = 3;
  entry.view.number = 2;
  entry.view.replicas.resize(2);
  entry.view.replicas[1].address = "an address";
  entry.view.loaders.resize(1);
  const Bytes bytes = bytes_of(encode_journal(entry));
  const Input content = Input(bytes).first(bytes.size() - 64);
  return {joined({raw(std::byte{0}), bytes}), joined({raw(std::byte{1}), content})};
}

}  // namespace muster::fuzz
