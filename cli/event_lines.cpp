#include "cli/event_lines.hpp"

#include <cctype>
#include <chrono>
#include <map>

#include "base/count_of.hpp"
#include "base/units.hpp"
#include "cli/format.hpp"
#include "config/values/address.hpp"

namespace muster::cli {

namespace {

long long whole(const Event& event, const char* key) {
  return static_cast<long long>(event.integer(key));
}

std::string time_of(const Event& event, const char* key) {
  return human_duration(std::chrono::duration<double, std::milli>(event.number(key)));
}

// Of one on another machine, or that is reached over a network.
std::string place_of(const Event& event) {
  const std::string address = event.text("address");
  return address.empty() || is_loopback(address) ? "" : event.text("host") + " (" + address + ")";
}

std::string node_of(const Event& event) {
  for (const char* kind : {"replica", "loader"}) {
    if (!event.has(kind)) continue;
    const std::string place = place_of(event);
    return format("%s %lld", kind, whole(event, kind)) + (place.empty() ? "" : " on " + place);
  }
  return {};
}

std::string waiting(const Event& event) {
  const auto count = [&](const char* key) { return static_cast<std::uint64_t>(event.integer(key)); };
  const std::string loaders = count("loaders") > 0 ? " and " + count_of(count("loaders"), "loader") : "";
  return "waits for " + count_of(count("replicas"), "replica") + loaders + "; fails if none comes for " +
         time_of(event, "patience_ms") +
         format(" (%lld times cluster.start_patience)", whole(event, "patience_times"));
}

std::string arrived(const Event& event) {
  const std::string text = node_of(event) + " has come";
  return event.has("places") ? text + format(": %lld of %lld", whole(event, "here"), whole(event, "places"))
                             : text;
}

std::string reason(const Event& event) {
  return event.name + ": " + event.text("reason");
}

std::string of_the_run(const Event& event) {
  return "muster: " + reason(event);
}

// A reason may begin with the node's name itself.
std::string with_node(const Event& event, const std::string& text) {
  for (const char* kind : {"replica", "loader"}) {
    const std::string name = format("%s %lld", kind, whole(event, kind));
    const bool begins = event.has(kind) && text.starts_with(name);
    if (begins &&
        (text.size() == name.size() || !std::isdigit(static_cast<unsigned char>(text[name.size()]))))
      return text;
  }
  const std::string node = node_of(event);
  return node.empty() ? text : node + ": " + text;
}

std::string lost(const Event& event) {
  const std::string shards = event.text("shards");
  const bool holds_any = !shards.empty() && shards != "-";
  return "lost: " + node_of(event) + (holds_any ? ", shards " + shards : "") +
         format(", at step %lld: ", whole(event, "step")) + event.text("reason");
}

std::string refused(const Event& event) {
  return "refused: " + with_node(event, event.text("reason"));
}

std::string late(const Event& event) {
  std::string text = "late: " + node_of(event) + ": waited " + time_of(event, "waited_ms") + " for " +
                     event.text("waited_for");
  if (event.has("cause")) text += " (cause: " + event.text("cause") + ")";
  return text;
}

std::string paused(const Event& event) {
  return "paused: waits up to " + time_of(event, "give_up_ms") + " for " + event.text("waits_for");
}

std::string heard_again(const Event& event) {
  return "heard again after " + time_of(event, "after_ms") + ": the run goes on";
}

std::string recovered(const Event& event) {
  return format("recovered: step %lld is done, ", whole(event, "step")) + time_of(event, "after_ms") +
         " after the loss";
}

std::string restarted(const Event& event) {
  return format("restarted: waits for the %lld replicas of view %lld", whole(event, "members"),
                whole(event, "view"));
}

std::string corrupt(const Event& event) {
  return "corrupt: " + event.text("text") + "; " + event.text("action") + "; " + event.text("advice");
}

std::string went_back(const Event& event) {
  return format("went back: on from step %lld: ", whole(event, "to_step")) + event.text("reason");
}

// How much room is missing.
std::string checkpoint_delayed(const Event& event) {
  std::string room = format(" (%lld bytes are needed", whole(event, "needed_bytes"));
  if (event.integer("free_bytes") >= 0) room += format(", %lld are free", whole(event, "free_bytes"));
  return of_the_run(event) + room + "; tried again in " + time_of(event, "again_ms") + "); " +
         event.text("advice");
}

std::string checkpoint_spared(const Event& event) {
  return "muster: checkpoint_spared: the weights are in " + event.text("path") + " (" + event.text("reason") +
         ")";
}

std::string checkpoint_failed(const Event& event) {
  return of_the_run(event) + "; " + event.text("advice");
}

std::string exhausted(const Event& event) {
  if (event.text("scope") != "job") return {};
  return "exhausted: " + event.text("what") +
         format(" asked for %lld, there were %lld", whole(event, "asked"), whole(event, "had"));
}

std::string view(const Event& event) {
  const long long members = whole(event, "members");
  return format("%lld replica%s ready  (", members, members == 1 ? "" : "s") + event.text("transport") + ")";
}

std::string evaluated(const Event& event) {
  return format("epoch %lld  test loss %.4f  accuracy %.4f", whole(event, "epoch"), event.number("loss"),
                event.number("accuracy"));
}

std::string resumed(const Event& event) {
  const std::string passed_over = event.text("passed_over");
  return format("resumed after step %lld, epoch %lld, from ", whole(event, "step"), whole(event, "epoch")) +
         event.text("path") + (passed_over.empty() ? "" : "; passed over: " + passed_over);
}

std::string progress(const Event& event) {
  std::string text = format("epoch %lld  step %lld  loss %.4f  learning rate %.4g", whole(event, "epoch"),
                            whole(event, "step"), event.number("loss"), event.number("learning_rate"));
  if (event.has("samples_per_second")) text += format("  %.0f samples/s", event.number("samples_per_second"));
  return text;
}

struct Row {
  std::string (*text)(const Event&);
  bool always;
};

const std::map<std::string, Row>& table() {
  static const std::map<std::string, Row> rows{
      {"failed", {of_the_run, true}},
      {"interrupted", {of_the_run, true}},
      {"state_not_kept", {of_the_run, true}},
      {"journal_delayed", {of_the_run, true}},
      {"notice", {[](const Event& event) { return "notice: " + event.text("text"); }, true}},
      {"checkpoint_delayed", {checkpoint_delayed, true}},
      {"checkpoint_spared", {checkpoint_spared, true}},
      {"checkpoint_failed", {checkpoint_failed, true}},
      {"lost", {lost, true}},
      {"paused", {paused, true}},
      {"heard_again", {heard_again, true}},
      {"restarted", {restarted, true}},
      {"corrupt", {corrupt, true}},
      {"went_back", {went_back, true}},
      {"diverged", {[](const Event& event) { return "diverged: " + event.text("what"); }, true}},
      {"waiting", {waiting, false}},
      {"arrived", {arrived, false}},
      {"left", {[](const Event& event) { return "left: " + node_of(event); }, false}},
      {"returned", {[](const Event& event) { return node_of(event) + " is back"; }, false}},
      {"progress", {progress, false}},
      {"late", {late, false}},
      {"recovered", {recovered, false}},
      {"refused", {refused, false}},
      {"exhausted", {exhausted, false}},
      {"view", {view, false}},
      {"evaluated", {evaluated, false}},
      {"resumed", {resumed, false}}};
  return rows;
}

}  // namespace

std::optional<EventLine> line_of(const Event& event) {
  const auto row = table().find(event.name);
  if (row == table().end()) return std::nullopt;
  std::string text = row->second.text(event);
  if (text.empty()) return std::nullopt;
  const bool not_the_newest = event.name == "resumed" && !event.text("passed_over").empty();
  return EventLine{std::move(text), row->second.always || not_the_newest};
}

}  // namespace muster::cli
