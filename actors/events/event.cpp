#include "actors/events/event.hpp"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/check.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

constexpr std::uint8_t kInteger = 0, kNumber = 1, kText = 2, kBoolean = 3;

const EventField* find_field(const Event& event, std::string_view key) {
  for (const EventField& field : event.fields) {
    if (field.key == key) return &field;
  }
  return nullptr;
}

EventField make_field(const std::string& key, const EventValue& value) {
  EventField field;
  field.key = key;
  field.kind = static_cast<std::uint8_t>(value.index());
  if (const auto* integer = std::get_if<std::int64_t>(&value)) field.integer = *integer;
  if (const auto* number = std::get_if<double>(&value)) field.number = *number;
  if (const auto* text = std::get_if<std::string>(&value)) field.text = *text;
  if (const auto* boolean = std::get_if<bool>(&value)) field.integer = *boolean ? 1 : 0;
  return field;
}

const char* kind_name(std::uint8_t kind) {
  static const char* const names[] = {"integer", "number", "text", "boolean"};
  return names[kind];
}

// Fields that many events have.
const EventFieldSpec& replica() {
  static const EventFieldSpec field{"replica", kInteger, false, "number of the replica"};
  return field;
}
const EventFieldSpec& loader() {
  static const EventFieldSpec field{"loader", kInteger, false, "number of the loader process"};
  return field;
}
const EventFieldSpec& epoch() {
  static const EventFieldSpec field{"epoch", kInteger, true, "epoch, from 1"};
  return field;
}
const EventFieldSpec& step() {
  static const EventFieldSpec field{"step", kInteger, true, "step, from 1"};
  return field;
}
const EventFieldSpec& reason() {
  static const EventFieldSpec field{"reason", kText, true, "why, as text for people"};
  return field;
}

std::vector<EventSpec> events_of_membership() {
  return {
      {"started",
       "The run has begun.",
       "once, first of all",
       "coordinator",
       {{"job", kText, true, "name of the job"},
        {"replicas", kInteger, true, "replicas asked for"},
        {"shards", kInteger, true, "shards"},
        {"loaders", kInteger, true, "loader processes asked for"}}},
      {"listening",
       "The coordinator can be reached, by its nodes and by `muster status` and `muster stop`.",
       "once, unless all replicas are threads of its process",
       "coordinator",
       {{"address", kText, true, "HOST:PORT"}}},
      {"waiting",
       "The coordinator waits for nodes that are started by hand, not for ever.",
       "at its start, unless it finds the members of a run that goes on",
       "coordinator",
       {{"replicas", kInteger, true, "replicas that the run begins with"},
        {"loaders", kInteger, true, "loader processes that it begins with"},
        {"patience_ms", kNumber, true, "without a new node for so long, the run fails"},
        {"patience_times", kInteger, true, "the same as a multiple of `cluster.start_patience`"}}},
      {"notice",
       "Something that is allowed, but may not be what was meant.",
       "when it is found",
       "coordinator",
       {{"text", kText, true, "the notice"}}},
      {"arrived",
       "A replica or a loader has connected. It opens its data and builds its model; it is no member yet.",
       "when the coordinator has given it its number",
       "coordinator",
       {replica(),
        loader(),
        {"pid", kInteger, true, "process"},
        {"here", kInteger, false, "before the first view: how many of its kind have connected"},
        {"places", kInteger, false, "before the first view: how many of its kind the run waits for"}}},
      {"joined",
       "A replica or a loader is part of a view.",
       "when the first view that holds it is installed",
       "coordinator",
       {replica(),
        loader(),
        {"pid", kInteger, true, "process"},
        {"device", kText, true, "device, \"-\" for a loader"},
        {"view", kInteger, true, "number of the view"}}},
      {"state_transferred",
       "A replica has sent a newcomer its state, and the records of the steps since then.",
       "when the view begins that holds the newcomer",
       "the replica that sent it",
       {{"replica", kInteger, true, "number of the replica that sent it"},
        {"to", kInteger, true, "number of the newcomer"},
        {"bytes", kInteger, true, "bytes that have arrived"},
        {"seconds", kNumber, true, "from the first byte to the view"},
        {"share", kNumber, true,
         "share of this time in which bytes were under way; at most `cluster.join_share`, unless no steps "
         "ran or the newcomer would never have caught up"},
        {"step_ms_before", kNumber, true,
         "median time of the last steps before the transfer; 0: there were none"},
        {"step_ms", kNumber, true, "median time of the steps during the transfer; 0: there were none"}}}};
}

std::vector<EventSpec> events_of_views() {
  return {{"view",
           "A view is in force: every two members have exchanged a first message.",
           "before its first step",
           "coordinator",
           {{"view", kInteger, true, "number of the view"},
            {"members", kInteger, true, "replicas in it"},
            {"transport", kText, true, "transports between the members"}}},
          {"restarted",
           "A coordinator was started again, and waits for the members of the last view.",
           "at its start, if the journal is of a run that has not ended",
           "coordinator",
           {{"term", kInteger, true, "number of the start"},
            {"view", kInteger, true, "number of the last view"},
            {"members", kInteger, true, "replicas in it"}}},
          {"returned",
           "A member of the last view has come back to a coordinator that was started again.",
           "when all members that are left have come back",
           "coordinator",
           {replica(),
            loader(),
            {"pid", kInteger, true, "process"},
            {"device", kText, true, "device, \"-\" for a loader"}}},
          {"paused",
           "Nodes are missing: the coordinator decides nothing until they come, at most for "
           "cluster.give_up_after.",
           "when a view cannot be made; when all replicas, or most members, fall silent at once",
           "coordinator",
           {{"view", kInteger, true, "number of the last view"},
            {"waits_for", kText, true, "what is missing"},
            {"give_up_ms", kNumber, true, "how long the coordinator waits before the run fails"}}},
          {"heard_again",
           "The coordinator receives heartbeats again of members that had fallen silent together; their view "
           "goes on.",
           "after `paused`, if no view has followed",
           "coordinator",
           {{"view", kInteger, true, "number of the view"}, {"after_ms", kNumber, true, "since `paused`"}}},
          {"recovered",
           "The first step after a loss is committed.",
           "once for each view that follows a loss",
           "coordinator",
           {{"view", kInteger, true, "number of the view"},
            {"step", kInteger, true, "the step"},
            {"after_ms", kNumber, true, "time since the loss was noticed"}}},
          {"left",
           "A replica or a loader has ended in good order.",
           "after its last report",
           "coordinator",
           {replica(), loader(), {"pid", kInteger, true, "process"}}}};
}

std::vector<EventSpec> events_of_data() {
  return {
      {"short",
       "A micro-batch with fewer rows than others of the same step.",
       "at a step in which not every shard is short",
       "replica 0",
       {{"scope", kText, true, "\"shard\""},
        {"shard", kInteger, true, "shard"},
        epoch(),
        step(),
        {"rows", kInteger, true, "rows that it has"},
        {"full", kInteger, true, "rows of a full one"}}},
      {"exhausted",
       "The data has ended: of a shard while others go on, or of the job before what was asked.",
       "scope \"shard\": at the first step that the shard is absent from; scope \"job\": when it is known",
       "replica 0 (shard), coordinator (job)",
       {{"scope", kText, true, "\"shard\" or \"job\""},
        {"shard", kInteger, false, "shard"},
        {"epoch", kInteger, false, "epoch, from 1"},
        {"step", kInteger, false, "first step without the shard"},
        {"what", kText, false, "what was asked for: \"data.take\" or \"train.steps\""},
        {"asked", kInteger, false, "how many were asked for"},
        {"had", kInteger, false, "how many there were"}}},
      {"starved",
       "A replica waited for a micro-batch longer than its step computes.",
       "after such a step, from 5 ms of waiting on",
       "replica",
       {{"replica", kInteger, true, "number of the replica"},
        epoch(),
        step(),
        {"waited_ms", kNumber, true, "time without a micro-batch"},
        {"computed_ms", kNumber, true, "time of computing"}}}};
}

std::vector<EventSpec> events_of_checkpoints() {
  return {
      {"checkpoint",
       "A checkpoint has been written, and is on disk.",
       "after checkpoint.every, and at the end",
       "the first replica of the view",
       {{"path", kText, true, "file of the weights; the others have the same stem"},
        {"step", kInteger, true, "last step in it"},
        {"bytes", kInteger, true, "size of its files together"},
        {"seconds", kNumber, true, "from the copy in memory to its last sync"}}},
      {"went_back",
       "All replicas go back to an earlier checkpoint, or to the beginning, and go on from there. Either "
       "parts of a sharded optimizer, or what shards left out (train.compression), were lost with a replica "
       "and its buddy; or steps may hold the wrong results of a replica (`corrupt`).",
       "when the next view is made",
       "coordinator",
       {{"view", kInteger, true, "number of the next view"},
        {"step", kInteger, true, "the last step that was known to be done"},
        {"to_step", kInteger, true, "the step after which they go on"},
        {"checkpoint", kText, true, "its manifest, or \"the beginning\""},
        {"reason", kText, true, "who was lost, or which results may be wrong"}}},
      {"checkpoint_delayed",
       "The disk refused a checkpoint. The replica keeps the state in memory and tries again, until "
       "`cluster.give_up_after`.",
       "when the disk refuses",
       "the replica that writes",
       {{"step", kInteger, true, "last step of it"},
        reason(),
        {"needed_bytes", kInteger, true, "size of its files together"},
        {"free_bytes", kInteger, true, "free bytes of the disk; -1: not known"},
        {"again_ms", kNumber, true, "until it is tried again"},
        {"advice", kText, true, "what can be done about it"}}},
      {"checkpoint_spared",
       "The last checkpoint could not be written to checkpoint.folder, so it is in another folder.",
       "when `cluster.give_up_after`, or half of checkpoint.grace, is over",
       "the replica that writes",
       {{"path", kText, true, "file of the weights"},
        {"step", kInteger, true, "last step in it"},
        {"folder", kText, true, "the folder that it is in: set checkpoint.folder to it to go on from there"},
        reason()}},
      {"checkpoint_failed",
       "A checkpoint could not be written. Earlier checkpoints stay, and training goes on. If it was the "
       "last checkpoint of the run, the replica that was to write it is lost.",
       "when the disk has refused it for `cluster.give_up_after`; a last checkpoint: for `checkpoint.grace`",
       "the first replica of the view",
       {{"step", kInteger, true, "last step of it"},
        reason(),
        {"advice", kText, true, "what can be done about it"}}},
      {"checkpoint_passed_over",
       "A checkpoint was due while another one was still being written, so it is not written.",
       "when it is due",
       "the first replica of the view",
       {{"step", kInteger, true, "last step before it"}}}};
}

std::vector<EventSpec> events_of_kept_state() {
  return {
      {"state_kept",
       "The run ends before its job is done, and has written a last checkpoint; `--resume` goes on from it.",
       "when it is on disk",
       "coordinator",
       {{"step", kInteger, true, "last step in it"},
        {"checkpoint", kText, true, "its manifest"},
        {"path", kText, true, "file of the weights"}}},
      {"state_not_kept",
       "The run ends before its job is done, and could not write a last checkpoint.",
       "when checkpoint.grace is over, or nobody can write it",
       "coordinator",
       {reason(),
        {"step", kInteger, true, "the last step that was known to be done"},
        {"last_checkpoint", kText, true, "manifest of the newest checkpoint, or \"none\""}}},
      {"journal_delayed",
       "The disk refuses to write the journal, or does not answer, so the next view waits; the members keep "
       "their state.",
       "at each try, until `cluster.give_up_after`",
       "coordinator",
       {{"view", kInteger, true, "number of the view that waits"},
        reason(),
        {"again_ms", kNumber, true, "until it is tried again"},
        {"give_up_ms", kNumber, true, "from the first try until the run ends"}}}};
}

std::vector<EventSpec> events_of_failure() {
  return {
      {"late",
       "A replica or a loader has not delivered in time what others wait for.",
       "when the time is over",
       "coordinator",
       {replica(),
        loader(),
        {"waited_for", kText, true, "what"},
        {"waited_ms", kNumber, true, "for how long"},
        {"shards", kText, false, "shards that it holds, \"first-last\"; not of a loader"},
        {"step", kInteger, false, "step that waits for it"},
        {"cause", kText, false,
         "\"data\", \"compute\", \"link\", \"restoring\" (it loads a state) or \"loader N\""},
        {"stuck", kBoolean, false, "whether it has done nothing at all for cluster.straggler.stuck_after"},
        {"seen_by", kText, false, "which replicas wait for it"}}},
      {"suspected",
       "A process has sent no heartbeat for longer than usual.",
       "when phi accrual finds it unlikely that another heartbeat comes; it is lost only after "
       "cluster.detect.patience",
       "coordinator",
       {replica(),
        loader(),
        {"phi", kNumber, true, "-log10 of the probability that its next heartbeat is still to come"},
        {"silent_ms", kNumber, true, "since its last heartbeat"}}},
      {"trusted",
       "A suspected process sends heartbeats again.",
       "with its next heartbeat",
       "coordinator",
       {replica(),
        loader(),
        {"phi", kNumber, true, "as for `suspected`"},
        {"silent_ms", kNumber, true, "since its last heartbeat"}}},
      {"lost",
       "The coordinator evicts a process: it has ended, is silent, stuck or cut off, has failed, or computes "
       "other bits.",
       "when it is noticed",
       "coordinator",
       {replica(),
        loader(),
        {"shards", kText, true, "shards that it held, \"first-last\""},
        {"step", kInteger, true, "the last step that it was known to have applied, plus one"},
        {"noticed_by", kText, true, "which process noticed it"},
        reason()}},
      {"not_finite",
       "A loss, or an element of the mean gradient, is NaN or Inf.",
       "before the step is applied; with train.not_finite = \"stop\" it is not applied",
       "the first replica of the view, or the first one that ends",
       {epoch(),
        step(),
        {"what", kText, true,
         "what was looked at: \"mean gradient\", \"new state\" with a sharded optimizer, or \"loss\""},
        {"parameter", kText, false, "the first parameter or buffer with such an element"},
        {"element", kInteger, false, "the first such element in it, row by row, from 0"},
        {"value", kText, true, "\"NaN\", \"Inf\" or \"-Inf\""},
        {"shard", kInteger, false, "the first shard whose loss is not finite"},
        {"sample", kInteger, false,
         "a sample that has a NaN or Inf itself: its index in the source; of ready-made batches that of the "
         "batch, of a generator its number in the shard's epoch"},
        {"field", kInteger, false, "the field of the source that has it, from 0"},
        {"stops", kBoolean, true, "whether the run ends with it"},
        {"hint", kText, true, "what may help"}}},
      {"refused",
       "A node, a frame or a message was refused.",
       "when it arrives",
       "coordinator, node",
       {replica(), loader(), reason()}}};
}

std::vector<EventSpec> events_of_the_end() {
  return {{"interrupted",
           "A person, a scheduler or a program has asked the run to end.",
           "on a signal, a stop message, or when every replica leaves",
           "coordinator",
           {{"reason", kText, true, "who asked"}}},
          {"completed",
           "The run has done what was asked.",
           "at the end; notices may follow",
           "coordinator",
           {{"steps", kInteger, true, "steps taken"}}},
          {"failed", "The run has failed.", "at the end; notices may follow", "coordinator", {reason()}}};
}

std::vector<EventSpec> make_table() {
  std::vector<EventSpec> table;
  for (const auto& group : {events_of_membership(), events_of_views(), events_of_data(), events_of_progress(),
                            events_of_checkpoints(), events_of_kept_state(), events_of_failure(),
                            events_of_bits(), events_of_stragglers(), events_of_the_end()}) {
    table.insert(table.end(), group.begin(), group.end());
  }
  return table;
}

}  // namespace

const std::vector<EventSpec>& event_table() {
  static const std::vector<EventSpec> table = make_table();
  return table;
}

const EventSpec* find_event(std::string_view name) {
  for (const EventSpec& spec : event_table()) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

std::int64_t Event::integer(std::string_view key, std::int64_t otherwise) const {
  const EventField* field = find_field(*this, key);
  return field && (field->kind == kInteger || field->kind == kBoolean) ? field->integer : otherwise;
}

double Event::number(std::string_view key, double otherwise) const {
  const EventField* field = find_field(*this, key);
  return field && field->kind == kNumber ? field->number : otherwise;
}

std::string Event::text(std::string_view key) const {
  const EventField* field = find_field(*this, key);
  return field && field->kind == kText ? field->text : std::string{};
}

bool Event::has(std::string_view key) const {
  return find_field(*this, key) != nullptr;
}

Event make_event(std::string_view name, std::vector<std::pair<std::string, EventValue>> fields) {
  const EventSpec* spec = find_event(name);
  MUSTER_CHECK(spec != nullptr, "no such event in the table:", name);
  Event event;
  event.name = spec->name;
  for (const auto& [key, value] : fields) {
    const auto known =
        std::find_if(spec->fields.begin(), spec->fields.end(),
                     [&, wanted = &key](const EventFieldSpec& field) { return field.key == *wanted; });
    MUSTER_CHECK(known != spec->fields.end() && known->kind == value.index(), "field not in the table:", name,
                 key);
    event.fields.push_back(make_field(key, value));
  }
  for (const EventFieldSpec& field : spec->fields) {
    MUSTER_CHECK(!field.required || event.has(field.key), "field is missing:", name, field.key);
  }
  return event;
}

void where(Event& event, const std::string& host, const std::string& address) {
  if (!host.empty() && !event.has("host")) event.fields.push_back(make_field("host", host));
  if (!address.empty() && !event.has("address")) event.fields.push_back(make_field("address", address));
}

std::string to_json_line(const Event& event, const std::string& time) {
  nlohmann::ordered_json line;
  line["event"] = event.name;
  line["time_ms"] = std::round(event.time_ms * 1000) / 1000;
  if (!time.empty()) line["time"] = time;
  for (const EventField& field : event.fields) {
    if (field.kind == kInteger) line[field.key] = field.integer;
    if (field.kind == kNumber) line[field.key] = field.number;
    if (field.kind == kText) line[field.key] = field.text;
    if (field.kind == kBoolean) line[field.key] = field.integer != 0;
  }
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string events_markdown() {
  std::string text = wrapped(
      "# Events\n\nMade from the tables in `actors/events/` by `muster events --markdown`; do not "
      "edit.\n\nEach event is one line of JSON with `--events`, an entry of the report's `events` (at most "
      "1,000 there; `event_counts` counts all), and a typed message to every subscribed actor. `time_ms` "
      "counts from the start of the run, by the coordinator's clock; `time` is the time of day (UTC). "
      "`--events FILE` replaces the content of the file when a run begins; with `--resume`, and with `muster "
      "coordinate`, the lines are appended. An event about a replica or a loader that has connected also has "
      "`host`, the name of its machine, and `address`, by which it reaches the coordinator.\n");
  for (const EventSpec& spec : event_table()) {
    text += "\n## " + spec.name + "\n\n" + wrapped(spec.meaning) + "\n\n" +
            wrapped("Raised by " + spec.by + ": " + spec.when + ".") +
            "\n\n| field | kind | always | meaning |\n| --- | --- | --- | --- |\n";
    for (const EventFieldSpec& field : spec.fields) {
      text += "| `" + field.key + "` | " + kind_name(field.kind) + " | " + (field.required ? "yes" : "no") +
              " | " + field.meaning + " |\n";
    }
  }
  return text;
}

}  // namespace muster
