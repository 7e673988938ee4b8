"""scripts/compare-ddp without its set-up: runs both sides in turns, and prints each pair and the median of the ratios."""
import argparse
import datetime
import json
import os
import pathlib
import platform
import socket
import statistics
import subprocess
import sys
import tempfile

BATCH = 128  # samples a step, of all processes together: 8 shards x 16
WARM_UP = 10  # steps of PyTorch that are not timed; every step of Muster is
HERE = pathlib.Path(__file__).resolve().parent
DATA = "/usr/share/datasets/fashion-mnist"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def run_torch(processes, given, tuned=False):
    command = [sys.executable, "-B", str(HERE / "compare_ddp_driver.py"), "--world", str(processes), "--port", str(free_port()),
               "--steps", str(given.steps), "--warm-up", str(WARM_UP), "--batch", str(BATCH), "--data", DATA]
    if tuned:
        command.append("--tuned")
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    ranks = [subprocess.Popen([*command, "--rank", str(rank)], stdout=subprocess.PIPE, text=True, env=environment)
             for rank in range(processes)]
    outputs = [rank.communicate()[0] for rank in ranks]
    if any(rank.returncode != 0 for rank in ranks):
        sys.exit("PyTorch's side failed")
    return json.loads(outputs[0])["samples_per_second"]


def run_muster(processes, given, folder):
    report = pathlib.Path(folder) / "report.json"
    samples = given.steps * BATCH
    subprocess.run([given.muster, "run", given.job, "--replicas", str(processes), "--quiet", "--report", str(report),
                    "--set", f"data.take={samples}", "--set", "train.epochs=1", "--set", "train.evaluate=false"], check=True)
    report = json.loads(report.read_text())
    if (report["steps"], report["samples"]) != (given.steps, samples):
        sys.exit(f"Muster took {report['steps']} steps with {report['samples']} samples, not {given.steps} with {samples}")
    return report["samples_per_second"]


def measure(given):
    """Rows of (processes, pair, PyTorch, Muster); each pair begins with the other side."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for pair in range(given.pairs):
            for processes in (1, 2):
                if pair % 2 == 0:
                    torch, muster = run_torch(processes, given), run_muster(processes, given, folder)
                else:
                    muster = run_muster(processes, given, folder)
                    torch = run_torch(processes, given)
                rows.append((processes, pair + 1, torch, muster))
                print(f"{processes} process{'es' if processes > 1 else '  '}  pair {pair + 1}:  PyTorch {torch:6.0f}  "
                      f"Muster {muster:6.0f}  ratio {muster / torch:.2f}", flush=True)
    return rows


def medians(rows, processes):
    mine = [row for row in rows if row[0] == processes]
    return (statistics.median(row[2] for row in mine), statistics.median(row[3] for row in mine),
            statistics.median(row[3] / row[2] for row in mine))


def processor():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def page(rows, tuned, given):
    text = f"""# Performance

Written by `./scripts/compare-ddp --write` on {datetime.date.today()}; run it to see the figures of your own machine.

The convolutional network of `examples/fashion_mnist.toml` (421,642 parameters), {BATCH} samples a step, {given.steps} steps, SGD
with momentum, one compute thread a process, on {os.cpu_count()} cores of {processor()}. PyTorch is Debian's, version
{subprocess.run([sys.executable, '-c', 'import torch; print(torch.__version__)'], stdout=subprocess.PIPE, text=True).stdout.strip()}, with DDP over gloo; one process is a plain loop without DDP. The runs take turns. PyTorch's images are in
memory as shuffled tensors, and its first {WARM_UP} steps are not timed. Muster reads, shuffles and batches the images as in
every run, and all its steps are timed, until the last message of the last replica. Neither side evaluates.

| processes | pair | PyTorch, samples/s | Muster, samples/s | ratio |
| --- | --- | --- | --- | --- |
"""
    for processes, pair, torch, muster in sorted(rows):
        text += f"| {processes} | {pair} | {torch:.0f} | {muster:.0f} | {muster / torch:.2f} |\n"
    text += "\n"
    for processes in (1, 2):
        torch, muster, ratio = medians(rows, processes)
        text += f"- {processes} process{'es' if processes > 1 else ''}: median {torch:.0f} against {muster:.0f} samples/s, "
        text += f"**median ratio {ratio:.2f}**\n"
    text += "\nPart of the difference is the order in which the network is computed: Muster's `fashion_cnn` keeps activations with\n"
    text += "channels last and applies ReLU after max-pooling, which is the same function. With the same done by hand in PyTorch\n"
    text += f"(`--tuned`): {', '.join(f'{rate:.0f} samples/s with {n}' for n, rate in tuned)}.\n"
    return text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--muster", required=True)
    parser.add_argument("--job", required=True)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--steps", type=int, default=150, help="at most 468, an epoch")
    parser.add_argument("--tuned", action="store_true", help="measure PyTorch's hand-tuned network, too")
    parser.add_argument("--write", action="store_true", help="write docs/measurements/performance.md")
    given = parser.parse_args()

    rows = measure(given)
    for processes in (1, 2):
        torch, muster, ratio = medians(rows, processes)
        print(f"{processes} process{'es' if processes > 1 else '  '}  median:  PyTorch {torch:6.0f}  Muster {muster:6.0f}  "
              f"median ratio {ratio:.2f}")
    tuned = []
    if given.tuned or given.write:
        for processes in (1, 2):
            rates = [run_torch(processes, given, tuned=True) for _ in range(given.pairs)]
            tuned.append((processes, statistics.median(rates)))
            print(f"PyTorch tuned by hand, {processes} process{'es' if processes > 1 else ''}: median {tuned[-1][1]:.0f}")
    if given.write:
        (HERE.parent / "docs" / "measurements" / "performance.md").write_text(page(rows, tuned, given))
        print("written: docs/measurements/performance.md")


main()
