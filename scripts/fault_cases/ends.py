"""Cases: a run is told to end, or its disk is full; then it goes on from what was kept."""
import contextlib
import pathlib
import signal
import subprocess
import tempfile

from fault_cases.run import LONG, STEPS, Case, Failed, Run, by_hand, expect, free_port, kept_in, started_by_hand

EVERY = ("--set", "checkpoint.every=1000 steps")  # none is due before the end: only the last one can help


def told_to_end(blow):
    """`muster run` gets the signal, writes a last checkpoint, and says how to go on; which is done."""
    def case(given):
        with tempfile.TemporaryDirectory() as kept:
            first = Run(given, *kept_in(kept), *EVERY, *LONG)
            try:
                first.first_epoch()
                first.process.send_signal(blow)
                code = first.process.wait(60)
                expect(code == 128 + blow, f"exit code {code}")
                expect("--resume" in first.said(), f"it does not say how to go on: {first.said()}")
            finally:
                first.end()
            return resumed(given, kept)
    return case


def all_are_told_to_end(given):
    """Pre-emption: every joined replica gets SIGTERM at once."""
    where = f"127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory() as kept:
        first = Run(given, *kept_in(kept), *EVERY, *LONG, command=("coordinate", "--listen", where, "--set", "cluster.replicas=3"))
        try:
            for _ in range(3):
                first.join(where)
            first.first_epoch()
            first.kill(0, 1, 2, blow=signal.SIGTERM)
            first.process.wait(60)
            expect("--resume" in first.said(), f"it does not say how to go on: {first.said()}")
        finally:
            first.end()
        return resumed(given, kept)


def resumed(given, kept, *more):
    run = Run(given, "--resume", *kept_in(kept), *EVERY, *LONG, *more, command=("run", "--replicas", "2"))
    try:
        expect(run.event("resumed")["step"] >= STEPS, "the last checkpoint is missing")
        return run.finish()
    finally:
        run.end()


class SmallDisk:
    """A folder on a disk of its own, which can be filled. Needs root."""

    def __init__(self, megabytes):
        self.megabytes = megabytes

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.megabytes}m", "tmpfs", self.folder.name],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.reason = None if done.returncode == 0 else f"no disk can be made: {done.stdout.strip()}"
        return self

    def fill(self):
        with open(pathlib.Path(self.folder.name) / "filler", "wb", buffering=0) as filler:
            try:
                while filler.write(b"\0" * 65536):
                    pass
            except OSError:
                return

    def empty(self):
        (pathlib.Path(self.folder.name) / "filler").unlink()

    def __exit__(self, *_):
        if self.reason is None:
            subprocess.run(["umount", "--lazy", self.folder.name], check=True)
        self.folder.cleanup()


def on_a_small_disk(act, start):
    """A case on a run that `start(given, folder)` begins, whose folder can be filled: `act(run, disk)` breaks it."""
    def case(given):
        with SmallDisk(32) as disk:
            if disk.reason:
                print(f"cannot run: {disk.reason}")
                return None
            with start(given, disk.folder.name) as run:
                act(run, disk)
                return run.finish()
    return case


@contextlib.contextmanager
def launched_with_checkpoints(given, folder):
    run = Run(given, *kept_in(folder), *LONG, "--set", "checkpoint.every=20 steps")
    try:
        yield run
    finally:
        run.end()


@contextlib.contextmanager
def with_a_journal(given, folder):
    with started_by_hand(given, folder, *LONG) as (run, _):
        yield run


def full_while_a_replica_dies(run, disk):
    """The journal cannot be written when the view changes: the members wait until it can."""
    run.event("checkpoint")  # else one that is refused would make room again
    disk.fill()
    run.kill(2)
    run.event("lost", replica=2)
    run.event("journal_delayed")
    disk.empty()
    run.goes_on()


def full_during_a_checkpoint(run, disk):
    run.event("checkpoint")
    disk.fill()
    run.event("checkpoint_delayed")
    disk.empty()
    run.event("checkpoint")


def full_at_the_end(given):
    """The last checkpoint has no place in its folder: it goes to the spare one, and is read from there."""
    with SmallDisk(1) as disk, tempfile.TemporaryDirectory() as spare:
        if disk.reason:
            print(f"cannot run: {disk.reason}")
            return None
        run = Run(given, *kept_in(disk.folder.name), *EVERY, *LONG, "--set", f"checkpoint.spare_folder=\"{spare}\"", "--set",
                  "cluster.give_up_after=\"5s\"")
        try:
            run.formed()
            disk.fill()
            code = run.process.wait(240)
            expect(code == 0, f"exit code {code}: {run.said()}")
        finally:
            run.end()
        return resumed(given, spare)


CASES = [
    Case("sigterm-then-resume", told_to_end(signal.SIGTERM), LONG),
    Case("interrupt-then-resume", told_to_end(signal.SIGINT), LONG),
    Case("all-sigterm-then-resume", all_are_told_to_end, LONG),
    Case("disk-full-at-a-loss", on_a_small_disk(full_while_a_replica_dies, with_a_journal), LONG),
    Case("disk-full-at-a-checkpoint", on_a_small_disk(full_during_a_checkpoint, launched_with_checkpoints), LONG),
    Case("disk-full-at-the-end", full_at_the_end, LONG),
]
