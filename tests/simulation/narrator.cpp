#include "tests/simulation/narrator.hpp"

#include <cstdio>

#include "tests/simulation/frame_text.hpp"

namespace muster::simulation {

std::string stamp(Nanoseconds time) {
  char text[32];
  std::snprintf(text, sizeof text, "%12.3f ms  ", static_cast<double>(time.count()) / 1e6);
  return text;
}

void Watches::process_began(ProcessId p, const NodeName& name, std::uint64_t incarnation) {
  forward(&Watch::process_began, p, name, incarnation);
}
void Watches::process_named(ProcessId p, const NodeName& name) {
  forward(&Watch::process_named, p, name);
}
void Watches::process_ended(ProcessId p) {
  forward(&Watch::process_ended, p);
}
void Watches::record(ProcessId p, std::uint32_t view, const RoundRecord& record) {
  forward(&Watch::record, p, view, record);
}
void Watches::transferred(ProcessId p) {
  forward(&Watch::transferred, p);
}
void Watches::view_entered(ProcessId p, std::uint32_t view) {
  forward(&Watch::view_entered, p, view);
}
void Watches::view_closed(ProcessId p, std::uint32_t view) {
  forward(&Watch::view_closed, p, view);
}
void Watches::applied(ProcessId p, std::uint64_t step, std::span<const float> state) {
  forward(&Watch::applied, p, step, state);
}
void Watches::sending(ProcessId p, const Frame& f, std::span<const std::byte> payload, std::uint64_t n) {
  forward(&Watch::sending, p, f, payload, n);
}
void Watches::send_ended(ProcessId p, std::uint64_t number, bool ok) {
  forward(&Watch::send_ended, p, number, ok);
}
void Watches::placed(ProcessId p, const Frame& frame, std::span<std::byte> place) {
  forward(&Watch::placed, p, frame, place);
}
void Watches::taken(ProcessId p, const Frame& frame, std::span<std::byte> payload) {
  forward(&Watch::taken, p, frame, payload);
}
void Watches::arrived_in_place(ProcessId p, const Frame& frame) {
  forward(&Watch::arrived_in_place, p, frame);
}
void Watches::dropped(ProcessId p, const Frame& frame) {
  forward(&Watch::dropped, p, frame);
}
void Watches::sent(ProcessId from, ProcessId to, const caf::message& message) {
  forward(&Watch::sent, from, to, message);
}
void Watches::delivered(ProcessId from, ProcessId to, const caf::message& message) {
  forward(&Watch::delivered, from, to, message);
}
void Watches::event(const Event& event) {
  forward(&Watch::event, event);
}
void Watches::mistake(const std::string& what) {
  forward(&Watch::mistake, what);
}

void Narrator::say(ProcessId who, const std::string& what) {
  *out_ << stamp(cluster_.world().now()) << cluster_.world().name(who) << ": " << what << "\n";
}

void Narrator::record(ProcessId p, std::uint32_t view, const RoundRecord& record) {
  const char* kinds[] = {"a step", "an evaluation", "a greeting", "a sketch", "a check"};
  const bool end = record.kind == RoundKind::train && record.weight == 0;
  say(p, "has the record of " + std::string(end ? "an epoch's end" : kinds[static_cast<int>(record.kind)]) +
             " in view " + std::to_string(view) + ": epoch " + std::to_string(record.epoch) + ", step " +
             std::to_string(record.step));
}

void Narrator::applied(ProcessId p, std::uint64_t step, std::span<const float>) {
  if (std::exchange(applied_[p], step) != step) say(p, "has applied step " + std::to_string(step));
}

void Narrator::frame(ProcessId p, const std::string& what, const Frame& frame) {
  static const char* const kinds[] = {"?",       "header", "metrics", "contribution", "result",   "batch",
                                      "demand",  "record", "state",   "ping",         "status",   "taken",
                                      "reduced", "kept",   "part",    "gathered",     "received", "carried"};
  const auto kind = static_cast<std::size_t>(frame.kind);
  say(p, what + " " + (kind < std::size(kinds) ? kinds[kind] : "frame") + " of view " +
             std::to_string(frame.view) + " from peer " + std::to_string(frame.from) + ", number " +
             std::to_string(frame.round) + body_text(frame) + ", " + std::to_string(frame.bytes) + " bytes");
}

void Narrator::sending(ProcessId p, const Frame& f, std::span<const std::byte>, std::uint64_t n) {
  frame(p, "sends (" + std::to_string(n) + ")", f);
}

void Narrator::send_ended(ProcessId p, std::uint64_t number, bool ok) {
  if (!ok) say(p, "send " + std::to_string(number) + " has failed");
}

void Narrator::placed(ProcessId p, const Frame& f, std::span<std::byte> place) {
  if (place.empty()) frame(p, "refuses", f);
}

void Narrator::taken(ProcessId p, const Frame& f, std::span<std::byte>) {
  frame(p, "takes", f);
}

void Narrator::arrived_in_place(ProcessId p, const Frame& f) {
  frame(p, "borrows", f);
}

void Narrator::dropped(ProcessId p, const Frame& f) {
  frame(p, "drops", f);
}

void Narrator::sent(ProcessId from, ProcessId to, const caf::message& message) {
  if (message.match_elements<Heartbeat>() || message.match_elements<Welcome>()) return;
  say(from, "sends to " + cluster_.world().name(to) + ": " + caf::to_string(message));
}

void Narrator::delivered(ProcessId from, ProcessId to, const caf::message& message) {
  if (message.match_elements<Heartbeat>() || message.match_elements<Welcome>()) return;
  const std::string text = caf::to_string(message);
  say(to, "hears from " + cluster_.world().name(from) + ": " + text.substr(0, 60));
}

void Narrator::event(const Event& event) {
  *out_ << stamp(cluster_.world().now()) << "EVENT " << to_json_line(event) << "\n";
}

}  // namespace muster::simulation
