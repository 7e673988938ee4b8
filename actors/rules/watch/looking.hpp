// What a node says while it looks for its coordinator: what it tries, for how long, and what is wrong. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace muster {

/// Why an attempt has failed.
enum class NotFound {
  name_unknown,     ///< the resolver knows no such host; trying again changes nothing
  name_unanswered,  ///< no name server has answered; trying again may help
  refused,          ///< the host answers, and nobody listens on the port
  no_answer,        ///< neither the host nor a firewall answers, or there is no way to it
  no_coordinator,   ///< somebody listens who is no coordinator of this version
};

struct FailedLook {
  NotFound kind = NotFound::no_answer;
  std::string detail;  ///< of the system: "Connection refused"
};

class Looking {
 public:
  /// `address`: HOST:PORT, as it was given.
  Looking(std::string address, std::chrono::milliseconds patience);

  /// After each attempt that failed, `elapsed` after the first one began: what to say now, if anything. The
  /// first time at once, then where the reason is another one, and every 10 s.
  std::optional<std::string> failed(const FailedLook& look, std::chrono::milliseconds elapsed);

  /// Whether to look no longer; then final_report() says why, and what to do.
  bool gives_up(const FailedLook& look, std::chrono::milliseconds elapsed) const;
  std::string final_report(const FailedLook& look) const;

 private:
  std::string address_;
  std::chrono::milliseconds patience_;
  std::optional<NotFound> said_;
  std::chrono::milliseconds said_at_{0};
};

/// The same where a run is asked for that is said to be under way.
std::string no_coordinator_text(const std::string& address, const FailedLook& look);

}  // namespace muster
