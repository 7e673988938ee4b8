#include "actors/rules/watch/looking.hpp"

#include <utility>

#include "base/units.hpp"

namespace muster {

namespace {

constexpr std::chrono::milliseconds kSaidAgain{10000};

std::string what_is_wrong(const FailedLook& look) {
  switch (look.kind) {
    case NotFound::name_unknown:
      return "this host name is not known (" + look.detail + ")";
    case NotFound::name_unanswered:
      return "this host name cannot be looked up (" + look.detail + ")";
    case NotFound::refused:
      return "nothing listens there yet (" + look.detail + ")";
    case NotFound::no_answer:
      return "no answer (" + look.detail + ")";
    case NotFound::no_coordinator:
      return "something listens there, and does not answer as a coordinator of this version does: another "
             "program, "
             "or a coordinator that is stopped";
  }
  return look.detail;
}

const char* what_to_do(NotFound kind) {
  switch (kind) {
    case NotFound::name_unknown:
      return "give a name that `getent hosts` finds on this machine, or an address";
    case NotFound::name_unanswered:
      return "give the host's address instead, or an entry in /etc/hosts, or see which name servers "
             "/etc/resolv.conf has";
    case NotFound::refused:
      return "start `muster coordinate` there, with this address and port as --listen";
    case NotFound::no_answer:
      return "is the host up, and do the firewalls on the way let this port through?";
    case NotFound::no_coordinator:
      return "is it the port of `muster coordinate`, and `muster --version` the same on both hosts?";
  }
  return "";
}

}  // namespace

Looking::Looking(std::string address, std::chrono::milliseconds patience)
    : address_(std::move(address)), patience_(patience) {}

std::optional<std::string> Looking::failed(const FailedLook& look, std::chrono::milliseconds elapsed) {
  const bool first = !said_;
  if (!first && *said_ == look.kind && elapsed - said_at_ < kSaidAgain) return std::nullopt;
  said_ = look.kind;
  said_at_ = elapsed;
  const std::string tries =
      first ? "looks for the coordinator at " + address_ + " for up to " + human_duration(patience_)
            : "has looked for the coordinator at " + address_ + " for " + human_duration(elapsed) + " of " +
                  human_duration(patience_);
  return tries + ": " + what_is_wrong(look);
}

bool Looking::gives_up(const FailedLook& look, std::chrono::milliseconds elapsed) const {
  return look.kind == NotFound::name_unknown || elapsed >= patience_;
}

std::string Looking::final_report(const FailedLook& look) const {
  const std::string when = look.kind == NotFound::name_unknown ? "" : " within " + human_duration(patience_);
  return "no coordinator at " + address_ + when + ": " + what_is_wrong(look) + "; " + what_to_do(look.kind);
}

std::string no_coordinator_text(const std::string& address, const FailedLook& look) {
  const bool refused = look.kind == NotFound::refused;
  return "no coordinator at " + address + ": " +
         (refused ? "nothing listens there; the run has ended, or has another address"
                  : what_is_wrong(look) + "; " + what_to_do(look.kind));
}

}  // namespace muster
