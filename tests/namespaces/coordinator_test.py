"""coordinator_test.py PROGRAM CASE: the coordinator alone on a host, two replicas on hosts of their own.

CASE is `cut_briefly`, `cut_for_long` (control connections break) or `loses_power`. No replica is lost, no step is thrown away, and at
the end everything is as in a run to which nothing happened.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from cuts_test import JOB, PORT, expect, reference
from hosts import Hosts, cannot_run
from run_events import DEADLINE_S, Events

COORDINATOR = 1  # its host
REPLICAS = (2, 3)
CHECKPOINTS = """
[checkpoint]
folder = "{folder}"
every = "100000 steps"
"""


class Cluster:
    def __init__(self, hosts, program, folder):
        self.hosts, self._program, self._folder = hosts, program, folder
        self.where = f"{hosts.address(COORDINATOR)}:{PORT}"
        self.job = folder / "job.toml"
        self.job.write_text(JOB.format(gate=folder / "gate", replicas=len(REPLICAS)) + CHECKPOINTS.format(folder=folder / "kept"))
        self.seen = []
        self.start_coordinator()
        self._replicas = [self._start(host, f"host{host}", "join", "--coordinator", self.where) for host in REPLICAS]
        self.await_steps()

    def _start(self, host, name, *arguments):
        with open(self._folder / f"{name}.log", "a") as log:
            return self.hosts.start(host, [self._program, *arguments], stdout=subprocess.PIPE, stderr=log, text=True,
                                    env=dict(os.environ, UCX_TLS="tcp,self"))

    def start_coordinator(self):
        self.coordinator = self._start(COORDINATOR, "coordinator", "coordinate", self.job, "--listen", self.where, "--insecure",
                                       "--events", "-", "--quiet", "--report", self._folder / "report.json")
        self.events = Events(self.coordinator)
        self.seen.append(self.events)

    def await_event(self, name):
        return self.events.wait(name, lambda event: event["event"] == name)

    def await_steps(self):
        self.await_event("epoch")

    def named(self, name):
        return [event for events in self.seen for event in events.seen if event["event"] == name]

    def finish(self):
        (self._folder / "gate").touch()
        self.await_event("completed")
        return {process.wait(DEADLINE_S) for process in (self.coordinator, *self._replicas)}


def cut(seconds):
    def act(cluster):
        cluster.hosts.unplug(COORDINATOR)
        cluster.await_event("paused")
        time.sleep(seconds)  # the length of the fault, beyond the patience
        cluster.hosts.heal()
        healed = time.monotonic()
        cluster.await_event("heard_again")
        print(f"-- heard again {time.monotonic() - healed:.2f} s after the link was back", flush=True)
        expect("the view is the same", {event["view"] for event in cluster.named("view")}, {1})
    return act


def lose_power(cluster):
    cluster.hosts.power_off(COORDINATOR)
    cluster.coordinator.wait()
    time.sleep(8)  # as long as the host takes to start: connections have ended meanwhile
    cluster.hosts.power_on(COORDINATOR)
    cluster.start_coordinator()
    back = time.monotonic()
    cluster.await_event("view")
    print(f"-- the view is in force again {time.monotonic() - back:.2f} s after the coordinator was started", flush=True)
    expect("it is the same view", {event["view"] for event in cluster.named("view")}, {1})


CASES = {"cut_briefly": cut(0.5), "cut_for_long": cut(8), "loses_power": lose_power}


def run_case(case, program, folder):
    expected = reference(program, folder)
    with Hosts(1 + len(REPLICAS)) as hosts:
        cluster = Cluster(hosts, program, folder)
        print(f"-- {case}", flush=True)
        CASES[case](cluster)
        cluster.await_steps()
        codes = cluster.finish()
        expect("nobody was lost", cluster.named("lost"), [])
    expect("exit codes", codes, {0})
    report = json.loads((folder / "report.json").read_text())
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
