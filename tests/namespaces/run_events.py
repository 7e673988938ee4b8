"""The events of a run, as a test waits for them."""
import json
import queue
import threading
import time

DEADLINE_S = 60  # for everything that must come
LOOK_S = 0.05  # between two looks at what no event tells
UNPRINTED = ("epoch", "short", "exhausted", "starved", "checkpoint", "checkpoint_passed_over")  # there are many


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
            event = self._next(what, deadline)
            if event is None:
                raise AssertionError(f"{what}: the run has ended before")
            if wanted(event):
                return event

    def end(self):
        """Reads on until the process has closed its output."""
        deadline = time.monotonic() + DEADLINE_S
        while self._next("the end of the events", deadline):
            pass

    def named(self, name):
        return [event for event in self.seen if event["event"] == name]

    # None: there are no more.
    def _next(self, what, deadline):
        while True:
            try:
                line = self._lines.get(timeout=max(0, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"{what}: not within {DEADLINE_S} s") from None
            if line is None:
                return None
            try:
                event = json.loads(line)
            except ValueError:
                continue
            self.seen.append(event)
            if event["event"] not in UNPRINTED:
                print(f"   {line.strip()[:300]}", flush=True)
            return event


def await_that(what, holds):
    """Waits until `holds()` is true, and returns it."""
    deadline = time.monotonic() + DEADLINE_S
    while not (found := holds()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {DEADLINE_S} s")
        time.sleep(LOOK_S)
    return found
