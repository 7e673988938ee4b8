"""cuts_test.py PROGRAM CASE: four hosts with a replica each, the coordinator on the first. The network is harmed as CASE says.

The coordinator's side goes on, whatever its size; the others apply nothing, and say why; when the network is healed they join
again. If most members fall silent at once, the coordinator says so and waits for them longer than for a single one: if they come back
meanwhile (`majority_returns`), nobody is lost. At the end everything is as in a run to which nothing happened: the weights, bit for bit,
and the ledger.
"""
import json
import os
import re
import subprocess
import sys
import time

from hosts import Hosts, judge
from run_events import DEADLINE_S, Events

COORDINATOR = 1  # its host
PORT = 7100
HOSTS = (1, 2, 3, 4)
PATIENCE_S = 2
MAJORITY_PATIENCES = 5  # SelfDoubt::kMajorityPatiences: a majority that falls silent at once has so many more

JOB = """
name = "cut"
seed = 5
[model]
name = "linear"
inputs = 64
outputs = 1
[data]
source = "paced"
samples = 1003
gate = "{gate}"
hold = "{hold}"
[train]
shards = 8
batch = 8
epochs = 150
[train.optimizer]
name = "sgd"
learning_rate = 0.001
[cluster]
replicas = {replicas}
on_loss = "continue"
[cluster.detect]
patience = "{patience}s"
"""


def job_text(folder, gate, replicas):
    return JOB.format(gate=gate, hold=folder / "hold", replicas=replicas, patience=PATIENCE_S)


class Cluster:
    """A coordinator and four replicas, started by hand; a replica is named by its host."""

    def __init__(self, hosts, program, folder):
        self.hosts, self._program, self._folder = hosts, program, folder
        self.report_file = folder / "report.json"
        job = folder / "job.toml"
        job.write_text(job_text(folder, folder / "gate", len(HOSTS)))
        where = f"{hosts.address(COORDINATOR)}:{PORT}"
        self.coordinator = self._start(COORDINATOR, "coordinator", "coordinate", job, "--listen", where, "--insecure",
                                       "--events", "-", "--quiet", "--report", self.report_file)
        self.events = Events(self.coordinator)
        self._processes = {host: self._start(host, f"host{host}", "join", "--coordinator", where) for host in HOSTS}
        self._host_of_pid = {process.pid: host for host, process in self._processes.items()}
        self.host_of_replica = {}
        for _ in HOSTS:
            self.await_joined()

    def _start(self, host, name, *arguments):
        with open(self._folder / f"{name}.log", "w") as log:
            return self.hosts.start(host, [self._program, *arguments], stdout=subprocess.PIPE, stderr=log, text=True,
                                    env=dict(os.environ, UCX_TLS="tcp,self"))

    def await_joined(self):
        event = self.events.wait("joined", lambda e: e["event"] == "joined" and "replica" in e)
        host = self._host_of_pid[event["pid"]]
        self.host_of_replica[event["replica"]] = host
        return host

    def await_event(self, name):
        return self.events.wait(name, lambda e: e["event"] == name)

    def await_steps(self):
        self.await_event("epoch")

    def await_lost(self, allowed):
        """Waits until one of the allowed sets of hosts is lost, and a view without it is in force."""
        lost = set()
        while lost not in allowed:
            event = self.events.wait("lost", lambda e: e["event"] == "lost")
            lost.add(self.host_of_replica[event["replica"]])
            if not any(lost <= one for one in allowed):
                raise AssertionError(f"lost are the hosts {lost}, expected one of {allowed}")
        self.events.wait("view without the lost", lambda e: e["event"] == "view" and e["members"] == len(HOSTS) - len(lost))
        return lost

    def words_of(self, host):
        return (self._folder / f"host{host}.log").read_text()

    def finish(self):
        (self._folder / "gate").touch()
        self.await_event("completed")
        codes = {"coordinator": self.coordinator.wait(DEADLINE_S)}
        codes.update({f"host {host}": process.wait(DEADLINE_S) for host, process in self._processes.items()})
        return codes


def reference(program, folder):
    """The report of the same job on one replica, with the gate open."""
    job, gate, report = folder / "reference.toml", folder / "open", folder / "reference.json"
    gate.touch()
    job.write_text(job_text(folder, gate, 1))
    subprocess.run([program, "run", job, "--quiet", "--report", report], check=True)
    return json.loads(report.read_text())


def expect(what, found, expected):
    if found != expected:
        raise AssertionError(f"{what}: found {found}, expected {expected}")
    print(f"ok: {what}: {found}", flush=True)


# What is done to the network, and what comes of it; each returns the hosts that were lost.

def undisturbed(cluster):
    return set()


def loses(cut, allowed, said, most=False):
    """One of the allowed sets of hosts is lost by it, says so as long as the cut lasts, and joins again. `most`: it is most members."""
    def act(cluster):
        cut(cluster.hosts)
        lost = cluster.await_lost(allowed)
        if most:
            expect_waited_for(cluster, len(lost))
        if said == BROKEN:
            expect_both_ends(cluster)
        cluster.await_steps()
        print(f"-- healed; the hosts {lost} had been lost", flush=True)
        cluster.hosts.heal()
        back = set()
        while not back >= lost:
            back.add(cluster.await_joined())
        for host in lost:
            words = cluster.words_of(host)
            print(f"host {host} said:\n{words}", end="")
            expect(f"host {host} said: {said}", said in words and "ended: evicted" in words, True)
        return lost
    return act


def expect_both_ends(cluster):
    """Of a broken link: the operator sees between which hosts and ports to look."""
    reason = cluster.events.named("lost")[0]["reason"]
    for host in (2, 3):
        expect(f"the port of host {host} is named", f", which takes data at {cluster.hosts.address(host)}:" in reason, True)


def expect_majority_doubted(paused, silent):
    expect("it waits for most members", f"message from {silent} of {len(HOSTS)} members" in paused["waits_for"], True)
    expect("for so much longer, in ms", paused["give_up_ms"], 1000 * MAJORITY_PATIENCES * PATIENCE_S)


def expect_waited_for(cluster, silent):
    """The event `paused` came first, and nobody was lost before the patience and those of a majority were over."""
    paused, lost = cluster.events.named("paused")[0], cluster.events.named("lost")[0]
    expect_majority_doubted(paused, silent)
    found = re.fullmatch(r"silent for (\d+) ms", lost["reason"])
    expect("the first is lost by its silence", bool(found), True)
    expect("after all patiences", int(found[1]) >= 1000 * (1 + MAJORITY_PATIENCES) * PATIENCE_S, True)
    waited = lost["time_ms"] - paused["time_ms"]
    print(f"-- lost {waited / 1e3:.2f} s after the pause", flush=True)
    # A patience less: a coordinator that has few cores may say `paused` late.
    expect("it was told before", waited >= 1000 * (MAJORITY_PATIENCES - 1) * PATIENCE_S, True)


def majority_returns(cluster):
    silent = (2, 3, 4)
    cluster.hosts.part(silent)
    paused = cluster.await_event("paused")
    expect_majority_doubted(paused, len(silent))
    time.sleep(2 * PATIENCE_S)  # the length of the fault, which is three patiences in all
    cluster.hosts.heal()
    heard = cluster.await_event("heard_again")
    print(f"-- heard again {(heard['time_ms'] - paused['time_ms']) / 1e3:.2f} s after the pause", flush=True)
    cluster.await_steps()
    return set()


BROKEN = "is broken"
CUT_OFF = "no step is applied without all members"
CASES = {
    "undisturbed": undisturbed,
    "unplugged": loses(lambda hosts: hosts.unplug(4), [{4}], CUT_OFF),
    "one_way_to_the_coordinator": loses(lambda hosts: hosts.drop(3, COORDINATOR), [{3}], CUT_OFF),
    "one_way_between_replicas": loses(lambda hosts: hosts.drop(3, 2), [{2}, {3}], BROKEN),
    "broken_link_between_replicas": loses(lambda hosts: (hosts.drop(3, 2), hosts.drop(2, 3)), [{2}, {3}], BROKEN),
    "two_and_two": loses(lambda hosts: hosts.part([3, 4]), [{3, 4}], CUT_OFF),
    "one_and_three": loses(lambda hosts: hosts.part([2, 3, 4]), [{2, 3, 4}], CUT_OFF, most=True),
    "majority_returns": majority_returns,
}


def run_case(case, program, folder):
    expected = reference(program, folder)
    with Hosts(len(HOSTS)) as hosts:
        cluster = Cluster(hosts, program, folder)
        cluster.await_steps()
        print(f"-- {case}", flush=True)
        lost = CASES[case](cluster)
        codes = cluster.finish()
    expect("all that were lost", {cluster.host_of_replica[event["replica"]] for event in cluster.events.named("lost")}, lost)
    if not lost:
        expect("views", [event["view"] for event in cluster.events.named("view")], [1])
    expect("exit codes", set(codes.values()), {0})
    report = json.loads(cluster.report_file.read_text())
    expect("weights_sha256", report["weights_sha256"], expected["weights_sha256"])
    expect("steps", report["steps"], expected["steps"])
    expect("the ledger is that of the undisturbed run", report["ledger"] == expected["ledger"], True)


def main():
    program, case = sys.argv[1:]
    return judge(lambda folder: run_case(case, program, folder))


if __name__ == "__main__":
    sys.exit(main())
