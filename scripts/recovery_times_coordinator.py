"""How long a coordinator's death, its host's loss of power, and a cut of its link hold up the members: steps, and view changes.

While the coordinator is away a fourth replica is started: that it becomes a member needs a view change. The times run from the
moment at which the coordinator could be back (its command is started again, the link is up).
"""
import statistics
import tempfile
import time

from fault_cases.coordinator import PORT, TRANSPORT
from fault_cases.run import Run, kept_in
from hosts import Hosts, cannot_run

CUT_S = 2
POWER_S = 14
ENDLESS = ("--set", "train.epochs=100000", "--set", "train.evaluate=false", "--set", "data.take=1280")


class Cluster:
    """A coordinator alone on host 1, three replicas on hosts of their own."""

    def __init__(self, given, hosts, kept):
        self.hosts = hosts
        self.run = Run(given, *kept_in(kept), *ENDLESS, prefix=hosts.prefix(1),
                       command=("coordinate", "--listen", f"10.77.0.1:{PORT}", "--insecure", "--set", "cluster.replicas=3"))
        for host in (2, 3, 4):
            self.join(host)
        self.run.event("epoch", epoch=2)

    def join(self, host):
        self.run.join(f"10.77.0.1:{PORT}", prefix=self.hosts.prefix(host), environment=TRANSPORT)


def killed(cluster):
    cluster.run.process.kill()
    cluster.run.process.wait()
    cluster.join(2)
    cluster.run.start()


def loses_power(cluster):
    cluster.hosts.power_off(1)
    cluster.run.process.wait()
    cluster.join(2)
    time.sleep(POWER_S)  # the length of the fault
    cluster.hosts.power_on(1)
    cluster.run.start()


def link_is_cut(cluster):
    cluster.hosts.unplug(1)
    cluster.join(2)
    time.sleep(CUT_S)  # the length of the fault
    cluster.hosts.heal()


FAULTS = {
    "the coordinator gets SIGKILL, and is started again at once": killed,
    f"the coordinator's host loses power for {POWER_S} s": loses_power,
    f"the coordinator's link is down for {CUT_S} s": link_is_cut,
}


def last_epoch(run):
    return max(event["epoch"] for event in run.seen if event["event"] == "epoch")


def one(given, strike):
    """(ms until the view change, pace of the steps meanwhile: 1 is the pace of before)."""
    with tempfile.TemporaryDirectory() as kept, Hosts(4) as hosts:
        cluster = Cluster(given, hosts, kept)
        run = cluster.run
        try:
            first, paced = last_epoch(run), time.monotonic()
            run.event("epoch", epoch=lambda number: number >= first + 5)
            pace = (last_epoch(run) - first) / (time.monotonic() - paced)
            first, began = last_epoch(run), time.monotonic()
            strike(cluster)
            back = time.monotonic()
            run.event("joined", replica=3)
            changed = time.monotonic()
            return (changed - back) * 1000, (last_epoch(run) - first) / (changed - began) / pace
        finally:
            run.end()


def table(given):
    """As Markdown; or why it cannot be measured here."""
    reason = cannot_run()
    if reason:
        return f"cannot run: {reason}\n"
    lines = ["| | times | until the newcomer is a member, median | least | most | pace of the steps meanwhile |",
             "| --- | --- | --- | --- | --- | --- |"]
    for name, strike in FAULTS.items():
        times, paces = [], []
        for turn in range(given.coordinator):
            took, pace = one(given, strike)
            print(f"{turn + 1:3}  {name}: {took:7.0f} ms, steps at {pace:.2f} of the pace before", flush=True)
            times.append(took)
            paces.append(pace)
        lines.append(f"| {name} | {len(times)} | {statistics.median(times):.0f} ms | {min(times):.0f} ms | {max(times):.0f} ms "
                     f"| {statistics.median(paces):.2f} of before |")
        print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"
