"""same_pid_test.py PROGRAM CASE: processes that have the same pid, each in a pid namespace of its own.

CASE is `one_network`: coordinator and replicas share the network of one host, as containers with the host's network do, and each is
process 1. Two replicas begin, a third one joins, and is killed: that one alone is lost. Or `run`: `muster run` starts replica 0, a process
of another host that has the same pid joins it, and the cable of that host is pulled. Replica 1 is lost, and replica 0 trains on. At the
end everything is as in a run to which nothing happened.
"""
import json
import os
import subprocess
import sys

from cuts_test import PORT, expect, job_text, reference
from hosts import OWN_PIDS, Hosts, judge
from run_events import DEADLINE_S, Events

KILLED_AFTER_MS = 5000  # Launcher::kLostGrace: a child that was lost, and has not ended, is killed
MARGIN_MS = 2000

# Runs a command under a given pid. Pids are given in their order, and this shell is process 1.
UNDER_PID = 'wanted=$1; shift; last=1; while [ $last -lt $((wanted - 1)) ]; do /bin/true & last=$!; wait; done; "$@"; exit $?'


class Cluster:
    def __init__(self, hosts, program, folder):
        self.hosts, self._program, self._folder = hosts, program, folder
        self.where = f"{hosts.address(1)}:{PORT}"
        self.job = folder / "job.toml"
        self.report_file = folder / "report.json"

    def start_run(self, command, replicas, *more):
        self.job.write_text(job_text(self._folder, self._folder / "gate", replicas))
        self.run = self._start(1, "run", OWN_PIDS, command, self.job, "--events", "-", "--quiet", "--report", self.report_file, *more)
        self.events = Events(self.run)

    def join(self, host, name, *under):
        return self._start(host, name, (*OWN_PIDS, *under), "join", "--coordinator", self.where)

    def _start(self, host, name, before, *arguments):
        with open(self._folder / f"{name}.log", "w") as log:
            return self.hosts.start(host, [*before, self._program, *arguments], stdout=subprocess.PIPE, stderr=log, text=True,
                                    env=dict(os.environ, UCX_TLS="tcp,self"))

    def await_event(self, name):
        return self.events.wait(name, lambda event: event["event"] == name)

    def await_joined(self, replicas):
        """Their pids."""
        found = [self.await_event("joined") for _ in replicas]
        expect("joined", sorted(event["replica"] for event in found), list(replicas))
        return [event["pid"] for event in found]

    def await_step_in(self, members):
        """A step is done in a view of so many members."""
        self.events.wait(f"a view of {members}", lambda event: event["event"] == "view" and event["members"] == members)
        self.await_event("epoch")

    def finish(self):
        (self._folder / "gate").touch()
        self.await_event("completed")
        return self.run.wait(DEADLINE_S)


def one_network(program, folder):
    with Hosts(1) as hosts:
        cluster = Cluster(hosts, program, folder)
        cluster.start_run("coordinate", 2, "--listen", cluster.where, "--insecure")
        nodes = [cluster.join(1, f"node{number}") for number in range(2)]
        expect("pids", cluster.await_joined((0, 1)), [1, 1])
        cluster.await_step_in(2)
        third = cluster.join(1, "node2")
        expect("pid of the third", cluster.await_joined((2,)), [1])
        cluster.await_step_in(3)
        third.kill()
        cluster.await_event("lost")
        cluster.await_step_in(2)
        expect("exit code", cluster.finish(), 0)
        expect("exit codes of the first two", {node.wait(DEADLINE_S) for node in nodes}, {0})
    expect("who was lost", [event["replica"] for event in cluster.events.named("lost")], [2])


def run(program, folder):
    with Hosts(2) as hosts:
        cluster = Cluster(hosts, program, folder)
        cluster.start_run("run", 1, "--set", f"cluster.listen={hosts.address(1)}")
        cluster.where = cluster.await_event("listening")["address"]
        [pid] = cluster.await_joined((0,))
        cluster.join(2, "node1", "sh", "-c", UNDER_PID, "sh", str(pid))
        expect("pid of the other host's process", cluster.await_joined((1,)), [pid])
        cluster.await_step_in(2)
        hosts.unplug(2)
        lost = cluster.await_event("lost")
        cluster.await_step_in(1)
        later = lost["time_ms"] + KILLED_AFTER_MS + MARGIN_MS
        cluster.events.wait("steps go on", lambda event: event["event"] == "epoch" and event["time_ms"] > later)
        expect("exit code", cluster.finish(), 0)
    expect("who was lost", [event["replica"] for event in cluster.events.named("lost")], [1])


CASES = {"one_network": one_network, "run": run}


def run_case(case, program, folder):
    expected = reference(program, folder)
    CASES[case](program, folder)
    report = json.loads((folder / "report.json").read_text())
    for key in ("weights_sha256", "steps", "ledger"):
        expect(key, report[key] == expected[key], True)


def main():
    program, case = sys.argv[1:]
    return judge(lambda folder: run_case(case, program, folder), own_pids=True)


if __name__ == "__main__":
    sys.exit(main())
