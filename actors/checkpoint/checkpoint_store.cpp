#include "actors/checkpoint/checkpoint_store.hpp"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "actors/checkpoint/checkpoint_verdicts.hpp"
#include "base/check.hpp"
#include "gpu/files/safetensors.hpp"
#include "gpu/optimizer/state_hash.hpp"

namespace muster {

namespace {

constexpr const char* kSlots = "slots";
constexpr const char* kDiffers =
    "another one of the same step holds other weights, and nobody can tell which are right: ";
constexpr const char* kVoid =
    "it may hold wrong results, and was written by a replica that did not know that the run had gone back "
    "before its step; to go on from it nevertheless, remove ";
// What a file takes beside what is in it: its header, and the rest of its last block.
constexpr std::uint64_t kFileBytes = 4096;

[[noreturn]] void damaged(const std::string& what) {
  throw Error(what);
}

std::string manifest_name(const std::string& stem, std::uint64_t records) {
  return stem + "-" + std::to_string(records) + ".manifest.json";
}

std::string sha256_of(Disk::Pieces pieces) {
  std::vector<std::byte> whole;
  if (pieces.size() == 1) return sha256_hex(pieces.front());
  for (const auto piece : pieces) whole.insert(whole.end(), piece.begin(), piece.end());
  return sha256_hex(whole);
}

bool same_entries(const std::vector<LayoutEntry>& kept, const std::vector<LayoutEntry>& wanted) {
  return std::equal(kept.begin(), kept.end(), wanted.begin(), wanted.end(),
                    [](const LayoutEntry& a, const LayoutEntry& b) {
                      return a.name == b.name && a.shape == b.shape && a.offset == b.offset;
                    });
}

std::string joined(const std::vector<Snapshot::Slot>& slots) {
  std::string names;
  for (const auto& slot : slots) names += (names.empty() ? "" : ",") + slot.name;
  return names;
}

std::vector<std::string> split(const std::string& names) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t comma = std::min(names.find(',', at), names.size());
    parts.push_back(names.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

// The optimizer's vectors, each cut into the model's parameters: "momentum.layer.weight".
Layout layout_of_slots(const Layout& model, const std::vector<std::string>& slots) {
  Layout layout;
  for (const std::string& slot : slots) {
    for (const LayoutEntry& entry : model.entries) {
      if (entry.offset < model.parameters) layout.add_parameter(slot + "." + entry.name, entry.shape);
    }
  }
  return layout;
}

bool is_of(const std::vector<std::string>& stems, const std::string& name) {
  return std::ranges::any_of(stems, [&](const std::string& stem) {
    return name.starts_with(stem + ".") || name.starts_with(stem + "-");
  });
}

// With other mathematics, which has not changed the weights by this step.
bool is_of_another_job(Disk& disk, const std::string& manifest_name, const std::string& job_hash) {
  std::string why;
  const auto manifest = read_manifest(disk, manifest_name, why);
  return manifest && manifest->job_hash != job_hash;
}

}  // namespace

CheckpointIdentity checkpoint_identity(const Job& job, const std::string& job_hash, const Layout& layout,
                                       const std::string& fingerprint) {
  return {job.name, job_hash, fingerprint, job.seed, job.train.shards, layout};
}

CheckpointStore::CheckpointStore(std::shared_ptr<Disk> disk, CheckpointIdentity identity)
    : disk_(std::move(disk)), identity_(std::move(identity)) {}

CheckpointFile CheckpointStore::put(const std::string& name, Disk::Pieces pieces) {
  replace_file(*disk_, name, pieces);
  CheckpointFile file{name, 0, sha256_of(pieces)};
  for (const auto piece : pieces) file.bytes += piece.size();
  return file;
}

SavedCheckpoint CheckpointStore::save(const Snapshot& snapshot, Keep keep) {
  ReplicaPlace place = snapshot.place;
  if (place.state_sha256.empty()) place.state_sha256 = state_sha256(snapshot.state);
  const auto stem_by = [&](const std::string& hash) {
    return checkpoint_stem(identity_.job, place.steps, hash, attempt_of(snapshot.history));
  };
  const std::uint64_t step = place.steps;
  const auto is_void = [&] {
    return muster::is_void(readable_verdicts(*disk_, identity_.job_hash), snapshot.history, step);
  };
  std::string stem = stem_by(place.state_sha256);
  try {
    if (is_void()) throw VoidCheckpoint(step);
    if (is_of_another_job(*disk_, manifest_name(stem, place.records), identity_.job_hash)) {
      const std::string both = place.state_sha256 + identity_.job_hash;
      stem = stem_by(sha256_hex(std::as_bytes(std::span(both))));
    }
    SavedCheckpoint saved = save_files(snapshot, stem, std::move(place));
    if (is_void()) {  // meanwhile
      set_aside(saved.manifest);
      throw VoidCheckpoint(step);
    }
    prune(saved.manifest, step, keep);
    return saved;
  } catch (const DiskError&) {
    take_back(stem);
    throw;
  }
}

std::uint64_t CheckpointStore::bytes_of(const Snapshot& snapshot) const {
  std::uint64_t bytes =
      4 * kFileBytes + snapshot.state.size() * sizeof(float) + encode_place(snapshot.place).size();
  for (const auto& slot : snapshot.slots) bytes += slot.values.size() * sizeof(float);
  return bytes;
}

// Files without a manifest are of no use, and a full disk needs their room.
void CheckpointStore::take_back(const std::string& stem) {
  try {
    const auto is_manifest_of_it = [&](const auto& file) {
      const auto name = parse_checkpoint_name(file.name, identity_.job);
      return name && name->is_manifest() && name->stem == stem;
    };
    for (const auto& file : disk_->list()) {
      if (!file.name.starts_with(stem + ".") && !file.name.starts_with(stem + "-")) continue;
      if (file.name.find(".tmp.", stem.size()) != std::string::npos) continue;  // another writer's
      if (std::ranges::any_of(disk_->list(), is_manifest_of_it)) return;        // another writer's, by now
      // Another writer that completes it in between gets the file back; one that comes later sees that it is
      // gone (expect_there).
      const std::string aside = temporary_name(*disk_, file.name);
      disk_->rename(file.name, aside);
      const auto now = disk_->list();
      const bool is_there_again =
          std::ranges::any_of(now, [&](const auto& one) { return one.name == file.name; });
      if (!is_there_again && std::ranges::any_of(now, is_manifest_of_it))
        return disk_->rename(aside, file.name);
      disk_->remove(aside);
    }
  } catch (const DiskError&) {
    // The next save removes them.
  }
}

// One who was to write the same checkpoint before, and whose disk refused it, may have removed its files.
void CheckpointStore::expect_there(const Manifest& manifest) {
  const auto files = disk_->list();
  for (const CheckpointFile* file : {&manifest.weights, &manifest.optimizer, &manifest.place}) {
    if (std::ranges::none_of(files, [&](const auto& each) { return each.name == file->name; }))
      throw DiskError(EAGAIN, "another writer of this checkpoint has removed " + file->name);
  }
}

SavedCheckpoint CheckpointStore::save_files(const Snapshot& snapshot, const std::string& stem,
                                            ReplicaPlace place) {
  std::map<std::string, std::string> attributes{
      {"job", identity_.job}, {"step", std::to_string(place.steps)}, {"weights_sha256", place.state_sha256}};
  Manifest manifest;
  manifest.job = identity_.job;
  manifest.job_hash = identity_.job_hash;
  manifest.fingerprint = identity_.fingerprint;
  manifest.seed = identity_.seed;
  manifest.shards = identity_.shards;
  manifest.epoch = place.cursor.epoch;
  manifest.step = place.steps;
  manifest.records = place.records;
  manifest.history = snapshot.history;
  manifest.weights_sha256 = place.state_sha256;
  manifest.ledger = place.ledger.rows();

  const auto weights_prefix = safetensors_prefix(identity_.layout, attributes);
  const std::span<const std::byte> weights[] = {weights_prefix, std::as_bytes(std::span(snapshot.state))};
  manifest.weights = put(stem + ".safetensors", weights);

  attributes[kSlots] = joined(snapshot.slots);
  const auto slots_prefix =
      safetensors_prefix(layout_of_slots(identity_.layout, split(attributes[kSlots])), attributes);
  std::vector<std::span<const std::byte>> slots{slots_prefix};
  for (const auto& slot : snapshot.slots) slots.push_back(std::as_bytes(std::span(slot.values)));
  manifest.optimizer = put(stem + ".optimizer.safetensors", slots);

  const auto place_bytes = encode_place(place);
  const std::span<const std::byte> place_pieces[] = {place_bytes};
  manifest.place = put(stem + "-" + std::to_string(place.records) + ".place", place_pieces);
  disk_->sync_folder();

  const std::string text = to_json(manifest);
  const std::span<const std::byte> manifest_pieces[] = {std::as_bytes(std::span(text))};
  const std::string name = manifest_name(stem, manifest.records);
  put(name, manifest_pieces);
  disk_->sync_folder();
  expect_there(manifest);
  return {disk_->folder() + "/" + manifest.weights.name, name,
          manifest.weights.bytes + manifest.optimizer.bytes + manifest.place.bytes + text.size(),
          place.state_sha256};
}

// Keeps the last `keep` manifests up to this step, what they name, and all that is newer; manifests of other
// jobs, and what these name, are not touched. A disk that takes no removal has the checkpoint nevertheless.
// A thread that stood still may come here when all have gone back before its checkpoint: that one counts no
// more, and removes none.
void CheckpointStore::prune(const std::string& manifest_name, std::uint64_t step, Keep keep) {
  try {
    std::set<std::string> kept;
    std::vector<std::string> unread;  // stems: what cannot be read now may be good
    const auto files = disk_->list();
    const auto verdicts = read_verdicts(*disk_, identity_.job_hash);
    bool counts = false;
    using Place = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;  // step, history, records
    std::map<Place, std::set<std::string>> own;
    for (const auto& file : files) {
      const auto name = parse_checkpoint_name(file.name, identity_.job);
      if (!name || !name->is_manifest()) continue;
      std::string why;
      const auto manifest = read_manifest(*disk_, file.name, why);
      if (!manifest) {
        unread.push_back(name->stem);
        continue;
      }
      const std::set<std::string> files_of{file.name, manifest->weights.name, manifest->optimizer.name,
                                           manifest->place.name};
      const bool is_void = muster::is_void(verdicts, manifest->history, name->step);
      const bool others = manifest->job_hash != identity_.job_hash || is_void;
      if (file.name == manifest_name) counts = !is_void;
      if (name->step > step || others || file.name == manifest_name)
        kept.insert(files_of.begin(), files_of.end());
      else
        own[{name->step, manifest->history, manifest->records}].insert(files_of.begin(), files_of.end());
    }
    if (!counts) return;
    std::set<std::uint64_t> steps{step};
    for (auto each = own.rbegin(); each != own.rend(); ++each) {
      const std::uint64_t of = std::get<0>(each->first);
      const bool older_place = !steps.insert(of).second && of != step;
      if ((older_place || steps.size() > keep.last) && of < keep.from_step) continue;
      kept.insert(each->second.begin(), each->second.end());
    }
    // The manifest first: a crash in between leaves files without one, not one without its files.
    for (const bool manifests_now : {true, false}) {
      for (const auto& file : files) {
        const auto name = parse_checkpoint_name(file.name, identity_.job);
        if (!name || name->step > step || kept.contains(file.name) || is_of(unread, file.name)) continue;
        if (keep.all_stay && keep.all_stay()) return;
        if (name->is_manifest() == manifests_now) disk_->remove(file.name);
      }
      disk_->sync_folder();
    }
  } catch (const DiskError&) {
    // What could not be removed now is beyond `keep` at the next save, too.
  }
}

void CheckpointStore::set_aside(std::uint64_t step, std::uint64_t history) {
  try {
    set_checkpoints_aside(*disk_, identity_.job_hash, step, history);
  } catch (const DiskError&) {
    // They are passed over when the run comes to their steps again, and writes others.
  }
}

std::optional<std::string> CheckpointStore::set_aside(const std::string& manifest) {
  try {
    disk_->rename(manifest, manifest + kSetAside);
    disk_->sync_folder();
    return std::nullopt;
  } catch (const DiskError& error) {
    if (error.code() == ENOENT) return std::nullopt;  // another one has set it aside
    return error.what();
  }
}

Disk::Bytes CheckpointStore::read_whole(const CheckpointFile& file) {
  Disk::Bytes bytes = disk_->read(file.name);
  if (bytes.size() != file.bytes) {
    damaged(file.name + " has " + std::to_string(bytes.size()) + " bytes, not " + std::to_string(file.bytes));
  }
  if (sha256_hex(bytes) != file.sha256) damaged(file.name + " is damaged: its SHA-256 is another one");
  return bytes;
}

LoadedCheckpoint CheckpointStore::load_files(const Manifest& manifest) {
  LoadedCheckpoint loaded;
  loaded.manifest = manifest;
  auto place = decode_place(read_whole(manifest.place), identity_.shards);
  if (!place) damaged(manifest.place.name + " is not a place of this job");
  Safetensors weights = parse_safetensors(read_whole(manifest.weights), manifest.weights.name);
  if (!same_entries(weights.entries, identity_.layout.entries))
    damaged("its weights have other names or shapes");
  if (place->state_sha256 != manifest.weights_sha256 || place->steps != manifest.step ||
      place->records != manifest.records || state_sha256(weights.state) != manifest.weights_sha256) {
    damaged("its files are not of one checkpoint");
  }
  const Safetensors optimizer = parse_safetensors(read_whole(manifest.optimizer), manifest.optimizer.name);
  const auto names = optimizer.metadata.find(kSlots);
  const auto slots = split(names == optimizer.metadata.end() ? std::string{} : names->second);
  if (!same_entries(optimizer.entries, layout_of_slots(identity_.layout, slots).entries)) {
    damaged("its optimizer's vectors have other names or shapes");
  }
  loaded.snapshot.place = std::move(*place);
  loaded.snapshot.state = std::move(weights.state);
  const std::size_t parameters = identity_.layout.parameters;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const auto values = std::span(optimizer.state).subspan(i * parameters, parameters);
    loaded.snapshot.slots.push_back({slots[i], {values.begin(), values.end()}});
  }
  return loaded;
}

std::optional<LoadedCheckpoint> CheckpointStore::load(const std::string& manifest_name, std::string& why,
                                                      Unread& unread) {
  unread = Unread::no;
  try {
    return load_if_whole(manifest_name, why);
  } catch (const DiskError& error) {
    why = error.what();
    unread = may_pass(error) ? Unread::refused : why_missing(manifest_name);
    return std::nullopt;
  }
}

// The checkpoint is gone, or only one of its files.
Unread CheckpointStore::why_missing(const std::string& manifest_name) {
  try {
    std::string why;
    manifest_in(*disk_, manifest_name, why);
    return Unread::no;
  } catch (const DiskError& error) {
    return may_pass(error) ? Unread::refused : Unread::gone;
  }
}

bool CheckpointStore::reads_older(const std::string& manifest_name) {
  try {
    const auto name = parse_checkpoint_name(manifest_name, "");
    auto older = list_checkpoints(*disk_, identity_.job_hash);
    std::erase_if(older, [&](const auto& each) { return !name || each.step >= name->step; });
    return std::any_of(older.rbegin(), older.rend(), [&](const auto& each) {
      std::string why;
      return load(each.manifest, why).has_value();
    });
  } catch (const DiskError&) {
    return false;  // it refuses all
  }
}

// Throws what the disk says.
std::optional<LoadedCheckpoint> CheckpointStore::load_if_whole(const std::string& manifest_name,
                                                               std::string& why) {
  const auto manifest = manifest_in(*disk_, manifest_name, why);
  if (!manifest) return std::nullopt;
  if (manifest->job_hash != identity_.job_hash || manifest->shards != identity_.shards) {
    why = "it is of another job (" + manifest->job + ", job hash " + manifest->job_hash.substr(0, 12) +
          ", this one has " + identity_.job_hash.substr(0, 12) + ")";
    return std::nullopt;
  }
  if (!identity_.fingerprint.empty() && manifest->fingerprint != identity_.fingerprint) {
    why = "its data had another content (" + manifest->fingerprint + ", now " + identity_.fingerprint + ")";
    return std::nullopt;
  }
  if (muster::is_void(readable_verdicts(*disk_, identity_.job_hash), manifest->history, manifest->step)) {
    why = std::string(kVoid) + verdicts_name(identity_.job_hash);
    return std::nullopt;
  }
  try {
    auto loaded = load_files(*manifest);
    loaded.manifest_name = manifest_name;
    return loaded;
  } catch (const DiskError&) {
    throw;
  } catch (const Error& error) {
    why = error.what();
    return std::nullopt;
  }
}

// Those that are whole, if their weights are not the same. Those of another run, on other hardware, may be
// others.
std::vector<std::string> CheckpointStore::differing(const std::vector<ListedCheckpoint>& of_one_step) {
  const auto run_of = [](const ListedCheckpoint& each) { return each.history >> kAttemptBits; };
  std::map<std::uint64_t, std::set<std::string>> said, weights;  // by run
  std::vector<const ListedCheckpoint*> whole;
  for (const ListedCheckpoint& each : of_one_step) said[run_of(each)].insert(each.weights_sha256);
  for (const ListedCheckpoint& each : of_one_step) {
    std::string why;
    if (said[run_of(each)].size() < 2 || !load(each.manifest, why)) continue;
    whole.push_back(&each);
    weights[run_of(each)].insert(each.weights_sha256);
  }
  std::vector<std::string> names;
  for (const ListedCheckpoint* each : whole) {
    if (weights[run_of(*each)].size() > 1) names.push_back(each->manifest);
  }
  return names;
}

// By step, the last one first; of a step likewise by records.
CheckpointStore::ByStep CheckpointStore::of_this_job(FoundCheckpoint& found) {
  ByStep steps;
  const auto verdicts = read_verdicts(*disk_, identity_.job_hash);
  for (const auto& file : disk_->list()) {
    const auto name = parse_checkpoint_name(file.name, "");
    if (!name || !name->is_manifest()) continue;
    std::string why;
    const auto manifest = read_manifest(*disk_, file.name, why);
    const bool own = manifest && manifest->job_hash == identity_.job_hash;
    if (own && muster::is_void(verdicts, manifest->history, manifest->step)) {
      found.passed_over.push_back(
          {file.name, std::string(kVoid) + verdicts_name(identity_.job_hash), false, true});
      continue;
    }
    if (own) {
      steps[manifest->step].push_back(listed(file.name, *manifest));
      continue;
    }
    if (manifest) load(file.name, why);  // for its words
    found.passed_over.push_back({.manifest = file.name, .why = why});
    if (manifest) found.passed_over.back().of_other_job = manifest->step;
  }
  for (auto& [step, those] : steps) {
    std::ranges::sort(those, [](const ListedCheckpoint& a, const ListedCheckpoint& b) {
      return std::tie(a.records, a.history, a.manifest) > std::tie(b.records, b.history, b.manifest);
    });
  }
  return steps;
}

FoundCheckpoint CheckpointStore::newest(const std::function<std::string(const Snapshot&)>& refuse,
                                        bool compare) {
  FoundCheckpoint found;
  for (auto& [step, those] : of_this_job(found)) {
    for (const std::string& name : compare ? differing(those) : std::vector<std::string>{}) {
      const auto refusal = set_aside(name);
      found.passed_over.push_back(
          {name, kDiffers + (refusal ? "it stays, for " + *refusal : "it is set aside"), true});
      std::erase_if(those, [&](const ListedCheckpoint& each) { return each.manifest == name; });
    }
    for (const ListedCheckpoint& each : those) {
      std::string why;
      Unread unread;
      auto loaded = load(each.manifest, why, unread);
      if (loaded && refuse) why = refuse(loaded->snapshot);
      if (loaded && why.empty()) {
        found.newest = std::move(loaded);
        return found;
      }
      found.passed_over.push_back({each.manifest, why, false, false, unread});
    }
  }
  return found;
}

}  // namespace muster
