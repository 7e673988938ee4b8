"""What scripts/gpu-check asks of the machine: the GPU by its driver, the tools, memory in use, and commands with a time limit."""
import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time


class CannotRun(Exception):
    """Something that a check needs is not there."""


class NoGpu(CannotRun):
    pass


# ------------------------------------------------------------ the GPU

def driver_library(name):
    """Where loaders do not look, containers put the driver into these folders."""
    for path in (name, f"/usr/local/nvidia/lib64/{name}", f"/usr/local/nvidia/lib/{name}"):
        try:
            return ctypes.CDLL(path)
        except OSError as error:
            reason = error
    raise reason


def gpu():
    """The first GPU that CUDA sees here; throws NoGpu with the reason."""
    try:
        cuda = driver_library("libcuda.so.1")
    except OSError as error:
        raise NoGpu(f"no CUDA device: no driver ({error})") from None
    code = cuda.cuInit(0)
    if code != 0:
        raise NoGpu(f"no CUDA device: the driver {'sees no GPU' if code == 100 else f'fails with error {code}'}")
    count, device, version = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    total, major, minor = ctypes.c_size_t(), ctypes.c_int(), ctypes.c_int()
    name, bus = ctypes.create_string_buffer(100), ctypes.create_string_buffer(32)
    calls = [(cuda.cuDeviceGetCount, ctypes.byref(count)), (cuda.cuDeviceGet, ctypes.byref(device), 0)]
    if any(function(*arguments) != 0 for function, *arguments in calls) or count.value == 0:
        raise NoGpu("no CUDA device: the driver sees no GPU")
    cuda.cuDeviceGetName(name, len(name), device)
    cuda.cuDeviceTotalMem_v2(ctypes.byref(total), device)
    cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, device)
    cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)
    cuda.cuDeviceGetPCIBusId(bus, len(bus), device)
    cuda.cuDriverGetVersion(ctypes.byref(version))
    return {"name": name.value.decode(), "count": count.value, "memory": total.value, "bus": bus.value.decode(),
            "capability": f"{major.value}.{minor.value}",
            "cuda": f"{version.value // 1000}.{version.value % 1000 // 10}"}


class _Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class Management:
    """The driver's management library (NVML): it needs no context on the GPU, so to look changes nothing."""

    def __init__(self, bus):
        try:
            self.library = driver_library("libnvidia-ml.so.1")
        except OSError as error:
            raise CannotRun(f"the GPU's memory in use is not known: {error}") from None
        self.handle = ctypes.c_void_p()
        code = self.library.nvmlInit_v2() or self.library.nvmlDeviceGetHandleByPciBusId_v2(bus.encode(), ctypes.byref(self.handle))
        if code != 0:
            raise CannotRun(f"the GPU's memory in use is not known: NVML fails with error {code}")

    def driver(self):
        text = ctypes.create_string_buffer(96)
        return text.value.decode() if self.library.nvmlSystemGetDriverVersion(text, len(text)) == 0 else "unknown"

    def used_bytes(self):
        memory = _Memory()
        code = self.library.nvmlDeviceGetMemoryInfo(self.handle, ctypes.byref(memory))
        if code != 0:
            raise CannotRun(f"the GPU's memory in use is not known: NVML fails with error {code}")
        return memory.used


class MemoryWatch:
    """Most memory of the GPU in use while this is open, beyond what was in use before; by all processes."""

    def __init__(self, management, period_s=0.01):
        self.management, self.period_s = management, period_s
        self.before = self.most = management.used_bytes()
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def watch(self):
        while not self.done.wait(self.period_s):
            self.most = max(self.most, self.management.used_bytes())

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()

    @property
    def peak_bytes(self):
        return self.most - self.before


# ------------------------------------------------------------ tools and versions

def tool(name, *more_folders):
    """A program's path, also where it is not on PATH."""
    places = [os.environ.get("PATH", ""), "/usr/local/cuda/bin", *more_folders]
    path = shutil.which(name, path=os.pathsep.join(places))
    if path is None:
        raise CannotRun(f"{name} is not there")
    return path


def said_by(*command, seconds=120):
    """What a command prints, or CannotRun with its words."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotRun(f"{command[0]}: {error}") from None
    if done.returncode != 0:
        last = done.stdout.strip().splitlines()[-1:] or ["it said nothing"]
        raise CannotRun(f"{command[0]} ends with exit code {done.returncode}: {last[0]}")
    return done.stdout


def toolkit():
    found = re.search(r"release ([\d.]+)", said_by(tool("nvcc"), "--version"))
    return found.group(1) if found else "unknown"


def torch():
    """The installed PyTorch: version, folder of its CMake files, and whether it computes on the GPU."""
    words = said_by(sys.executable, "-c", "import json, torch; print(json.dumps({'version': torch.__version__, "
                    "'cmake': torch.utils.cmake_prefix_path, 'cuda': torch.cuda.is_available()}))")
    return json.loads(words.splitlines()[-1])


def processor():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "an unknown processor"


def commit(root):
    done = subprocess.run(["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) if shutil.which("git") else None
    return done.stdout.strip() if done is not None and done.returncode == 0 else "unknown"


# ------------------------------------------------------------ commands

class Clock:
    """The time that the whole command may take."""

    RESERVE_S = 8  # to end processes and write the table

    def __init__(self, limit_s):
        self.end = time.monotonic() + limit_s - self.RESERVE_S

    def left(self):
        return self.end - time.monotonic()

    def need(self, seconds):
        if self.left() < seconds:
            raise CannotRun(f"out of time: {max(0, self.left()):.0f} s are left, it may take {seconds} s; run the stage again")


class Done:
    def __init__(self, code, text, seconds, timed_out):
        self.code, self.text, self.seconds, self.timed_out = code, text, seconds, timed_out

    def last_words(self, lines=1):
        return " / ".join([line.strip() for line in self.text.splitlines() if line.strip()][-lines:]) or "it said nothing"


class Commands:
    """Runs commands one at a time: each in a process group of its own, which ends with it; all that they say goes into a log."""

    def __init__(self, log, clock, environment):
        self.log, self.clock, self.environment = pathlib.Path(log), clock, environment

    def run(self, command, seconds=600, cwd=None, **more_environment):
        """Done; at most so many seconds, and no more than the whole has left."""
        command = [str(part) for part in command]
        limit = min(seconds, self.clock.left())
        began = time.monotonic()
        with self.log.open("a") as log:
            log.write(f"\n$ {' '.join(command)}\n")
            log.flush()
            start = self.log.stat().st_size
            try:
                process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=cwd,
                                           env={**self.environment, **more_environment}, start_new_session=True)
            except OSError as error:
                raise CannotRun(f"{pathlib.Path(command[0]).name}: {error.strerror}") from None
            timed_out = False
            try:
                process.wait(max(0.1, limit))
            except subprocess.TimeoutExpired:
                timed_out = True
            finally:
                end_group(process)
        took = time.monotonic() - began
        text = self.log.read_bytes()[start:].decode(errors="replace")
        return Done(process.returncode, text, took, timed_out)


def end_group(process):
    """Ends a process that was started with a session of its own, and all that it started in it."""
    for blow, patience in ((signal.SIGTERM, 5), (signal.SIGKILL, 5)):
        try:
            os.killpg(process.pid, blow)
        except ProcessLookupError:
            break
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            continue
    process.wait()
