"""cuts_test.py PROGRAM CASE: four hosts with a replica each, the coordinator on the first. The network is harmed as CASE says.

The coordinator's side goes on, whatever its size; the others apply nothing, and say why; when the network is healed they join
again; at the end everything is as in a run to which nothing happened: the weights, bit for bit, and the ledger.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from hosts import Hosts, cannot_run
from run_events import DEADLINE_S, Events

COORDINATOR = 1  # its host
PORT = 7100
HOSTS = (1, 2, 3, 4)

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
patience = "2s"
"""

# What is done to the network; the hosts that may be lost by it, one of these sets; what those say as long as it lasts.
CUT_OFF = "no step is applied without all members"
CASES = {
    "undisturbed": (lambda hosts: None, [set()], ""),
    "unplugged": (lambda hosts: hosts.unplug(4), [{4}], CUT_OFF),
    "one_way_to_the_coordinator": (lambda hosts: hosts.drop(3, COORDINATOR), [{3}], CUT_OFF),
    "one_way_between_replicas": (lambda hosts: hosts.drop(3, 2), [{2}, {3}], "is broken"),
    "broken_link_between_replicas": (lambda hosts: (hosts.drop(3, 2), hosts.drop(2, 3)), [{2}, {3}], "is broken"),
    "two_and_two": (lambda hosts: hosts.part([3, 4]), [{3, 4}], CUT_OFF),
    "one_and_three": (lambda hosts: hosts.part([2, 3, 4]), [{2, 3, 4}], CUT_OFF),
}


class Cluster:
    """A coordinator and four replicas, started by hand; a replica is named by its host."""

    def __init__(self, hosts, program, folder):
        self._hosts, self._program, self._folder = hosts, program, folder
        self.report_file = folder / "report.json"
        job = folder / "job.toml"
        job.write_text(JOB.format(gate=folder / "gate", replicas=len(HOSTS)))
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
            return self._hosts.start(host, [self._program, *arguments], stdout=subprocess.PIPE, stderr=log, text=True,
                                     env=dict(os.environ, UCX_TLS="tcp,self"))

    def await_joined(self):
        event = self.events.wait("joined", lambda e: e["event"] == "joined" and "replica" in e)
        host = self._host_of_pid[event["pid"]]
        self.host_of_replica[event["replica"]] = host
        return host

    def await_steps(self):
        self.events.wait("steps", lambda e: e["event"] == "epoch")

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
        self.events.wait("completed", lambda e: e["event"] == "completed")
        codes = {"coordinator": self.coordinator.wait(DEADLINE_S)}
        codes.update({f"host {host}": process.wait(DEADLINE_S) for host, process in self._processes.items()})
        return codes


def reference(program, folder):
    """The report of the same job on one replica, with the gate open."""
    job, gate, report = folder / "reference.toml", folder / "open", folder / "reference.json"
    gate.touch()
    job.write_text(JOB.format(gate=gate, replicas=1))
    subprocess.run([program, "run", job, "--quiet", "--report", report], check=True)
    return json.loads(report.read_text())


def expect(what, found, expected):
    if found != expected:
        raise AssertionError(f"{what}: found {found}, expected {expected}")
    print(f"ok: {what}: {found}", flush=True)


def run_case(case, program, folder):
    cut, allowed, words_then = CASES[case]
    expected = reference(program, folder)
    with Hosts(len(HOSTS)) as hosts:
        cluster = Cluster(hosts, program, folder)
        cluster.await_steps()
        print(f"-- {case}", flush=True)
        cut(hosts)
        lost = set()
        if allowed != [set()]:
            lost = cluster.await_lost(allowed)
            cluster.await_steps()
            print(f"-- healed; the hosts {lost} had been lost", flush=True)
            hosts.heal()
            back = set()
            while not back >= lost:
                back.add(cluster.await_joined())
        codes = cluster.finish()
        for host in lost:
            words = cluster.words_of(host)
            print(f"host {host} said:\n{words}", end="")
            expect(f"host {host} said: {words_then}", words_then in words and "ended: evicted" in words, True)
    expect("exit codes", set(codes.values()), {0})
    report = json.loads(cluster.report_file.read_text())
    expect("weights_sha256", report["weights_sha256"], expected["weights_sha256"])
    expect("steps", report["steps"], expected["steps"])
    expect("the ledger is that of the undisturbed run", report["ledger"] == expected["ledger"], True)


def main():
    program, case = sys.argv[1:]
    reason = cannot_run()
    if reason:
        print(f"cannot run: {reason}")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        try:
            run_case(case, program, folder)
        except AssertionError as error:
            for log in sorted(folder.glob("*.log")):
                print(f"---- {log.name}\n{log.read_text()}", end="")
            print(f"failed: {error}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
