"""compression_test.py PROGRAM: what compression (train.compression, top-k of 1 %) saves between hosts, over links of 100 Mbit/s.

The same job on four hosts with two replicas each, with compression and without, in turns. Each run must end with the weights of a
run of its kind with one replica on this machine, and:

- with compression the payload between hosts, as the transport counted it (`traffic` of the report), is less than a tenth of that
  without, and not nothing;
- the network interfaces sent at least what was counted, so that nothing took another way.

How long a step takes is printed, and no test of its own. Prints the table that docs/measurements/collectives.md shows.
"""
import json
import statistics
import subprocess
import sys

from hosts import Hosts, judge
from traffic_test import DEADLINE_S, JOB, MEGABITS, counted, expect, run

HOSTS = 4
PER_HOST = 2
STEPS = 20
TURNS = 3
KINDS = {"none": '[train.compression]\nname = "none"\n', "top-k": '[train.compression]\nname = "top-k"\nratio = 0.01\n'}


def write_job(folder, kind):
    """The same job for each run of a kind, in a folder of its own."""
    folder.mkdir(parents=True)
    job = folder / "job.toml"
    replicas = HOSTS * PER_HOST
    text = JOB.format(replicas=replicas, steps=STEPS, samples=STEPS * replicas * 2, patience=DEADLINE_S, wire="float32")
    job.write_text(text + KINDS[kind])
    return job


def weights_alone(program, folder, kind):
    """The weights of one replica, on this machine."""
    job = write_job(folder / "alone" / kind, kind)
    report = job.parent / "report.json"
    done = subprocess.run([program, "run", job, "--replicas", "1", "--quiet", "--report", report], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=DEADLINE_S)
    if done.returncode != 0:
        raise AssertionError(f"one replica alone: exit code {done.returncode}\n{done.stdout}")
    return json.loads(report.read_text())["weights_sha256"]


def run_all(program, folder):
    """Reports and what the interfaces sent, by kind."""
    runs = {kind: [] for kind in KINDS}
    with Hosts(HOSTS) as hosts:
        hosts.limit(MEGABITS)
        for turn in range(TURNS):
            for kind, found in runs.items():
                job = write_job(folder / str(turn) / kind, kind)
                found.append(run(hosts, PER_HOST, program, job, "auto"))
    return runs


def check_kind(kind, runs, weights):
    expect(f"{kind}: steps", all(report["steps"] == STEPS for report, _ in runs), [report["steps"] for report, _ in runs])
    found = {report["weights_sha256"] for report, _ in runs}
    expect(f"{kind}: the weights of one replica", found == {weights} and weights != "", found)
    between = [counted(report, "between_hosts") for report, _ in runs]
    expect(f"{kind}: each run sends the same payload between hosts", len(set(between)) == 1 and between[0] > 0, between)
    interfaces = [sent["eth0"] for _, sent in runs]
    expect(f"{kind}: the interfaces sent at least that", min(interfaces) >= between[0], interfaces)


def check_share(runs):
    without, with_it = (counted(runs[kind][0][0], "between_hosts") for kind in ("none", "top-k"))
    expect("compressed, the payload between hosts is less than a tenth", 10 * with_it < without,
           f"{with_it} of {without} bytes, {with_it / without:.4f}")


def print_table(runs):
    print("| compression | payload between hosts, a step | sent by the interfaces | time of a step, median of the runs |")
    print("| --- | --- | --- | --- |")
    for kind, found in runs.items():
        seconds = statistics.median(report["train_seconds"] for report, _ in found)
        interfaces = statistics.median(sent["eth0"] for _, sent in found)
        print(f"| {kind} | {counted(found[0][0], 'between_hosts') // STEPS} | {interfaces / STEPS:.0f} "
              f"| {seconds / STEPS * 1e3:.1f} ms |")


def check_all(program, folder):
    weights = {kind: weights_alone(program, folder, kind) for kind in KINDS}
    expect("compression is part of the mathematics", weights["none"] != weights["top-k"], weights)
    runs = run_all(program, folder)
    for kind, found in runs.items():
        check_kind(kind, found, weights[kind])
    check_share(runs)
    print_table(runs)


if __name__ == "__main__":
    sys.exit(judge(lambda folder: check_all(sys.argv[1], folder), shaped=True))
