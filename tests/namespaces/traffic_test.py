"""traffic_test.py PROGRAM HOSTS PER_HOST WIRE: what the reduction sends between hosts with so many replicas each, over links of
100 Mbit/s, as float32 or in 16 bits (train.wire).

The same job is run with each algorithm, and with the one that `auto` chooses. Replicas join in the order in which they happen
to. Each run must end with the same weights, and:

- what the transport counted (`traffic` of the report) is, to the byte, what `muster plan --per-host` foretold for a step, times
  the number of steps, between hosts and within them;
- the network interfaces sent at least that, and at most a tenth more, from the first process to the last. Nothing is taken off:
  the rest is the headers of Ethernet, IP, TCP, UCX and of Muster's frames, acknowledgements, repeated packets, the reports of rounds,
  heartbeats and the start of the processes. What goes within a host is not among it, nor did it go over the host's loopback
  interface: it took shared memory;
- no algorithm sends less between hosts than `hierarchical`, which is what `auto` takes.

Prints the table that docs/measurements/collectives.md shows.
"""
import json
import os
import re
import subprocess
import sys
import time

from hosts import Hosts, judge

ALGORITHMS = ("direct", "halving_doubling", "hierarchical", "one_shot")
MEGABITS = 100
STEPS = 10
COORDINATOR = 1  # its host
PORT = 7100
LOOPBACK_SHARE = 0.05  # the coordinator speaks with its own host's replicas over it
DEADLINE_S = 120  # of a run, which takes some seconds

JOB = """
name = "traffic"
seed = 5
[model]
name = "linear"
inputs = 512
outputs = 512
[data]
source = "synthetic"
inputs = 512
outputs = 512
samples = {samples}
[train]
shards = {replicas}
batch = 2
steps = {steps}
evaluate = false
wire = "{wire}"
[train.optimizer]
name = "sgd"
learning_rate = 0.0001
[cluster]
replicas = {replicas}
start_patience = "{patience}s"
detect = {{ patience = "30s" }}
"""


def expect(what, holds, found):
    if not holds:
        raise AssertionError(f"{what}: {found}")
    print(f"ok: {what}: {found}", flush=True)


def foretold(program, job, per_host):
    """What a step sends, (in all, between hosts), by algorithm; and the algorithm that `auto` takes."""
    command = [program, "plan", job, "--per-host", str(per_host)]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    rows = re.findall(r"^  (\w+) +\d+ hops, (\d+) bytes, of these (\d+) between hosts(  <- taken)?$", text, re.MULTILINE)
    expect("the plan tells of all algorithms", sorted(row[0] for row in rows) == sorted(ALGORITHMS), rows)
    return {name: (int(all_of_it), int(between)) for name, all_of_it, between, _ in rows}, [row[0] for row in rows if row[3]]


def await_end(name, process, deadline, folder):
    try:
        code = process.wait(max(0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        code = "none, it runs on"
    if code != 0:
        logs = "".join(f"---- {log.name}\n{log.read_text()}" for log in sorted(folder.glob("*.log")))
        raise AssertionError(f"{name}: exit code {code}\n{logs}")


def run(hosts, per_host, program, job, algorithm):
    """The report of a run, and what the hosts' interfaces sent meanwhile, by name."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("UCX_")}
    folder = job.parent / algorithm
    folder.mkdir()
    report = folder / "report.json"

    def start(host, name, *arguments):
        with open(folder / f"{name}.log", "w") as log:
            return hosts.start(host, [program, *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)

    def sent():
        return {name: sum(hosts.sent_bytes(host, name) for host in range(1, hosts.count + 1)) for name in ("eth0", "lo")}

    before = sent()
    where = f"{hosts.address(COORDINATOR)}:{PORT}"
    processes = {"coordinator": start(COORDINATOR, "coordinator", "coordinate", job, "--listen", where, "--insecure", "--quiet",
                                      "--set", f"reduce.algorithm={algorithm}", "--report", report)}
    for number in range(hosts.count * per_host):
        host = 1 + number % hosts.count
        name = f"host{host}_{number // hosts.count}"
        processes[name] = start(host, name, "join", "--coordinator", where)
    deadline = time.monotonic() + DEADLINE_S
    for name, process in processes.items():
        await_end(name, process, deadline, folder)
    after = sent()
    return json.loads(report.read_text()), {name: after[name] - before[name] for name in before}


def counted(report, way):
    return sum(row[way]["payload_bytes"] for row in report["traffic"])


def check_run(algorithm, report, interfaces, expected):
    expect(f"{algorithm}: steps", report["steps"] == STEPS, report["steps"])
    used = report["algorithm"]
    all_of_it, between = (STEPS * count for count in expected[used])
    found = counted(report, "between_hosts")
    expect(f"{algorithm}: payload between hosts is what was foretold, {between} bytes", found == between, found)
    within = counted(report, "within_host")
    expect(f"{algorithm}: payload within hosts is what was foretold, {all_of_it - between} bytes", within == all_of_it - between,
           within)
    on_the_wire = interfaces["eth0"]
    expect(f"{algorithm}: the interfaces sent the payload between hosts and at most a tenth more",
           found <= on_the_wire <= 1.1 * found, f"{on_the_wire} bytes, {on_the_wire / found:.3f} of it")
    expect(f"{algorithm}: the payload within hosts did not go over their loopback interfaces",
           interfaces["lo"] < LOOPBACK_SHARE * within, f"{interfaces['lo']} bytes, {interfaces['lo'] / within:.4f} of it")


def print_table(rows, expected, hosts):
    print("| algorithm | between hosts, predicted | counted | sent by the interfaces | time of a step | of its payload alone |")
    print("| --- | --- | --- | --- | --- | --- |")
    for algorithm, (report, interfaces) in rows.items():
        foretold_bytes = expected[report["algorithm"]][1]
        name = f"`{algorithm}`" if algorithm != "auto" else f"`auto`: `{report['algorithm']}`"
        print(f"| {name} | {foretold_bytes} | {counted(report, 'between_hosts') // STEPS} "
              f"| {interfaces['eth0'] // STEPS} ({interfaces['eth0'] / counted(report, 'between_hosts'):.3f}) "
              f"| {report['train_seconds'] / STEPS * 1e3:.0f} ms "
              f"| {foretold_bytes / hosts * 8 / (MEGABITS * 1e3):.0f} ms |")


def check_all(program, count, per_host, wire, folder):
    job = folder / "job.toml"
    replicas = count * per_host
    job.write_text(JOB.format(replicas=replicas, steps=STEPS, samples=STEPS * replicas * 2, patience=DEADLINE_S,
                              wire=wire))
    expected, taken = foretold(program, job, per_host)
    expect("the plan foretells what auto takes", taken == ["hierarchical"], taken)
    rows = {}
    with Hosts(count) as hosts:
        hosts.limit(MEGABITS)
        for algorithm in (*ALGORITHMS, "auto"):
            rows[algorithm] = run(hosts, per_host, program, job, algorithm)
            check_run(algorithm, *rows[algorithm], expected)
    hashes = {report["weights_sha256"] for report, _ in rows.values()}
    expect("the same weights with all of them", len(hashes) == 1 and "" not in hashes, hashes)
    used = {algorithm: report["algorithm"] for algorithm, (report, _) in rows.items()}
    expect("what was asked for was used, and auto is hierarchical",
           used == {**{name: name for name in ALGORITHMS}, "auto": "hierarchical"}, used)
    between = {name: counted(rows[name][0], "between_hosts") for name in ALGORITHMS}
    expect("nothing sends less between hosts than hierarchical", between["hierarchical"] == min(between.values()), between)
    print_table(rows, expected, count)


def main():
    program, count, per_host, wire = sys.argv[1:]
    return judge(lambda folder: check_all(program, int(count), int(per_host), wire, folder))


if __name__ == "__main__":
    sys.exit(main())
