#include "actors/user_calls/call_watch.hpp"

#include <algorithm>
#include <array>

#include "base/bounded/line_output.hpp"
#include "base/units.hpp"

namespace muster {

namespace {
constexpr auto kReportAfter = std::chrono::seconds(10);
}

void CallWatch::look() {
  const auto calls = note_.current();  // one thread makes them
  const bool same =
      !calls.empty() && call_ && calls.front().number == call_->number && calls.front().code == call_->code;
  if (same || (calls.empty() && !call_)) return;
  call_ = calls.empty() ? std::nullopt : std::optional(calls.front());
  since_ = told_ = Clock::now();
}

bool CallWatch::stuck_for(std::chrono::milliseconds patience) const {
  if (!call_ || Clock::now() - since_ < patience) return false;
  return std::ranges::none_of(std::array{"making ", "fingerprint()", "open()", "initialize()"},
                              [this](const char* slow) { return call_->what.starts_with(slow); });
}

bool CallWatch::not_begun_for(std::chrono::milliseconds patience) const {
  return note_.calls() == 0 && Clock::now() - since_ >= patience;
}

void CallWatch::report() {
  const auto now = Clock::now();
  const bool begun = note_.calls() > 0;
  if ((begun && !call_) || now - told_ < kReportAfter) return;
  told_ = now;
  const std::string what = begun ? call_->what : "what this program does before it calls muster::main";
  error_output().print("muster: before the run: " + what + " has been running for " +
                       human_duration(now - since_));
}

}  // namespace muster
