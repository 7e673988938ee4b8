#include "actors/checkpoint/checkpointer.hpp"

#include <unistd.h>

#include <filesystem>
#include <utility>

#include "actors/checkpoint/checkpoint_verdicts.hpp"

namespace muster {

namespace {

void save(CheckpointStore& store, const std::shared_ptr<const Snapshot>& snapshot, Keep keep,
          Written& written) {
  written.step = snapshot->place.steps;
  written.samples = snapshot->place.samples;
  written.records = snapshot->place.records;
  written.disk = false;
  try {
    SavedCheckpoint saved = store.save(*snapshot, keep);
    written.path = saved.path;
    written.manifest = saved.manifest;
    written.bytes = saved.bytes;
    written.state_sha256 = saved.weights_sha256;
  } catch (const VoidCheckpoint& error) {
    written.error = error.what();
    written.advice = "nothing is needed: the run goes on without it";
  } catch (const DiskError& error) {
    written.error = error.what();
    written.advice = advice_for(error);
    written.disk = true;
    written.needed = store.bytes_of(*snapshot);
    written.room = store.room();
    written.kept = snapshot;
  } catch (const std::exception& error) {
    written.error = error.what();
    written.advice = "report this as a bug";
  }
}

std::string default_spare_folder() {
  std::error_code none;
  const auto temporary = std::filesystem::temp_directory_path(none);
  return ((none ? std::filesystem::path("/tmp") : temporary) / ("muster-" + std::to_string(::getuid())))
      .string();
}

}  // namespace

void Checkpointer::write(std::shared_ptr<const Snapshot> snapshot, Written written,
                         std::function<void(Written)> done) {
  disk_thread_->submit([store = store_, keep = config_.keep, known = known_, held = held_,
                        suspect = suspect_from_, snapshot = std::move(snapshot), written = std::move(written),
                        done = std::move(done)]() mutable {
    const auto withdraw = [&] {
      if (!written.parting) return;  // nobody waits for it
      written.step = snapshot ? snapshot->place.steps : written.step;
      written.error = "the run may hold wrong results from step " + std::to_string(*suspect) + " on";
      written.disk = false;
      done(std::move(written));
    };
    if (snapshot->place.steps >= *suspect) return withdraw();
    save(*store, snapshot,
         {keep, *known, [held, parting = written.parting] { return parting || *held != 0; }}, written);
    if (written.error.empty() && written.step >= *suspect) {
      store->set_aside(written.manifest);
      return withdraw();
    }
    snapshot.reset();
    done(std::move(written));
  });
}

void Checkpointer::write_elsewhere(Written refused, std::function<void(Written)> done) {
  if (!spare_thread_) spare_thread_ = make_spare_thread_();
  spare_thread_->submit(
      [store = spare_, keep = config_.keep, refused = std::move(refused), done = std::move(done)]() mutable {
        const auto snapshot = std::exchange(refused.kept, nullptr);
        const std::string why = std::exchange(refused.error, {});
        refused.folder = store->folder();
        save(*store, snapshot, {keep}, refused);
        if (refused.error.empty()) {
          refused.advice = why;
        } else {
          refused.error = why + "; nor in the spare folder: " + refused.error;
        }
        done(std::move(refused));
      });
}

void Checkpointer::release() {
  disk_thread_->submit([held = held_, of = holds_]() mutable { held->compare_exchange_strong(of, 0); });
}

void Checkpointer::set_aside(std::uint64_t step, std::uint64_t history) {
  disk_thread_->submit([store = store_, step, history] { store->set_aside(step, history); });
}

void Checkpointer::read(const std::string& manifest, bool last_try,
                        std::function<void(std::shared_ptr<const Snapshot>, std::string, Unread)> done) {
  disk_thread_->submit([store = store_, manifest, last_try, done = std::move(done)] {
    std::string why;
    Unread unread;
    auto loaded = store->load(manifest, why, unread);
    if (unread == Unread::refused && last_try && store->reads_older(manifest)) {
      loaded = store->load(manifest, why, unread);  // the disk may be back
      if (unread == Unread::refused) unread = Unread::no;
    }
    std::shared_ptr<const Snapshot> snapshot;
    if (loaded) snapshot = std::make_shared<const Snapshot>(std::move(loaded->snapshot));
    done(std::move(snapshot), std::move(why), unread);
  });
}

std::shared_ptr<Checkpointer> make_checkpointer(
    const Job& job, const std::string& job_hash, const Layout& layout, const std::string& fingerprint,
    const std::function<std::shared_ptr<Disk>(const std::string&)>& open_disk,
    const std::function<std::shared_ptr<Executor>(const std::string&, const std::string&)>& make_executor) {
  if (job.checkpoint.folder.empty()) return nullptr;
  auto store = std::make_shared<CheckpointStore>(open_disk(job.checkpoint.folder),
                                                 checkpoint_identity(job, job_hash, layout, fingerprint));
  const std::string& named = job.checkpoint.spare_folder;
  const auto spare_disk = open_disk(named.empty() ? default_spare_folder() : named);
  if (named.empty()) spare_disk->keep_private();
  auto spare =
      std::make_shared<CheckpointStore>(spare_disk, checkpoint_identity(job, job_hash, layout, fingerprint));
  return std::make_shared<Checkpointer>(
      make_executor("muster-disk", "-"), [make_executor] { return make_executor("muster-spare", "-"); },
      std::move(store), std::move(spare), job.checkpoint, job.train.in_parts());
}

}  // namespace muster
