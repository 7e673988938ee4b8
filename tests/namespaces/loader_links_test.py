"""loader_links_test.py PROGRAM CASE: the coordinator on a host of its own, two replicas and two loaders on one each. The link between a
replica and the loader that serves it is cut as CASE says; everything else works.

The loader is evicted, the other one serves the replica, and the evicted one joins again; at the end the weights are, bit for bit, those
of a run to which nothing happened, and so is the ledger.
"""
import json
import os
import subprocess
import sys

from hosts import Hosts, judge
from run_events import DEADLINE_S, Events

COORDINATOR, REPLICAS, LOADERS = 1, (2, 3), (4, 5)  # hosts
PORT = 7100

JOB = """
name = "loader links"
seed = 5
[model]
name = "linear"
inputs = 64
outputs = 1
[data]
source = "paced"
samples = 1003
gate = "{gate}"
[train]
shards = 4
batch = 8
epochs = 60
[train.optimizer]
name = "sgd"
learning_rate = 0.001
[cluster]
replicas = {replicas}
loaders = {loaders}
[cluster.detect]
patience = "2s"
"""

# Of what is cut: from the loader to the replica, and back.
CASES = {"both_ways": (True, True), "from_the_loader": (True, False), "to_the_loader": (False, True)}


class Cluster:
    def __init__(self, hosts, program, folder):
        self._hosts, self._program, self._folder = hosts, program, folder
        self.report_file = folder / "report.json"
        job = folder / "job.toml"
        job.write_text(JOB.format(gate=folder / "gate", replicas=len(REPLICAS), loaders=len(LOADERS)))
        where = f"{hosts.address(COORDINATOR)}:{PORT}"
        self._coordinator = self._start(COORDINATOR, "coordinator", "coordinate", job, "--listen", where, "--insecure",
                                        "--events", "-", "--quiet", "--report", self.report_file)
        self.events = Events(self._coordinator)
        self._nodes = {host: self._start(host, f"host{host}", "join", "--coordinator", where,
                                         *(("--loader",) if host in LOADERS else ())) for host in (*REPLICAS, *LOADERS)}
        self._host_of_pid = {process.pid: host for host, process in self._nodes.items()}
        self.host_of = {}  # by ("replica" or "loader", number)
        for _ in self._nodes:
            self.await_joined()

    def _start(self, host, name, *arguments):
        with open(self._folder / f"{name}.log", "w") as log:
            return self._hosts.start(host, [self._program, *arguments], stdout=subprocess.PIPE, stderr=log, text=True,
                                     env=dict(os.environ, UCX_TLS="tcp,self"))

    def await_joined(self):
        event = self.events.wait("joined", lambda e: e["event"] == "joined")
        kind = "replica" if "replica" in event else "loader"
        self.host_of[kind, event[kind]] = self._host_of_pid[event["pid"]]
        return self._host_of_pid[event["pid"]]

    def await_steps(self):
        self.events.wait("steps", lambda e: e["event"] == "epoch")

    def finish(self):
        (self._folder / "gate").touch()
        self.events.wait("completed", lambda e: e["event"] == "completed")
        return {process.wait(DEADLINE_S) for process in (self._coordinator, *self._nodes.values())}


def reference(program, folder):
    """The report of the same job on one replica that loads for itself, with the gate open."""
    job, gate, report = folder / "reference.toml", folder / "open", folder / "reference.json"
    gate.touch()
    job.write_text(JOB.format(gate=gate, replicas=1, loaders=0))
    subprocess.run([program, "run", job, "--quiet", "--report", report], check=True)
    return json.loads(report.read_text())


def expect(what, found, expected):
    if found != expected:
        raise AssertionError(f"{what}: found {found}, expected {expected}")
    print(f"ok: {what}: {found}", flush=True)


def run_case(case, program, folder):
    there, back = CASES[case]
    expected = reference(program, folder)
    with Hosts(max(LOADERS)) as hosts:
        cluster = Cluster(hosts, program, folder)
        cluster.await_steps()
        replica, loader = cluster.host_of["replica", 0], cluster.host_of["loader", 0]  # loader 0 serves replica 0
        print(f"-- {case}: hosts {loader} and {replica}", flush=True)
        if there:
            hosts.drop(loader, replica)
        if back:
            hosts.drop(replica, loader)
        lost = cluster.events.wait("lost", lambda e: e["event"] == "lost")
        expect("lost is the loader", lost.get("loader"), 0)
        expect("for the link", "the link between loader 0 and replica 0 is broken" in lost["reason"], True)
        expect("comes back", cluster.await_joined(), loader)  # as another loader, which serves another replica
        cluster.await_steps()
        hosts.heal()
        expect("exit codes", cluster.finish(), {0})
    report = json.loads(cluster.report_file.read_text())
    for key in ("weights_sha256", "steps", "ledger"):
        expect(key, report[key] == expected[key], True)
    expect("processes lost", report["event_counts"]["lost"], 1)


def main():
    program, case = sys.argv[1:]
    return judge(lambda folder: run_case(case, program, folder))


sys.exit(main())
