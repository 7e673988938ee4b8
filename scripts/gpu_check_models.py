"""The stages `models` and `kill` of scripts/gpu-check: real replica processes on the GPU, against plain PyTorch and each other."""
import dataclasses
import gzip
import json
import os
import pathlib
import queue
import re
import signal
import statistics
import subprocess
import sys
import threading
import time

from gpu_check_machine import CannotRun, Management, MemoryWatch, end_group
from gpu_check_table import Failed

HERE = pathlib.Path(__file__).resolve().parent
MEMORY_SLACK_BYTES = 256 << 20  # of a process, beyond what its plan says: work space of libraries
GRAY = "mean = 0.286\nstd = 0.353\n"


@dataclasses.dataclass
class Example:
    """A model at one size: `steps` an epoch, the first epoch warms up, and `epochs` are timed."""
    title: str
    model: str       # its name in a job, and in gpu_check_pytorch.py
    shards: int
    batch: int       # samples of a shard
    steps: int
    epochs: int
    bar: float = 0   # of plain PyTorch's speed at equal micro-batches; 0: none
    options: str = ""
    precision: str = "float32"
    optimizer: str = 'name = "sgd"\nlearning_rate = 0.05\nmomentum = 0.9\n'
    unit: str = "samples"
    per_sample: int = 1  # units of a sample
    clip_norm: float = 0  # 0: the gradient stays as it is

    @property
    def samples(self):
        return self.shards * self.batch


DECODER = 'name = "adamw"\nlearning_rate = 0.0006\nweight_decay = 0.1\nbeta2 = 0.95\n'
EXAMPLES = (
    Example("fashion_cnn, 8 x 16", "fashion_cnn", 8, 16, steps=200, epochs=3, bar=1.0),
    Example("gpt2 of 124 M, bfloat16, 4 x 8", "gpt2", 4, 8, steps=10, epochs=3, bar=0.95, precision="bfloat16",
            optimizer=DECODER, unit="tokens", per_sample=1024),
    Example("fashion_cnn, 8 x 256", "fashion_cnn", 8, 256, steps=25, epochs=4, bar=1.0),
    Example("resnet18 on 32x32, 4 x 64", "resnet18", 4, 64, steps=40, epochs=2, options="channels = 1\nside = 32\n"),
)


# ------------------------------------------------------------ data and jobs

def fashion(check):
    return check.deps / "usr/share/datasets/fashion-mnist"


def padded_images(check):
    """Fashion-MNIST with two pixels of nothing around each image: 32x32."""
    target = check.kept / "fashion-32x32.idx"
    if not target.is_file():
        whole = gzip.decompress((fashion(check) / "train-images-idx3-ubyte.gz").read_bytes())
        count, pixels = int.from_bytes(whole[4:8], "big"), memoryview(whole)[16:]
        edge, empty = bytes(2), bytes(2 * 32)
        pieces = [whole[:8] + (32).to_bytes(4, "big") * 2]
        for image in range(count):
            rows = (pixels[(image * 28 + row) * 28:(image * 28 + row + 1) * 28] for row in range(28))
            pieces += [empty, *(edge + bytes(row) + edge for row in rows), empty]
        part = target.with_suffix(".part")
        part.write_bytes(b"".join(pieces))
        part.rename(target)
    return target


def data_text(check, example):
    if example.model == "gpt2":
        return f'source = "tokens"\ntrain = "{check.deps}/data/kjv-train.tokens"\ntype = "uint8"\nvocabulary = 256\ncontext = 1024\n'
    images = padded_images(check) if example.model == "resnet18" else fashion(check) / "train-images-idx3-ubyte.gz"
    return f'source = "idx"\ntrain_images = "{images}"\ntrain_labels = "{fashion(check)}/train-labels-idx1-ubyte.gz"\n{GRAY}'


def devices(check, replicas):
    """So many replicas on the one GPU."""
    names = ", ".join([f'"{check.device}"'] * replicas)
    return f"replicas = {replicas}\ndevices = [{names}]\n" + ("share_devices = true\n" if replicas > 1 else "")


def write_job(check, example, replicas, epochs, cluster=None, gpu_direct=False):
    """The job's file."""
    text = f"""name = "gpu-check"
seed = 7
[model]
name = "{example.model}"
{example.options}[data]
{data_text(check, example)}take = {example.steps * example.samples}
[train]
shards = {example.shards}
batch = {example.batch}
epochs = {epochs}
{f'precision = "{example.precision}"' if example.precision != "float32" else ""}
{f'clip_norm = {example.clip_norm}' if example.clip_norm else ""}
evaluate = false
[train.optimizer]
{example.optimizer}[cluster]
{devices(check, replicas) if cluster is None else cluster}start_patience = "2min"
[reduce]
gpu_direct = {str(gpu_direct).lower()}
"""
    file = check.kept / f"{example.model}-{example.samples}-{replicas}.toml"
    file.write_text(text)
    return file


def train(check, job, seconds=180, **more_environment):
    """The report of a run; Failed with its words if it does not complete."""
    report = job.with_suffix(".json")
    report.unlink(missing_ok=True)
    done = check.commands.run([check.muster, "run", job, "--report", report], seconds, **more_environment)
    if done.timed_out:
        raise Failed(f"muster run did not end within {done.seconds:.0f} s")
    if done.code != 0:
        raise Failed(f"muster run ends with exit code {done.code}: {done.last_words(2)}")
    return json.loads(report.read_text())


def speed(report, example):
    """Units a second after the first epoch, which warms up."""
    ends = [event["time_ms"] for event in report["events"] if event["event"] == "epoch"]
    if len(ends) < 2 or len(ends) != len(report["ledger"]):
        raise Failed(f"the report tells of {len(ends)} epochs, and has a ledger of {len(report['ledger'])}")
    samples = sum(row["used"] for row in report["ledger"][1:])
    return samples * example.per_sample / ((ends[-1] - ends[0]) / 1000)


def run_pytorch(check, example):
    """{(variant, deterministic): {"speed", "peak_bytes", "note"}} of plain PyTorch."""
    command = [sys.executable, "-B", HERE / "gpu_check_pytorch.py", "--device", check.device.split(":")[0], "--model", example.model,
               "--shards", example.shards, "--batch", example.batch, "--steps", example.steps * example.epochs,
               "--warm-up", min(10, example.steps), "--fashion", fashion(check), "--precision", example.precision,
               "--tokens", check.deps / "data/kjv-train.tokens"]
    done = check.commands.run(command, 240)
    if done.code != 0:
        raise CannotRun(f"PyTorch's side failed: {'out of time' if done.timed_out else done.last_words()}")
    rows = json.loads(next(line for line in done.text.splitlines() if line.startswith('{"torch"')))["variants"]
    return {(row["variant"], row["deterministic"]): dict(row, speed=row["samples_per_second"] * example.per_sample) for row in rows}


# ------------------------------------------------------------ what plan foretells

UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


def planned_bytes(text, device):
    """What `muster plan` says that replica 0 takes on its device."""
    found = re.search(rf"^replica 0 on {device}:.*?\bmemory ([\d.]+) (B|[KMGT]iB)", text, re.MULTILINE)
    if found is None:
        raise Failed(f"muster plan does not say what replica 0 takes on {device}")
    return float(found.group(1)) * UNITS[found.group(2)]


def planned(check, job):
    done = check.commands.run([check.muster, "plan", job], 120)
    if done.code != 0:
        raise Failed(f"muster plan ends with exit code {done.code}: {done.last_words()}")
    return planned_bytes(done.text, check.device)


def idle_bytes(check, management):
    """What a process of Muster takes on the GPU for a model of next to nothing: the context, and the libraries' kernels."""
    small = Example("", "mlp", 1, 16, steps=10, epochs=1, options="sizes = [784, 10]\n")
    with MemoryWatch(management) as watch:
        train(check, write_job(check, small, 1, epochs=1))
    return watch.peak_bytes


def gib(size):
    return f"{size / (1 << 30):.2f} GiB"


def memory_verdict(peak, idle, plan):
    figure = f"{gib(peak)} at most, of these {gib(idle)} context and libraries; foretold {gib(plan)}"
    most = 1.1 * plan + MEMORY_SLACK_BYTES
    if peak - idle > most:
        raise Failed(f"{gib(peak - idle)} beside context and libraries, foretold were {gib(plan)}", figure)
    return figure


# ------------------------------------------------------------ one model

class Race:
    """Muster and PyTorch in turns; what each gave, or why it did not."""

    def __init__(self, check, example):
        self.check, self.example = check, example
        self.muster, self.torch, self.shared = [], [], None
        self.reasons = {}
        self.peak = None

    def ours(self, management):
        self.check.clock.need(30)
        job = write_job(self.check, self.example, 1, 1 + self.example.epochs)
        if self.muster or management is None:
            self.muster.append(train(self.check, job))
        else:
            with MemoryWatch(management) as watch:
                self.muster.append(train(self.check, job))
            self.peak = watch.peak_bytes

    def theirs(self):
        self.check.clock.need(40)
        self.torch.append(run_pytorch(self.check, self.example))

    def run(self, rounds, management):
        sides = [("muster", lambda: self.ours(management)), ("torch", self.theirs)]
        for turn in range(rounds):
            for name, side in sides if turn % 2 == 0 else sides[::-1]:
                if name in self.reasons:
                    continue
                try:
                    side()
                except (Failed, CannotRun) as reason:
                    self.reasons[name] = reason

    def trains(self):
        """What a run of Muster gave; its failure is this row's."""
        if not self.muster:
            raise self.reasons["muster"]
        if len({report["weights_sha256"] for report in self.muster}) != 1:
            raise Failed("two runs on one replica gave other bits")
        speeds = [speed(report, self.example) for report in self.muster]
        losses = [row["loss"] for row in self.muster[0]["training"]]
        figure = f"{statistics.median(speeds):,.0f} {self.example.unit}/s, loss {losses[0]:.3f} to {losses[-1]:.3f}"
        if not losses[-1] < losses[0]:
            raise Failed("the loss does not fall", figure)
        if "muster" in self.reasons:
            raise Failed(f"only {len(self.muster)} runs completed: {self.reasons['muster']}", figure)
        return figure

    def against(self, variant, deterministic):
        if not self.torch:
            raise self.reasons["torch"]
        found = [result[variant, deterministic] for result in self.torch]
        if found[0]["note"] and not found[0]["samples_per_second"]:
            raise CannotRun(found[0]["note"])
        theirs = statistics.median(row["speed"] for row in found)
        figure = f"PyTorch {theirs:,.0f} {self.example.unit}/s, {gib(found[0]['peak_bytes'])}"
        if found[0]["note"]:
            figure += f" ({found[0]['note']})"
        if not self.muster:
            raise CannotRun(f"Muster did not train; {figure}")
        ratios = [speed(report, self.example) / row["speed"] for report, row in zip(self.muster, found)]
        ratio = statistics.median(ratios)
        figure = f"**{ratio:.2f}** ({min(ratios):.2f} to {max(ratios):.2f}) of it; {figure}"
        if variant == "micro" and not deterministic and ratio < self.example.bar:
            raise Failed(f"{ratio:.3f} is below the bar", figure)
        return figure

    def determinism(self):
        if not self.torch:
            raise self.reasons["torch"]
        parts = []
        for variant, words in (("micro", "equal micro-batches"), ("big", "one big batch")):
            free, bound = (statistics.median(result[variant, which]["speed"] for result in self.torch) for which in (False, True))
            if not free or not bound:
                raise CannotRun("PyTorch gave no figure with deterministic algorithms")
            parts.append(f"{words} {100 * (1 - bound / free):.0f} %")
        return "PyTorch is slower by: " + ", ".join(parts)

    def same_bits(self):
        """Two processes on one GPU."""
        if not self.muster:
            raise CannotRun("Muster did not train on one replica")
        self.check.clock.need(30)
        self.shared = train(self.check, write_job(self.check, self.example, 2, 1 + self.example.epochs))
        found, expected = self.shared["weights_sha256"], self.muster[0]["weights_sha256"]
        figure = f"weights_sha256 {found[:16]}…, {speed(self.shared, self.example):,.0f} {self.example.unit}/s on 2"
        if found != expected:
            raise Failed(f"one replica gave {expected[:16]}…", figure)
        return figure

    def memory(self, management, idle):
        if self.peak is None:
            raise CannotRun("Muster did not train" if management else "the GPU's memory in use is not known")
        if not isinstance(idle, int):
            raise CannotRun(f"a model of next to nothing did not train: {idle}")
        return memory_verdict(self.peak, idle, planned(self.check, write_job(self.check, self.example, 1, 1 + self.example.epochs)))


def is_refused(check, cluster, words):
    job = write_job(check, EXAMPLES[0], 2, 1, cluster=cluster)
    done = check.commands.run([check.muster, "run", job], 60)
    if done.code != 2 or not all(word in done.text for word in words):
        raise Failed(f"exit code {done.code}, expected 2 with {', '.join(words)}: {done.last_words(2)}")
    return done.last_words().replace(f"{job}:", "")


def clipped_bits(check, example):
    """Of a bound that no step of these keeps by itself; once with all on the GPU, and once by way of the host."""
    check.clock.need(40)
    bounded = dataclasses.replace(example, clip_norm=0.01)
    whole, one, two = (train(check, write_job(check, *which, 1))["weights_sha256"]
                       for which in ((example, 1), (bounded, 1), (bounded, 2)))
    if one != two or one == whole:
        raise Failed(f"one replica gives {one[:16]}…, two {two[:16]}…, and one without a bound {whole[:16]}…")
    return f"weights_sha256 {one[:16]}…, other ones without a bound"


def models(check, stage):
    twice = f'replicas = 2\ndevices = ["{check.device}", "{check.device}"]\n'
    stage.check("a GPU used twice is refused", is_refused, check, twice, ["share_devices"])
    stage.check("a GPU that is not there is refused", is_refused, check, 'replicas = 1\ndevices = ["cuda:99"]\n', ["cuda:99"])
    short = dataclasses.replace(EXAMPLES[0], steps=20)
    stage.check(f"{short.title}, clip_norm: 2 replicas on the GPU, same bits", clipped_bits, check, short, bar="same bits")
    try:
        management = Management(check.gpu["bus"])
    except CannotRun:
        management = None
    try:
        idle = idle_bytes(check, management) if management else None
    except (Failed, CannotRun) as reason:
        idle = reason
    for example in EXAMPLES:
        if check.quick:
            example = dataclasses.replace(example, epochs=1)
        race = Race(check, example)
        race.run(1 if check.quick else 3, management)
        title = example.title
        stage.check(f"{title}: trains on cuda:0", race.trains)
        stage.check(f"{title}: against PyTorch, equal micro-batches", race.against, "micro", False,
                    bar=f"{example.bar:.2f}" if example.bar else "")
        stage.check(f"{title}: the same, PyTorch deterministic, without TF32", race.against, "micro", True)
        stage.check(f"{title}: against PyTorch, one batch of {example.samples}", race.against, "big", False)
        stage.check(f"{title}: the same, PyTorch deterministic, without TF32", race.against, "big", True)
        stage.check(f"{title}: price of determinism, and of no TF32", race.determinism)
        stage.check(f"{title}: 2 replicas on the GPU, same bits", race.same_bits, bar="same bits")
        stage.check(f"{title}: memory of the GPU", race.memory, management, idle, bar="foretold + 10 %")


# ------------------------------------------------------------ kills

class Watched:
    """A run of two replicas on the GPU that is watched by its events."""

    def __init__(self, check, job):
        self.report = job.with_suffix(".json")
        self.report.unlink(missing_ok=True)
        self.deadline = time.monotonic() + min(120, check.clock.left())
        self.process = subprocess.Popen([str(check.muster), "run", str(job), "--quiet", "--events", "-", "--report", str(self.report)],
                                        stdout=subprocess.PIPE, stderr=check.commands.log.open("a"), stdin=subprocess.DEVNULL,
                                        env=check.commands.environment, start_new_session=True)
        self.lines, self.pids = queue.Queue(), {}
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put((time.monotonic(), line))
        self.lines.put((time.monotonic(), None))

    def event(self, name):
        """The moment at which the next event of this name came."""
        while True:
            try:
                moment, line = self.lines.get(timeout=max(0, self.deadline - time.monotonic()))
            except queue.Empty:
                raise Failed(f"no event {name} came in time") from None
            if line is None:
                raise Failed(f"the run ended before the event {name}, exit code {self.process.wait()}")
            event = json.loads(line)
            if event["event"] == "joined" and "replica" in event:
                self.pids[event["replica"]] = event["pid"]
            if event["event"] == name:
                return moment

    def finish(self):
        self.event("completed")
        if self.process.wait(60) != 0:
            raise Failed(f"the run ended with exit code {self.process.returncode}")
        return json.loads(self.report.read_text())


def one_kill(check, job, victim, expected):
    """Milliseconds from the signal to the event that says that the first step in the new view is committed."""
    check.clock.need(40)
    run = Watched(check, job)
    try:
        run.event("epoch")
        time.sleep(0.03 * victim)  # anywhere within a step
        began = time.monotonic()
        os.kill(run.pids[victim], signal.SIGKILL)
        ended = run.event("recovered")
        report = run.finish()
    finally:
        end_group(run.process)
    if report["weights_sha256"] != expected["weights_sha256"]:
        raise Failed(f"other bits after the loss of replica {victim}")
    if any(row["repeated"] or row["missed"] for row in report["ledger"]):
        raise Failed(f"the ledger is {report['ledger']}")
    return (ended - began) * 1000


def kills(check, example, count):
    epochs = 6
    expected = train(check, write_job(check, example, 1, epochs))
    job = write_job(check, example, 2, epochs)
    times = [one_kill(check, job, turn % 2, expected) for turn in range(count)]
    return (f"{statistics.median(times):.0f} ms to the next step ({min(times):.0f} to {max(times):.0f}, {count} kills), same bits, "
            "exact ledger")


def kill(check, stage):
    examples = [EXAMPLES[0], dataclasses.replace(EXAMPLES[1], steps=5)]
    for example, count in zip(examples, (2, 1) if check.quick else (8, 2)):
        stage.check(f"{example.title}: SIGKILL of one of 2 replicas on the GPU", kills, check, example, count, bar="same bits")
