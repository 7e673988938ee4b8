"""coordinator_test.py PROGRAM CASE: the coordinator alone on a host, two replicas on hosts of their own.

CASE is `cut_briefly`, `cut_for_long` (control connections break), `gives_up` (it ends while it is cut off, and is started again),
`gives_up_soon` (the same, and its host sends what it said last when the link is back), `told_to_end` (SIGTERM while it is cut off),
`stands` (its process is stopped for longer than its nodes look for one that is gone, and its host takes nothing more for it) or
`loses_power`. No replica is lost, steps go
on meanwhile, none of them is thrown away, and at the end everything is as in a run to which nothing happened.

That steps go on without a coordinator is seen on the disk: the replicas write a checkpoint at the end of each epoch. That none is thrown
away: before the coordinator is back both replicas are held, so that they can read nothing. It is then told of all epochs that were done
without it, and nobody can have done one of them again.
"""
import json
import os
import re
import signal
import subprocess
import sys
import time

from cuts_test import PORT, expect, job_text, reference
from hosts import Hosts, judge
from run_events import DEADLINE_S, Events, await_that

COORDINATOR = 1  # its host
REPLICAS = (2, 3)
UNHEARD_S = 5  # kUnheardMax: a connection on which nothing is acknowledged ends after this time
ORPHAN_AFTER_S = 2
GONE = "the coordinator is gone; steps go on"  # says a replica whose connection to it has ended
CHECKPOINTS = """
[checkpoint]
folder = "{folder}"
every = "1 epochs"
"""


class Cluster:
    """The run when two epochs have been done. `options` go to the coordinator, each time it is started."""

    def __init__(self, hosts, program, folder, *options):
        self.hosts, self._program, self._folder, self._options = hosts, program, folder, options
        self.where = f"{hosts.address(COORDINATOR)}:{PORT}"
        self.kept = folder / "kept"
        self.job = folder / "job.toml"
        self.job.write_text(job_text(folder, folder / "gate", len(REPLICAS)) + CHECKPOINTS.format(folder=self.kept))
        self.seen = []
        self.start_coordinator()
        self.replicas = {host: self.join(host) for host in REPLICAS}
        self.await_epoch(2)

    def _start(self, host, name, *arguments):
        with open(self._folder / f"{name}.log", "a") as log:
            return self.hosts.start(host, [self._program, *arguments], stdout=subprocess.PIPE, stderr=log, text=True,
                                    env=dict(os.environ, UCX_TLS="tcp,self"))

    def start_coordinator(self, *more):
        self.coordinator = self._start(COORDINATOR, "coordinator", "coordinate", self.job, "--listen", self.where, "--insecure",
                                       "--events", "-", "--quiet", "--report", self._folder / "report.json", *self._options, *more)
        self.events = Events(self.coordinator)
        self.seen.append(self.events)

    def join(self, host):
        return self._start(host, f"host{host}", "join", "--coordinator", self.where)

    def said_by_coordinator(self):
        return (self._folder / "coordinator.log").read_text()

    def await_event(self, name):
        return self.events.wait(name, lambda event: event["event"] == name)

    def await_epoch(self, least):
        return self.events.wait(f"epoch {least}", lambda event: event["event"] == "epoch" and event["epoch"] >= least)

    def words_of(self, host):
        return (self._folder / f"host{host}.log").read_text()

    def await_words(self, host, words):
        await_that(f"host {host} says: {words}", lambda: words in self.words_of(host))

    def kept_steps(self):
        """The last step of each checkpoint in the folder."""
        names = [file.name for file in self.kept.glob("*.json")]
        return sorted(int(found[1]) for name in names if (found := re.search(r"-step-(\d+)-", name)))

    def await_steps_untold(self):
        """Waits until steps were done beyond the epoch that was under way when the coordinator was told something for the last
        time; how many were done for certain."""
        told = self.events.named("epoch")[-1]
        wanted = told["steps"] // told["epoch"] * (told["epoch"] + 2)
        kept = await_that("steps that nobody is told of", lambda: max([step for step in self.kept_steps() if step >= wanted], default=0))
        print(f"-- told of {told['steps']} steps; kept are {kept}", flush=True)
        return kept

    def await_told(self, steps):
        """While the replicas are held, the coordinator is told of all these steps; or it has been since the link is back."""
        if all(event["steps"] < steps for event in self.events.named("epoch")):
            self.events.wait(f"{steps} steps", lambda event: event["event"] == "epoch" and event["steps"] >= steps)

    def hold(self):
        """From now on the replicas read no sample."""
        for process in self.replicas.values():
            self._held(process).touch()

    def release(self):
        for process in self.replicas.values():
            self._held(process).unlink()

    def _held(self, process):
        return self._folder / f"hold.{process.pid}"

    def named(self, name):
        return [event for events in self.seen for event in events.named(name)]

    def finish(self):
        """The exit codes, of all that run."""
        (self._folder / "gate").touch()
        self.await_event("completed")
        return {process.wait(DEADLINE_S) for process in (self.coordinator, *self.replicas.values())}


def expect_nothing_thrown_away(cluster):
    """Each coordinator tells of each epoch once, in their order; a later one tells the same of what an earlier one has told."""
    def row(event):
        return {key: value for key, value in event.items() if key not in ("time_ms", "time")}

    rows = [[row(event) for event in events.named("epoch")] for events in cluster.seen]
    for told in rows:
        expect("each epoch is told once, in its order", [row["epoch"] for row in told] == list(range(1, len(told) + 1)), True)
    for before, after in zip(rows, rows[1:]):
        expect("what was told before is told again", before == after[:len(before)] and len(before) < len(after), True)


def cut(is_long):
    def act(cluster):
        cluster.hosts.unplug(COORDINATOR)
        cluster.await_event("paused")
        if is_long:
            for host in REPLICAS:
                cluster.await_words(host, GONE)
        done = cluster.await_steps_untold()
        cluster.hold()
        cluster.hosts.heal()
        healed = time.monotonic()
        cluster.await_event("heard_again")
        print(f"-- heard again {time.monotonic() - healed:.2f} s after the link was back", flush=True)
        cluster.await_told(done)
        cluster.release()
    return act


def come_back(cluster, done):
    """The coordinator is started again, by the same command. Members that the one before has told to close their view cannot while they
    wait for data; whether that has reached them depends on how long the cut was."""
    cluster.start_coordinator()
    cluster.await_event("restarted")
    cluster.await_told(done)
    cluster.release()
    view = (cluster.events.named("view") or [cluster.await_event("view")])[0]
    print(f"-- the view is in force again {view['time_ms'] / 1e3:.2f} s after the coordinator was started", flush=True)


def give_up(cluster):
    cluster.hosts.unplug(COORDINATOR)
    paused = cluster.await_event("paused")
    failed = cluster.await_event("failed")
    print(f"-- given up {(failed['time_ms'] - paused['time_ms']) / 1e3:.2f} s after the pause", flush=True)
    expect("it says what to do", "if it is started again" in failed["reason"], True)
    expect("exit code of the one that has given up", cluster.coordinator.wait(DEADLINE_S), 1)
    be_found_again(cluster)


def told_to_end(cluster):
    cluster.hosts.unplug(COORDINATOR)
    cluster.await_event("paused")
    cluster.coordinator.send_signal(signal.SIGTERM)
    cluster.await_event("state_not_kept")
    expect("exit code of the one that was told to end", cluster.coordinator.wait(DEADLINE_S), 143)
    be_found_again(cluster)


def be_found_again(cluster):
    """The coordinator has ended while it could tell nobody so."""
    cluster.events.end()
    said = cluster.said_by_coordinator()
    expect("it says how its replicas are found again", "may train on, and are found again by: " in said, True)
    expect("it does not advise to throw their steps away", "; go on with: " in said, False)
    done = cluster.await_steps_untold()
    cluster.hold()
    cluster.hosts.heal()
    come_back(cluster, done)


def waits_for_room(cluster, host):
    """The host has something to send to the coordinator, and all that it has sent is acknowledged."""
    shown = subprocess.run([*cluster.hosts.prefix(host), "ss", "-tni", "dport", "=", f":{PORT}"], check=True, stdout=subprocess.PIPE, text=True)
    return "notsent:" in shown.stdout and "unacked:" not in shown.stdout


def stand_still(cluster):
    """It is not gone: its replicas wait for it, and do not end."""
    cluster.coordinator.send_signal(signal.SIGSTOP)
    for host in REPLICAS:
        await_that(f"host {host} waits for room at the coordinator's", lambda host=host: waits_for_room(cluster, host))
    time.sleep(UNHEARD_S + ORPHAN_AFTER_S + 2)  # the length of the fault
    for host in REPLICAS:
        expect(f"host {host} takes the coordinator for gone", GONE in cluster.words_of(host), False)
    cluster.coordinator.send_signal(signal.SIGCONT)


def little_room(hosts):
    """The coordinator's host takes little for a process that does not read."""
    subprocess.run([*hosts.prefix(COORDINATOR), "sysctl", "-qw", "net.ipv4.tcp_rmem=4096 4096 4096"], check=True)


def lose_power(cluster):
    cluster.hosts.power_off(COORDINATOR)
    cluster.coordinator.wait()
    cluster.events.end()
    for host in REPLICAS:
        cluster.await_words(host, GONE)
    done = cluster.await_steps_untold()
    cluster.hold()
    cluster.hosts.power_on(COORDINATOR)
    come_back(cluster, done)


CASES = {
    "cut_briefly": (cut(is_long=False), ()),
    "cut_for_long": (cut(is_long=True), ()),
    "gives_up": (give_up, ("--set", 'cluster.give_up_after="4s"')),
    "gives_up_soon": (give_up, ("--set", 'cluster.give_up_after="1s"')),  # and the patience: less than a connection may be unheard
    "told_to_end": (told_to_end, ("--set", 'checkpoint.grace="1s"')),
    "stands": (stand_still, ("--set", f'cluster.orphan_after="{ORPHAN_AFTER_S}s"')),
    "loses_power": (lose_power, ()),
}


def run_case(case, program, folder):
    act, options = CASES[case]
    expected = reference(program, folder)
    with Hosts(1 + len(REPLICAS)) as hosts:
        if case == "stands":
            little_room(hosts)
        cluster = Cluster(hosts, program, folder, *options)
        print(f"-- {case}", flush=True)
        act(cluster)
        cluster.await_epoch(cluster.events.named("epoch")[-1]["epoch"] + 1)  # it goes on
        codes = cluster.finish()
    expect("nobody was lost", cluster.named("lost"), [])
    views = {event["view"] for event in cluster.named("view")}
    expect("the view is the same, or, where it was closed, the next one", views, {1, 2} if case == "told_to_end" else {1})
    expect_nothing_thrown_away(cluster)
    expect("exit codes", codes, {0})
    report = json.loads((folder / "report.json").read_text())
    expect("weights_sha256", report["weights_sha256"], expected["weights_sha256"])
    expect("steps", report["steps"], expected["steps"])
    expect("the ledger is that of the undisturbed run", report["ledger"] == expected["ledger"], True)


def main():
    program, case = sys.argv[1:]
    return judge(lambda folder: run_case(case, program, folder))


if __name__ == "__main__":
    sys.exit(main())
