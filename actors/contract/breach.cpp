#include "actors/contract/breach.hpp"

namespace muster {

std::string text_of(const Breach& breach) {
  std::string text = "breaks the contract '" + breach.check + "': " + breach.found;
  if (!breach.likely.empty()) text += "; " + breach.likely;
  return text;
}

ContractLog::ContractLog(std::chrono::milliseconds budget, std::function<Clock::time_point()> now)
    : now_(std::move(now)), began_(now_()), budget_(budget) {}

bool ContractLog::time_is_over() const {
  return now_() - began_ >= budget_;
}

bool ContractLog::begin(const std::string& check) {
  if (time_is_over()) {
    leave_out(check, budget_.count() == 0 ? "not asked for"
                                          : "no time was left of " + std::to_string(budget_.count()) + " ms");
    return false;
  }
  done_.push_back(check);
  return true;
}

void ContractLog::leave_out(const std::string& check, const std::string& why) {
  left_out_.push_back({check, why});
}

void ContractLog::give_up(const std::string& check, const std::string& why) {
  if (!done_.empty() && done_.back() == check) done_.pop_back();
  leave_out(check, why);
}

std::chrono::milliseconds ContractLog::took() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(now_() - began_);
}

}  // namespace muster
