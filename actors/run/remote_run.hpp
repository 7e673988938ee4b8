// A run of another process, asked how it stands and told to end: what `muster status` and `muster stop` do.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "actors/messages/messages.hpp"
#include "muster/error.hpp"

namespace muster {

/// Nobody answers for the run any more, or nobody ever did.
class RunGone : public Error {
 public:
  using Error::Error;
};

class RemoteRun {
 public:
  static constexpr std::chrono::milliseconds kPatience{5000};

  /// `where`: HOST:PORT of the coordinator, or the run's checkpoint.folder. Of several jobs that share the
  /// folder `job` is the one that is meant; empty: the one that lives. Blocks for `patience` at most, beyond
  /// what the resolver takes. Throws RunGone, with what was tried and what to do.
  /// Where `where` is none of the two: Error.
  explicit RemoteRun(const std::string& where, const std::string& job = {},
                     std::chrono::milliseconds patience = kPatience);
  ~RemoteRun();
  RemoteRun(const RemoteRun&) = delete;
  RemoteRun& operator=(const RemoteRun&) = delete;

  /// HOST:PORT that it was reached by.
  const std::string& address() const;

  /// How it stands now. Throws RunGone.
  RunStatus status();

  /// Tells it to end: with checkpoint.folder it writes a last checkpoint first, unless it is to end `now`.
  /// Means nothing more to a run that ends already, but `now` cuts that short.
  void stop(const std::string& reason, bool now = false);

  /// Waits for its end, at most for so long; its last report, or nothing if it has not ended. Throws RunGone
  /// if it is gone without one.
  std::optional<RunStatus> wait(std::chrono::milliseconds most);

 private:
  struct Link;
  std::unique_ptr<Link> link_;
};

}  // namespace muster
