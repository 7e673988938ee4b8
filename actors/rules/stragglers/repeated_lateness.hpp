// Whether a node has said before that another one is late. A pure rule; times are handed in.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <tuple>

#include "actors/messages/view.hpp"

namespace muster {

class RepeatedLateness {
 public:
  using Time = std::chrono::nanoseconds;

  /// Where the time goes. Its own computation and its own data are one fault: a slow host has both.
  enum class Fault { own, link, loader };
  /// Who is late again within so many steps is slow; later it is another accident.
  static constexpr std::uint64_t kStepsRemembered = 8;

  /// `settles`: what is said again sooner says nothing new.
  explicit RepeatedLateness(Time settles) : settles_(settles) {}

  void clear() { said_.clear(); }
  /// `waiter` says that `late` is late in this step. Whether it says so again.
  bool said(const NodeName& waiter, const NodeName& late, Fault fault, std::uint64_t step, Time now);

 private:
  struct Said {
    Time first{0};
    std::uint64_t step = 0;  // the last one
  };

  Time settles_;
  std::map<std::tuple<NodeName, NodeName, Fault>, Said> said_;
};

}  // namespace muster
