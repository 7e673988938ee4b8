// What the coordinator reads from the report that members hold other bits, and what it says of it. Decides
// nothing, changes nothing.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "actors/coordinator/facts/run_facts.hpp"
#include "actors/messages/bits_messages.hpp"
#include "actors/rules/steps/corruption.hpp"
#include "muster/events.hpp"

namespace muster {

Bits bits_of(const UnlikeBits& message);

/// The last step that members have applied, or may have. Gradients of a step are compared before it is
/// applied.
std::uint64_t last_done(const UnlikeBits& message);

/// Who holds which bits, and whose word counts; for judge_bits.
Suspects suspects_in(const UnlikeBits& message, const RunFacts& run);

/// Who gave this replica, in this view or before it, a whole state or records that were not compared since.
/// Who cannot be asked may have been given them by others.
std::set<std::uint32_t> sources_of(std::uint32_t slot, const std::vector<std::uint32_t>& asked,
                                   const Membership& membership);

/// The first step whose result may be wrong. Behind the last one that was done: none is. A record that
/// differs has been found before anything was computed with it.
std::uint64_t first_in_doubt(const UnlikeBits& message, const Judgement& judgement,
                             const Membership& membership, const SuspectSteps& suspects);

/// Whether the run ends, by the job's policy or because it cannot lose a replica.
bool ends_with(const Judgement& judgement, const RunFacts& run);

/// Who differs from the majority, or that there is none, and what may be done; for people.
std::string advice_of(const UnlikeBits& message, const Judgement& judgement, const Membership& membership);

/// What the coordinator does about it, in one sentence for people. `from`: as first_in_doubt. `ends`: as
/// ends_with. May read the folder of checkpoints.
std::string what_follows(const UnlikeBits& message, const Judgement& judgement, std::uint64_t from, bool ends,
                         const KnownCheckpoints& checkpoints);

/// One event `corrupt` for each replica that is wrong; one without a name where nobody knows who is. May read
/// the folder of checkpoints.
std::vector<Event> corrupt_events(const UnlikeBits& message, const Judgement& judgement, const RunFacts& run,
                                  const CheckpointFacts& checkpoints);

}  // namespace muster
