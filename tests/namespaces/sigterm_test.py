"""sigterm_test.py PROGRAM CASE: SIGTERM to a replica that cannot reach the coordinator.

CASE is `orphaned`, `unnoticed` or `stands`: the coordinator's host has lost its power. A replica that is told to go writes a checkpoint of what it
holds, and ends with code 0, within `checkpoint.grace`: whether it takes steps, or waits for another one that is gone, or (`unnoticed`) has
not noticed yet that there is no coordinator. `--resume` goes on from there, and at the end everything is as in a run to which nothing
happened.

`stands`: the same where the coordinator's process is stopped, and all connections are whole.

Or `connecting`: a process looks for the coordinator for the first time, on a host that drops all packets, or where somebody listens who
says nothing. It ends at once.
"""
import json
import re
import signal
import subprocess
import sys
import time

from coordinator_test import COORDINATOR, GONE, REPLICAS, Cluster
from cuts_test import PORT, expect, reference
from hosts import Hosts, judge
from run_events import DEADLINE_S, await_that

GRACE_S = 5
UNHEARD_S = 6.4  # kReturnMax: the connection to a host without power ends within this time
MARGIN_S = 5  # a busy machine
CONNECTING_MAX_S = 5  # a try to connect, and to hear who is there, takes 1.5 s
NODE = 2  # the host of the process that connects
SYN_SENT, ESTABLISHED = "02", "01"  # of /proc/net/tcp

LISTENS = """
import socket
listener = socket.create_server(("", {port}))
print("listens", flush=True)
kept = []
while True:
    kept.append(listener.accept())
"""


def ended_by_sigterm(process, what, most_s):
    """SIGTERM; the exit code, and the seconds until then."""
    asked = time.monotonic()
    process.send_signal(signal.SIGTERM)
    try:
        code = process.wait(most_s)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"{what}: it has not ended {most_s} s after SIGTERM") from None
    took = time.monotonic() - asked
    print(f"-- {what}: ended {took:.2f} s after SIGTERM", flush=True)
    return code, took


def told_to_go(cluster, host, most_s):
    """SIGTERM; the step up to which the replica of this host has kept its state."""
    code, _ = ended_by_sigterm(cluster.replicas[host], f"host {host}", most_s)
    expect("exit code", code, 0)
    said = cluster.words_of(host)
    found = re.search(r"its state is in \S*-step-(\d+)-", said)
    if not found:
        raise AssertionError(f"host {host} does not say where its state is:\n{said}")
    step = int(found[1])
    expect(f"the checkpoint of step {step} is there", step in cluster.kept_steps(), True)
    return step


def go_on(cluster, step, folder):
    """The coordinator can be started again; the run is gone on with from what the replicas have kept."""
    cluster.start_coordinator("--resume")
    cluster.replicas = {host: cluster.join(host) for host in REPLICAS}
    expect("goes on from the step that was kept", cluster.await_event("resumed")["step"], step)
    cluster.await_event("view")
    expect("exit codes", cluster.finish(), {0})
    return json.loads((folder / "report.json").read_text())


def orphaned(program, folder):
    """The first one is told to go while steps go on; the second waits for it, in the middle of a step, when it is told so."""
    expected = reference(program, folder)
    with Hosts(1 + len(REPLICAS)) as hosts:
        cluster = Cluster(hosts, program, folder, "--set", f'checkpoint.grace="{GRACE_S}s"')
        hosts.power_off(COORDINATOR)
        cluster.coordinator.wait()
        cluster.events.end()
        first, second = REPLICAS
        for host in REPLICAS:
            cluster.await_words(host, GONE)
        done = cluster.await_steps_untold()
        steps = [told_to_go(cluster, first, GRACE_S + MARGIN_S)]
        steps.append(told_to_go(cluster, second, GRACE_S + MARGIN_S))
        expect(f"both have kept all {done} steps", min(steps) >= done, True)
        hosts.power_on(COORDINATOR)
        report = go_on(cluster, max(steps), folder)
    for key in ("weights_sha256", "steps", "ledger"):
        expect(key, report[key] == expected[key], True)


def unnoticed(program, folder):
    """Its connection to the coordinator has not ended yet when it is told to go."""
    with Hosts(1 + len(REPLICAS)) as hosts:
        cluster = Cluster(hosts, program, folder, "--set", f'checkpoint.grace="{GRACE_S}s"')
        hosts.power_off(COORDINATOR)
        cluster.coordinator.wait()
        cluster.events.end()
        told = cluster.events.named("epoch")[-1]["steps"]
        step = told_to_go(cluster, REPLICAS[0], UNHEARD_S + GRACE_S + MARGIN_S)
        expect("kept is more than what was told", step > told, True)


def stands(program, folder):
    """A terminal, a debugger or a full machine has stopped the coordinator; a scheduler ends the job."""
    expected = reference(program, folder)
    with Hosts(1 + len(REPLICAS)) as hosts:
        cluster = Cluster(hosts, program, folder, "--set", f'checkpoint.grace="{GRACE_S}s"')
        cluster.coordinator.send_signal(signal.SIGSTOP)
        done = cluster.await_steps_untold()
        steps = [told_to_go(cluster, host, GRACE_S + MARGIN_S) for host in REPLICAS]
        expect(f"both have kept all {done} steps", min(steps) >= done, True)
        cluster.coordinator.kill()
        cluster.coordinator.wait()
        cluster.events.end()
        report = go_on(cluster, max(steps), folder)
    for key in ("weights_sha256", "steps", "ledger"):
        expect(key, report[key] == expected[key], True)


def has_connection(hosts, host, state):
    shown = subprocess.run([*hosts.prefix(host), "cat", "/proc/net/tcp"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return any(line.split()[3] == state for line in shown.splitlines()[1:])


def expect_ends(hosts, program, folder, name, state):
    log = folder / f"{name}.log"
    with open(log, "w") as said:
        node = hosts.start(NODE, [program, "join", "--coordinator", f"{hosts.address(COORDINATOR)}:{PORT}"], stderr=said)
    await_that(f"{name}: it connects", lambda: has_connection(hosts, NODE, state))
    code, took = ended_by_sigterm(node, name, DEADLINE_S)
    expect(f"{name}: exit code", code, 128 + signal.SIGTERM)
    expect(f"{name}: it says why", "ended by a signal before there was a coordinator" in log.read_text(), True)
    expect(f"{name}: ended within {CONNECTING_MAX_S} s", took < CONNECTING_MAX_S, True)


def connecting(program, folder):
    with Hosts(2) as hosts:
        hosts.drop(NODE, COORDINATOR)
        expect_ends(hosts, program, folder, "packets are dropped", SYN_SENT)
        hosts.heal()
        listener = hosts.start(COORDINATOR, ["python3", "-c", LISTENS.format(port=PORT)], stdout=subprocess.PIPE, text=True)
        expect("somebody listens", listener.stdout.readline().strip(), "listens")
        expect_ends(hosts, program, folder, "nobody answers", ESTABLISHED)


CASES = {"orphaned": orphaned, "unnoticed": unnoticed, "stands": stands, "connecting": connecting}


def main():
    program, case = sys.argv[1:]
    return judge(lambda folder: CASES[case](program, folder))


if __name__ == "__main__":
    sys.exit(main())
