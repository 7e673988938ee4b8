"""scripts/faults without its set-up: breaks runs of a job in every way, and compares each with an undisturbed one."""
import argparse
import json
import os
import pathlib
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

DEADLINE_S = 120  # for everything that must come
PATIENCE_MS = 1000
REPLICAS = 4
STEPS = 47  # of an epoch: 6,000 samples, 128 a step
JOB = ["--set", "data.take=6000", "--set", f"cluster.detect.patience={PATIENCE_MS}ms"]


class Failed(Exception):
    pass


class Run:
    """A run that is watched by its events. Its replicas are processes of its own, or were started by hand."""

    def __init__(self, given, *more, command=("run", "--replicas", str(REPLICAS))):
        self.given = given
        self.folder = tempfile.TemporaryDirectory()
        self.report_file = pathlib.Path(self.folder.name) / "report.json"
        self.command = [given.muster, command[0], given.job, *command[1:], *JOB, "--events", "-", "--report", str(self.report_file), *more]
        self.pids, self.joined, self.seen = {}, [], []
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, args=(self.process.stdout, self.lines), daemon=True).start()

    @staticmethod
    def read(stream, lines):
        for line in stream:
            lines.put(line)
        lines.put(None)

    def event(self, name, **fields):
        """The next event of this name with these fields: a value, or a function of it."""
        deadline = time.monotonic() + DEADLINE_S
        while True:
            try:
                line = self.lines.get(timeout=max(0, deadline - time.monotonic()))
            except queue.Empty:
                raise Failed(f"no event {name} within {DEADLINE_S} s") from None
            if line is None:
                raise Failed(f"ended before the event {name}")
            try:
                event = json.loads(line)
            except ValueError:
                continue
            self.seen.append(event)
            if event["event"] == "joined" and "replica" in event:
                self.pids[event["replica"]] = event["pid"]
            fits = all(wanted(event.get(key)) if callable(wanted) else event.get(key) == wanted for key, wanted in fields.items())
            if event["event"] == name and fits:
                return event

    def formed(self):
        self.event("view", view=1)
        return self

    def join(self, where):
        self.joined.append(subprocess.Popen([self.given.muster, "join", "--coordinator", where], stdout=subprocess.DEVNULL,
                                            stderr=subprocess.DEVNULL))

    def kill(self, *replicas, blow=signal.SIGKILL):
        for replica in replicas:
            os.kill(self.pids[replica], blow)

    def finish(self):
        """Reads on to the end; the report."""
        try:
            self.event("completed")
        except Failed:
            self.process.wait(DEADLINE_S)
            raise Failed(f"exit code {self.process.returncode}: {self.report().get('reason', 'no report')}") from None
        if self.process.wait(DEADLINE_S) != 0:
            raise Failed(f"exit code {self.process.returncode}")
        return self.report()

    def report(self):
        return json.loads(self.report_file.read_text()) if self.report_file.exists() else {}

    def end(self):
        for process in [self.process, *self.joined]:
            if process.poll() is None:
                process.kill()
            process.wait()
        for pid in self.pids.values():
            try:
                os.kill(pid, signal.SIGKILL)  # one that was stopped
            except ProcessLookupError:
                pass
        self.folder.cleanup()


def expect(holds, text):
    if not holds:
        raise Failed(text)


# ------------------------------------------------------------ the cases: each yields the finished report of its run

def kill(*replicas):
    def case(run):
        run.formed()
        run.event("epoch", epoch=1)
        run.kill(*replicas)
        run.event("recovered")
    return case


def two_in_a_row(run):
    run.formed()
    run.event("epoch", epoch=1)
    run.kill(3)
    run.event("recovered")
    run.kill(1)
    run.event("recovered")


def first_step(run):
    run.formed()
    run.kill(2)
    expect(run.event("lost")["step"] == 1, "the kill did not come within the first step")


def evaluation(run):
    run.formed()
    run.event("epoch", epoch=1)
    time.sleep(0.3)  # the two steps of the next epoch take far less, its evaluation more; which is checked
    run.kill(2)
    step = run.event("lost")["step"]
    expect(step == 5, f"the kill came within step {step}, not within the evaluation after step 4")


def checkpoint(run):
    run.formed()
    run.event("checkpoint")  # the next one is being written already
    run.kill(0)
    run.event("recovered")
    run.event("checkpoint")  # another one goes on with them


def stop(seconds):
    def case(run):
        run.formed()
        run.event("epoch", epoch=1)
        run.kill(1, blow=signal.SIGSTOP)
        if seconds * 1000 > PATIENCE_MS:
            run.event("lost", replica=1)
        else:
            time.sleep(seconds)
        run.kill(1, blow=signal.SIGCONT)
    return case


def sigterm(run):
    run.formed()
    run.event("epoch", epoch=1)
    run.kill(1, blow=signal.SIGTERM)
    run.event("left", replica=1)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def by_hand(given, act):
    where = f"127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory() as kept:
        run = Run(given, "--set", f"checkpoint.folder=\"{kept}\"", command=("coordinate", "--listen", where, "--set", "cluster.replicas=3"))
        try:
            for _ in range(3):
                run.join(where)
            act(run, where)
            return run.finish()
        finally:
            run.end()


def coordinator(run, _):
    run.event("epoch", epoch=1)
    run.process.kill()
    run.process.wait()
    run.start()
    run.event("restarted")


def join(run, where):
    run.event("epoch", epoch=1)
    run.join(where)
    run.event("view", members=4)


def everything(given):
    """Kills all, then goes on with another number of replicas."""
    with tempfile.TemporaryDirectory() as kept:
        folder = ["--set", f"checkpoint.folder=\"{kept}\"", "--set", "checkpoint.every=20 steps"]
        run = Run(given, *folder)
        try:
            run.formed()
            run.event("epoch", epoch=1)
            run.event("checkpoint")
            run.process.kill()
            run.process.wait()
        finally:
            run.end()
        run = Run(given, "--resume", *folder, command=("run", "--replicas", "2"))
        try:
            expect(run.event("resumed")["step"] >= STEPS, "it began before the end of the first epoch")
            return run.finish()
        finally:
            run.end()


def launched(act, *more):
    def case(given):
        run = Run(given, *more)
        try:
            act(run)
            return run.finish()
        finally:
            run.end()
    return case


SHORT_EPOCHS = ("--set", "data.take=256")  # two steps, then an evaluation of 10,000 samples


def during_checkpoint(given):
    with tempfile.TemporaryDirectory() as kept:
        return launched(checkpoint, "--set", f"checkpoint.folder=\"{kept}\"", "--set", "checkpoint.every=1 steps")(given)


CASES = {
    "kill-first": launched(kill(0)),
    "kill-second": launched(kill(1)),
    "kill-third": launched(kill(2)),
    "kill-last": launched(kill(3)),
    "two-in-a-row": launched(two_in_a_row),
    "two-at-once": launched(kill(1, 2)),
    "first-step": launched(first_step),
    "evaluation": launched(evaluation, *SHORT_EPOCHS),
    "checkpoint": during_checkpoint,
    "stop-short": launched(stop(0.5)),
    "stop-long": launched(stop(3)),
    "sigterm": launched(sigterm),
    "coordinator": lambda given: by_hand(given, coordinator),
    "join": lambda given: by_hand(given, join),
    "everything-then-resume": everything,
}


def undisturbed(given, *more):
    run = Run(given, *more, command=("run", "--replicas", "1"))
    try:
        return run.finish()
    finally:
        run.end()


def compare(report, expected):
    for key in ("weights_sha256", "steps", "samples"):
        expect(report[key] == expected[key], f"{key} is {report[key]}, undisturbed it is {expected[key]}")
    rows = [{key: row[key] for key in ("epoch", "complete", "used", "repeated", "missed", "dropped")} for row in report["ledger"]]
    wanted = [{key: row[key] for key in rows[0]} for row in expected["ledger"]]
    expect(rows == wanted, f"the ledger is {rows}, undisturbed it is {wanted}")
    expect(all(row["repeated"] == row["missed"] == 0 for row in rows), f"the ledger is {rows}")


def told(report):
    counts = report["event_counts"]
    names = ("lost", "left", "refused", "restarted", "resumed", "suspected", "late", "view")
    return ", ".join(f"{counts[name]} {name}" for name in names if counts.get(name))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--muster", required=True)
    parser.add_argument("--job", required=True)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("cases", nargs="*", metavar="CASE")
    given = parser.parse_args()
    if given.list:
        print("\n".join(CASES))
        return
    for name in given.cases:
        if name not in CASES:
            sys.exit(f"there is no case {name}: {', '.join(CASES)}")
    expected = {more: undisturbed(given, *more) for more in ((), SHORT_EPOCHS)}
    print(f"undisturbed, one replica: weights_sha256 {expected[()]['weights_sha256']}")
    bad = 0
    for name in given.cases or CASES:
        began = time.monotonic()
        try:
            report = CASES[name](given)
            compare(report, expected[SHORT_EPOCHS if name == "evaluation" else ()])
            verdict = "same bits"
            events = told(report)
        except Failed as failure:
            bad += 1
            verdict, events = "FAILED", str(failure)
        print(f"{name:24} {verdict:10} {time.monotonic() - began:6.1f} s  {events}", flush=True)
    if bad:
        sys.exit(f"{bad} failed")


main()
