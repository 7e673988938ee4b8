// The events about how far a run is; part of the table of event.cpp.
#include "actors/events/event.hpp"

namespace muster {

std::vector<EventSpec> events_of_progress() {
  constexpr std::uint8_t kInteger = 0, kNumber = 1, kText = 2, kBoolean = 3;
  const EventFieldSpec kEpoch{"epoch", kInteger, true, "epoch, from 1"};
  const EventFieldSpec kStep{"step", kInteger, true, "step, from 1"};
  return {
      {"progress",
       "How far the run is.",
       "each `report.progress_every`, and again for steps that are computed again. The report has them in "
       "`progress`, not in `events`",
       "coordinator",
       {kEpoch,
        kStep,
        {"samples", kInteger, true, "samples of the job so far"},
        {"loss", kNumber, true, "mean training loss of this step"},
        {"learning_rate", kNumber, true, "of this step"},
        {"samples_per_second", kNumber, false, "since the last one"},
        {"gradient_norm", kNumber, false,
         "of the mean gradient before it was clipped; with train.clip_norm"}}},
      {"missed",
       "The reader of these events was too slow, so some events were left out here. The report has them.",
       "when 10,000 events wait for the reader (1,000 for an observer of an embedding program)",
       "the run",
       {{"count", kInteger, true, "how many"}}},
      {"epoch",
       "An epoch has ended; its ledger.",
       "after its last step; a coordinator that was started again raises it again for each epoch that has "
       "ended, in no fixed order",
       "coordinator",
       {kEpoch,
        {"complete", kBoolean, true, "whether the data of the epoch came to its end"},
        {"steps", kInteger, true, "steps of the job so far"},
        {"samples", kInteger, true, "samples of the job so far"},
        {"loss", kNumber, true, "mean training loss over the epoch, before each step"},
        {"used", kInteger, true, "samples used"},
        {"repeated", kInteger, true, "uses beyond the first"},
        {"missed", kInteger, true, "samples never used"},
        {"dropped", kInteger, true, "samples left out by remainder = \"drop\""}}},
      {"evaluated",
       "The test set has been evaluated.",
       "after an epoch",
       "coordinator",
       {kEpoch, {"loss", kNumber, true, "mean loss"}, {"accuracy", kNumber, true, "share of right answers"}}},
      {"resumed",
       "The run goes on from a checkpoint.",
       "at the start, with --resume",
       "coordinator",
       {kStep,
        kEpoch,
        {"path", kText, true, "the weights that it goes on with"},
        {"passed_over", kText, true,
         "newer checkpoints that were skipped, each with the reason; may be empty"}}}};
}

}  // namespace muster
