// The sums of one round: a single-threaded state machine that moves elements along the trees of the plan. It
// adds whatever is complete, hands it on, and spreads the result; it knows nothing of rounds, reports and
// views.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "transport/collective/choice/variant_choice.hpp"
#include "transport/collective/sums/accumulator.hpp"
#include "transport/collective/sums/staging.hpp"
#include "transport/collective/sums/sum_plan.hpp"
#include "transport/collective/tree_sum/fold_queue.hpp"
#include "transport/collective/tree_sum/gradient_backup.hpp"
#include "transport/collective/tree_sum/payloads.hpp"
#include "transport/collective/tree_sum/settled_role.hpp"
#include "transport/collective/tree_sum/sum_inputs.hpp"
#include "transport/collective/tree_sum/sum_result.hpp"

namespace muster {

class TreeSum {
 public:
  /// Sends a payload to a member; `hold` is released when the send has ended (kNone: nothing is held).
  using Send =
      std::function<void(std::uint32_t member, const Frame&, std::span<const std::byte>, Staging::Hold)>;

  /// `variants` says how sums are written, and measures it; other sums of the same view may share it.
  TreeSum(const SumPlan& plan, Staging& staging, VariantChoice& variants, Send send);

  /// The round's result will be written to `result`; from here on parts of it may arrive.
  void open(std::span<float> result, std::uint64_t step);

  /// The reports of all are in: which shards are present, and the divisor. 0: no result is sent by anybody.
  void settle(const std::vector<bool>& present, double weight);

  /// This member's sums, of these elements: whole buckets, of which those that were offered before do not
  /// count. Valid and unchanged there until the round is over. The nodes are the same each time.
  void offer(const std::vector<NodeValue>& nodes, ElementRange elements);
  /// A node of another member, computed in its stead. Whichever answer comes first counts.
  void add_backup(const NodeValue& value, std::uint32_t member);

  // Of the frames, only contributions, results and what a buddy keeps; `from` is the sender's place among the
  // members.
  /// Nothing if it is not what this member waits for.
  std::span<std::byte> place(const Frame& frame);
  /// Whether it is a contribution that is added where its sender has it.
  bool arrived_in_place(const Frame& frame, std::span<const std::byte> payload, BorrowedBuffer borrow);
  /// False if it is damaged, or comes of one who does not follow the protocol.
  bool arrived(const Frame& frame, std::span<std::byte> payload);
  /// The buddy holds a chunk of the mean gradient. False if this member has given it none.
  bool kept(const Frame& frame);

  /// Goes on with what was added up aside (ReductionShape::unit) and has ended; whether there was something.
  bool fold_on();
  /// Whether something is still added up.
  bool folding() const { return !folds_.empty(); }

  /// Of the vector that is summed.
  std::size_t elements() const { return plan_.shape().elements; }
  /// Whether the whole result is in place, or none will come.
  bool complete() const;
  bool result_begun() const { return result_.begun(); }
  /// Whether something that this member has offered waits for its result.
  bool under_way() const { return offered_pieces_ > result_.pieces_in_place(); }
  /// What a member still owes, in elements, as far as it can be known.
  bool owes(std::uint32_t member) const;

  /// Nothing more is added, sent or read. Borrowed buffers go back at once, for their owners wait; buffers
  /// stay where they may still be written to.
  void close();
  /// As new.
  void reset();

 private:
  using Addition = SettledRole::Addition;
  using Pieces = SumPlan::Pieces;
  /// What is done when a fold has ended.
  struct Next {
    enum class What { drop_inputs, finish_piece, send_sums } what;
    std::size_t number = 0;  // of the piece, or of the run
    const Addition* addition = nullptr;
    float* sums = nullptr;
  };

  void add_backup(const NodeValue& value, Pieces run, std::uint32_t adder);
  std::optional<Pieces> pieces_of(const Frame& frame) const;
  std::optional<Pieces> contribution_of(const Frame& frame) const;
  std::optional<Pieces> result_of(const Frame& frame) const;
  void stage_all(const Frame& frame, Pieces pieces, const float* values, Staging::Hold hold);
  bool sparse_arrived(const Frame& frame, Pieces pieces, std::span<std::byte> payload);
  void values_in(const Frame& frame, Pieces pieces, float* values);
  void look(std::size_t piece);
  void look_at(Pieces pieces);
  void add(std::size_t piece, const Addition& addition, float divisor, float* out);
  void drop_inputs(std::size_t piece, const Addition& addition);
  void then(const Next& next);
  void go_on(const Next& next);
  void finish(std::size_t piece);
  void offer(const SumPlan::Bucket& bucket);
  void send_contribution(std::uint32_t to, NodeId node, std::size_t begin, const Payloads::Payload& payload);
  void hand_on(std::size_t run);
  void send_sums(const Next& next);
  void back_up(std::size_t piece);
  void keep(const Frame& frame, std::size_t piece);
  void update(std::size_t piece);
  void result_in(std::size_t piece);

  const SumPlan& plan_;
  Staging& staging_;
  Payloads payloads_;
  VariantChoice& variants_;
  const Send send_;
  SumInputs inputs_;
  SumResult result_;
  GradientBackup backup_;
  FoldQueue<Next> folds_;
  bool settled_ = false, closed_ = false;
  bool revoked_ = false;  // something was added that its owner had taken back: no result will come
  double weight_ = 0;
  std::vector<bool> offered_;  // by bucket
  std::size_t offered_pieces_ = 0;
  std::vector<std::size_t> ready_;  // by run to a parent: pieces that are complete
  std::vector<SettledRole> roles_;  // by owner
  std::vector<bool> present_;       // of the shards, when the roles were settled
  std::vector<const float*> operands_;
};

}  // namespace muster
