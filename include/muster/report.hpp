// The report of a run: one JSON object, schema 2, described in docs/reference/report.md. Written at the end,
// also after a failure.
//
//   #include "muster/report.hpp"
//
//   int tell(const muster::Report& report) {
//     std::printf("%s, accuracy %g\n", report.outcome.c_str(),
//                 report.epochs.empty() ? 0.0 : report.epochs.back().accuracy);
//     if (!report.completed()) std::printf("%s\n", report.reason.c_str());
//     muster::write_report(report, "report.json");
//     return report.completed() ? 0 : 1;
//   }
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "muster/events.hpp"
#include "muster/progress.hpp"

namespace muster {

/// What a run did. A value; `run` returns it, also of a run that failed. Fields are the keys of the
/// JSON object, unless their comment says otherwise.
struct Report {
  static constexpr int kSchema = 2;                ///< rises when a key changes its meaning or goes
  static constexpr std::size_t kEventsMax = 1000;  ///< `events` holds no more

  std::string job;                     ///< name of the job
  std::string outcome = "failed";      ///< "completed", "failed", "interrupted"
  std::string reason;                  ///< empty if completed
  std::uint32_t replicas = 0;          ///< cluster.replicas
  std::uint32_t shards = 0;            ///< train.shards
  std::uint64_t steps = 0;             ///< updates of the weights
  std::uint64_t samples = 0;           ///< in committed steps, over all epochs
  std::string weights_sha256;          ///< 64 hex digits, of the final state; empty if it is not known
  std::string ledger_unit = "sample";  ///< what the ledger counts: "sample" or "batch"
  std::vector<EpochEnd> epochs;        ///< ledger and evaluation
  std::vector<ProgressRow> progress;   ///< of steps (report.progress_every), at most 1,000, evenly spread
  double samples_per_second = 0;       ///< `samples` of this run / train_seconds
  double train_seconds = 0;            ///< from the first step to the last report, without evaluation
  double wall_seconds = 0;             ///< from the coordinator's start to its end
  std::map<std::uint32_t, PhaseTimes> phases;         ///< by replica: where its time went
  std::map<std::uint32_t, Traffic> traffic;           ///< what each replica sent
  std::string algorithm;                              ///< of the reduction, in the last view
  std::map<std::string, std::uint64_t> event_counts;  ///< by name, of all that were raised
  std::vector<Event> events;                          ///< all, or the first and the last kEventsMax / 2
  std::string checkpoint;  ///< the file of weights that the run wrote at its end; empty: none
  /// The newest checkpoint of a run that ended before the job; not part of the JSON.
  struct Kept {
    std::uint64_t step = 0;  ///< behind which it was taken
    std::string folder;      ///< if it is not in checkpoint.folder
  };
  std::optional<Kept> kept;  ///< none: the run completed, or has no checkpoint
  /// Members that could not be told of the end may train on: a coordinator that is started again finds them,
  /// unless it resumes. Not part of the JSON.
  bool members_may_live = false;
  std::map<std::uint32_t, std::string> notes;  ///< by replica; not part of the JSON
  std::string transport;                       ///< what can carry bytes between replicas

  /// When its coordinator began, which is the zero of the events' time_ms; nothing if it did not.
  std::optional<std::chrono::system_clock::time_point> began;

  /// Counts an event, and keeps it while there is room.
  void add(const Event& event);
  /// Whether the run came to the end of its job.
  bool completed() const { return outcome == "completed"; }
};

/// The report as one JSON object, as write_report writes it.
std::string to_json(const Report& report);

/// Writes the report to a file, whole or not at all. Throws Error.
void write_report(const Report& report, const std::string& path);

}  // namespace muster
