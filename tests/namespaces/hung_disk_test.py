"""hung_disk_test.py PROGRAM CASE: the disk of the checkpoints does not answer any more, as NFS whose server is gone.

The thread that writes is stopped, and nothing else of its process. CASE is `at_the_end` (all steps are done), `when_told_to_end` (SIGTERM)
or `of_all` (SIGTERM, and it is so on every replica). The run ends in time, and its weights are in the spare folder: those of the step at
which it ended.
"""
import ctypes
import json
import pathlib
import signal
import subprocess
import sys

from cuts_test import expect, job_text
from hosts import judge
from run_events import DEADLINE_S, Events

REPLICAS = 3
GIVE_UP_S, GRACE_S = 3, 6
SEIZE, INTERRUPT = 0x4206, 0x4207  # of ptrace
CHECKPOINTS = """
[checkpoint]
folder = "{folder}/kept"
spare_folder = "{folder}/spare"
every = "1 epochs"
grace = "{grace}s"
"""

ptrace = ctypes.CDLL(None, use_errno=True).ptrace
ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def stop_disk_thread(pid):
    """For good: until this process ends."""
    threads = [thread for thread in pathlib.Path(f"/proc/{pid}/task").iterdir() if (thread / "comm").read_text().strip() == "muster-disk"]
    expect("threads that write", len(threads), 1)
    for request in (SEIZE, INTERRUPT):
        if ptrace(request, int(threads[0].name), None, None) != 0:
            raise AssertionError(f"the thread cannot be stopped: errno {ctypes.get_errno()}")


def run(program, folder, stopped, told_to_end):
    job = folder / "job.toml"
    text = job_text(folder, folder / "gate", REPLICAS).replace("[cluster.detect]", f'give_up_after = "{GIVE_UP_S}s"\n[cluster.detect]')
    job.write_text(text + CHECKPOINTS.format(folder=folder, grace=GRACE_S))
    with open(folder / "run.log", "w") as log:
        process = subprocess.Popen([program, "run", job, "--events", "-", "--quiet", "--report", folder / "report.json"],
                                   stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        events = Events(process)
        pids = {}
        while len(pids) < REPLICAS:
            event = events.wait("joined", lambda e: e["event"] == "joined")
            pids[event["replica"]] = event["pid"]
        events.wait("a checkpoint", lambda e: e["event"] == "checkpoint")
        for replica in stopped:
            stop_disk_thread(pids[replica])
        process.send_signal(signal.SIGTERM) if told_to_end else (folder / "gate").touch()
        spared = events.wait("the spare folder", lambda e: e["event"] == "checkpoint_spared")
        events.end()
        return process.wait(DEADLINE_S), spared, json.loads((folder / "report.json").read_text())
    finally:
        process.kill()


def expect_kept(folder, spared, report):
    expect("the last step is kept", spared["step"], report["steps"])
    expect("its folder", pathlib.Path(spared["folder"]), folder / "spare")
    expect("its weights are there", pathlib.Path(spared["path"]).stat().st_size > 0, True)


def at_the_end(program, folder):
    code, spared, report = run(program, folder, [0], told_to_end=False)
    expect("exit code", code, 0)
    expect("outcome", report["outcome"], "completed")
    expect_kept(folder, spared, report)


def when_told_to_end(program, folder, stopped=(0,)):
    code, spared, report = run(program, folder, stopped, told_to_end=True)
    expect("exit code", code, 128 + signal.SIGTERM)
    expect("outcome", report["outcome"], "interrupted")
    expect_kept(folder, spared, report)


def of_all(program, folder):
    when_told_to_end(program, folder, range(REPLICAS))


CASES = {"at_the_end": at_the_end, "when_told_to_end": when_told_to_end, "of_all": of_all}


def main():
    program, case = sys.argv[1:]
    return judge(lambda folder: CASES[case](program, folder), hosts=False)


if __name__ == "__main__":
    sys.exit(main())
