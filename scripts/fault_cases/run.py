"""A run that a case breaks: started, watched by its events, ended."""
import contextlib
import dataclasses
import json
import os
import pathlib
import queue
import signal
import socket
import subprocess
import tempfile
import threading
import time
import typing

DEADLINE_S = 120  # for everything that must come
PATIENCE_MS = 1000
REPLICAS = 4
STEPS = 47  # of an epoch: 6,000 samples, 128 a step
JOB = ("--set", "data.take=6000", "--set", f"cluster.detect.patience={PATIENCE_MS}ms")
LONG = ("--set", "train.epochs=8", "--set", "train.evaluate=false")  # longer than the fault lasts

PATIENT = ("--set", "cluster.detect.patience=20s")  # processes stand still without being lost


class Failed(Exception):
    pass


def expect(holds, text):
    if not holds:
        raise Failed(text)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def until(holds, what):
    """Looks until it holds."""
    deadline = time.monotonic() + DEADLINE_S
    while not holds():
        expect(time.monotonic() < deadline, f"no {what} for {DEADLINE_S} s")
        time.sleep(0.01)


def has_thread(process, name):
    """Whether a thread of this process has this name now."""
    with contextlib.suppress(OSError):  # one that has ended meanwhile
        return any(file.read_text().strip() == name for file in pathlib.Path(f"/proc/{process.pid}/task").glob("*/comm"))
    return False


def sockets_of(pid):
    """How many sockets this process has open."""
    count = 0
    for file in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):  # one that was closed meanwhile
            count += os.readlink(file).startswith("socket:")
    return count


def kept_in(folder):
    return ("--set", f"checkpoint.folder=\"{folder}\"")


class Run:
    """A run that is watched by its events. Its nodes are processes of its own, or `join` started them.

    `prefix` goes before the command of the run, so that it starts on another host or with other limits.
    """

    def __init__(self, given, *more, command=("run", "--replicas", str(REPLICAS)), prefix=(), environment=None):
        self.given = given
        self.folder = tempfile.TemporaryDirectory()
        self.report_file = pathlib.Path(self.folder.name) / "report.json"
        self.said_file = pathlib.Path(self.folder.name) / "said"
        self.command = [*prefix, given.muster, command[0], given.job, *command[1:], *JOB, "--events", "-", "--report",
                        str(self.report_file), *more]
        self.environment = dict(os.environ, **(environment or {}))
        self.pids, self.loader_pids, self.joined, self.seen = {}, {}, [], []
        self.start()

    def start(self):
        with open(self.said_file, "a") as said:
            self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=said, env=self.environment)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, args=(self.process.stdout, self.lines), daemon=True).start()

    def restart(self):
        """Starts the coordinator again, by the same command."""
        self.process.kill()
        self.process.wait()
        self.start()

    @staticmethod
    def read(stream, lines):
        for line in stream:
            lines.put(line)
        lines.put(None)

    def take(self, line):
        """What one line of the events tells; None if it is no event."""
        try:
            event = json.loads(line)
        except ValueError:
            return None
        self.seen.append(event)
        if event["event"] == "joined":
            (self.pids if "replica" in event else self.loader_pids)[event.get("replica", event.get("loader"))] = event["pid"]
        return event

    def event(self, name, **fields):
        """The next event of this name with these fields: a value, or a function of it. A run that tells of steps is waited for."""
        while True:
            try:
                line = self.lines.get(timeout=DEADLINE_S)
            except queue.Empty:
                raise Failed(f"no event {name}, and no other one for {DEADLINE_S} s") from None
            if line is None:
                raise Failed(f"ended before the event {name}")
            event = self.take(line)
            if event is None or event["event"] != name:
                continue
            if all(wanted(event.get(key)) if callable(wanted) else event.get(key) == wanted for key, wanted in fields.items()):
                return event

    def formed(self):
        self.event("view", view=1)
        return self

    def first_epoch(self):
        self.formed()
        self.event("epoch", epoch=1)

    def goes_on(self):
        """Waits for an epoch that ends from now on: the members take steps."""
        while not self.lines.empty():
            line = self.lines.get()
            if line is None:
                raise Failed("ended while it was to go on")
            self.take(line)
        self.event("epoch")

    def governs(self, *where, **how):
        """Waits until a newcomer is a member: there are steps, and a view change, from now on."""
        newcomer = self.join(*where, **how)
        self.event("joined", pid=newcomer.pid)

    def join(self, where, *more, prefix=(), environment=None):
        self.joined.append(subprocess.Popen([*prefix, self.given.muster, "join", "--coordinator", where, *more],
                                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                            env=dict(os.environ, **(environment or {}))))
        return self.joined[-1]

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

    def said(self):
        return self.said_file.read_text()

    def end(self):
        for process in [self.process, *self.joined]:
            if process.poll() is None:
                process.kill()
            process.wait()
        for pid in [*self.pids.values(), *self.loader_pids.values()]:
            try:
                os.kill(pid, signal.SIGKILL)  # one that was stopped
            except ProcessLookupError:
                pass
        self.folder.cleanup()


def launched(act, *more, **how):
    """A case on a run whose nodes are its children: `act(run)` breaks it."""
    def case(given):
        run = Run(given, *more, **how)
        try:
            act(run)
            return run.finish()
        finally:
            run.end()
    return case


@contextlib.contextmanager
def started_by_hand(given, folder, *more, replicas=3, loaders=0):
    """A run whose nodes were started by hand and which keeps its checkpoints in this folder, and where its coordinator listens."""
    where = f"127.0.0.1:{free_port()}"
    run = Run(given, *kept_in(folder), *more, "--set", f"cluster.loaders={loaders}",
              command=("coordinate", "--listen", where, "--set", f"cluster.replicas={replicas}"))
    try:
        for _ in range(replicas):
            run.join(where)
        for _ in range(loaders):
            run.join(where, "--loader")
        yield run, where
    finally:
        run.end()


def by_hand(act, *more, **how):
    """A case on a run whose nodes were started by hand: `act(run, where)` breaks it."""
    def case(given):
        with tempfile.TemporaryDirectory() as kept, started_by_hand(given, kept, *more, **how) as (run, where):
            act(run, where)
            return run.finish()
    return case


@dataclasses.dataclass(frozen=True)
class Case:
    """`run(given)` breaks a run and returns its report; None where it cannot run here, having said why."""
    name: str
    run: typing.Callable
    mathematics: tuple = ()  # options that change the weights: the undisturbed run has them, too
