#include "actors/node/node.hpp"

#include <algorithm>
#include <utility>

#include "actors/data_plane/reducer.hpp"
#include "actors/events/event.hpp"
#include "actors/messages/peer_numbers.hpp"
#include "actors/messages/strangers.hpp"
#include "actors/node/plane/view_shape.hpp"
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

namespace muster {

namespace {

// So many without a tick: this process stood still.
constexpr int kStandstillHeartbeats = 4;

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

// Whether checkpoint.folder is the coordinator's here, too.
void look_for_mark(const NodeSetup& setup, const Job& job, const std::string& mark, const node_actor& node) {
  if (mark.empty() || !setup.seams.look_for_mark) return;
  const auto say = [node, name = setup.name](const std::string& what) {
    if (what.empty()) return;
    caf::anon_send(node, Raised{make_event("notice", {{"text", name.text() + ": " + what}})});
  };
  setup.seams.look_for_mark(job, mark, say);
}

}  // namespace

NodeSetup setup_here() {
  NodeSetup setup;
  setup.host = host_name();
  setup.cores = static_cast<std::uint32_t>(discover_devices().cores.size());
  return setup;
}

void NodeState::start(Self self, NodeSetup setup) {
  self_ = self;
  setup_ = std::move(setup);
  board_ = std::make_shared<PlaneBoard>();
  board_->node = node_actor(self);
  self->set_down_handler([this](const caf::down_msg&) {
    if (setup_.on_orphaned && own_.may_be_member()) {
      setup_.on_orphaned(job_->cluster.orphan_after);
      return notice("the coordinator is gone; steps go on, and it is looked for");
    }
    if (setup_.on_stop) setup_.on_stop(Stop{false, "the coordinator is gone", !reports_.leaving()});
    let_go();  // nobody is left to work for
    self_->quit(caf::exit_reason::remote_link_unreachable);
  });
  refuse_strangers(self, [this](const std::string& reason) {
    self_->send(setup_.coordinator,
                Raised{make_event("refused", {{"reason", setup_.name.text() + ": " + reason}})});
  });
  self->monitor(setup_.coordinator);
  join_ = Join{kProtocolVersion, setup_.name,  setup_.pid,    setup_.incarnation, setup_.joins,
               setup_.host,      setup_.cores, setup_.device, setup_.launched,    setup_.own_address};
  self->send(setup_.coordinator, join_);
}

void NodeState::on(const Welcome& message) {
  setup_.name = message.name;
  // Who started it is told by an event.
  if (setup_.joins && setup_.launched == 0)
    notice("was taken in; opens the data and builds the model on " + message.device);
  join_.device = message.device;  // a coordinator that is started again is told
  link_.taken_in(message.term, self_->clock().now());
  try {
    job_ = parse_job(message.job_toml, setup_.registry);
    const std::string thread = setup_.name.loader ? "muster-load" : "muster-compute";
    // One alone stays on a core that was named; several have the cores of the process.
    const bool named = !job_->cluster.devices.empty() || !setup_.device.empty();
    compute_ = setup_.seams.make_executor(thread, named && job_->train.threads == 1 ? message.device : "-");
    reading_ = message.loader_thread && !setup_.name.loader ? setup_.seams.make_executor("muster-load", "-")
                                                            : compute_;
    plane_ = setup_.seams.make_data_plane(
        *job_, setup_.name, message.device,
        plane_hooks(board_, setup_.name, progress_, self_->system().clock(), job_->cluster.detect.heartbeat));
  } catch (const std::exception& error) {
    return on(Trouble{error.what()});
  }
  if (const auto why = too_few_descriptors(descriptors_of_node(*job_), descriptors_allowed()))
    raise_notice(setup_.name.text() + ": " + *why);
  stalls_.emplace(setup_.name.slot, job_->cluster);
  loader_watch_.emplace(setup_.name.slot, job_->cluster);
  if (!setup_.name.loader) look_for_mark(setup_, *job_, message.folder_mark, board_->node);
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
  standstill_.begin(self_->clock().now());
  self_->delayed_send(self_, job_->cluster.detect.heartbeat, Tick{});
}

void NodeState::on(const Ready& message) {
  if (!message.error.empty()) return on(Trouble{message.error});
  trainer_ = message.trainer;
  trainer_->progress = progress_;
  trainer_->reads_with_compute = reading_ == compute_ && !setup_.name.loader;
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
  if (!message.cannot_read.empty())
    raise_notice(setup_.name.text() + " cannot load for itself: " + message.cannot_read);
  loading_.emplace(self_, NodeLoadingSetup{setup_.name, *job_, trainer_, reading_, plane_, board_,
                                           [this](const std::string& text) { raise_notice(text); }});
  loading_->describe(prepared);
  prepared.probe_sha256 = message.probe_sha256;
  prepared.computes_with = message.computes_with;
  prepared.sums_on_gpu = trainer_->reducing_device != nullptr;
  prepared.model_sha256 = job_->model.content;
  if (trainer_->model) prepared.shapes = shapes_of(trainer_->model->layout());
  prepared_ = prepared;
  own_.may_be_taken_in(!canary("untold-is-no-member"));
  self_->send(setup_.coordinator, prepared);
  if (const std::string& why = trainer_->gradient.why_not_pinned(); !why.empty()) {
    raise_notice(setup_.name.text() +
                 ": the sums of its gradients are copied once more on their way to and from " +
                 trainer_->device->name() + ": " + why);
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
  plane_->post([board = board_, reducer = reducer_, loading = loading_ ? loading_->actors() : LoadingActors{},
                number = view.number, self = peer_of(setup_.name), incarnation = setup_.incarnation, peers,
                shape = shape ? std::optional<ReductionShape>(*shape) : std::nullopt,
                most = bounds_of(view, *job_, *trainer_)](Engine& engine) {
    board->reducer = reducer;
    board->loading = loading;
    try {
      engine.install(number, self, incarnation, peers, shape ? &*shape : nullptr, most);
    } catch (const std::exception& error) {
      caf::anon_send(board->node, Trouble{error.what()});
    }
  });
}

void NodeState::on(const Install& message) {
  if (!link_.follows(message.view.term)) return;
  own_.enters(message.view);
  reports_.entered(message.view);
  try {
    if (setup_.name.loader) {
      install_loader(own_.view());
    } else {
      install_replica(own_.view());
    }
  } catch (const std::exception& error) {
    on(Trouble{error.what()});
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
  reducer_ = self_->spawn(reducer, plane_, replica_);
}

void NodeState::install_replica(const View& view) {
  ReductionShape shape = shape_of(view, setup_.name, *job_, *trainer_, *plane_);
  const ReductionMember& self = shape.members[shape.self];
  make_replica(view);
  loading_->load(view, self.begin, self.end);
  Assignment part{self.begin, self.end,        {},     caf::actor_cast<caf::strong_actor_ptr>(reducer_),
                  view,       shape.algorithm, nullptr};
  if (job_->train.in_parts()) {
    part.part = make_part(*trainer_, holders_in(view), setup_.name.slot);
    shape.update = std::dynamic_pointer_cast<PartUpdate>(part.part);
    shape.copies = std::dynamic_pointer_cast<ShardCopies>(part.part);
  }
  for (const auto& [number, actor] : loading_->actors().shards)
    part.shards.push_back(caf::actor_cast<caf::strong_actor_ptr>(actor));
  self_->send(replica_, std::move(part));
  install_engine(view, peers_in(view, setup_.name), &shape);
  RoundHeader greeting;
  greeting.kind = RoundKind::greeting;
  self_->send(reducer_, Open{view.number, greeting, nullptr, 0, nullptr});
}

void NodeState::install_loader(const View& view) {
  loading_->serve(view);
  install_engine(view, peers_in(view, setup_.name), nullptr);
  const Installed installed{setup_.name, view.number};
  if (canary("loader-installed-early")) return self_->send(setup_.coordinator, installed);
  // A demand that came before would be of another view.
  plane_->post([node = board_->node, installed](Engine& engine) {
    if (engine.view() == installed.view) caf::anon_send(node, installed);
  });
}

// By the coordinator, for people.
void NodeState::raise_notice(const std::string& text) {
  self_->send(setup_.coordinator, Raised{make_event("notice", {{"text", text}})});
}

void NodeState::on(const RoundDone&) {
  self_->send(setup_.coordinator, Installed{setup_.name, own_.number()});
}

void NodeState::on(const Close& message) {
  if (message.term < link_.term()) return;
  own_.closes(message.view);
  if (checkpointer_) checkpointer_->hold();
  std::vector<PeerId> lost;
  for (const NodeName& member : message.lost) lost.push_back(peer_of(member));
  plane_->post([view = message.view, lost](Engine& engine) { engine.close(view, lost); });
}

void NodeState::on(const Halted& message) {
  self_->send(setup_.coordinator,
              Closed{setup_.name, message.view, message.records, message.kept_from, message.took,
                     message.proven, own_.is(message.view) ? reports_.clean() : std::vector<std::uint64_t>{},
                     message.trained, message.phases, message.traffic});
}

// Takes part from outside the view, until one comes that holds this node.
void NodeState::on(const Observe& message) {
  own_.observes(message.view);
  reports_.observes();
  try {
    make_replica(own_.view());
    // The donor let go of a newcomer when an older view ended, whatever this side has noticed of it.
    plane_->post([donor = peer_of(message.donor.name)](Engine& engine) { engine.disconnect(donor); });
    install_engine(own_.view(), {message.donor}, nullptr);
    self_->send(replica_, Observing{own_.view(), caf::actor_cast<caf::strong_actor_ptr>(reducer_),
                                    peer_of(message.donor.name)});
    // The donor may send from now on; what came before would have been of an unknown sender.
    plane_->post([node = board_->node, installed = Installed{setup_.name, own_.number()}](Engine&) {
      caf::anon_send(node, installed);
    });
  } catch (const std::exception& error) {
    on(Trouble{error.what()});
  }
}

void NodeState::on(const Donate& message) {
  if (!replica_ || !own_.is(message.view)) return;
  const PeerId peer = peer_of(message.observer.name);
  if (message.gives || message.ends) self_->send(replica_, DonateTo{message.view, peer, message.ends});
  reports_.connected(message.observer.name);
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
  const Leaving leaving{setup_.name, message.reason};
  reports_.leaves(leaving, self_->clock().now());
  self_->send(setup_.coordinator, leaving);
}

void NodeState::on(const Begin& message) {
  own_.begins(message.view);
  if (checkpointer_) checkpointer_->release();
  if (replica_) self_->send(replica_, message);
}

void NodeState::on(const Trouble& message) {
  const Failing failure{setup_.name,    own_.number(),  false,      {},
                        message.reason, message.events, message.at, message.ends_run};
  if (reports_.failed(failure)) self_->send(setup_.coordinator, failure);
}

// A peer's failure is not this node's: it may go on in a view without that peer.
// What broke in a view that this node has left may be whole again; else it is met again.
void NodeState::on(const Failing& message) {
  if (message.view > 0 && message.view < own_.number()) return;
  Failing named = message;
  named.name = setup_.name;
  named.view = own_.number();
  reports_.broke(named);
  self_->send(setup_.coordinator, std::move(named));
}

void NodeState::on(const Tick& message) {
  const auto heartbeat = job_->cluster.detect.heartbeat;
  if (standstill_.tick(self_->clock().now(), kStandstillHeartbeats * heartbeat).count() > 0 &&
      !canary("node-standstill-is-silence"))
    link_.woke(self_->clock().now());
  look_for_coordinator();
  if (reports_.leaving() && !canary("leaver-waits-for-ever") &&
      link_.lets_nobody_go(reports_.leaving_since(), self_->clock().now(), job_->cluster.detect.patience,
                           job_->checkpoint.grace)) {
    on(reports_.leaves_alone());
    if (!replica_) return;  // it had nothing to keep, and has ended
  }
  for (const Failing& complaint : reports_.complaints(self_->clock().now(), job_->cluster.detect.patience))
    self_->send(setup_.coordinator, complaint);
  watch();
  self_->delayed_send(self_, heartbeat, message);
}

void NodeState::let_go() {
  if (loading_) loading_->end();
  if (replica_) caf::anon_send_exit(replica_, caf::exit_reason::user_shutdown);
  if (reducer_) caf::anon_send_exit(reducer_, caf::exit_reason::user_shutdown);
  replica_ = nullptr;
  checkpointer_ = nullptr;
  reducer_ = nullptr;
}

node_actor::behavior_type node(NodeState::Self self, NodeSetup setup) {
  self->state.start(self, std::move(setup));
  const auto pass_on = [self](const auto& message) { self->state.pass_on(message); };
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
