// How a reduction ends, by itself or with its view: what goes wrong first is told, once. Nothing follows.
//
// Thread rule: that of the reduction, which it belongs to.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "transport/collective/rounds/round.hpp"
#include "transport/collective/rounds/round_check.hpp"
#include "transport/transport.hpp"

namespace muster {

/// Whom a reduction tells what.
struct ReductionHooks {
  /// The record may be changed until it is shared.
  std::function<void(std::shared_ptr<RoundRecord>)> done;
  std::function<void(const std::string& reason)> failed;  ///< at most once; nothing follows
  /// The clock, for the record's arrival times; none: they are 0.
  std::function<std::chrono::nanoseconds()> now = nullptr;
  /// In place of `failed`, for an error of this member alone (no memory, a lost GPU); none: `failed`.
  std::function<void(const std::string& reason)> broke = nullptr;
  /// A member has sent what cannot be; nothing follows. None: it has failed.
  std::function<void(PeerId peer, const std::string& reason)> wrong = nullptr;
  /// Members hold other bits; nothing follows, unless the shape goes on with them. None: it has failed.
  std::function<void(const Unlike& found)> unlike = nullptr;
};

class ReductionEnd {
 public:
  /// `hooks` outlive this object. `close`: lets go of what others wait for; is called before they are told.
  /// `goes_on_unlike`: members with other bits are told of, once, and go on together.
  ReductionEnd(const ReductionHooks& hooks, bool goes_on_unlike, std::function<void()> close)
      : hooks_(hooks), goes_on_unlike_(goes_on_unlike), close_(std::move(close)) {}

  bool reached() const { return reached_; }
  /// What is under way runs out. Whoever calls it says why.
  void close();
  void fail(const std::string& reason);
  /// An error of this member alone.
  void fail_here(const std::string& reason);
  /// What a member has sent was damaged on its way, or it does not keep to the protocol: the others may go on
  /// without it.
  void blame(PeerId peer, const std::string& what);
  /// Returns whether the round goes on with what was found of the members' bits. That is told once in a view.
  bool goes_on(const std::optional<Unlike>& found);

 private:
  const ReductionHooks& hooks_;
  const bool goes_on_unlike_;
  const std::function<void()> close_;
  bool reached_ = false;
  bool unlike_told_ = false;
};

}  // namespace muster
