#include "actors/coordinator/records/journal.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "actors/checkpoint/folder_lease.hpp"
#include "base/canary.hpp"
#include "gpu/files/file_io.hpp"
#include "gpu/optimizer/state_hash.hpp"
#include "muster/error.hpp"

namespace muster {

namespace {

using Json = nlohmann::json;

Json to_json(const Member& member) {
  return {{"loader", member.name.loader},
          {"slot", member.name.slot},
          {"incarnation", member.incarnation},
          {"address", nlohmann::json::binary({member.address.begin(), member.address.end()})},
          {"begin", member.begin},
          {"end", member.end},
          {"buddy", member.buddy},
          {"clean", member.clean},
          {"given_by", member.holds_of},
          {"since", member.since},
          {"alone_from", member.alone_from}};
}

Member member_from(const Json& json) {
  const auto& address = json.at("address").get_binary();
  return {{json.at("loader"), json.at("slot")},
          json.at("incarnation"),
          std::string(address.begin(), address.end()),
          json.at("begin"),
          json.at("end"),
          json.at("buddy"),
          json.at("clean"),
          json.value("given_by", std::set<std::uint32_t>{}),  // older ones have none
          json.value("since", std::uint32_t{0}),
          json.value("alone_from", std::uint64_t{0})};
}

Json to_json(const DataFacts& facts) {
  return {{"samples", facts.samples},
          {"unit_is_batch", facts.unit_is_batch},
          {"has_test", facts.has_test},
          {"dropped", facts.dropped},
          {"steps_per_epoch", facts.steps_per_epoch},
          {"take_asked", facts.take_asked},
          {"take_had", facts.take_had},
          {"fingerprint", facts.fingerprint}};
}

DataFacts facts_from(const Json& json) {
  return {json.at("samples"),         json.at("unit_is_batch"), json.at("has_test"), json.at("dropped"),
          json.at("steps_per_epoch"), json.at("take_asked"),    json.at("take_had"), json.at("fingerprint")};
}

Json to_json(const PartSource& source) {
  Json json{{"view", source.view},
            {"holders", Json::array()},
            {"checkpoint", source.checkpoint},
            {"records", source.records},
            {"step", source.step}};
  for (const PartHolder& holder : source.holders)
    json["holders"].push_back({holder.owner, holder.buddy, holder.begin, holder.end});
  return json;
}

PartSource source_from(const Json& json) {
  PartSource source{json.at("view"), {}, json.at("checkpoint"), json.at("records"), json.at("step")};
  for (const Json& holder : json.at("holders"))
    source.holders.push_back({holder.at(0), holder.at(1), holder.at(2), holder.at(3)});
  return source;
}

Json to_json(const View& view) {
  Json json{{"term", view.term},
            {"number", view.number},
            {"records", view.records},
            {"donor", view.donor},
            {"batch_bytes_max", view.batch_bytes_max},
            {"facts", to_json(view.facts)},
            {"source", to_json(view.source)},
            {"sums_on_cards", view.sums_on_gpus},
            {"last", view.last},
            {"unproven", view.unproven},
            {"back", view.back},
            {"history", view.history},
            {"doubted", {view.doubted_from, view.doubted_to}}};
  json["replicas"] = json["loaders"] = Json::array();
  json["behind"] = Json::array();
  for (const Behind& each : view.behind) json["behind"].push_back({each.slot, each.records});
  for (const Member& member : view.replicas) json["replicas"].push_back(to_json(member));
  for (const Member& member : view.loaders) json["loaders"].push_back(to_json(member));
  json["dropping"] = {{"record", view.dropping.record}, {"shards", Json::array()}};
  for (const ShardRange& range : view.dropping.shards)
    json["dropping"]["shards"].push_back({range.begin, range.end});
  return json;
}

Json to_json(EpochEnd epoch) {
  return std::apply([](const auto&... field) { return Json::array({field...}); }, EpochEnd::fields(epoch));
}

constexpr std::size_t kEpochFieldsMin = 13;  // an older program wrote no view

EpochEnd epoch_from(const Json& json) {
  EpochEnd epoch;
  std::size_t at = 0;
  const std::size_t written = std::max(json.size(), kEpochFieldsMin);
  const auto take = [&](auto& field) {
    if (at < written) json.at(at++).get_to(field);
  };
  std::apply([&](auto&... field) { (take(field), ...); }, EpochEnd::fields(epoch));
  return epoch;
}

View view_from(const Json& json) {
  View view;
  view.term = json.at("term");
  view.number = json.at("number");
  view.records = json.at("records");
  view.donor = json.at("donor");
  view.batch_bytes_max = json.at("batch_bytes_max");
  view.facts = facts_from(json.at("facts"));
  view.source = source_from(json.at("source"));
  view.sums_on_gpus = json.at("sums_on_cards");
  view.last = json.at("last");
  json.at("unproven").get_to(view.unproven);
  view.back = json.at("back");
  view.history = json.value("history", std::uint64_t{0});
  if (const auto doubted = json.find("doubted"); doubted != json.end()) {
    view.doubted_from = doubted->at(0);
    view.doubted_to = doubted->at(1);
  }
  for (const Json& each : json.value("behind", Json::array()))
    view.behind.push_back({each.at(0), each.at(1)});
  for (const Json& member : json.at("replicas")) view.replicas.push_back(member_from(member));
  for (const Json& member : json.at("loaders")) view.loaders.push_back(member_from(member));
  view.dropping.record = json.at("dropping").at("record");
  for (const Json& range : json.at("dropping").at("shards"))
    view.dropping.shards.push_back({range.at(0), range.at(1)});
  return view;
}

class FileJournal final : public Journal {
 public:
  explicit FileJournal(std::filesystem::path path)
      : path_(std::move(path)), lease_(path_.string() + ".lock") {}

  std::optional<JournalEntry> read() override {
    const auto bytes = bytes_there();
    if (!bytes) return std::nullopt;
    const auto entry = decode_journal(*bytes);
    if (entry) return entry;
    throw DamagedJournal(
        "the journal " + path_.string() +
        " is damaged. Replicas that train on keep their state in checkpoint.folder when they get "
        "SIGTERM, or when "
        "cluster.orphan_after is over: end them first. Then move it away, and go on with --resume");
  }

  void write(const JournalEntry& entry) override {
    refuse_usurped(entry, entry_there(), path_.string());
    const std::string text = encode_journal(entry);
    const std::span<const std::byte> piece = std::as_bytes(std::span(text));
    try {
      replace_file(path_, std::span(&piece, 1));
    } catch (const Error& error) {
      throw Error(error.what() + room_for(text.size()) +
                  "; make room there or make it writable, or set checkpoint.folder to "
                  "another folder");
    }
  }

 private:
  // None where there is no journal, and not where that cannot be known now.
  std::optional<std::string> bytes_there() const {
    std::error_code unknown;
    const auto status = std::filesystem::status(path_, unknown);
    if (status.type() == std::filesystem::file_type::not_found) return std::nullopt;
    if (unknown) throw Error("the journal " + path_.string() + " cannot be read: " + unknown.message());
    if (std::filesystem::is_directory(status))
      throw Error("the journal " + path_.string() +
                  " is a folder, and is to be a file; move it away, or give this job "
                  "another checkpoint.folder");
    const auto bytes = read_file(path_);
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  // None, too, where it is damaged: it is replaced.
  std::optional<JournalEntry> entry_there() const {
    const auto bytes = bytes_there();
    return bytes ? decode_journal(*bytes) : std::nullopt;
  }

  std::string room_for(std::size_t bytes) const {
    std::error_code unknown;
    const auto space = std::filesystem::space(path_.parent_path(), unknown);
    if (unknown) return {};
    return " (" + std::to_string(bytes) + " bytes are needed, " + std::to_string(space.available) +
           " are free)";
  }

  std::filesystem::path path_;
  FolderLease lease_;
};

}  // namespace

// An entry of its own writer is no other's: a write may have come to the disk though it failed.
void refuse_usurped(const JournalEntry& entry, const std::optional<JournalEntry>& there,
                    const std::string& where) {
  if (!there || canary("no-fencing")) return;
  const bool later = there->term > entry.term;
  const bool same_term = there->term == entry.term && there->writer != entry.writer;
  if (!later && !same_term) return;
  throw TakenOver("another coordinator has taken this run over (term " + std::to_string(there->term) +
                  " in " + where + ")");
}

// CBOR and, behind it, 64 digits of its SHA-256.
std::string encode_journal(const JournalEntry& entry) {
  Json epochs = Json::array();
  for (const EpochEnd& epoch : entry.epochs) epochs.push_back(to_json(epoch));
  const Json json{{"job_hash", entry.job_hash},
                  {"term", entry.term},
                  {"view", to_json(entry.view)},
                  {"next_replica", entry.free.replica},
                  {"next_loader", entry.free.loader},
                  {"ended", entry.ended},
                  {"completed", entry.completed},
                  {"steps", entry.steps},
                  {"samples", entry.samples},
                  {"weights_sha256", entry.weights_sha256},
                  {"epochs", epochs},
                  {"first_view", entry.first_view},
                  {"suspect_from", entry.suspect_from},
                  {"doubt_from", entry.doubt_from},
                  {"writer", entry.writer}};
  const std::vector<std::uint8_t> bytes = Json::to_cbor(json);
  return std::string(bytes.begin(), bytes.end()) + sha256_hex(std::as_bytes(std::span(bytes)));
}

std::optional<JournalEntry> decode_journal(const std::string& text) {
  constexpr std::size_t kDigits = 64;
  if (text.size() < kDigits) return std::nullopt;
  const std::span<const char> bytes(text.data(), text.size() - kDigits);
  if (sha256_hex(std::as_bytes(bytes)) != text.substr(bytes.size())) return std::nullopt;
  try {
    const Json json = Json::from_cbor(bytes.begin(), bytes.end());
    JournalEntry entry{json.at("job_hash"),        json.at("term"),
                       view_from(json.at("view")), {json.at("next_replica"), json.at("next_loader")},
                       json.at("ended"),           json.at("completed"),
                       json.at("steps"),           json.at("samples"),
                       json.at("weights_sha256")};
    for (const Json& epoch : json.at("epochs")) entry.epochs.push_back(epoch_from(epoch));
    entry.first_view = json.value("first_view", 1u);
    entry.suspect_from = json.value("suspect_from", std::uint64_t{0});
    entry.doubt_from = json.value("doubt_from", std::uint64_t{0});
    entry.writer = json.value("writer", std::uint64_t{0});
    return entry;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

std::shared_ptr<Journal> make_journal(const std::filesystem::path& path) {
  return std::make_shared<FileJournal>(path);
}

}  // namespace muster
