// The attempts of a run, and the verdicts that this coordinator gives on steps of them
// (checkpoint_verdicts.hpp): which attempt this is, which checkpoints count no more, and whether the folder
// of checkpoints says so. Pure: whoever holds it reads and writes the folder. For one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "actors/checkpoint/checkpoint_verdicts.hpp"

namespace muster {

class AttemptVerdicts {
 public:
  // --- the attempt

  /// The history of this attempt.
  std::uint64_t history() const { return history_; }
  bool of_this_run(std::uint64_t history) const { return of_one_run(history, history_); }
  void begin(std::uint64_t history) { history_ = history; }
  /// Steps of it are given up: the next view begins another attempt.
  void give_up() { given_up_ = true; }
  void goes_on() { given_up_ = false; }
  /// A view is made: its history.
  std::uint64_t enter();

  // --- the verdicts

  /// The coordinator was started again, and the folder holds these. The first step that they suspect of this
  /// attempt and of those before it, which are given up; nothing: none.
  std::optional<std::uint64_t> remember(const std::vector<Verdict>& in_folder);
  /// Steps from `from` on count no more, of this attempt and of those before it.
  void add(std::uint64_t from);
  /// The coordinator was started again, and its view went back to `step`: what was done behind it in the
  /// attempt before `history` does not count. False: the folder says so already.
  [[nodiscard]] bool add_abandoned(std::uint64_t history, std::uint64_t step,
                                   const std::vector<Verdict>& in_folder);
  const std::vector<Verdict>& all() const { return all_; }
  bool are_on(std::uint64_t history, std::uint64_t step) const { return is_void(all_, history, step); }

  // --- whether the folder says so

  bool marked() const { return marked_; }
  /// The folder has taken all of them, or refused one.
  void mark(bool taken) { marked_ = taken; }
  /// Called at each tick: whether to try once more, for the folder refused.
  bool tries_again();
  /// It has taken all of them now.
  void marked_late();

  enum class Notice { none, not_marked, stay };  ///< what is worth telling, once
  /// Checkpoints were to be marked and to be renamed. Either is enough for those that are there.
  Notice set_aside(bool marked, bool renamed);
  /// The folder takes neither: checkpoints that may hold wrong results look like good ones.
  bool suspects_stay() const { return suspects_stay_; }

 private:
  static constexpr int kTicksBetweenTries = 20;

  std::uint64_t history_ = 1;
  bool given_up_ = false;
  std::vector<Verdict> all_;
  bool marked_ = true;
  int ticks_ = 0;  // while they are not marked
  bool suspects_stay_ = false;
};

}  // namespace muster
