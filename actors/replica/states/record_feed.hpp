// A donor's side of a state transfer: newcomers are given the donor's state, then the record of each step
// that follows, until a view takes them in. It keeps these records, and says what to send and whom to give
// up. Pure: whoever holds it sends. For one thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <variant>
#include <vector>

#include "transport/collective/transfer/transfer_payload.hpp"
#include "transport/transport.hpp"

namespace muster {

class RecordFeed {
 public:
  using Record = std::shared_ptr<const TransferPayload>;  ///< encoded

  struct Send {
    PeerId to = 0;
    std::uint64_t number = 0;
    Record record;
  };
  /// A newcomer that misses a record which is not kept any more. It is not fed from now on.
  struct TooSlow {
    PeerId peer = 0;
    std::uint64_t taken = 0;  ///< the last record that it has applied
  };
  using Actions = std::vector<std::variant<Send, TooSlow>>;  ///< in the order in which they are to be done

  // --- newcomers

  void wants_state(PeerId peer) { waiting_.push_back(peer); }
  void wants_nothing(PeerId peer);
  void forget_newcomers();
  /// The state after so many records is copied for all who wait for one: they are fed from now on.
  std::vector<PeerId> give_state(std::uint64_t records);
  bool somebody_waits() const { return !waiting_.empty(); }
  bool feeds_somebody() const { return !fed_.empty(); }
  /// Whether the state after so many records is for this newcomer still.
  bool is_for(PeerId peer, std::uint64_t records) const;
  /// The newcomer has applied this record, and may be sent later ones: at most `window` are on their way.
  Actions taken(PeerId peer, std::uint64_t number, std::uint64_t window);

  // --- records

  /// The newest record, for all who are fed. At most `window` are kept, without a gap.
  Actions keep(Record record, std::uint64_t number, std::uint64_t window);
  void drop_newest();
  void drop_records() { kept_.clear(); }
  bool keeps_records() const { return !kept_.empty(); }
  std::uint64_t oldest() const { return newest_ + 1 - kept_.size(); }  ///< of those that are kept, if any
  Record find(std::uint64_t number) const;                             ///< null: not kept

 private:
  struct Feeding {
    std::uint64_t from = 0;   // records in the state that it is given
    std::uint64_t sent = 0;   // the last record that went out
    std::uint64_t taken = 0;  // the last one that it has applied
  };
  void serve(PeerId peer, std::uint64_t window, Actions& actions);

  std::vector<PeerId> waiting_;
  std::map<PeerId, Feeding> fed_;
  std::deque<Record> kept_;
  std::uint64_t newest_ = 0;  // of those that are kept
};

}  // namespace muster
