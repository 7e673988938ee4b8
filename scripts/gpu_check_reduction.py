"""The rows of scripts/gpu-check about sums between GPUs: Muster's reduction, which goes through the host in its own order, beside NCCL's,
which has the GPUs' links and an order of its own (NCCL is a bar to measure against; nothing of Muster uses it); and from GPU to GPU,
where a UCX that moves such memory is given.
"""
import dataclasses
import json
import pathlib
import sys

import gpu_check_models as models
from gpu_check_machine import CannotRun
from gpu_check_table import Failed

HERE = pathlib.Path(__file__).resolve().parent
HIDDEN = 40000  # of the perceptron whose gradient is summed: 32 M numbers, and next to nothing to compute


def two_gpus(check):
    return 'replicas = 2\ndevices = ["cuda:0", "cuda:1"]\n'


def numbers(hidden):
    """Parameters of the perceptron."""
    return 784 * hidden + hidden + 10 * hidden + 10


def reduce_seconds(check, hidden, steps):
    """Of the slower replica, over all steps: from the end of its own part until the sum is there."""
    wide = models.Example("", "mlp", 2, 1, steps=steps, epochs=1, options=f"sizes = [784, {hidden}, 10]\n")
    report = models.train(check, models.write_job(check, wide, 2, 1, cluster=two_gpus(check)))
    if report["steps"] != steps:
        raise Failed(f"{report['steps']} steps, expected {steps}")
    return max(phases["reduce_s"] for phases in report["phases"])


def nccl_seconds(check, elements):
    done = check.commands.run([sys.executable, "-B", HERE / "gpu_check_nccl.py", "--device", check.device.split(":")[0], "--elements",
                               elements, "--repeats", 10 if check.quick else 30], 120)
    if done.code != 0:
        raise CannotRun(f"NCCL's side failed: {'out of time' if done.timed_out else done.last_words()}")
    return json.loads(next(line for line in done.text.splitlines() if line.startswith('{"torch"')))["seconds"]


def seconds_a_step(check, hidden):
    """The first steps take memory, so two runs are held against each other. On a busy machine the longer one may be the quicker: then
    it is made longer."""
    few, many = 5, 25 if check.quick else 45
    begun = reduce_seconds(check, hidden, few)
    for steps in (many, 4 * many, 16 * many, 64 * many):
        seconds = (reduce_seconds(check, hidden, steps) - begun) / (steps - few)
        if seconds > 0:
            return seconds
    raise Failed(f"more steps took no longer: {seconds * 1e3:.3f} ms a step, of {steps} steps")


def beside_nccl(check, hidden=HIDDEN):
    if check.gpu["count"] < 2:
        return "not measured: NCCL needs two GPUs, and here is one"
    check.clock.need(60)
    ours = seconds_a_step(check, hidden)
    theirs = nccl_seconds(check, numbers(hidden))
    size = numbers(hidden) * 4 / 1e6
    return f"{size:.1f} MB: {ours * 1e3:.2f} ms a step, NCCL {theirs * 1e3:.2f} ms, **{theirs / ours:.2f}** of its speed"


def from_gpu_to_gpu(check, example):
    """Two replicas on the GPU, with a UCX that moves its memory in place of the bundle's; the bits are those of one."""
    if check.given.ucx is None:
        return "not run: no UCX that moves the memory of GPUs was given (--ucx)"
    check.clock.need(60)
    one = models.train(check, models.write_job(check, example, 1, 1))
    libraries = [check.given.ucx.resolve() / f"lib{name}.so.0" for name in ("ucm", "ucs", "uct", "ucp")]
    if missing := [str(file) for file in libraries if not file.is_file()]:
        raise CannotRun(f"there is no {missing[0]}")
    preload = ":".join(map(str, libraries))  # the program looks into the bundle before all other paths
    two = models.train(check, models.write_job(check, example, 2, 1, gpu_direct=True), LD_PRELOAD=preload)
    figure = f"{two['transport']}; weights_sha256 {two['weights_sha256'][:16]}…"
    if "sums from GPU to GPU" not in two["transport"]:
        raise Failed("the sums went through pinned memory: this UCX does not move the GPU's", figure)
    if two["weights_sha256"] != one["weights_sha256"]:
        raise Failed(f"one replica gave {one['weights_sha256'][:16]}…", figure)
    return figure


def reduction(check, stage):
    short = dataclasses.replace(models.EXAMPLES[0], steps=20)
    stage.check(f"{short.title}: 2 replicas on the GPU, sums from GPU to GPU, same bits", from_gpu_to_gpu, check, short)
    stage.check("sums between two GPUs, through the host, beside NCCL's all_reduce", beside_nccl, check)
