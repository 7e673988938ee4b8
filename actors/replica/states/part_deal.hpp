// How far the parts of what replicas hold in parts are dealt in a view: each gives what others need of its
// part, and takes what its new one needs, before the first round. Pure. For one thread at a time.
#pragma once

#include <cstdint>
#include <utility>

#include "actors/messages/view.hpp"

namespace muster {

class PartDeal {
 public:
  /// What becomes of the parts that are held when a view begins.
  struct Entry {
    bool next_counts = false;  ///< the view before had taken effect at somebody: its new part is the part now
    bool has_none = false;     ///< what is held is of no view that counts
  };
  Entry enter(const PartSource& source, std::uint32_t view);

  /// A record of this view was taken: what was held before it is of no use. False: it was one before this.
  bool take_effect(std::uint32_t view) { return std::exchange(took_, view) != view; }
  /// The latest view of which a record was taken.
  std::uint32_t took() const { return took_; }

  /// Whether the deal begins now; true once in a view.
  bool begin();
  bool given() const { return given_; }
  bool done() const { return done_; }
  /// Nothing has to be dealt: all have what they need.
  void skip() { done_ = true; }
  /// The compute thread is asked for something, and works on it until `worked`.
  void ask() { ++at_work_; }
  bool is_worked_on() const { return at_work_ > 0; }

  enum class Step {
    none,   ///< nothing follows
    lacks,  ///< all is given, and parts of others are still to come
    done,   ///< all is dealt
  };
  /// `gave`: all that others need is on its way. `complete`: all that is needed here is there.
  Step worked(bool gave, bool complete);

 private:
  int at_work_ = 0;
  bool done_ = true, begun_ = false, given_ = false, complete_ = false;
  std::uint32_t took_ = 0;
  std::uint32_t next_ = 0;  // the view that the new part is of
};

}  // namespace muster
