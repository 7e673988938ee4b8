// The reduction of one view: a single-threaded state machine, driven by frames and by its own member's
// messages.
//
// It exchanges the reports of a round (round_reports.hpp), sees that they fit together, and makes the record.
// The elements are moved by a TreeSum (tree_sum.hpp), along the trees of the algorithm that the view has.
//
// What a round needs before it is over: the headers of *all* members, then the metrics of all and every part
// of the result. Members are at most one round apart, hence two slots. Any failure is said once, and ends
// everything.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "transport/collective/reduction/copy_exchange.hpp"
#include "transport/collective/reduction/hidden_time.hpp"
#include "transport/collective/reduction/member_nodes.hpp"
#include "transport/collective/reduction/presence.hpp"
#include "transport/collective/reduction/reduction_end.hpp"
#include "transport/collective/reduction/result_hash.hpp"
#include "transport/collective/reduction/round_reports.hpp"
#include "transport/collective/reduction/round_sends.hpp"
#include "transport/collective/reduction/round_sums.hpp"
#include "transport/collective/reduction/view_members.hpp"
#include "transport/collective/rounds/liveness.hpp"
#include "transport/collective/rounds/round.hpp"
#include "transport/collective/rounds/round_record_pool.hpp"
#include "transport/collective/sums/reduction_shape.hpp"
#include "transport/transport.hpp"

namespace muster {

class Reduction {
 public:
  using Hooks = ReductionHooks;

  Reduction(ReductionShape shape, Transport& transport, Hooks hooks);
  ~Reduction();
  Reduction(const Reduction&) = delete;  // its parts refer to it
  Reduction& operator=(const Reduction&) = delete;

  /// Opens the next round: this member's header goes to all. For a training round `result` is where the
  /// divided root will be written (elements floats, free from now until `done`); `keep`, which it lies in, is
  /// held until then, or until the end of this object.
  void open(const RoundHeader& header, std::span<float> result, std::shared_ptr<const void> keep = nullptr);

  /// Some of this member's sums, while the rest is still computed: these elements of `nodes`, whole buckets.
  /// Terms and effect as of `contribute`, which follows, and has all nodes and elements.
  void offer(std::uint64_t round, const std::vector<NodeValue>& nodes, ElementRange elements,
             std::shared_ptr<const void> keep);

  /// Adds this member's sums to the open round; of no effect if that round is over. `nodes` stay valid and
  /// unchanged until `done` or the end of this object; `keep` is held as long.
  void contribute(std::uint64_t round, const std::vector<NodeValue>& nodes,
                  const std::vector<ShardMetrics>& metrics, std::shared_ptr<const void> keep,
                  const std::vector<AuditReport>& audits = {});

  /// Adds a node of another member to the open round, of whom it has not come yet: whichever answer comes
  /// first counts, for they have the same bits. `value` stays valid as in `contribute`.
  void add_backup(std::uint64_t round, const NodeValue& value, const std::vector<ShardMetrics>& metrics,
                  std::shared_ptr<const void> keep);

  std::span<std::byte> place(const Frame& frame);
  /// A contribution that can be added where its sender has it; false: it is to be copied.
  bool arrived_in_place(const Frame& frame, std::span<const std::byte> payload, BorrowedBuffer borrow);
  void arrived(const Frame& frame, std::span<std::byte> payload);
  /// A payload that was placed will not come, but may still be written to its place.
  void abandoned(const Frame& frame);
  void sent(PeerId to, SendToken token, bool ok);
  /// Goes on with sums that were added up aside (ReductionShape::unit); whether there were some.
  bool fold_on();
  /// Whether some are still added up.
  bool folding() const;

  /// The view is over: nothing more arrives, is sent or is said. What is still under way runs out; see
  /// `drained`.
  void close() { end_.close(); }
  /// Whether every send and every fold has ended, so that what was sent from may be reused.
  bool drained() const { return sends_.under_way() == 0 && !folding(); }
  /// Whether it sends, or is about to.
  bool sending() const { return sends_.under_way() > 0 || inside_ > 0 || folding(); }
  /// Whether the result of the open round is partly in place.
  bool result_begun() const { return opened_ && open_sum().result_begun(); }

  bool failed() const { return end_.reached(); }
  /// Whether a round is open and waits for others.
  bool waiting() const { return opened_; }
  /// Since when this member has done its part of the open round, and waits; nothing if it has not.
  std::optional<std::chrono::nanoseconds> waits_since() const { return waits_since_; }
  /// The open round and what each other member still owes to it.
  RoundSight sight() const;
  /// The other members.
  std::vector<PeerId> others() const { return members_.others(); }
  /// Bytes that the reduction itself holds: chunks of the nodes of others that wait to be added.
  std::size_t staging_bytes() const { return staging_.bytes(); }

 private:
  // One of two rounds in flight.
  struct Slot {
    explicit Slot(Reduction& owner);
    Slot(const Slot&) = delete;  // its sums refer to it

    std::vector<std::shared_ptr<const void>> keep;
    std::shared_ptr<const void> result_keep;
    RoundReports reports;
    CopyExchange copies;
    RoundSums sums;     // goes before what it adds up
    Presence presence;  // from the headers of all
    HiddenTime hidden;  // of what was offered early
    RoundSends::UnderWay under_way;
    bool contributed = false;
    bool said = false;    // so, to all: the losses are sent
    bool agreed = false;  // the headers of all fit together

    /// For the next round but one. Memory stays.
    void reset();
    /// Whether the round moves elements at all. Known when all headers are in.
    bool sums_follow() const;
  };
  // By number, of which one is in flight at most for each.
  class Slots {
   public:
    explicit Slots(Reduction& owner) : slots_{Slot(owner), Slot(owner)} {}
    Slot& operator[](std::uint64_t round) { return slots_[round % slots_.size()]; }
    const Slot& operator[](std::uint64_t round) const { return slots_[round % slots_.size()]; }
    std::size_t size() const { return slots_.size(); }
    auto begin() { return slots_.begin(); }
    auto begin() const { return slots_.begin(); }
    auto end() { return slots_.end(); }
    auto end() const { return slots_.end(); }

   private:
    std::array<Slot, 2> slots_;
  };

  // Marks that the state machine is at work: what completes meanwhile is looked at when it is through.
  class Inside {
   public:
    explicit Inside(int& depth) : depth_(depth) { ++depth_; }
    ~Inside() { --depth_; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    int& depth_;
  };

  bool take(const RoundReports::News& news, std::uint32_t from);
  void take_copy(Slot& slot, const Frame& frame);
  bool take_kept(Slot& slot, const Frame& frame);
  bool take_elements(Slot& slot, const Frame& frame, std::span<std::byte> payload);
  void give_copies(Slot& slot);
  void send_losses(Slot& slot);
  void broadcast(const Frame& frame, Slot& slot, std::span<const std::byte> payload);
  std::optional<Frame> of_member(const Frame& received) const;
  TreeSum& open_sum() const;
  std::chrono::nanoseconds now() const;
  void measure_hidden(Slot& slot);
  void step_on();
  bool advance(Slot& slot);
  bool agree(Slot& slot);
  void finish(Slot& slot);

  ReductionShape shape_;
  Hooks hooks_;
  ReductionEnd end_;
  ViewMembers members_;
  MemberNodes nodes_;
  SumPlans plans_;
  Staging staging_;
  RoundSends sends_;
  VariantChoice variants_, sketch_variants_;
  SharedTimes said_;  // in the headers of the round before, by the members of this host
  ResultHash result_hash_;
  Slots slots_;
  RoundRecordPool pool_;
  std::uint64_t round_ = 0;    // open, or the next to open
  std::uint64_t records_ = 0;  // so far, in this view
  std::uint32_t last_reporter_ = 0;
  std::chrono::nanoseconds last_report_at_{0};
  std::optional<std::chrono::nanoseconds> waits_since_;
  int inside_ = 0;
  bool opened_ = false;
  std::span<float> result_;
};

}  // namespace muster
