// Which steps may hold wrong results, as far as the coordinator knows: those that are suspected, until all
// have gone back before them; those in doubt, until it is known which replica was wrong; and those in which
// the next view compares the gradients of all replicas. Pure. For one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "actors/messages/view.hpp"
#include "actors/rules/steps/corruption.hpp"

namespace muster {

class SuspectSteps {
 public:
  using Steps = std::pair<std::uint64_t, std::uint64_t>;  ///< the first and the last one

  // --- suspected

  bool any() const { return from_.has_value(); }
  /// The first one; 0: none.
  std::uint64_t from() const { return from_.value_or(0); }
  /// Checkpoints before this step are good: all of them, if nothing is suspected.
  std::uint64_t good_before() const;
  bool hold(std::uint64_t step) const { return from_ && step >= *from_; }

  /// This step and later ones.
  void suspect(std::uint64_t from);
  /// The coordinator before this one did: nobody knows why.
  void suspected_before(std::uint64_t from);
  bool were_suspected_before() const { return suspected_before_; }
  /// An older checkpoint is taken: steps behind it are suspected, and no others.
  void suspect_only(std::uint64_t from) { from_ = from; }
  /// All go back before them, or there is nothing to go back to. The first step that was suspected.
  std::optional<std::uint64_t> clear() { return std::exchange(from_, std::nullopt); }
  /// What the coordinator before this one suspected does not count any more.
  void forget_before() { suspected_before_ = false; }
  /// A journal was older than what members hold: it said this of another view.
  void forget();

  // --- members report other bits

  /// All members say the same, and a run that goes on finds it again with each step. Whether it is new.
  bool is_news(std::uint32_t view, std::uint8_t bits, const Judgement& judgement);
  /// What follows from it. `applied`: members have applied step `from`. These slots were compared.
  void judged(const Judgement& judgement, Bits bits, std::uint64_t from, bool applied,
              const std::vector<std::uint32_t>& slots);

  // --- in doubt: one of some replicas was wrong

  bool in_doubt() const { return doubt_.has_value(); }
  std::uint64_t doubt_from() const { return doubt_ ? doubt_->from : 0; }  ///< 0: none
  void doubt(std::uint64_t from, std::vector<std::uint32_t> slots) { doubt_ = {from, std::move(slots)}; }
  /// A step was made in this view. True: all were compared in it, and nothing is in doubt any more.
  bool settled_by(std::uint64_t step, const View& view);
  /// All are compared in the step that is done again; but not who is gone.
  bool can_be_settled_in(const View& view) const;
  /// It will not be known who was wrong. Call only in doubt; the first step in doubt.
  std::uint64_t end_doubt() { return std::exchange(doubt_, std::nullopt)->from; }

  // --- steps in which the next view compares all

  const std::optional<Steps>& compared_next() const { return compared_next_; }
  /// From `from` to `step`, which two have computed in another way, in a view that may compare some already.
  void compare_again(std::uint64_t from, std::uint64_t step, const View& view);
  /// Steps that the coordinator before this one gave up, of `done`: who was wrong in them may be a member.
  void compare_given_up(std::uint64_t done, const View& view);
  /// The view is made.
  void made_view() { compared_next_.reset(); }

 private:
  struct Doubt {
    std::uint64_t from;
    std::vector<std::uint32_t> slots;  // one of them was wrong
  };

  std::optional<std::uint64_t> from_;
  bool suspected_before_ = false;
  std::optional<Doubt> doubt_;
  std::optional<Steps> compared_next_;
  std::uint32_t reported_in_ = 0;  // the last view of which it is known that members differ; 0: none
  std::set<std::pair<std::uint8_t, std::vector<std::uint32_t>>> reported_;  // in it: what, and who
};

}  // namespace muster
