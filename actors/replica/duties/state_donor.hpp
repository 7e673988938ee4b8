// What a replica gives to others: the last records to members that miss them, its state and the records that
// follow it to newcomers. For one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "actors/replica/context/replica_context.hpp"
#include "actors/replica/states/part_deal.hpp"
#include "actors/replica/states/record_feed.hpp"
#include "actors/replica/states/state_replacement.hpp"
#include "actors/replica/states/step/last_record.hpp"

namespace muster {

class StateDonor {
 public:
  /// `deal` and `replacement` say whether what the replica holds is the view's state yet.
  StateDonor(const ReplicaContext& context, const LastRecord& last, const PartDeal& deal,
             const StateReplacement& replacement)
      : context_(context), last_(last), deal_(deal), replacement_(replacement) {}

  // --- records

  /// The oldest record that this replica can send; one that is yet to come if it can send none.
  std::uint64_t kept_from() const;
  /// Sends the view's members the records that they miss.
  void send_missing() const;
  /// The last record was taken, and its mean is there. It is kept for newcomers, at once or after its update.
  void record_taken(MeanIs mean);
  /// The mean of the last record is on the host: those who are fed are sent the record.
  void feed();
  /// The last record is not held after all.
  void take_back();
  void drop_records() { feed_.drop_records(); }

  // --- newcomers

  void on(const DonateTo& message);
  /// At a place between two records: has the state copied for those who wait for it.
  void donate();
  void on(const StateCopied& message);
  void on(const StateOverdue& message);
  /// The newcomer has applied this record.
  void taken(PeerId peer, std::uint64_t number) { act(feed_.taken(peer, number, window())); }
  bool feeds_somebody() const { return feed_.feeds_somebody(); }
  void forget_newcomers() { feed_.forget_newcomers(); }

 private:
  void expect_copy();
  void send(TransferOut out, std::shared_ptr<const TransferPayload> transfer) const;
  void make_and_send(const TransferOut& out) const;
  std::uint64_t window() const;
  void act(const RecordFeed::Actions& actions) const;

  const ReplicaContext& context_;
  const LastRecord& last_;
  const PartDeal& deal_;
  const StateReplacement& replacement_;
  RecordFeed feed_;
  /// The copy, by view and records, that its background thread has to make ready.
  std::optional<std::pair<std::uint32_t, std::uint64_t>> owed_;
  bool keeps_soon_ = false;  // the last record, once its mean has come from the GPU
};

}  // namespace muster
