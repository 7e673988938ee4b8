// The reduction of one view: a single-threaded state machine, driven by frames and by its own member's words.
//
// Algorithm: direct reduce-scatter and all-gather. The flat vector is cut into one range per member. Each
// member sends the tree nodes that it holds, range by range, to the range's owner; the owner adds them in
// canonical order, divides once, and sends the result to all. Per member and step: (R-1)/R of the vector out
// for each node held, and in again as result. Chunks overlap transfer and adding.
//
// What a round needs before it is over: the headers of *all* members, then the metrics of all and every chunk
// of the result. Members are at most one round apart, hence two slots. Any failure is said once, and ends
// everything.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "muster/transport/collective/accumulator.hpp"
#include "muster/transport/collective/liveness.hpp"
#include "muster/transport/collective/round.hpp"
#include "muster/transport/collective/staging.hpp"
#include "muster/transport/transport.hpp"

namespace muster {

/// One member of a view as the reduction sees it: its number for the transport, which it keeps over all
/// views, and its shards, [begin, end).
struct ReductionMember {
  PeerId peer = 0;
  std::uint64_t incarnation = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

struct ReductionShape {
  std::uint32_t view = 0;
  std::uint32_t self = 0;  ///< this member's place in the list
  std::uint32_t shards = 0;
  std::size_t elements = 0;  ///< float32 elements of the vector
  std::size_t chunk_elements = 128 * 1024;
  bool stand_ins = false;  ///< whether a member may add nodes of another one
  std::vector<ReductionMember> members;
};

class Reduction {
 public:
  struct Hooks {
    std::function<void(RoundRecord)> done;
    std::function<void(const std::string& reason)> failed;  ///< at most once; nothing follows
    /// The clock, for the record's arrival times; none: they are 0.
    std::function<std::chrono::nanoseconds()> now = nullptr;
  };

  Reduction(ReductionShape shape, Transport& transport, Hooks hooks);

  /// Opens the next round: this member's header goes to all. For a training round `result` is where the
  /// divided root will be written (elements floats, free from now until `done`).
  void open(const RoundHeader& header, std::span<float> result);

  /// Adds this member's sums to the open round; of no effect if that round is over. `nodes` stay valid and
  /// unchanged until `done` or the end of this object; `keep` is held as long.
  void contribute(std::uint64_t round, std::vector<NodeValue> nodes, std::vector<ShardMetrics> metrics,
                  std::shared_ptr<const void> keep);

  /// Adds a node of another member to the open round, of whom it has not come yet: whichever answer comes
  /// first counts, for they have the same bits. `value` stays valid as in `contribute`.
  void stand_in(std::uint64_t round, const NodeValue& value, std::vector<ShardMetrics> metrics,
                std::shared_ptr<const void> keep);

  std::span<std::byte> place(const Frame& frame);
  /// A contribution that can be added where its sender has it; false: it is to be copied.
  bool lent(const Frame& frame, std::span<const std::byte> payload, Loan loan);
  void arrived(const Frame& frame, std::span<std::byte> payload);
  void sent(SendToken token, bool ok);
  void fail(const std::string& reason);

  /// The view is over: nothing more arrives, is sent or is said. What is still under way runs out; see
  /// `drained`.
  void close();
  /// Whether every send has ended, so that what was sent from may be reused.
  bool drained() const { return sends_ == 0; }
  /// Whether the result of the open round is partly in place.
  bool result_begun() const { return result_begun_; }

  bool failed() const { return failed_; }
  /// Whether a round is open and waits for others.
  bool waiting() const { return opened_; }
  /// Since when this member has done its part of the open round, and waits; nothing if it has not.
  std::optional<std::chrono::nanoseconds> waits_since() const { return waits_since_; }
  /// The open round and what each other member still owes to it.
  RoundSight sight() const;
  /// Bytes that the reduction itself holds: chunks of the nodes of others that wait to be added.
  std::size_t staging_bytes() const { return staging_.bytes(); }

 private:
  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t size() const { return end - begin; }
  };
  struct Node {
    NodeId node;
    std::uint32_t member;
  };
  // One of two rounds in flight.
  struct Slot {
    std::vector<std::vector<std::byte>> header_bytes;   // by member; own: what is sent
    std::vector<std::vector<std::byte>> metrics_bytes;  // by member
    std::vector<std::optional<RoundHeader>> headers;
    std::vector<std::optional<std::vector<ShardMetrics>>> metrics;
    std::vector<Staged> staged;                 // by node, then by own chunk
    std::vector<std::uint32_t> chunk_arrivals;  // by own chunk
    std::vector<bool> taken;                    // by node, then by own chunk: its value is there
    // From those who stand in for others: by node; and the bytes, by node and sender. These stay from round
    // to round: one may still arrive when its round is over.
    std::vector<std::optional<std::vector<ShardMetrics>>> stand_ins;
    std::map<std::pair<std::size_t, std::uint32_t>, std::vector<std::byte>> stand_in_bytes;
    std::vector<bool> chunk_folded;        // by own chunk
    std::size_t result_elements = 0;       // arrived from others
    std::vector<std::size_t> elements_in;  // by member: of its nodes and of its part of the result
    std::size_t headers_in = 0, metrics_in = 0, folded = 0;
    std::size_t sends = 0;  // in flight
    bool contributed = false;
    std::vector<NodeValue> nodes;
    std::vector<std::shared_ptr<const void>> keep;
    // From the headers of all:
    bool agreed = false;       // they fit together
    bool any_present = false;  // some shard has something to add
    bool ready_to_fold = false;
    std::uint32_t expected_arrivals = 0;
    double weight = 0;
    FoldProgram program;
    std::vector<std::size_t> present;  // the nodes that are added up
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

  Slot& slot(std::uint64_t round) { return slots_[round % 2]; }
  const Slot& slot(std::uint64_t round) const { return slots_[round % 2]; }
  std::size_t peers() const { return shape_.members.size() - 1; }
  Range range_of(std::uint32_t member) const;
  std::size_t own_chunks() const;
  std::size_t staged_max() const;
  std::size_t index_of(NodeId node) const;
  std::size_t node_of(const Frame& frame) const;
  bool take(Slot& slot, std::size_t index, std::size_t chunk);
  const float* operand(const Slot& slot, std::size_t index, std::size_t chunk) const;
  bool is_whole_chunk(const Frame& frame, Range range) const;
  bool contribution_fits(const Slot& target, const Frame& frame) const;
  void stage(Slot& slot, std::size_t index, std::size_t chunk, Staged values);
  void release(Staged& values);
  std::span<std::byte> place_stand_in(Slot& slot, const Frame& frame);
  bool stand_in_arrived(Slot& slot, const Frame& frame, std::span<const std::byte> payload);
  bool same_as_stand_ins(const Slot& slot, std::uint32_t member);
  bool node_present(const Slot& slot, std::size_t index) const;
  bool words_in(const Slot& slot, std::uint32_t member) const;
  bool words_of_all(const Slot& slot) const;
  std::vector<ShardMetrics> metrics_of(const Slot& slot, std::uint32_t member) const;

  void reset(Slot& slot);
  void broadcast(FrameKind kind, Slot& slot, std::span<const std::byte> payload);
  void send(std::uint32_t member, Frame frame, std::span<const std::byte> payload, Slot& slot);
  void send_nodes(Slot& slot, std::span<const NodeValue> nodes);
  std::string disagreement(const Slot& slot) const;
  bool agree(Slot& slot);
  void prepare_fold(Slot& slot);
  void fold_ready_chunks(Slot& slot);
  void fold_chunk(Slot& slot, std::size_t chunk);
  bool belongs(const Frame& frame) const;
  std::optional<Frame> of_member(Frame frame) const;
  std::string member_name(std::uint32_t member) const;
  std::size_t elements_owed(const Slot& slot, std::uint32_t member) const;
  bool sums_follow(const Slot& slot) const;
  std::chrono::nanoseconds now() const;
  void step_on();
  bool advance(Slot& slot);
  void finish(Slot& slot);
  /// Where a part of the result is about to be written.
  float* result_at(std::size_t offset) {
    result_begun_ = true;
    return result_.data() + offset;
  }
  RoundRecord make_record(Slot& slot) const;

  ReductionShape shape_;
  Transport& transport_;
  Hooks hooks_;
  unsigned height_;
  Range own_;
  std::map<PeerId, std::uint32_t> members_;     // place of a peer in the list of members
  std::map<NodeId, std::size_t> node_indices_;  // of nodes_
  std::vector<std::size_t> first_node_;         // by member; its nodes lie one after the other
  std::vector<Node> nodes_;                     // of all members; the own ones last
  std::size_t staged_nodes_ = 0;                // so many of them may come from others
  Staging staging_;
  std::array<Slot, 2> slots_;
  std::uint64_t round_ = 0;  // open, or the next to open
  std::uint32_t last_word_ = 0;
  std::chrono::nanoseconds last_word_at_{0};
  std::optional<std::chrono::nanoseconds> waits_since_;
  int inside_ = 0;
  std::size_t sends_ = 0;  // in flight, of all rounds
  bool opened_ = false;
  bool failed_ = false;
  std::span<float> result_;
  bool result_begun_ = false;
};

}  // namespace muster
