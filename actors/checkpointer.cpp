#include "muster/actors/checkpointer.hpp"

#include "muster/actors/resume.hpp"

namespace muster {

void Checkpointer::write(std::shared_ptr<const Snapshot> snapshot, Written written,
                         std::function<void(Written)> done) {
  disk_thread_->submit([store = store_, keep = config_.keep, snapshot = std::move(snapshot),
                        written = std::move(written), done = std::move(done)]() mutable {
    written.step = snapshot->place.steps;
    written.records = snapshot->place.records;
    try {
      SavedCheckpoint saved = store->save(*snapshot, keep);
      written.path = saved.path;
      written.manifest = saved.manifest;
      written.bytes = saved.bytes;
      written.state_sha256 = saved.weights_sha256;
    } catch (const DiskError& error) {
      written.error = error.what();
      written.advice = advice_for(error);
    } catch (const std::exception& error) {
      written.error = error.what();
      written.advice = "report this as a bug";
    }
    snapshot.reset();
    done(std::move(written));
  });
}

void Checkpointer::read(const std::string& manifest,
                        std::function<void(std::shared_ptr<const Snapshot>, std::string)> done) {
  disk_thread_->submit([store = store_, manifest, done = std::move(done)] {
    std::string why;
    std::shared_ptr<const Snapshot> snapshot;
    if (auto loaded = store->load(manifest, why))
      snapshot = std::make_shared<const Snapshot>(std::move(loaded->snapshot));
    done(std::move(snapshot), std::move(why));
  });
}

std::shared_ptr<Checkpointer> make_checkpointer(
    const Job& job, const std::string& job_hash, const Layout& layout, const std::string& fingerprint,
    const std::function<std::shared_ptr<Disk>(const std::string&)>& open_disk,
    const std::function<std::shared_ptr<Executor>(const std::string&, const std::string&)>& make_executor) {
  if (job.checkpoint.folder.empty()) return nullptr;
  auto store = std::make_shared<CheckpointStore>(open_disk(job.checkpoint.folder),
                                                 checkpoint_identity(job, job_hash, layout, fingerprint));
  return std::make_shared<Checkpointer>(make_executor("muster-disk", "-"), std::move(store), job.checkpoint);
}

}  // namespace muster
