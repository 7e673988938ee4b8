// What follows when replicas cannot go back to the checkpoint that their view begins with: a pure rule. One
// that some can read is whole: who cannot does not see the folder, unless it looked while that was away. One
// that somebody has read, and nobody can go on from, is damaged: an older one is taken. Where nobody has read
// it, since the disk refuses or the file is not there, it may be whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "actors/messages/disk_retry.hpp"

namespace muster {

class GoingBack {
 public:
  enum class Act { nothing, wait, lose, older, away, gone };
  struct Verdict {
    Act act = Act::nothing;
    std::vector<std::uint32_t> slots;  ///< lose: those who cannot. wait: those who have not said yet
    bool any_can = false;
  };

  /// A view is entered; what was said of the one before does not count.
  void entered() { said_.clear(); }
  /// Replica `slot` has gone back, or `why` it cannot.
  void said(std::uint32_t slot, const std::string& why, Unread unread = Unread::no) {
    said_[slot] = {why, unread};
  }
  /// Who cannot is lost as soon as another one can; who did not find it may look again. Who says nothing is
  /// waited for once others have spoken.
  Verdict judge(const std::vector<std::uint32_t>& members) const;
  /// The reason of this replica; empty: it has none, or has said nothing.
  std::string why(std::uint32_t slot) const;
  /// Why it has not read the checkpoint; `no`: it has, or has said nothing.
  Unread unread(std::uint32_t slot) const;
  /// Somebody has read the checkpoint, and found that it is no good.
  bool any_has_read() const;
  /// Of one that has read the checkpoint, if any has.
  std::string why() const;
  /// What a disk said that refused; empty: none did.
  std::string refusal() const;

 private:
  struct Answer {
    std::string why;
    Unread unread = Unread::no;
  };
  std::map<std::uint32_t, Answer> said_;
};

}  // namespace muster
