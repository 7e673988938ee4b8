#include "actors/node/node.hpp"

#include <algorithm>
#include <map>

#include "actors/data_plane/reducer.hpp"
#include "actors/data_plane/transfer_in.hpp"
#include "actors/events/event.hpp"
#include "actors/loading/loader.hpp"
#include "actors/loading/shard.hpp"
#include "actors/messages/peer_numbers.hpp"
#include "actors/messages/strangers.hpp"
#include "actors/pipeline/memory.hpp"
#include "actors/processes/descriptors.hpp"
#include "actors/registry/job_hash.hpp"
#include "actors/replica/replica.hpp"
#include "actors/resume/resume.hpp"
#include "actors/trainer/probe.hpp"
#include "actors/trainer/trainer_state.hpp"
#include "base/canary.hpp"
#include "base/this_machine.hpp"
#include "gpu/device.hpp"
#include "gpu/optimizer/state_hash.hpp"
#include "muster/error.hpp"
#include "muster/job_file.hpp"
#include "muster/mistake.hpp"
#include "transport/frames/loading_bodies.hpp"

namespace muster {

namespace {

Job parse_job(const std::string& toml, const Registry& registry) {
  ParsedJob parsed = read_job_text(toml, "job of the coordinator", {}, registry.declarations());
  if (parsed.job) return *parsed.job;
  throw Error("this node cannot run the job: " + render(parsed.mistakes));
}

// Empty if the data can be read here.
std::string why_not_read(TrainerState& trainer) {
  try {
    trainer.data.reader();
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

void NodeState::start(Self self, NodeSetup setup) {
  self_ = self;
  setup_ = std::move(setup);
  board_ = std::make_shared<Board>();
  board_->node = node_actor(self);
  self->set_down_handler([this](const caf::down_msg&) {
    if (setup_.on_orphaned && may_be_member_) {
      notice("the coordinator is gone; steps go on, and it is looked for");
      return setup_.on_orphaned(job_->cluster.orphan_after);
    }
    if (setup_.on_stop) setup_.on_stop(Stop{false, "the coordinator is gone", !leaving_});
    let_go();  // nobody is left to work for
    self_->quit(caf::exit_reason::remote_link_unreachable);
  });
  refuse_strangers(self, [this](const std::string& reason) {
    self_->send(setup_.coordinator,
                Raised{make_event("refused", {{"reason", setup_.name.text() + ": " + reason}})});
  });
  self->monitor(setup_.coordinator);
  join_ = Join{kProtocolVersion,
               setup_.name,
               setup_.pid,
               setup_.incarnation,
               setup_.joins,
               host_name(),
               static_cast<std::uint32_t>(discover_devices().cores.size()),
               setup_.device,
               setup_.launched,
               setup_.own_address};
  self->send(setup_.coordinator, join_);
}

Engine::Hooks NodeState::hooks() const {
  Engine::Hooks hooks;
  hooks.round_done = [board = board_](std::shared_ptr<const RoundRecord> record) {
    caf::anon_send(board->actors.reducer, RoundDone{std::move(record)});
  };
  hooks.reduction_failed = [board = board_](const std::string& reason) {  // members do not agree
    caf::anon_send(board->node, Trouble{reason, {}, {}, true});
  };
  hooks.reduction_broke = [board = board_](const std::string& reason) {
    caf::anon_send(board->node, Trouble{reason});
  };
  hooks.unlike = [board = board_](const Unlike& found) { caf::anon_send(board->node, unlike_bits(found)); };
  hooks.stalled = [board = board_](RoundSight sight) {
    caf::anon_send(board->node, Stalled{std::move(sight)});
  };
  hooks.starved = [board = board_](LoadingSight sight) {
    caf::anon_send(board->node, Starved{std::move(sight)});
  };
  hooks.progress = [progress = progress_] { return progress->reported(); };
  const auto awake = std::make_shared<AwakeClock>(job_->cluster.detect.heartbeat);
  hooks.now = [&clock = self_->system().clock(), awake] {
    const std::chrono::nanoseconds now = clock.now().time_since_epoch();
    return canary("standstill-is-charged") ? now : awake->look(now);
  };
  hooks.batch = [board = board_](const Frame& frame, std::vector<std::byte> payload) {
    const auto body = BatchBody::from(frame);
    const auto shard = board->actors.shards.find(body.shard);
    if (shard == board->actors.shards.end()) return;
    caf::anon_send(
        shard->second,
        RemoteDelivery{body.ticket, std::make_shared<const std::vector<std::byte>>(std::move(payload))});
  };
  hooks.demand = [board = board_](const Frame& frame) {
    const auto body = DemandBody::from(frame);
    const auto asker = board->actors.remote_shards.find(frame.from);
    if (asker == board->actors.remote_shards.end() || !body.invalid().empty()) return;
    const Cursor cursor{static_cast<Mode>(body.phase), body.epoch, body.step};
    caf::send_as(asker->second, board->actors.loader, Demand{body.shard, cursor, body.ticket});
  };
  hooks.peer_failed = [board = board_](std::uint32_t view, PeerId peer, const std::string& reason) {
    caf::anon_send(board->node, Failing{{}, view, true, name_of(peer), reason});
  };
  hooks.refused = [board = board_, loader = setup_.name.loader,
                   slot = setup_.name.slot](const std::string& reason) {
    caf::anon_send(
        board->node,
        Raised{make_event("refused", {{loader ? "loader" : "replica", static_cast<std::int64_t>(slot)},
                                      {"reason", reason}})});
  };
  hooks.closed = [board = board_](std::uint32_t view, bool result_begun, bool result_abandoned) {
    if (board->actors.reducer) {
      caf::anon_send(board->actors.reducer, ViewClosed{view, result_begun, result_abandoned});
    } else {
      caf::anon_send(board->node, Halted{view, 0, 0, 0});  // a loader holds no records
    }
  };
  hooks.transferred = [board = board_](const Frame& frame, std::vector<std::byte> payload) {
    caf::anon_send(board->actors.reducer, transfer_in(frame, std::move(payload)));
  };
  hooks.gave = [board = board_, donor = setup_.name](PeerId newcomer, const Given& given) {
    caf::anon_send(board->node, Raised{state_transferred(donor, name_of(newcomer), given)});
  };
  return hooks;
}

void NodeState::on(const Welcome& message) {
  welcome_ = message;
  setup_.name = message.name;
  // Who started it is told by an event.
  if (setup_.joins && setup_.launched == 0)
    notice("was taken in; opens the data and builds the model on " + message.device);
  join_.device = message.device;  // a coordinator that is started again is told
  term_ = message.term;
  pulse_ = self_->clock().now();
  try {
    job_ = parse_job(message.job_toml, setup_.registry);
    const std::string thread = setup_.name.loader ? "muster-load" : "muster-compute";
    // One alone stays on a core that was named; several have the cores of the process.
    const bool named = !job_->cluster.devices.empty() || !setup_.device.empty();
    compute_ = setup_.seams.make_executor(thread, named && job_->train.threads == 1 ? message.device : "-");
    loading_ = message.loader_thread && !setup_.name.loader ? setup_.seams.make_executor("muster-load", "-")
                                                            : compute_;
    plane_ = setup_.seams.make_data_plane(*job_, setup_.name, message.device, hooks());
  } catch (const std::exception& error) {
    return on(Trouble{error.what()});
  }
  if (const auto why = too_few_descriptors(descriptors_of_node(*job_), descriptors_allowed()))
    self_->send(setup_.coordinator,
                Raised{make_event("notice", {{"text", setup_.name.text() + ": " + *why}})});
  stalls_.emplace(setup_.name.slot, job_->cluster);
  loader_watch_.emplace(setup_.name.slot, job_->cluster);
  if (!setup_.name.loader) look_for_mark(message.folder_mark);
  const bool loads = setup_.name.loader || job_->cluster.loaders == 0;
  compute_->submit([node = board_->node, job = *job_, registry = setup_.registry, device = message.device,
                    computes = !setup_.name.loader, loads, resume = message.resume,
                    open = setup_.seams.open_disk, make_device = setup_.seams.make_device,
                    check_contract = setup_.seams.check_contract,
                    carries_gpu_memory = plane_->carries_gpu_memory()] {
    Ready ready;
    try {
      if (check_contract) check_contract(job, registry, computes, loads);
      ready.trainer = make_trainer_state(
          job, registry, computes ? make_device(device, device_memory(job)) : nullptr, computes, loads);
      if (!loads && job.cluster.replicas_load()) ready.cannot_read = why_not_read(*ready.trainer);
      if (computes && !resume.empty()) {
        ready.resumed = load_resume(*ready.trainer, job_hash(job, registry.declarations()),
                                    open(job.checkpoint.folder), resume);
      }
      ready.probe_sha256 = probe(*ready.trainer);
      if (computes) ready.computes_with = computes_with(*ready.trainer);
      if (computes) make_room_for_sums(*ready.trainer);
      if (computes && carries_gpu_memory && ready.trainer->device->is_gpu() && may_sum_on_gpus(job))
        ready.trainer->reducing_device = make_device(device, memory_for_reducing(*ready.trainer));
    } catch (const std::exception& error) {
      ready.error = error.what();
    }
    caf::anon_send(node, std::move(ready));
  });
  self_->delayed_send(self_, job_->cluster.detect.heartbeat, Tick{});
}

void NodeState::on(const Ready& message) {
  if (!message.error.empty()) return on(Trouble{message.error});
  trainer_ = message.trainer;
  trainer_->progress = progress_;
  trainer_->reads_with_compute = loading_ == compute_ && !setup_.name.loader;
  resumed_ = message.resumed;
  Prepared prepared;
  prepared.name = setup_.name;
  prepared.address = plane_->address();
  prepared.host = plane_->host_of(prepared.address);
  prepared.transport = plane_->describe();
  if (trainer_->device && trainer_->device->is_gpu())
    prepared.transport +=
        trainer_->reducing_device ? ", sums from GPU to GPU" : ", sums through pinned memory";
  if (trainer_->model) {
    prepared.state_sha256 = state_sha256(host_state(*trainer_));
    prepared.elements = trainer_->state.size();
  }
  report_what_it_reads(message, prepared);
  prepared.probe_sha256 = message.probe_sha256;
  prepared.computes_with = message.computes_with;
  prepared.sums_on_gpu = trainer_->reducing_device != nullptr;
  prepared.model_sha256 = job_->model.content;
  if (trainer_->model) prepared.shapes = shapes_of(trainer_->model->layout());
  prepared_ = prepared;
  may_be_member_ = !canary("untold-is-no-member");  // of the first view, which it may not have been told of
  self_->send(setup_.coordinator, prepared);
  if (const std::string& why = trainer_->gradient.why_not_pinned(); !why.empty()) {
    const std::string text = setup_.name.text() +
                             ": the sums of its gradients are copied once more on their "
                             "way to and from " +
                             trainer_->device->name() + ": " + why;
    self_->send(setup_.coordinator, Raised{make_event("notice", {{"text", text}})});
  }
}

void NodeState::install_engine(const View& view, const std::vector<Member>& members,
                               const ReductionShape* shape) {
  std::uint32_t since = 0;
  for (const auto* all : {&view.replicas, &view.loaders}) {
    for (const Member& member : *all) {
      if (member.name == setup_.name) since = member.since;
    }
  }
  std::vector<Engine::Peer> peers;
  for (const Member& member : members)
    peers.push_back(
        {peer_of(member.name), member.incarnation, member.address, std::max(member.since, since)});
  plane_->post([board = board_, actors = actors_, number = view.number, self = peer_of(setup_.name),
                incarnation = setup_.incarnation, peers,
                shape = shape ? std::optional<ReductionShape>(*shape) : std::nullopt,
                most = bounds(view)](Engine& engine) {
    board->actors = actors;
    try {
      engine.install(number, self, incarnation, peers, shape ? &*shape : nullptr, most);
    } catch (const std::exception& error) {
      caf::anon_send(board->node, Trouble{error.what()});
    }
  });
}

void NodeState::on(const Install& message) {
  if (message.view.term < term_) return;
  term_ = message.view.term;
  view_ = message.view;
  may_be_member_ = true;
  begun_ = false;
  broken_.clear();
  if (view_.last) failure_.reset();  // it may still write what it holds, or fail at that
  unlike_.reset();
  went_back_.reset();
  clean_.clear();
  for (const Member& member : view_.replicas) clean_.push_back(member.clean);
  try {
    if (setup_.name.loader) {
      install_loader(view_);
    } else {
      install_replica(view_);
    }
  } catch (const std::exception& error) {
    on(Trouble{error.what()});
  }
}

void NodeState::spawn_shards(const View& view, std::uint32_t begin, std::uint32_t end) {
  end_loading();
  const RoundScheduleOptions schedule = round_schedule_options(*job_, view.facts.has_test);
  const std::uint32_t depth = prefetch_depth_for(view, end - begin);
  actors_.loader = make_loader(view);
  for (std::uint32_t number = begin; number < end; ++number) {
    actors_.shards[number] = self_->spawn(shard, number, depth, schedule, actors_.loader, board_->node, 0u);
  }
}

void NodeState::make_replica(const View& view) {
  if (replica_) return;
  checkpointer_ =
      make_checkpointer(*job_, job_hash(*job_, setup_.registry.declarations()), trainer_->model->layout(),
                        view.facts.fingerprint, setup_.seams.open_disk, setup_.seams.make_executor);
  ReplicaSetup setup{setup_.name.slot, view.facts,
                     trainer_,         compute_,
                     board_->node,     setup_.seams.make_executor("muster-back", "-"),
                     checkpointer_,    std::exchange(resumed_, nullptr)};
  replica_ = setup_.seams.spawn_replica ? setup_.seams.spawn_replica(self_->system(), std::move(setup))
                                        : self_->spawn(replica, std::move(setup));
  actors_.reducer = self_->spawn(reducer, plane_, replica_);
}

void NodeState::install_replica(const View& view) {
  ReductionShape shape = shape_of(view);
  const ReductionMember& self = shape.members[shape.self];
  make_replica(view);
  spawn_shards(view, self.begin, self.end);
  Assignment part{
      self.begin, self.end,        {},     caf::actor_cast<caf::strong_actor_ptr>(actors_.reducer),
      view,       shape.algorithm, nullptr};
  if (job_->train.in_parts()) {
    part.part = make_part(*trainer_, holders_in(view), setup_.name.slot);
    shape.update = std::dynamic_pointer_cast<PartUpdate>(part.part);
    shape.copies = std::dynamic_pointer_cast<ShardCopies>(part.part);
  }
  for (const auto& [number, actor] : actors_.shards)
    part.shards.push_back(caf::actor_cast<caf::strong_actor_ptr>(actor));
  self_->send(replica_, std::move(part));
  install_engine(view, peers_in(view), &shape);
  RoundHeader greeting;
  greeting.kind = RoundKind::greeting;
  self_->send(actors_.reducer, Open{view.number, greeting, nullptr, 0, nullptr});
}

void NodeState::on(const RoundDone&) {
  self_->send(setup_.coordinator, Installed{setup_.name, view_.number});
}

void NodeState::on(const Close& message) {
  if (message.term < term_) return;
  may_be_member_ = true;  // a newcomer that is to close a view is meant for the next
  if (message.view == view_.number) begun_ = false;  // no coordinator may go on with it
  if (checkpointer_) checkpointer_->hold();
  std::vector<PeerId> lost;
  for (const NodeName& member : message.lost) lost.push_back(peer_of(member));
  plane_->post([view = message.view, lost](Engine& engine) { engine.close(view, lost); });
}

void NodeState::on(const Halted& message) {
  self_->send(setup_.coordinator,
              Closed{setup_.name, message.view, message.records, message.kept_from, message.took,
                     message.proven, message.view == view_.number ? clean_ : std::vector<std::uint64_t>{},
                     message.trained, message.phases, message.traffic});
}

// Takes part from outside the view, until one comes that holds this node.
void NodeState::on(const Observe& message) {
  view_ = message.view;
  run_has_begun_ = true;
  broken_.clear();
  try {
    make_replica(view_);
    // The donor let go of a newcomer when an older view ended, whatever this side has noticed of it.
    plane_->post([donor = peer_of(message.donor.name)](Engine& engine) { engine.disconnect(donor); });
    install_engine(view_, {message.donor}, nullptr);
    self_->send(replica_, Observing{view_, caf::actor_cast<caf::strong_actor_ptr>(actors_.reducer),
                                    peer_of(message.donor.name)});
    // The donor may send from now on; what came before would have been of an unknown sender.
    plane_->post([node = board_->node, installed = Installed{setup_.name, view_.number}](Engine&) {
      caf::anon_send(node, installed);
    });
  } catch (const std::exception& error) {
    on(Trouble{error.what()});
  }
}

void NodeState::on(const Donate& message) {
  if (!replica_ || message.view != view_.number) return;
  const PeerId peer = peer_of(message.observer.name);
  if (message.gives || message.ends) self_->send(replica_, DonateTo{message.view, peer, message.ends});
  std::erase_if(broken_, [&](const Failing& each) { return each.peer == message.observer.name; });
  if (message.ends) return plane_->post([peer](Engine& engine) { engine.disconnect(peer); });
  plane_->post([board = board_, view = message.view, peer, incarnation = message.observer.incarnation,
                address = message.observer.address](Engine& engine) {
    if (engine.view() != view) return;
    try {
      engine.accept({peer, incarnation, address});
    } catch (const std::exception& error) {
      caf::anon_send(board->node, Failing{{}, 0, true, name_of(peer), error.what()});
    }
  });
}

void NodeState::on(const CaughtUp& message) {
  self_->send(setup_.coordinator, CaughtUp{setup_.name, message.view, message.records, message.donor});
}

void NodeState::on(const Leaving& message) {
  if (setup_.joins && !job_) return on(Stop{true, message.reason});  // nobody waits for it
  leaving_ = Leaving{setup_.name, message.reason};
  self_->send(setup_.coordinator, *leaving_);
}

void NodeState::on(const Begin& message) {
  if (message.view == view_.number) begun_ = run_has_begun_ = true;
  if (checkpointer_) checkpointer_->release();
  if (replica_) self_->send(replica_, message);
}

void NodeState::on(const Trouble& message) {
  fail(Failing{
      setup_.name, view_.number, false, {}, message.reason, message.events, message.at, message.ends_run});
}

// A peer's failure is not this node's: it may go on in a view without that peer.
// What broke in a view that this node has left may be whole again; else it is met again.
void NodeState::on(const Failing& message) {
  if (message.view > 0 && message.view < view_.number) return;
  Failing named = message;
  named.name = setup_.name;
  named.view = view_.number;
  broken_.push_back(named);
  self_->send(setup_.coordinator, std::move(named));
}

// The end of a connection is met once. The coordinator forgets complaints that it cannot judge, and is told
// again.
void NodeState::complain_again() {
  const auto now = self_->clock().now();
  if (broken_.empty() || now - complained_at_ < job_->cluster.detect.patience) return;
  complained_at_ = now;
  for (const Failing& complaint : broken_) self_->send(setup_.coordinator, complaint);
}

// The first error counts; what follows from it is not worth saying.
void NodeState::fail(Failing message) {
  if (failure_) return;
  failure_ = message;
  self_->send(setup_.coordinator, std::move(message));
}

void NodeState::on(const Tick& message) {
  look_for_silence();
  look_for_answer();
  complain_again();
  watch();
  self_->delayed_send(self_, job_->cluster.detect.heartbeat, message);
}

void NodeState::let_go() {
  end_loading();
  if (replica_) caf::anon_send_exit(replica_, caf::exit_reason::user_shutdown);
  if (actors_.reducer) caf::anon_send_exit(actors_.reducer, caf::exit_reason::user_shutdown);
  replica_ = nullptr;
  checkpointer_ = nullptr;
  actors_.reducer = nullptr;
}

node_actor::behavior_type node(NodeState::Self self, NodeSetup setup) {
  self->state.start(self, std::move(setup));
  const auto pass_on = [self](const auto& message) { self->send(self->state.coordinator(), message); };
  return {[=](const Welcome& message) { self->state.on(message); },
          [=](const Ready& message) { self->state.on(message); },
          [=](const Install& message) { self->state.on(message); },
          [=](const RoundDone& message) { self->state.on(message); },
          [=](const Begin& message) { self->state.on(message); },
          [=](const Close& message) { self->state.on(message); },
          [=](const Observe& message) { self->state.on(message); },
          [=](const Donate& message) { self->state.on(message); },
          [=](const Installed& message) { pass_on(message); },
          [=](const CaughtUp& message) { self->state.on(message); },
          [=](const Leaving& message) { self->state.on(message); },
          [=](const Pulse& message) { self->state.on(message); },
          [=](const NewCoordinator& message) { self->state.on(message); },
          [=](const Adopted& message) { self->state.on(message); },
          [=](const Halted& message) { self->state.on(message); },
          [=](const Stalled& message) { self->state.on(message); },
          [=](const Starved& message) { self->state.on(message); },
          [=](const Trouble& message) { self->state.on(message); },
          [=](const Failing& message) { self->state.on(message); },
          [=](const Raised& message) { pass_on(message); },
          [=](const Progress& message) { pass_on(message); },
          [=](const EpochEnd& message) { pass_on(message); },
          [=](const ReplicaDone& message) { pass_on(message); },
          [=](const Tick& message) { self->state.on(message); },
          [=](const StateKept& message) { self->state.on(message); },
          [=](const Checkpointed& message) { pass_on(message); },
          [=](const AuditShardRequest& message) { self->state.on(message); },
          [=](const UnlikeBits& message) { self->state.on(message); },
          [=](const Compared& message) { self->state.on(message); },
          [=](const WentBack& message) { self->state.on(message); },
          [=](const Reach& message) { self->state.on(message); },
          [=](const Reached& message) { pass_on(message); },
          [=](const Stop& message) { self->state.on(message); }};
}

}  // namespace muster
