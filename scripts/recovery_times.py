"""scripts/recovery-times without its set-up: kills and stops replicas, and prints how long training stood still."""
import argparse
import datetime
import json
import os
import pathlib
import queue
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import recovery_times_coordinator

HERE = pathlib.Path(__file__).resolve().parent
DATA = "/usr/share/datasets/fashion-mnist"
BATCH = 128  # samples a step, of all processes together: 8 shards x 16
PATIENCE_MS = 1000  # cluster.detect.patience
RESUMED = "recovered"  # the event that tells of the first committed step after a loss
DEADLINE_S = 120  # for everything that must come
FROZEN_S = 15  # how long torchrun is watched after a SIGSTOP


class Lines:
    """The JSON lines of a process, each with the moment at which it arrived (CLOCK_MONOTONIC)."""

    def __init__(self, command, **more):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, **more)
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put((time.monotonic(), line))
        self.lines.put((time.monotonic(), None))

    def wait(self, wanted, seconds=DEADLINE_S):
        """(moment, fields) of the next line for which `wanted` holds; None after so many seconds."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                moment, line = self.lines.get(timeout=max(0, deadline - time.monotonic()))
            except queue.Empty:
                return None
            if line is None:
                sys.exit(f"ended too early: {self.process.args}")
            try:
                fields = json.loads(line)
            except ValueError:
                continue
            if wanted(fields):
                return moment, fields

    def need(self, wanted, what):
        found = self.wait(wanted)
        if found is None:
            sys.exit(f"no {what} within {DEADLINE_S} s: {self.process.args}")
        return found


def strike(pid, blow):
    moment = time.monotonic()
    os.kill(pid, blow)
    return moment


def muster_time(given, blow, chance):
    """Milliseconds from the signal to RESUMED."""
    run = Lines([given.muster, "run", given.job, "--replicas", str(given.replicas), "--events", "-", "--quiet",
                 "--set", "cluster.on_loss=continue", "--set", f"cluster.detect.patience={PATIENCE_MS}ms",
                 "--set", "train.epochs=1000", "--set", "train.evaluate=false", "--set", f"data.take={10 * BATCH}"])
    victim = None
    try:
        pids = {}
        while len(pids) < given.replicas:
            joined = run.need(lambda e: e["event"] == "joined", "joined")[1]
            pids[joined["replica"]] = joined["pid"]
        run.need(lambda e: e["event"] == "epoch" and e["epoch"] >= 2, "second epoch")
        time.sleep(chance.uniform(0, 0.2))  # so that the signal comes anywhere within a step
        victim = pids[chance.choice(sorted(pids))]
        began = strike(victim, blow)
        run.need(lambda e: e["event"] == "lost", "lost")
        ended, _ = run.need(lambda e: e["event"] == RESUMED, RESUMED)
        return (ended - began) * 1000
    finally:
        if victim is not None and blow == signal.SIGSTOP:
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                pass
        run.process.send_signal(signal.SIGTERM)
        run.process.wait()


def torch_time(given, blow, chance):
    """Milliseconds from the signal to the first step that is taken again; None if there is none in FROZEN_S."""
    logs = tempfile.TemporaryDirectory()
    run = Lines([sys.executable, "-B", "-m", "torch.distributed.run", "--standalone", "--nnodes", "1",
                 "--nproc_per_node", str(given.replicas), "--max_restarts", "1",
                 "--redirects", "2", "--tee", "2", "--log_dir", logs.name,  # PyTorch 1.13 fails without under Python 3.11
                 str(HERE / "recovery_times_driver.py"),
                 "--batch", str(BATCH), "--data", DATA],
                env=dict(os.environ, OMP_NUM_THREADS="1"), stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        pids = {}
        while len(pids) < given.replicas:
            started = run.need(lambda e: "pid" in e, "rank")[1]
            pids[started["rank"]] = started["pid"]
        run.need(lambda e: e.get("step", 0) >= 20, "step 20")
        time.sleep(chance.uniform(0, 0.2))
        began = strike(pids[chance.choice(sorted(pids))], blow)
        resumed = run.wait(lambda e: e["restart"] == 1 and "step" in e, FROZEN_S if blow == signal.SIGSTOP else DEADLINE_S)
        return None if resumed is None else (resumed[0] - began) * 1000
    finally:
        os.killpg(run.process.pid, signal.SIGKILL)
        run.process.wait()
        logs.cleanup()


def measure(given):
    """{(side, signal): milliseconds}; the sides take turns, and each turn begins with the other one."""
    chance = random.Random(7)
    times = {}
    for turn in range(given.kills):
        sides = [("Muster", muster_time), ("torchrun", torch_time)][:1 if given.only else 2]
        for side, one in sides if turn % 2 == 0 else sides[::-1]:
            for blow in (signal.SIGKILL, signal.SIGSTOP):
                if side == "torchrun" and blow == signal.SIGSTOP and turn > 0:
                    continue  # always the same: it waits
                took = one(given, blow, chance)
                times.setdefault((side, blow.name), []).append(took)
                shown = f"{took:7.0f} ms" if took is not None else f"nothing in {FROZEN_S} s"
                print(f"{turn + 1:3}  {side:8} {blow.name}:  {shown}", flush=True)
    return times


def table(times):
    lines = ["| | signal | times | median | least | most |", "| --- | --- | --- | --- | --- | --- |"]
    for (side, blow), all_ms in sorted(times.items()):
        if None in all_ms:
            lines.append(f"| {side} | {blow} | {len(all_ms)} | no step within {FROZEN_S} s | | |")
        else:
            lines.append(f"| {side} | {blow} | {len(all_ms)} | {statistics.median(all_ms):.0f} ms | {min(all_ms):.0f} ms "
                         f"| {max(all_ms):.0f} ms |")
    return "\n".join(lines) + "\n"


def processor():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "an unknown processor"


def page(times, given):
    return f"""# Recovery

How long steps stop when a replica or the coordinator is lost. Written by
`./scripts/recovery-times --kills {given.kills} --replicas {given.replicas} --write` on {datetime.date.today()}; run it to see the figures of your own
machine. Here: {os.cpu_count()} cores of {processor()}, shared with other work.

## A replica

`examples/fashion_mnist.toml` on {given.replicas} replicas, 8 shards, `cluster.on_loss = "continue"`,
`cluster.detect.patience = "{PATIENCE_MS} ms"`. In the middle of training one replica, chosen at random, gets SIGKILL or
SIGSTOP. The time runs from the signal to the arrival of the event `{RESUMED}` on the pipe of `--events -`.

Beside it, in turns: the same network under Debian's PyTorch {torch_version()} with DDP over gloo and
`torchrun --max_restarts 1`. The time runs from SIGKILL of one worker to the first step that rank 0 takes after the
restart. Muster goes on with the step that was interrupted. torchrun's workers start again, here from step 0. torchrun
does not notice a stopped worker; gloo's own limit is 30 minutes.

{table(times)}
## The coordinator

{COORDINATOR_WORDS}

{given.coordinator_table}"""


COORDINATOR_WORDS = """The same job on three replicas, each on a host of its own (network namespaces), with the coordinator alone on a fourth
one. While the coordinator is away a fourth replica is started, with `muster join`. To become a member it needs a view
change. The time runs from the moment at which the coordinator could be back (its command was started again, or its link
is up) to the event `joined`. Steps need no coordinator: the last column is their pace meanwhile."""


def torch_version():
    done = subprocess.run([sys.executable, "-c", "import torch; print(torch.__version__)"], stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--muster", required=True)
    parser.add_argument("--job", required=True)
    parser.add_argument("--kills", type=int, default=20, help="of each kind")
    parser.add_argument("--replicas", type=int, default=4)
    parser.add_argument("--only", choices=["muster"], help="leave PyTorch out")
    parser.add_argument("--write", action="store_true", help="write docs/measurements/recovery.md")
    parser.add_argument("--coordinator", type=int, default=5, help="how often the coordinator is harmed, in each of three ways")
    given = parser.parse_args()
    if given.write and not given.coordinator:
        parser.error("--write needs the coordinator's times, too: --coordinator N")
    times = measure(given)
    print(table(times), end="")
    if given.coordinator:
        given.coordinator_table = recovery_times_coordinator.table(given)
    if given.write:
        (HERE.parent / "docs" / "measurements" / "recovery.md").write_text(page(times, given))
        print("written: docs/measurements/recovery.md")


main()
