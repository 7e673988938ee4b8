// The parts of all replicas, as the one that writes a checkpoint is given them. They may arrive before its
// own snapshot, which may be a record behind by then. Pure. For one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "actors/messages/checkpoint_messages.hpp"
#include "actors/trainer/part.hpp"

namespace muster {

class PartGathering {
 public:
  using Payload = std::shared_ptr<const std::vector<std::byte>>;

  /// A view in which so many parts make a whole.
  void enter(std::size_t pieces);
  bool under_way() const { return gathering_.has_value(); }
  /// For the checkpoint at this record.
  void begin(std::uint64_t record, GatheredParts parts, const Written& written);
  /// Parts for this checkpoint or older ones, if it is not gathered just now, are for none.
  void ignore_until(std::uint64_t record);
  /// Parts that arrived before `begin`. Error: one of them is not what is expected; the others are taken.
  void take_early(std::uint64_t record);
  /// False: more parts arrived than there are. Error: it is not what is expected.
  [[nodiscard]] bool take(std::uint64_t record, const Payload& part);

  struct Whole {
    std::shared_ptr<const Snapshot> snapshot;
    Written written;
  };
  /// Once all parts are there; the gathering is over.
  std::optional<Whole> whole();
  /// Ends the gathering, if one is under way: what was to be written.
  std::optional<Written> give_up();

 private:
  struct Gathering {
    std::uint64_t record;
    GatheredParts parts;
    Written written;
  };
  std::optional<Gathering> gathering_;
  std::map<std::uint64_t, std::deque<Payload>> early_;  // by record
  std::uint64_t ignored_until_ = 0;
  std::size_t pieces_ = 0;
};

}  // namespace muster
