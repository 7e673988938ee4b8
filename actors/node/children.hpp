// The processes that a launcher starts. Each ends with its parent; whoever is left at the end is ended by
// force.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "actors/messages/messages.hpp"
#include "actors/user_calls/call_note.hpp"

namespace muster {

/// The exit code of a launched process that lives, was lost by the others, and could come back.
inline constexpr int kEvictedCode = 75;

class Children {
 public:
  Children() = default;
  ~Children();  ///< kills and reaps
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  /// Starts `command` in a process group of its own (a terminal's Ctrl-C does not reach it), without input,
  /// its output on stderr, and all its threads on these cores (empty: on all). `launched`: a number of this
  /// start, by which it is known. Throws Error.
  pid_t start(const NodeName& name, const std::vector<std::string>& command, const std::vector<int>& cores,
              std::uint64_t launched);

  struct Ended {
    NodeName name;
    pid_t pid = 0;
    std::uint64_t launched = 0;
    /// "exited with code 1", "was ended by signal 11 (Segmentation fault) in gradient() of model 'x' (step 7,
    /// shard 3)".
    std::string how;
    bool in_user_code = false;  ///< as `how` says
    bool by_signal = false;     ///< that Children has not sent
    bool good = false;
    bool evicted = false;  ///< it exited with kEvictedCode

    std::string text() const { return name.text() + " " + how; }
  };
  /// A child that has ended and was not told before.
  std::optional<Ended> next_ended();

  /// Descriptors that become readable when a child ends.
  std::vector<int> descriptors() const;

  std::vector<NodeName> names() const;
  /// Keeps all threads of a child on these cores from now on. Throws Error.
  void move(const NodeName& name, const std::vector<int>& cores);

  bool any() const { return !running_.empty(); }
  void kill_all();
  /// The child with this number of its start, unless it has ended.
  void kill(std::uint64_t launched);
  /// Waits for all to end; kills those that have not within `patience`. Returns those that had not been told.
  std::vector<Ended> end_within(std::chrono::milliseconds patience);

 private:
  void reap_within(std::chrono::milliseconds patience, std::vector<Ended>& ended);

  struct Child {
    NodeName name;
    pid_t pid;
    int descriptor;
    std::uint64_t launched;
    std::shared_ptr<CallNote> note;  // what of the user's code it is in
    bool killed = false;             // by this object
  };
  static std::string user_code_of(const Child& child, int status);
  static void kill(Child& child);
  std::vector<Child> running_;
};

}  // namespace muster
