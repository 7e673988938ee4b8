#include "actors/node/states/coordinator_link.hpp"

#include <algorithm>
#include <utility>

#include "actors/rules/watch/return_time.hpp"

namespace muster {

void CoordinatorLink::taken_in(std::uint64_t term, Time now) {
  term_ = term;
  heard_ = now;
}

bool CoordinatorLink::follows(std::uint64_t term) {
  if (term < term_) return false;
  term_ = term;
  return true;
}

void CoordinatorLink::adopted(std::uint64_t term) {
  term_ = std::max(term_, term);
}

bool CoordinatorLink::heard(const Pulse& pulse, Time now) {
  if (!follows(pulse.term)) return false;
  heard_ = now;
  found_.reset();
  free_.beyond(pulse.free);
  return true;
}

bool CoordinatorLink::waits_for_others(const std::string& waits_for) {
  return std::exchange(waits_for_, waits_for) != waits_for && !waits_for.empty();
}

std::optional<std::chrono::milliseconds> CoordinatorLink::falls_silent(Time now,
                                                                       std::chrono::milliseconds patience) {
  const auto silence = now - std::max(heard_, woke_);
  if (silence_said_ || silence < patience) return std::nullopt;
  silence_said_ = true;
  return std::chrono::duration_cast<std::chrono::milliseconds>(silence);
}

bool CoordinatorLink::ends_silence() {
  return std::exchange(silence_said_, false);
}

bool CoordinatorLink::lets_nobody_go(Time leaving_since, Time now, std::chrono::milliseconds patience,
                                     std::chrono::milliseconds grace) const {
  return now - std::max({leaving_since, heard_, woke_}) >= std::min(patience + kReturnMax, grace / 2);
}

void CoordinatorLink::found(Time now) {
  heard_ = now;
  found_ = now;
}

CoordinatorLink::Next CoordinatorLink::next_try(Time now, bool can_drop) {
  if (!found_ || now - asked_ < kConnectMax) return Next::wait;
  if (now - *found_ < kReturnMax || !can_drop) return Next::ask_again;
  found_.reset();
  return Next::drop;
}

}  // namespace muster
