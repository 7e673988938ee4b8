#include "actors/node/states/own_reports.hpp"

#include <algorithm>
#include <utility>

namespace muster {

void OwnReports::entered(const View& view) {
  broken_.clear();
  if (view.last) failure_.reset();  // it may still write what it holds, or fail at that
  unlike_.reset();
  went_back_.reset();
  clean_.clear();
  for (const Member& member : view.replicas) clean_.push_back(member.clean);
}

bool OwnReports::failed(const Failing& failure) {
  if (failure_) return false;
  failure_ = failure;
  return true;
}

void OwnReports::connected(const NodeName& peer) {
  std::erase_if(broken_, [&](const Failing& each) { return each.peer == peer; });
}

std::vector<Failing> OwnReports::complaints(Time now, std::chrono::milliseconds patience) {
  if (broken_.empty() || now - complained_at_ < patience) return {};
  complained_at_ = now;
  return broken_;
}

bool OwnReports::holds_back(const Progress& progress) {
  if (unheard_ < kUnheardMax) {
    ++unheard_;
    return false;
  }
  held_back_ = progress;
  return true;
}

std::optional<Progress> OwnReports::heard() {
  unheard_ = 0;
  return std::exchange(held_back_, std::nullopt);
}

}  // namespace muster
