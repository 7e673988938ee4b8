"""transfer_test.py PROGRAM CASE: two hosts train, a third one joins and is given a state of tens of MiB, over links of a given speed.

CASE is `share`: a state that takes less than a step is transferred between two steps, and costs the others no more than its share of
the time and one step. Or `donor_killed`: the replica that gives dies in the middle of it, and another one begins again. At the end the weights are those
of a run on one replica.
"""
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import time

from hosts import Hosts, judge
from run_events import DEADLINE_S, Events

MEGABITS = 400
SHARE = 0.25
NOISE = 0.15  # of a step: the hosts share the cores of one machine with whatever else runs there
COORDINATOR, NEWCOMER = 1, 3  # their hosts
PORT = 7100
INPUTS, OUTPUTS = 2048, 1024
STATE_BYTES = 4 * 3 * (INPUTS + 1) * OUTPUTS  # parameters, and two vectors of the optimizer
RECORD_BYTES = STATE_BYTES // 3
HEADERS = 1.1  # at most a tenth more goes over the wire: headers, acknowledgements, repeated packets
STEPS_BEFORE = 6
LOOK_S = 0.2  # between two looks at a counter

JOB = """
name = "transfer"
seed = 5
[model]
name = "taking"
inputs = {inputs}
outputs = {outputs}
takes_ms = {takes_ms}
gate = "{gate}"
[data]
source = "synthetic"
inputs = {inputs}
outputs = {outputs}
samples = 2
[train]
shards = 2
batch = 1
epochs = {steps}
evaluate = false
[train.optimizer]
name = "adam"
learning_rate = 0.0001
[cluster]
replicas = {replicas}
join_share = {share}
start_patience = "60s"
[cluster.detect]
patience = "5s"
"""


def expect(what, holds, found):
    if not holds:
        raise AssertionError(f"{what}: {found}")
    print(f"ok: {what}: {found}", flush=True)


def job_text(gate, replicas, steps):
    return JOB.format(inputs=INPUTS, outputs=OUTPUTS, takes_ms=1000, gate=gate, steps=steps, replicas=replicas, share=SHARE)


class Cluster:
    """A coordinator and two replicas; each epoch is one step."""

    def __init__(self, hosts, program, folder, steps):
        self._hosts, self._program, self._folder = hosts, program, folder
        self._where = f"{hosts.address(COORDINATOR)}:{PORT}"
        self._environment = {key: value for key, value in os.environ.items() if not key.startswith("UCX_")}
        job = folder / "job.toml"
        job.write_text(job_text(folder / "gate", 2, steps))
        self._processes = []
        self.coordinator = self._start(COORDINATOR, "coordinator", "coordinate", job, "--listen", self._where, "--insecure",
                                       "--events", "-", "--quiet", "--report", folder / "report.json")
        self.events = Events(self.coordinator)
        self.host_of_pid = {self.join(host).pid: host for host in (1, 2)}

    def _start(self, host, name, *arguments):
        with open(self._folder / f"{name}.log", "w") as log:
            process = self._hosts.start(host, [self._program, *arguments], stdout=subprocess.PIPE, stderr=log, text=True,
                                        env=self._environment)
        self._processes.append(process)
        return process

    def join(self, host):
        return self._start(host, f"host{host}", "join", "--coordinator", self._where)

    def wait(self, name, wanted=lambda event: True):
        return self.events.wait(name, lambda event: event["event"] == name and wanted(event))

    def finish(self, but=()):
        (self._folder / "gate").touch()
        self.wait("completed")
        codes = {process.wait(DEADLINE_S) for process in self._processes if process.pid not in but}
        expect("all end well", codes == {0}, codes)
        return json.loads((self._folder / "report.json").read_text())


def reference(program, folder, steps):
    gate, job, report = folder / "open", folder / "reference.toml", folder / "reference.json"
    gate.touch()
    job.write_text(job_text(gate, 1, steps))
    subprocess.run([program, "run", job, "--quiet", "--report", report], check=True)
    return json.loads(report.read_text())["weights_sha256"]


def step_times(events, begin_ms, end_ms):
    """Of the steps that began and ended between these."""
    ends = [event["time_ms"] for event in events.seen if event["event"] == "epoch"]
    return [b - a for a, b in zip(ends, ends[1:]) if begin_ms <= a and b <= end_ms]


def check_share(cluster, hosts):
    cluster.wait("epoch", lambda event: event["epoch"] == STEPS_BEFORE)
    received = hosts.received_bytes(NEWCOMER)
    cluster.join(NEWCOMER)
    given = cluster.wait("state_transferred")
    received = hosts.received_bytes(NEWCOMER) - received
    print(f"handed over: {given}", flush=True)
    records = (given["bytes"] - STATE_BYTES) / RECORD_BYTES
    expect("the state arrived, and records after it", given["bytes"] > STATE_BYTES and records < 40, f"{records:.2f} records")
    expect("the newcomer's interface received that and little more", given["bytes"] <= received <= HEADERS * given["bytes"] + 2 * RECORD_BYTES,
           f"{received} bytes, {received / given['bytes']:.3f} of it")
    busy, step = given["share"] * given["seconds"], given["step_ms_before"] / 1e3
    expect("something was on its way for no more than a step and the share of the time", busy <= step + (SHARE + 0.05) * given["seconds"],
           f"{busy:.2f} s, a step takes {step:.2f} s")
    expect("what takes less than a step is there within two", given["seconds"] <= 2 * step, f"{given['seconds']:.2f} s")
    fastest = given["bytes"] * 8 / (MEGABITS * 1e6)
    expect("the link alone would not have been quicker", given["seconds"] >= 0.9 * fastest, f"{given['seconds']:.2f} s, alone {fastest:.2f} s")
    began = given["time_ms"] - given["seconds"] * 1e3
    cluster.wait("epoch", lambda event: event["time_ms"] > given["time_ms"] + 2e3 * step)
    before, meanwhile = step_times(cluster.events, 0, began), step_times(cluster.events, began - 1e3 * step, given["time_ms"] + 2e3 * step)
    print(f"steps before {[round(t) for t in before]} ms, meanwhile {[round(t) for t in meanwhile]} ms")
    longer = (max(meanwhile) - statistics.median(before)) / 1e3
    expect("no step took longer by more than the state transfer and the change of the view", longer <= busy + NOISE * step + 1, f"{longer:.2f} s")
    return cluster.finish()


def await_bytes(hosts, host, count):
    deadline = time.monotonic() + DEADLINE_S
    while hosts.received_bytes(host) < count:
        expect_time(deadline)
        time.sleep(LOOK_S)


def expect_time(deadline):
    if time.monotonic() > deadline:
        raise AssertionError(f"not within {DEADLINE_S} s")


def check_donor_killed(cluster, hosts):
    # The last replica gives: the first speaks for all, and has enough to do.
    donor = cluster.wait("joined", lambda event: event["replica"] == 1)["pid"]
    cluster.wait("epoch", lambda event: event["epoch"] == 2)
    newcomer = cluster.join(NEWCOMER)
    await_bytes(hosts, NEWCOMER, hosts.received_bytes(NEWCOMER) + STATE_BYTES // 3)
    os.kill(donor, signal.SIGKILL)
    lost = cluster.wait("lost")
    expect("the donor is lost", lost["replica"] == 1, lost["reason"])
    given = cluster.wait("state_transferred")
    expect("another one has given everything, from the beginning", given["replica"] == 0 and given["bytes"] > STATE_BYTES, given)
    joined = cluster.wait("joined", lambda event: event["replica"] > 1)
    expect("to the same process, which has joined again by itself", joined["pid"] == newcomer.pid, joined["pid"])
    received = hosts.received_bytes(NEWCOMER)
    expect("which had a part of it twice", received > given["bytes"] + STATE_BYTES // 3, received)
    return cluster.finish(but=[donor])


CASES = {"share": (check_share, 40), "donor_killed": (check_donor_killed, 40)}


def check(program, case, folder):
    run, steps = CASES[case]
    expected = reference(program, folder, steps)
    with Hosts(3) as hosts:
        hosts.limit(MEGABITS)
        cluster = Cluster(hosts, program, folder, steps)
        try:
            report = run(cluster, hosts)
        except AssertionError:
            for log in sorted(folder.glob("*.log")):
                print(f"---- {log.name}\n{log.read_text()}", end="")
            raise
    expect("steps", report["steps"] == steps, report["steps"])
    expect("the weights of a run on one replica", report["weights_sha256"] == expected, report["weights_sha256"])


def main():
    program, case = sys.argv[1:]
    return judge(lambda folder: check(program, case, pathlib.Path(folder)), shaped=True)


if __name__ == "__main__":
    sys.exit(main())
