#include "actors/node/plane/plane_hooks.hpp"

#include <string>
#include <utility>
#include <vector>

#include "actors/data_plane/transfer_in.hpp"
#include "actors/events/event.hpp"
#include "actors/messages/peer_numbers.hpp"
#include "actors/node/states/awake_clock.hpp"
#include "base/canary.hpp"
#include "transport/frames/loading_bodies.hpp"

namespace muster {

namespace {

UnlikeBits unlike_bits(const Unlike& found) {
  UnlikeBits message;
  message.bits = static_cast<std::uint8_t>(found.bits);
  message.first = found.first;
  message.step = found.step;
  for (const Unlike::Opinion& opinion : found.opinions) {
    message.slots.push_back(name_of(opinion.peer).slot);
    message.groups.push_back(opinion.group);
  }
  message.shards = found.shards;
  message.text = found.text();
  return message;
}

// What became of a newcomer that was given the state here, and is a member now.
Event state_transferred(const NodeName& donor, const NodeName& newcomer, const Given& given) {
  using Seconds = std::chrono::duration<double>;
  using Milliseconds = std::chrono::duration<double, std::milli>;
  const double took_s = Seconds(given.took).count();
  return make_event("state_transferred", {{"replica", static_cast<std::int64_t>(donor.slot)},
                                          {"to", static_cast<std::int64_t>(newcomer.slot)},
                                          {"bytes", static_cast<std::int64_t>(given.bytes)},
                                          {"seconds", took_s},
                                          {"share", took_s > 0 ? Seconds(given.busy).count() / took_s : 0},
                                          {"step_ms_before", Milliseconds(given.step_before).count()},
                                          {"step_ms", Milliseconds(given.step_meanwhile).count()}});
}

}  // namespace

Engine::Hooks plane_hooks(const std::shared_ptr<PlaneBoard>& board, const NodeName& self,
                          const std::shared_ptr<ProgressBoard>& progress, caf::actor_clock& clock,
                          std::chrono::milliseconds heartbeat) {
  Engine::Hooks hooks;
  hooks.round_done = [board](std::shared_ptr<const RoundRecord> record) {
    caf::anon_send(board->reducer, RoundDone{std::move(record)});
  };
  hooks.reduction_failed = [board](const std::string& reason) {  // members do not agree
    caf::anon_send(board->node, Trouble{reason, {}, {}, true});
  };
  hooks.reduction_broke = [board](const std::string& reason) {
    caf::anon_send(board->node, Trouble{reason});
  };
  hooks.unlike = [board](const Unlike& found) { caf::anon_send(board->node, unlike_bits(found)); };
  hooks.stalled = [board](RoundSight sight) { caf::anon_send(board->node, Stalled{std::move(sight)}); };
  hooks.starved = [board](LoadingSight sight) { caf::anon_send(board->node, Starved{std::move(sight)}); };
  hooks.progress = [progress] { return progress->reported(); };
  const auto awake = std::make_shared<AwakeClock>(heartbeat);
  hooks.now = [&clock, awake] {
    const std::chrono::nanoseconds now = clock.now().time_since_epoch();
    return canary("standstill-is-charged") ? now : awake->look(now);
  };
  hooks.batch = [board](const Frame& frame, std::vector<std::byte> payload) {
    const auto body = BatchBody::from(frame);
    const auto shard = board->loading.shards.find(body.shard);
    if (shard == board->loading.shards.end()) return;
    caf::anon_send(
        shard->second,
        RemoteDelivery{body.ticket, std::make_shared<const std::vector<std::byte>>(std::move(payload))});
  };
  hooks.demand = [board](const Frame& frame) {
    const auto body = DemandBody::from(frame);
    const auto asker = board->loading.remote_shards.find(frame.from);
    if (asker == board->loading.remote_shards.end() || !body.invalid().empty()) return;
    const Cursor cursor{static_cast<Mode>(body.phase), body.epoch, body.step};
    caf::send_as(asker->second, board->loading.loader, Demand{body.shard, cursor, body.ticket});
  };
  hooks.peer_failed = [board](std::uint32_t view, PeerId peer, const std::string& reason) {
    caf::anon_send(board->node, Failing{{}, view, true, name_of(peer), reason});
  };
  hooks.refused = [board, self](const std::string& reason) {
    caf::anon_send(board->node, Raised{make_event("refused", {{self.loader ? "loader" : "replica",
                                                               static_cast<std::int64_t>(self.slot)},
                                                              {"reason", reason}})});
  };
  hooks.closed = [board](std::uint32_t view, bool result_begun, bool result_abandoned) {
    if (board->reducer) {
      caf::anon_send(board->reducer, ViewClosed{view, result_begun, result_abandoned});
    } else {
      caf::anon_send(board->node, Halted{view, 0, 0, 0});  // a loader holds no records
    }
  };
  hooks.transferred = [board](const Frame& frame, std::vector<std::byte> payload) {
    caf::anon_send(board->reducer, transfer_in(frame, std::move(payload)));
  };
  hooks.gave = [board, donor = self](PeerId newcomer, const Given& given) {
    caf::anon_send(board->node, Raised{state_transferred(donor, name_of(newcomer), given)});
  };
  return hooks;
}

}  // namespace muster
