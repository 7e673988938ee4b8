// The coordinator as a node sees it: its term and the numbers that it has given, its silence, and one that
// was found and has not answered yet. Pure. For one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "actors/messages/view_messages.hpp"

namespace muster {

class CoordinatorLink {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// The highest that was seen; what comes from a lower one is of a dead coordinator.
  std::uint64_t term() const { return term_; }
  /// As the coordinator said last.
  const FreeNumbers& free_numbers() const { return free_; }

  void taken_in(std::uint64_t term, Time now);
  /// Whether this is not of a dead coordinator.
  bool follows(std::uint64_t term);
  /// One that was started anew has adopted this node.
  void adopted(std::uint64_t term);

  /// A sign of life; false: of a dead coordinator.
  bool heard(const Pulse& pulse, Time now);
  /// Whom it waits for is not what it said last, and somebody.
  bool waits_for_others(const std::string& waits_for);
  /// For how long it has been silent, if that is longer than `patience`. Once.
  std::optional<std::chrono::milliseconds> falls_silent(Time now, std::chrono::milliseconds patience);
  /// The silence that was told of is over. Once.
  bool ends_silence();

  /// This node stood still until now, and could hear nobody.
  void woke(Time now) { woke_ = now; }
  /// It is silent, and has been since this node wants to leave: nobody takes what the node holds. Half of
  /// the time that the node may take is left.
  bool lets_nobody_go(Time leaving_since, Time now, std::chrono::milliseconds patience,
                      std::chrono::milliseconds grace) const;

  /// A coordinator was found, and is asked to adopt this node.
  void found(Time now);
  void asked(Time now) { asked_ = now; }
  /// What to do where it does not answer. `drop`: the connection is to be made anew. What was sent over a new
  /// connection may go nowhere while the coordinator still holds the old one.
  enum class Next { wait, ask_again, drop };
  Next next_try(Time now, bool can_drop);

 private:
  std::uint64_t term_ = 0;
  FreeNumbers free_;
  Time heard_{};  ///< the last sign of life
  Time woke_{};
  bool silence_said_ = false;
  std::string waits_for_;      ///< as in Pulse
  std::optional<Time> found_;  ///< one from which nothing has come yet
  Time asked_{};
};

}  // namespace muster
