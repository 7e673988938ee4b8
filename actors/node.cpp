#include "muster/actors/node.hpp"

#include "muster/actors/loader.hpp"
#include "muster/actors/pipeline/memory.hpp"
#include "muster/actors/reducer.hpp"
#include "muster/actors/replica.hpp"
#include "muster/actors/shard.hpp"
#include "muster/actors/workbench.hpp"
#include "muster/config/error.hpp"
#include "muster/config/job_file.hpp"
#include "muster/config/mistake.hpp"
#include "muster/gpu/device.hpp"
#include "muster/gpu/state_hash.hpp"

namespace muster {

namespace {

// A peer keeps its number over all views: replicas their slot, loaders theirs above these.
constexpr PeerId kLoaderPeers = PeerId{1} << 20;

PeerId peer_of(const NodeName& name) {
  return name.loader ? kLoaderPeers + name.slot : name.slot;
}
NodeName name_of(PeerId peer) {
  return {peer >= kLoaderPeers, peer >= kLoaderPeers ? peer - kLoaderPeers : peer};
}

int core_of(const std::string& device) {
  if (device.rfind("cpu:", 0) != 0) return -1;
  const auto cores = discover_devices().cores;
  const auto index = static_cast<std::size_t>(std::stoul(device.substr(4)));
  return index < cores.size() ? cores[index] : -1;
}

Job parse_job(const std::string& toml, const Registry& registry) {
  ParsedJob parsed = read_job_text(toml, "job of the coordinator", {}, registry.declarations());
  if (parsed.job) return *parsed.job;
  throw Error(Advice::fix_job, "this node cannot run the job: " + render(parsed.mistakes));
}

}  // namespace

NodeSeams real_seams() {
  NodeSeams seams;
  seams.make_executor = [](const std::string& name, const std::string& device) {
    return std::shared_ptr<Executor>(make_thread_executor(name, core_of(device)));
  };
  seams.make_data_plane = [](const Job& job, const NodeName&, Engine::Hooks hooks) {
    return std::shared_ptr<DataPlane>(make_ucx_data_plane(job.cluster.listen, std::move(hooks)));
  };
  return seams;
}

void NodeState::start(Self self, NodeParts parts) {
  self_ = self;
  parts_ = std::move(parts);
  board_ = std::make_shared<Board>();
  board_->node = node_actor(self);
  self->set_down_handler([this](const caf::down_msg&) {
    let_go();  // the coordinator is gone: nobody is left to work for
    self_->quit(caf::exit_reason::remote_link_unreachable);
  });
  self->monitor(parts_.coordinator);
  self->send(parts_.coordinator, Join{kProtocolVersion, parts_.name, parts_.pid, parts_.incarnation});
}

Engine::Hooks NodeState::hooks() const {
  Engine::Hooks hooks;
  hooks.round_done = [board = board_](RoundRecord record) {
    caf::anon_send(board->actors.reducer, RoundDone{std::make_shared<const RoundRecord>(std::move(record))});
  };
  hooks.reduction_failed = [board = board_](const std::string& reason) {
    caf::anon_send(board->node, Trouble{reason});
  };
  hooks.stalled = [board = board_](RoundSight sight) {
    caf::anon_send(board->node, Stalled{std::move(sight)});
  };
  hooks.progress = [progress = progress_] { return progress->word(); };
  hooks.now = [&clock = self_->system().clock()] {
    return std::chrono::nanoseconds(clock.now().time_since_epoch());
  };
  hooks.batch = [board = board_](const Frame& frame, std::vector<std::byte> payload) {
    const auto shard = board->actors.shards.find(frame.node);
    if (shard == board->actors.shards.end()) return;
    caf::anon_send(
        shard->second,
        RemoteDelivery{frame.round, std::make_shared<const std::vector<std::byte>>(std::move(payload))});
  };
  hooks.demand = [board = board_](const Frame& frame) {
    const auto asker = board->actors.remote_shards.find(frame.from);
    if (asker == board->actors.remote_shards.end() || frame.extra > 1) return;
    const Cursor cursor{static_cast<Phase>(frame.extra), frame.more, frame.offset};
    caf::send_as(asker->second, board->actors.loader, Demand{frame.node, cursor, frame.round});
  };
  hooks.peer_failed = [board = board_](PeerId peer, const std::string& reason) {
    caf::anon_send(board->node, Failing{{}, 0, true, name_of(peer), reason});
  };
  hooks.refused = [board = board_, loader = parts_.name.loader,
                   slot = parts_.name.slot](const std::string& reason) {
    caf::anon_send(
        board->node,
        Raised{make_event("refused", {{loader ? "loader" : "replica", static_cast<std::int64_t>(slot)},
                                      {"reason", reason}})});
  };
  hooks.closed = [board = board_](std::uint32_t view) {
    if (board->actors.reducer) {
      caf::anon_send(board->actors.reducer, ViewClosed{view});
    } else {
      caf::anon_send(board->node, Halted{view, 0});  // a loader holds no records
    }
  };
  hooks.handed_out = [board = board_](std::vector<std::byte> payload) {
    caf::anon_send(board->actors.reducer,
                   HandedOut{std::make_shared<const std::vector<std::byte>>(std::move(payload))});
  };
  return hooks;
}

void NodeState::on(const Welcome& message) {
  welcome_ = message;
  try {
    job_ = parse_job(message.job_toml, parts_.registry);
    const std::string thread = parts_.name.loader ? "muster-load" : "muster-compute";
    compute_ = parts_.seams.make_executor(thread, message.device);
    loading_ = message.loader_thread && !parts_.name.loader ? parts_.seams.make_executor("muster-load", "-")
                                                            : compute_;
    plane_ = parts_.seams.make_data_plane(*job_, parts_.name, hooks());
  } catch (const std::exception& error) {
    return on(Trouble{error.what()});
  }
  stalls_.emplace(parts_.name.slot, job_->cluster);
  const bool loads = parts_.name.loader || job_->cluster.loaders == 0;
  compute_->submit([node = board_->node, job = *job_, registry = parts_.registry, device = message.device,
                    computes = !parts_.name.loader, loads] {
    Ready ready;
    try {
      ready.bench = make_workbench(job, registry, device, computes, loads);
    } catch (const std::exception& error) {
      ready.error = error.what();
    }
    caf::anon_send(node, std::move(ready));
  });
  self_->delayed_send(self_, job_->cluster.detect.heartbeat, Tick{});
}

void NodeState::on(const Ready& message) {
  if (!message.error.empty()) return on(Trouble{message.error});
  bench_ = message.bench;
  bench_->progress = progress_;
  Prepared prepared;
  prepared.name = parts_.name;
  prepared.address = plane_->address();
  prepared.transport = plane_->describe();
  if (bench_->model) {
    prepared.state_sha256 = state_sha256(bench_->state);
    prepared.elements = bench_->state.size();
  }
  if (bench_->reader) {
    prepared.loads = true;
    prepared.facts = data_facts(*bench_);
  }
  self_->send(parts_.coordinator, prepared);
}

ReductionShape NodeState::shape_of(const View& view) const {
  ReductionShape shape;
  shape.view = view.number;
  shape.shards = job_->train.shards;
  shape.elements = bench_->state.size();
  for (const Member& member : view.replicas) {
    if (member.name == parts_.name) shape.self = static_cast<std::uint32_t>(shape.members.size());
    shape.members.push_back({peer_of(member.name), member.incarnation, member.begin, member.end});
  }
  return shape;
}

void NodeState::install_engine(const View& view, const ReductionShape* shape) {
  std::vector<Engine::Peer> peers;
  for (const auto* members : {&view.replicas, &view.loaders}) {
    for (const Member& member : *members) {
      if (member.name == parts_.name || (member.name.loader && parts_.name.loader))
        continue;  // loaders never meet
      peers.push_back({peer_of(member.name), member.incarnation, member.address});
    }
  }
  plane_->post([board = board_, actors = actors_, number = view.number, self = peer_of(parts_.name),
                incarnation = parts_.incarnation, peers,
                shape = shape ? std::optional<ReductionShape>(*shape) : std::nullopt,
                bytes = view.batch_bytes_max](Engine& engine) {
    board->actors = actors;
    try {
      engine.install(number, self, incarnation, peers, shape ? &*shape : nullptr, bytes);
    } catch (const std::exception& error) {
      caf::anon_send(board->node, Trouble{error.what()});
    }
  });
}

void NodeState::on(const Install& message) {
  view_ = message.view;
  try {
    if (parts_.name.loader) {
      install_loader(view_);
    } else {
      install_replica(view_);
    }
  } catch (const std::exception& error) {
    on(Trouble{error.what()});
  }
}

void NodeState::install_loader(const View& view) {
  end_loading();
  actors_.loader = self_->spawn(loader, bench_, loading_, board_->node);
  for (const Member& member : view.replicas) {
    if (view.loader_of(member.name.slot).name != parts_.name) continue;
    const PeerId peer = peer_of(member.name);
    actors_.remote_shards[peer] = self_->spawn(remote_shard, plane_, peer);
  }
  install_engine(view, nullptr);
  self_->send(parts_.coordinator, Installed{parts_.name, view.number});
}

loader_actor NodeState::make_loader(const View& view) {
  if (bench_->reader) return self_->spawn(loader, bench_, loading_, board_->node);
  return self_->spawn(remote_loader, plane_, peer_of(view.loader_of(parts_.name.slot).name));
}

std::uint32_t NodeState::prefetch_depth_for(std::uint32_t shards) const {
  if (!bench_->reader) return job_->data.prefetch;
  return prefetch_depth({job_->data.memory_bytes, bench_->reader->resident_bytes(),
                         bench_->reader->micro_batch_bytes_max(), shards, job_->data.prefetch});
}

void NodeState::spawn_shards(const View& view, std::uint32_t begin, std::uint32_t end) {
  end_loading();
  const CourseOptions course = course_options(*job_, view.facts.has_test);
  const std::uint32_t depth = prefetch_depth_for(end - begin);
  actors_.loader = make_loader(view);
  for (std::uint32_t number = begin; number < end; ++number) {
    actors_.shards[number] = self_->spawn(shard, number, depth, course, actors_.loader, board_->node);
  }
}

void NodeState::install_replica(const View& view) {
  const ReductionShape shape = shape_of(view);
  const ReductionMember& self = shape.members[shape.self];
  if (!replica_) {
    ReplicaParts parts{parts_.name.slot, view.facts, bench_, compute_, board_->node};
    replica_ = parts_.seams.spawn_replica ? parts_.seams.spawn_replica(self_->system(), std::move(parts))
                                          : self_->spawn(replica, std::move(parts));
    actors_.reducer = self_->spawn(reducer, plane_, replica_);
  }
  spawn_shards(view, self.begin, self.end);
  Assignment part{self.begin, self.end, {}, caf::actor_cast<caf::strong_actor_ptr>(actors_.reducer), view};
  for (const auto& [number, actor] : actors_.shards)
    part.shards.push_back(caf::actor_cast<caf::strong_actor_ptr>(actor));
  self_->send(replica_, std::move(part));
  install_engine(view, &shape);
  RoundHeader greeting;
  greeting.kind = RoundKind::greeting;
  self_->send(actors_.reducer, Open{view.number, greeting, nullptr, 0});
}

void NodeState::on(const RoundDone&) {
  self_->send(parts_.coordinator, Installed{parts_.name, view_.number});
}

void NodeState::on(const Close& message) {
  std::vector<PeerId> lost;
  for (const NodeName& member : message.lost) lost.push_back(peer_of(member));
  plane_->post([view = message.view, lost](Engine& engine) { engine.close(view, lost); });
}

void NodeState::on(const Halted& message) {
  self_->send(parts_.coordinator, Closed{parts_.name, message.view, message.records});
}

void NodeState::on(const Begin& message) {
  begun_ = true;
  if (replica_) self_->send(replica_, message);
}

void NodeState::on(const Stalled& message) {
  auto words = stalls_->of(message.sight, begun_);
  for (HeldUp& late : words.held_up) self_->send(parts_.coordinator, std::move(late));
  for (Failing& complaint : words.complaints) self_->send(parts_.coordinator, std::move(complaint));
}

void NodeState::on(const Trouble& message) {
  fail(Failing{parts_.name, view_.number, false, {}, message.reason});
}

// A peer's failure is not this node's: it may go on in a view without that peer.
void NodeState::on(const Failing& message) {
  Failing named = message;
  named.name = parts_.name;
  named.view = view_.number;
  self_->send(parts_.coordinator, std::move(named));
}

// The first error counts; what follows from it is not worth saying.
void NodeState::fail(Failing message) {
  if (std::exchange(failed_, true)) return;
  self_->send(parts_.coordinator, std::move(message));
}

void NodeState::on(const Tick& message) {
  const std::uint64_t applied = bench_ ? bench_->applied.load() : 0;
  self_->send(parts_.coordinator,
              Heartbeat{parts_.name, applied, progress_->measured_step(), progress_->measured_seconds()});
  plane_->post([](Engine& engine) { engine.tick(); });
  const auto now = self_->clock().now().time_since_epoch();
  if (auto late = stalls_->of_self(progress_->word(), view_.number, applied + 1, now))
    self_->send(parts_.coordinator, *late);
  self_->delayed_send(self_, job_->cluster.detect.heartbeat, message);
}

void NodeState::on(const Stop&) {
  let_go();
  self_->quit(caf::exit_reason::user_shutdown);
}

void NodeState::end_loading() {
  const auto end = [](const auto& actor) { caf::anon_send_exit(actor, caf::exit_reason::user_shutdown); };
  for (const auto& [number, actor] : actors_.shards) end(actor);
  for (const auto& [peer, actor] : actors_.remote_shards) end(actor);
  if (actors_.loader) end(actors_.loader);
  actors_.shards.clear();
  actors_.remote_shards.clear();
  actors_.loader = nullptr;
}

void NodeState::let_go() {
  end_loading();
  if (replica_) caf::anon_send_exit(replica_, caf::exit_reason::user_shutdown);
  if (actors_.reducer) caf::anon_send_exit(actors_.reducer, caf::exit_reason::user_shutdown);
  replica_ = nullptr;
  actors_.reducer = nullptr;
}

node_actor::behavior_type node(NodeState::Self self, NodeParts parts) {
  self->state.start(self, std::move(parts));
  const auto pass_on = [self](const auto& message) { self->send(self->state.coordinator(), message); };
  return {[=](const Welcome& message) { self->state.on(message); },
          [=](const Ready& message) { self->state.on(message); },
          [=](const Install& message) { self->state.on(message); },
          [=](const RoundDone& message) { self->state.on(message); },
          [=](const Begin& message) { self->state.on(message); },
          [=](const Close& message) { self->state.on(message); },
          [=](const Halted& message) { self->state.on(message); },
          [=](const Stalled& message) { self->state.on(message); },
          [=](const Trouble& message) { self->state.on(message); },
          [=](const Failing& message) { self->state.on(message); },
          [=](const Raised& message) { pass_on(message); },
          [=](const Progress& message) { pass_on(message); },
          [=](const EpochEnd& message) { pass_on(message); },
          [=](const ReplicaDone& message) { pass_on(message); },
          [=](const Tick& message) { self->state.on(message); },
          [=](const Stop& message) { self->state.on(message); }};
}

}  // namespace muster
