// Tells a run as a readable trace: virtual time, who, what.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "tests/simulation/cluster.hpp"
#include "tests/simulation/watch.hpp"

namespace muster::simulation {

/// "  1234.567 ms  "
std::string stamp(Nanoseconds time);

/// Several who look on.
class Watches final : public Watch {
 public:
  void add(Watch& watch) { all_.push_back(&watch); }

  void process_began(ProcessId p, const NodeName& name, std::uint64_t incarnation) override;
  void process_named(ProcessId p, const NodeName& name) override;
  void process_ended(ProcessId p) override;
  void record(ProcessId p, std::uint32_t view, const RoundRecord& record) override;
  void transferred(ProcessId p) override;
  void view_entered(ProcessId p, std::uint32_t view) override;
  void view_closed(ProcessId p, std::uint32_t view) override;
  void applied(ProcessId p, std::uint64_t step, std::span<const float> state) override;
  void sending(ProcessId p, const Frame& f, std::span<const std::byte> payload, std::uint64_t n) override;
  void send_ended(ProcessId p, std::uint64_t number, bool ok) override;
  void placed(ProcessId p, const Frame& frame, std::span<std::byte> place) override;
  void taken(ProcessId p, const Frame& frame, std::span<std::byte> payload) override;
  void arrived_in_place(ProcessId p, const Frame& frame) override;
  void revoked(ProcessId p, const Frame& frame) override { forward(&Watch::revoked, p, frame); }
  void dropped(ProcessId p, const Frame& frame) override;
  void sent(ProcessId from, ProcessId to, const caf::message& message) override;
  void delivered(ProcessId from, ProcessId to, const caf::message& message) override;
  void flipped(ProcessId p) override { forward(&Watch::flipped, p); }
  void computes_odd(ProcessId p, bool at_times) override { forward(&Watch::computes_odd, p, at_times); }
  void asked_to_go(ProcessId p) override { forward(&Watch::asked_to_go, p); }
  void keeps_alone(ProcessId p) override { forward(&Watch::keeps_alone, p); }
  void event(const Event& event) override;
  void mistake(const std::string& what) override;

 private:
  template <class... Parameters, class... Arguments>
  void forward(void (Watch::*what)(Parameters...), const Arguments&... arguments) {
    for (Watch* watch : all_) (watch->*what)(arguments...);
  }
  std::vector<Watch*> all_;
};

class Narrator final : public Watch {
 public:
  Narrator(Cluster& cluster, std::ostream* out) : cluster_(cluster), out_(out) {}

  void process_named(ProcessId p, const NodeName& name) override { say(p, "is " + name.text()); }
  void process_ended(ProcessId p) override { say(p, "its process has ended"); }
  void record(ProcessId p, std::uint32_t view, const RoundRecord& record) override;
  void transferred(ProcessId p) override { say(p, "a record has been transferred to it"); }
  void view_entered(ProcessId p, std::uint32_t view) override {
    say(p, "enters view " + std::to_string(view));
  }
  void view_closed(ProcessId p, std::uint32_t view) override {
    say(p, "has closed view " + std::to_string(view));
  }
  void applied(ProcessId p, std::uint64_t step, std::span<const float> state) override;
  void sending(ProcessId p, const Frame& f, std::span<const std::byte> payload, std::uint64_t n) override;
  void send_ended(ProcessId p, std::uint64_t number, bool ok) override;
  void placed(ProcessId p, const Frame& frame, std::span<std::byte> place) override;
  void taken(ProcessId p, const Frame& frame, std::span<std::byte> payload) override;
  void arrived_in_place(ProcessId p, const Frame& frame) override;
  void revoked(ProcessId p, const Frame& f) override { frame(p, "has read what was taken back of", f); }
  void dropped(ProcessId p, const Frame& frame) override;
  void sent(ProcessId from, ProcessId to, const caf::message& message) override;
  void delivered(ProcessId from, ProcessId to, const caf::message& message) override;
  void flipped(ProcessId p) override { say(p, "a bit of it is flipped"); }
  void event(const Event& event) override;

 private:
  void frame(ProcessId p, const std::string& what, const Frame& frame);
  void say(ProcessId who, const std::string& what);

  Cluster& cluster_;
  std::ostream* out_;
  std::map<ProcessId, std::uint64_t> applied_;
};

}  // namespace muster::simulation
