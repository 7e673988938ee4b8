"""The events of a run, as a test waits for them."""
import json
import queue
import threading
import time

DEADLINE_S = 60  # for everything that must come


class Events:
    """The events of a process that writes them to its standard output."""

    def __init__(self, process):
        self._lines = queue.Queue()
        self.seen = []
        threading.Thread(target=self._read, args=(process.stdout,), daemon=True).start()

    def _read(self, stream):
        for line in stream:
            self._lines.put(line)
        self._lines.put(None)

    def wait(self, what, wanted):
        deadline = time.monotonic() + DEADLINE_S
        while True:
            try:
                line = self._lines.get(timeout=max(0, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"{what}: not within {DEADLINE_S} s") from None
            if line is None:
                raise AssertionError(f"{what}: the run has ended before")
            try:
                event = json.loads(line)
            except ValueError:
                continue
            self.seen.append(event)
            if event["event"] not in ("epoch", "short", "exhausted", "starved"):
                print(f"   {line.strip()[:300]}", flush=True)
            if wanted(event):
                return event
