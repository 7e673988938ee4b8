// An actor of an embedding program that receives every event of a run as a typed message, and may ask for the
// run's end.
//
//   #include <caf/all.hpp>
//   #include "muster/run.hpp"
//
//   muster::observer_actor::behavior_type watcher(muster::observer_actor::pointer self) {
//     return {[=](const muster::Event& event) {
//       if (event.name != "epoch" || event.integer("epoch") != 1) return;
//       const auto run = caf::actor_cast<muster::run_actor>(self->current_sender());
//       self->send(run, muster::StopRequest{"one epoch is enough", true});
//     }};
//   }
//   muster::Report watch(const muster::Job& job, muster::RunOptions options) {
//     caf::actor_system_config config;
//     muster::configure(config);
//     caf::actor_system system(config);  // this program's own; the run has another one
//     const muster::observer_actor observer = system.spawn(watcher);
//     options.observers.push_back(observer);
//     muster::Report report = muster::run(job, options);
//     caf::anon_send_exit(observer, caf::exit_reason::user_shutdown);  // the system waits for it
//     options.observers.clear();
//     return report;
//   }
#pragma once

#include <caf/actor_system_config.hpp>
#include <caf/replies_to.hpp>
#include <caf/type_id.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include "muster/events.hpp"

namespace muster {

/// Asks the sender of an event to end the run; its outcome is `interrupted`. A second one, while the run
/// ends, ends it at once, without its last checkpoint, unless it `waits`.
struct StopRequest {
  std::string reason;  ///< for people: it is part of the report's `reason`
  bool waits = false;  ///< leaves a run that ends already as it is

  static auto fields(StopRequest& x) { return std::tie(x.reason, x.waits); }
};

// How CAF reads these; compiled once, in the library, for CAF's own inspectors.
/// @cond
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, EventField& x);
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, Event& x);
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, StopRequest& x);
/// @endcond

}  // namespace muster

CAF_BEGIN_TYPE_ID_BLOCK(muster_observer, first_custom_type_id)
CAF_ADD_TYPE_ID(muster_observer, (muster::EventField))
CAF_ADD_TYPE_ID(muster_observer, (muster::Event))
CAF_ADD_TYPE_ID(muster_observer, (muster::StopRequest))
CAF_END_TYPE_ID_BLOCK(muster_observer)

namespace muster {

/// Who tells an observer of the run: the sender of each event. It may be answered.
using run_actor = caf::typed_actor<caf::reacts_to<StopRequest>>;

/// Receives every event as it happens. May answer the sender with StopRequest.
using observer_actor = caf::typed_actor<caf::reacts_to<Event>>;

/// Type ids of Muster's messages end here; those of an embedding program may begin.
constexpr caf::type_id_t kFirstFreeTypeId = caf::first_custom_type_id + 1000;

/// Adds Muster's message types to a configuration, and the settings that its runs have: one scheduler thread
/// that shares its work (scheduler.max-threads, scheduler.policy), and a middleman without workers
/// (middleman.workers, middleman.attach-utility-actors). Call it before the system is made, and change after
/// it what yours needs.
void configure(caf::actor_system_config& config);

}  // namespace muster
