"""What the checks of the examples share: run a program that writes a report, and look into it."""
import json
import pathlib
import subprocess
import sys


def run(arguments, folder, name="report", code=0):
    """Runs `arguments ... --report FILE` and gives the report; ends the check if the exit code is another one."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.unlink(missing_ok=True)
    command = [str(a) for a in arguments] + ["--report", str(path)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(done.stdout, end="")
    if done.returncode != code:
        sys.exit(f"exit code {done.returncode}, expected {code}: {' '.join(command)}")
    return json.loads(path.read_text())


def events(report, name, **fields):
    """The report's events of that name whose fields have these values."""
    return [e for e in report["events"] if e["event"] == name and all(e.get(k) == v for k, v in fields.items())]


def equal(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: found {found!r}, expected {expected!r}")
    print(f"ok: {what} = {found!r}")


def holds(what, condition):
    if not condition:
        sys.exit(f"does not hold: {what}")
    print(f"ok: {what}")


def run_alike(command, folder, replicas):
    """Runs `command ... --replicas N` for each N and gives each report; all runs are completed, with the same weights.

    A replica that a busy machine holds up for a second or two is not lost here: what becomes of a lost one is tested elsewhere.
    """
    patient = ["--set", "cluster.detect.patience=20s"]
    hashes = set()
    for count in replicas:
        report = run([*command, *patient, "--replicas", count], folder, f"report-{count}")
        equal("outcome", report["outcome"], "completed")
        equal("replicas", report["replicas"], count)
        hashes.add(report["weights_sha256"])
        yield report
    equal(f"different weights on {replicas} replicas", len(hashes), 1)
