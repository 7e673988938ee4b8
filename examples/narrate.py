"""What kill_one and slow_one share: a run of `muster` that is watched by its events, and told in sentences."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent

SENTENCES = {
    "joined": "replica {replica} is in view {view}, process {pid}",
    "view": "view {view} is in force with {members} replicas",
    "state_transferred": "replica {replica} has given replica {to} its state and the records since, {bytes} bytes in {seconds:.1f} s",
    "late": "replica {replica} holds up step {step}: {seen_by} has waited {waited_ms:.0f} ms for {waited_for} (cause: {cause})",
    "lost": "replica {replica} is lost, with shards {shards}, at step {step}: {reason} (seen by {noticed_by})",
    "recovered": "step {step}, the first one after the loss, is done in view {view}: {after_ms:.0f} ms after the loss was noticed",
    "completed": "completed after {steps} steps",
}


def program():
    """The program to run: the first argument, or what ./scripts/build makes."""
    return sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build" / "bin" / "muster")


def told(event):
    rest = {key: value for key, value in event.items() if key not in ("event", "time_ms", "time")}
    text = ", ".join(f"{key} {value}" for key, value in rest.items())
    try:
        return SENTENCES[event["event"]].format(**rest, text=text)
    except KeyError:  # an event without a sentence, or a loader's
        return f"{event['event']}: {text}"


class Watched:
    """A run; its events are iterated over as they come, and those of SENTENCES are told."""

    def __init__(self, job, *more):
        self._folder = tempfile.TemporaryDirectory()
        self._report = pathlib.Path(self._folder.name) / "report.json"
        self.pids = {}
        self.began = time.monotonic()
        self._process = subprocess.Popen(
            [program(), "run", str(job), "--events", "-", "--quiet", "--report", str(self._report), *more],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def __iter__(self):
        for line in self._process.stdout:
            try:
                event = json.loads(line)
            except ValueError:
                print(f"          {line}", end="")  # a notice
                continue
            if event["event"] == "joined" and "replica" in event:
                self.pids[event["replica"]] = event["pid"]
            if event["event"] in SENTENCES:
                print(f"{event['time_ms'] / 1000:8.3f}  {told(event)}", flush=True)
            yield event

    def tell(self, text):
        print(f"{'':8}  -> {text}", flush=True)

    def signal(self, replica, number):
        os.kill(self.pids[replica], number)

    def finish(self):
        """The report, after the last event."""
        for _ in self:
            pass
        code = self._process.wait()
        if code != 0:
            sys.exit(f"exit code {code}, expected 0")
        report = json.loads(self._report.read_text())
        self._folder.cleanup()
        return report


def undisturbed(job, *more):
    """The report of a run to which nothing happens; nothing is told of it."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        subprocess.run([program(), "run", str(job), "--quiet", "--report", str(report), *more], check=True,
                       stderr=subprocess.DEVNULL)
        return json.loads(report.read_text())
