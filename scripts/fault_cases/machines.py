"""Cases: a part of a machine fails: a bit of its memory flips, one thread of a process freezes, there is no more memory, a disk hangs."""
import contextlib
import ctypes
import json
import os
import pathlib
import re
import resource
import signal
import struct
import subprocess
import tempfile
import time

from fault_cases.run import LONG, PATIENT, Case, Failed, by_hand, expect, kept_in, launched, started_by_hand

STUCK = ("--set", "cluster.straggler.stuck_after=2s")
EVERY = ("--set", "checkpoint.every=20 steps")


# ---- a bit flips in the memory of one process

def large_weights(folder, count=8):
    """Of the largest tensor in the newest checkpoint: as many numbers that lie one after the other, and of which none is small."""
    manifest = max(pathlib.Path(folder).glob("*.manifest.json"), key=lambda file: json.loads(file.read_text())["step"])
    for name in re.findall(r"[\w.-]+\.safetensors", manifest.read_text()):
        data = (manifest.parent / name).read_bytes()
        size = struct.unpack("<Q", data[:8])[0]
        tensors = {key: at for key, at in json.loads(data[8:8 + size]).items() if key != "__metadata__"}
        begin, end = max((at["data_offsets"] for at in tensors.values()), key=lambda at: at[1] - at[0])
        numbers = struct.unpack(f"<{(end - begin) // 4}f", data[8 + size + begin:8 + size + end])
        return max((numbers[at:at + count] for at in range(len(numbers) - count)), key=lambda some: min(map(abs, some)))
    raise Failed(f"{manifest} names no weights")


def near(number):
    """Matches the bytes of numbers that differ from this one by some percent: some steps are made meanwhile."""
    high = struct.unpack("<I", struct.pack("<f", number))[0] >> 16
    ways = {struct.pack("<H", high + distance) for distance in range(-10, 11)}
    return b"[\\s\\S]{2}(?:" + b"|".join(re.escape(way) for way in sorted(ways)) + b")"


def flip_bits_near(pid, numbers):
    """Flips a bit of the last number wherever such numbers lie one after the other in the process's own memory: in how many places."""
    wanted = re.compile(b"".join(near(number) for number in numbers))
    count = 0
    maps = pathlib.Path(f"/proc/{pid}/maps").read_text()
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        for line in maps.splitlines():
            at, rights = line.split()[:2]
            begin, end = (int(part, 16) for part in at.split("-"))
            if rights != "rw-p" or end - begin > 1 << 30:
                continue
            with contextlib.suppress(OSError, ValueError):  # what is only reserved
                memory.seek(begin)
                for found in wanted.finditer(memory.read(end - begin)):
                    place = begin + found.end() - 4
                    memory.seek(place)
                    flipped = bytes([memory.read(1)[0] ^ 0x80])
                    memory.seek(place)
                    memory.write(flipped)
                    count += 1
    return count


def weights_flip(given):
    """All go back before it, and on without the replica whose memory is wrong."""
    with tempfile.TemporaryDirectory() as kept:
        def act(run):
            run.formed()
            run.event("epoch", epoch=2)  # a checkpoint lies more than 64 steps back: all that may be wrong
            run.event("checkpoint")
            run.kill(*run.pids, blow=signal.SIGSTOP)
            places = flip_bits_near(run.pids[1], large_weights(kept))
            run.kill(*run.pids, blow=signal.SIGCONT)
            expect(places, "its weights are not found in its memory")
            run.event("corrupt", replica=1)
            run.event("lost", replica=1)
            run.event("went_back")
        return launched(act, *kept_in(kept), *EVERY, "--set", "checkpoint.keep=100", *LONG, *PATIENT)(given)


# ---- one thread stands still, and the process lives

PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207


def freeze_thread(pid, name):
    """Of a child's child: until this process, or that one, ends."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    frozen = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().strip() != name:
            continue
        for request in (PTRACE_SEIZE, PTRACE_INTERRUPT):
            expect(libc.ptrace(request, int(task.name), None, None) == 0, f"ptrace: {os.strerror(ctypes.get_errno())}")
        frozen += 1
    expect(frozen, f"process {pid} has no thread {name}")


def compute_thread_freezes(run):
    run.first_epoch()
    freeze_thread(run.pids[1], "muster-compute")
    run.event("lost", replica=1)
    run.goes_on()


def loader_thread_freezes(run):
    run.first_epoch()
    freeze_thread(run.loader_pids[1], "muster-load")
    run.event("lost", loader=1)
    run.goes_on()


# ---- no more memory

def no_memory(run, where):
    """A replica may take no more memory than it has: a newcomer, and then a loss, ask more of it."""
    run.event("epoch", epoch=1)
    size = int(pathlib.Path(f"/proc/{run.pids[1]}/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.prlimit(run.pids[1], resource.RLIMIT_AS, (size, size))
    run.join(where)
    run.event("lost", replica=1)
    run.goes_on()


# ---- a disk that answers nothing for a while

@contextlib.contextmanager
def disk_that_can_hang():
    """A folder on a disk of its own, and what makes it hang or answer again. Needs root."""
    with tempfile.TemporaryDirectory() as place:
        image, folder = pathlib.Path(place) / "image", pathlib.Path(place) / "disk"
        folder.mkdir()
        with open(image, "wb") as file:
            file.truncate(64 << 20)
        for command in (["mkfs.ext4", "-q", str(image)], ["mount", "-o", "loop", str(image), str(folder)]):
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode != 0:
                yield None, f"no disk can be made: {done.stdout.strip()}"
                return
        try:
            yield folder, lambda option: subprocess.run(["fsfreeze", option, str(folder)], check=True)
        finally:
            subprocess.run(["fsfreeze", "--unfreeze", str(folder)], stderr=subprocess.DEVNULL)
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


def disk_hangs(given):
    """That of journal and checkpoints: steps go on. Then a replica dies: the view waits for the disk."""
    with disk_that_can_hang() as (folder, tell):
        if folder is None:
            print(f"cannot run: {tell}")
            return None
        with started_by_hand(given, folder, *EVERY, *LONG) as (run, _):
            run.event("checkpoint")
            tell("--freeze")
            run.goes_on()
            run.kill(2)
            time.sleep(5)  # the length of the fault
            tell("--unfreeze")
            run.event("recovered")
            run.event("checkpoint")
            return run.finish()


CASES = [
    Case("weights-flip", weights_flip, LONG),
    Case("compute-thread-freezes", launched(compute_thread_freezes, *LONG, *STUCK), LONG),
    Case("loader-thread-freezes", launched(loader_thread_freezes, *LONG, *STUCK, "--set", "cluster.loaders=2"), LONG),
    Case("no-memory", by_hand(no_memory, *LONG), LONG),
    Case("disk-hangs", disk_hangs, LONG),
]
