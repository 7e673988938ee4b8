// What members say to each other in a round: header, metrics, a whole record
// (transport/collective/rounds/round.hpp). The first byte chooses which.
#include "tests/fuzz/fuzz.hpp"
#include "transport/collective/rounds/round.hpp"

namespace muster::fuzz {
namespace {

constexpr std::size_t kShardsMax = 8;
constexpr std::size_t kElementsMax = 64;

bool accepts_header(Input input) {
  RoundHeader header;
  if (!decode_header(input, kShardsMax, header)) return false;
  MUSTER_CHECK(header.shards.size() <= kShardsMax, header.shards.size());
  Bytes again;
  encode_header(header, again);
  MUSTER_CHECK(same_bytes(again, input));
  return true;
}

bool accepts_metrics(Input input) {
  std::vector<ShardMetrics> metrics;
  if (!decode_metrics(input, kShardsMax, metrics)) return false;
  MUSTER_CHECK(metrics.size() <= kShardsMax, metrics.size());
  Bytes again;
  encode_metrics(metrics, again);
  MUSTER_CHECK(same_bytes(again, input));
  return true;
}

bool accepts_record(Input input) {
  const auto handed = decode_record(input, kShardsMax, kElementsMax);
  if (!handed) return false;
  MUSTER_CHECK(handed->result.size() <= kElementsMax, handed->result.size());
  Bytes once;
  encode_record(handed->record, handed->result, once);
  MUSTER_CHECK(once.size() == input.size(), once.size(), input.size());
  const auto second = decode_record(once, kShardsMax, kElementsMax);
  MUSTER_CHECK(second.has_value());
  Bytes twice;
  encode_record(second->record, second->result, twice);
  MUSTER_CHECK(same_bytes(once, twice));
  return true;
}

Bytes behind(std::byte choice, const Bytes& bytes) {
  return joined({raw(choice), bytes});
}

}  // namespace

bool accepts(Input input) {
  Choices choices(input);
  switch (choices.below(3)) {
    case 0:
      return accepts_header(choices.rest());
    case 1:
      return accepts_metrics(choices.rest());
    default:
      return accepts_record(choices.rest());
  }
}

std::vector<Bytes> seeds() {
  const ShardReport report{2, 0, 16, 0, 32, 16, 16.0};
  const ShardMetrics metrics{2, 0, 0.5, 12, 16};
  RoundHeader header;
  header.round = 7;
  header.shards = {report, report};
  RoundRecord record;
  record.shards = {report};
  record.metrics = {metrics};
  record.weight = 16;
  const std::vector<float> result{1.0f, -0.0f, 3.5f};
  Bytes bytes;
  std::vector<Bytes> all;
  encode_header(header, bytes);
  all.push_back(behind(std::byte{0}, bytes));
  encode_metrics(record.metrics, bytes);
  all.push_back(behind(std::byte{1}, bytes));
  encode_record(record, result, bytes);
  all.push_back(behind(std::byte{2}, bytes));
  return all;
}

}  // namespace muster::fuzz
