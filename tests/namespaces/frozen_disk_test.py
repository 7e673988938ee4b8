"""frozen_disk_test.py PROGRAM CASE: the disk of the journal neither accepts nor refuses a write, and then a replica dies.

The disk is a file system of its own, which `fsfreeze` freezes. No view can be made, but the coordinator stands still for nobody: it says
what it waits for, again and again, and answers `muster status`. CASE is what follows: `thaws` (the disk answers again, the run goes on
with the replicas that are left, and at the end everything is as in a run to which nothing happened), `gives_up` (the run fails after
`cluster.give_up_after`) or `told_to_end` (SIGTERM).

A process cannot end before the kernel has answered its write to a disk that is frozen. So the disk is thawed before exit codes are read.
"""
import json
import os
import signal
import socket
import subprocess
import sys

from cuts_test import expect, job_text, reference
from frozen_disk import FrozenDisk, cannot_run
from hosts import judge, kill_all
from run_events import DEADLINE_S, Events, await_that

REPLICAS = 3
GRACE_S = 4
GIVE_UP_S = {"thaws": 600, "gives_up": 2, "told_to_end": 600}
CHECKPOINTS = """
[checkpoint]
folder = "{folder}"
every = "1000000 steps"
grace = "{grace}s"
spare_folder = "{spare}"
"""


def free_address():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


class Cluster:
    """A coordinator and its replicas on this host, when an epoch has been done. Its processes are killed at the end."""

    def __init__(self, program, folder, disk, give_up_s):
        self.program, self._folder, self._where = program, folder, free_address()
        job = folder / "job.toml"
        text = job_text(folder, folder / "gate", REPLICAS)
        text = text.replace("[cluster]", f'[cluster]\ngive_up_after = "{give_up_s}s"')
        job.write_text(text + CHECKPOINTS.format(folder=disk.folder, grace=GRACE_S, spare=folder / "spare"))
        self._processes = []
        self.coordinator = self._start("coordinator", "coordinate", job, "--listen", self._where, "--events", "-", "--quiet",
                                       "--report", folder / "report.json")
        self.events = Events(self.coordinator)
        self.replicas = [self._start(f"replica{number}", "join", "--coordinator", self._where) for number in range(REPLICAS)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        kill_all(self._processes)

    def _start(self, name, *arguments):
        with open(self._folder / f"{name}.log", "w") as log:
            process = subprocess.Popen([self.program, *arguments], stdout=subprocess.PIPE, stderr=log, text=True,
                                       env=dict(os.environ, UCX_TLS="tcp,self"))
        self._processes.append(process)
        return process

    def await_event(self, name, wanted=lambda event: True):
        return self.events.wait(name, lambda event: event["event"] == name and wanted(event))

    def lose_one(self):
        killed = self.replicas.pop()
        killed.kill()
        killed.wait()
        self.await_event("lost")

    def status(self):
        done = subprocess.run([self.program, "status", self._where], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=DEADLINE_S)
        expect("exit code of `muster status`", done.returncode, 0)

    def codes(self):
        return [process.wait(DEADLINE_S) for process in (self.coordinator, *self.replicas)]


def thaws(cluster, disk, folder):
    disk.thaw()
    view = cluster.await_event("view", lambda event: event["members"] == REPLICAS - 1)
    expect("it goes on with those that are left", view["members"], REPLICAS - 1)
    cluster.await_event("recovered")
    (folder / "gate").touch()
    cluster.await_event("completed")
    expect("exit codes", cluster.codes(), [0] * REPLICAS)
    expected = reference(cluster.program, folder)
    report = json.loads((folder / "report.json").read_text())
    for key in ("weights_sha256", "samples"):
        expect(key, report[key], expected[key])


def gives_up(cluster, disk, folder):
    failed = cluster.await_event("failed")
    expect("the state is kept elsewhere", len(cluster.events.named("checkpoint_spared")), 1)
    expect("it says why", "the journal could not be written for 2000 ms" in failed["reason"], True)
    report = folder / "report.json"
    await_that("the report, for which no disk is waited", report.exists)
    disk.thaw()
    expect("exit code", cluster.codes()[0], 1)


def told_to_end(cluster, disk, folder):
    cluster.coordinator.send_signal(signal.SIGTERM)
    cluster.await_event("interrupted")
    kept = cluster.await_event("state_kept")
    expect("the state is kept elsewhere", kept["path"].startswith(str(folder / "spare")), True)
    disk.thaw()
    expect("exit code", cluster.codes()[0], 128 + signal.SIGTERM)


CASES = {"thaws": thaws, "gives_up": gives_up, "told_to_end": told_to_end}


def harm(cluster, disk, folder, case):
    cluster.await_event("epoch")
    disk.freeze()
    cluster.lose_one()
    for _ in range(2):
        delayed = cluster.await_event("journal_delayed")
        expect("it says what it waits for", "has not answered for" in delayed["reason"], True)
    cluster.status()
    CASES[case](cluster, disk, folder)


def check(program, case):
    def run(folder):
        with FrozenDisk(folder) as disk, Cluster(program, folder, disk, GIVE_UP_S[case]) as cluster:
            try:
                harm(cluster, disk, folder, case)
            finally:
                disk.thaw()  # before that nobody ends who is killed
    return run


if __name__ == "__main__":
    reason = cannot_run()
    if reason:
        print(f"cannot run: {reason}")
        sys.exit(77)
    sys.exit(judge(check(sys.argv[1], sys.argv[2]), hosts=False))
