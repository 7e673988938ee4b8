#include "actors/rules/watch/suspicion.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace muster {

namespace {

// A detector that runs up to this many ticks late is merely scheduled; beyond, it was stopped.
constexpr int kTicksOfSlack = 4;

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

void PhiAccrual::heard(Time now) {
  if (std::exchange(heard_any_, true)) {
    const double interval = seconds(now - last_);
    intervals_s_.push_back(interval);
    sum_s_ += interval;
    squares_s2_ += interval * interval;
    if (intervals_s_.size() > kWindow) {
      sum_s_ -= intervals_s_.front();
      squares_s2_ -= intervals_s_.front() * intervals_s_.front();
      intervals_s_.pop_front();
    }
  }
  last_ = now;
}

void PhiAccrual::skip(Time lost, Time now) {
  if (heard_any_) last_ = std::min(last_ + lost, now);
}

double PhiAccrual::phi(Time now) const {
  if (!heard_any_) return 0;
  double mean = seconds(interval_), deviation = mean;
  if (intervals_s_.size() >= 2) {
    const double count = static_cast<double>(intervals_s_.size());
    mean = sum_s_ / count;
    deviation = std::max(deviation, std::sqrt(std::max(0.0, squares_s2_ / count - mean * mean)));
  }
  const double later = 0.5 * std::erfc((seconds(now - last_) - mean) / (deviation * std::sqrt(2.0)));
  return later > 0 ? std::min(-std::log10(later), kPhiMax) : kPhiMax;
}

void Suspicion::heard(const NodeName& name, Time now) {
  watched_.try_emplace(name, Watched{PhiAccrual(options_.heartbeat)}).first->second.accrual.heard(now);
}

Suspicion::Judgement Suspicion::judge(Time now) {
  Judgement judgement;
  const Time since = now - last_run_;
  last_run_ = now;
  const bool was_late = std::exchange(late_, since > kTicksOfSlack * options_.tick);
  if (late_) {
    judgement.late = since - options_.tick;
    for (auto& [name, watched] : watched_) watched.accrual.skip(judgement.late, now);
    if (!was_late) return judgement;
  }
  for (auto& [name, watched] : watched_) {
    const double phi = watched.accrual.phi(now);
    const Time silence = watched.accrual.silence(now);
    const bool suspected = phi >= options_.threshold;
    if (suspected != watched.suspected) {
      watched.suspected = suspected;
      judgement.changed.push_back({name, suspected ? Kind::suspected : Kind::trusted, phi, silence});
    }
    if (silence >= options_.patience) judgement.changed.push_back({name, Kind::silent, phi, silence});
  }
  return judgement;
}

Suspicion::Time Suspicion::last_heard(const NodeName& name) const {
  const auto found = watched_.find(name);
  return found == watched_.end() ? Time{0} : found->second.accrual.last_heard();
}

std::optional<Suspicion::Time> Suspicion::silence(const NodeName& name, Time now) const {
  const auto found = watched_.find(name);
  if (found == watched_.end()) return std::nullopt;
  return found->second.accrual.silence(now);
}

std::vector<NodeName> Suspicion::names() const {
  std::vector<NodeName> all;
  for (const auto& [name, watched] : watched_) all.push_back(name);
  return all;
}

}  // namespace muster
