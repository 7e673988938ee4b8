"""gpu_check_test.py MUSTER FOLDER: the runs of scripts/gpu-check, on the CPU and small: real replicas, kills, and PyTorch's side."""
import argparse
import dataclasses
import os
import pathlib
import sys

from jobs import FASHION, fresh

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import gpu_check_models as models
import gpu_check_reduction as reduction
from gpu_check_machine import Clock, Commands
from gpu_check_table import Failed, Stage, kept_stages

muster, folder = sys.argv[1], fresh(sys.argv[2])


class OnTheCpu:
    """What gpu_check.Check is on a machine with a GPU."""

    device, quick, gpu = "cpu:0", True, {"bus": "none"}

    def __init__(self):
        self.muster, self.kept, self.deps = pathlib.Path(muster), folder, folder / "deps"
        self.given = argparse.Namespace()
        self.clock = Clock(600)  # a busy machine is slow: what is tested is what is said, not how fast
        self.commands = Commands(folder / "log", self.clock, dict(os.environ, OMP_NUM_THREADS="1"))
        (self.deps / "usr/share/datasets").mkdir(parents=True)
        (self.deps / "usr/share/datasets/fashion-mnist").symlink_to(FASHION)
        (self.deps / "data").mkdir()
        (self.deps / "data/kjv-train.tokens").write_bytes(b"In the beginning God created the heaven and the earth. " * 200)


SMALL = models.Example("fashion_cnn, 2 x 8", "fashion_cnn", 2, 8, steps=6, epochs=2, bar=0.01)
check = OnTheCpu()
models.devices = lambda _, replicas: f"replicas = {replicas}\n"  # two replicas have two cores
stage = Stage("models", folder)

race = models.Race(check, SMALL)
race.run(2, None)
assert not race.reasons, race.reasons
assert stage.check("trains", race.trains)
for variant in ("micro", "big"):
    for deterministic in (False, True):
        assert stage.check(f"against {variant}, {deterministic}", race.against, variant, deterministic)
assert stage.check("price", race.determinism)
assert stage.check("same bits", race.same_bits)
assert stage.check("clipped", models.clipped_bits, check, SMALL)
assert models.planned(check, models.write_job(check, SMALL, 1, 1)) > 4 * 421642
assert stage.check("kill", models.kills, check, dataclasses.replace(SMALL, steps=60), 2)
assert stage.check("refused", models.is_refused, check, 'replicas = 1\ndevices = ["cuda:99"]\n', ["cuda:99"])
race.muster[0]["weights_sha256"] = "another"
assert not stage.check("other bits are seen", race.same_bits)
assert not stage.check("no refusal is seen", models.is_refused, check, "replicas = 1\n", ["cuda:99"])

# The jobs of the other models, in a small form.
for model, batch, options in (("resnet18", 4, "channels = 1\nside = 32\nwidth = 4\n"), ("mlp", 4, "sizes = [784, 10]\n"),
                              ("gpt2", 1, "layers = 1\nheads = 2\nwidth = 16\nvocabulary = 256\n")):
    small = models.Example(model, model, 2, batch, steps=3, epochs=1, options=options,
                           **({"optimizer": models.DECODER, "per_sample": 1024} if model == "gpt2" else {}))
    report = models.train(check, models.write_job(check, small, 1, 2))
    assert report["steps"] == 6 and models.speed(report, small) > 0, report

# Sums between two GPUs beside another library's; of one GPU it is said that there is none.
assert "NCCL needs two GPUs" in reduction.beside_nccl(argparse.Namespace(gpu={"count": 1}))
check.gpu = {"count": 2}
reduction.two_gpus = lambda _: "replicas = 2\n"
assert stage.check("beside NCCL", reduction.beside_nccl, check, 64)

# Sums from GPU to GPU: without a UCX for it that is said, and where they went another way it fails.
check.given.ucx = None
assert "no UCX" in reduction.from_gpu_to_gpu(check, SMALL)
check.given.ucx = folder / "ucx"
assert not stage.check("a folder without UCX", reduction.from_gpu_to_gpu, check, SMALL)
check.given.ucx.mkdir()
for name in ("ucm", "ucs", "uct", "ucp"):
    (check.given.ucx / f"lib{name}.so.0").symlink_to(f"/usr/lib/x86_64-linux-gnu/lib{name}.so.0")
try:
    reduction.from_gpu_to_gpu(check, SMALL)
    sys.exit("sums through the host passed for sums from GPU to GPU")
except Failed as reason:
    assert "went through pinned memory" in str(reason), reason

# Every model on PyTorch's side; of the large ones a small form.
for model, more in (("resnet18", ["--width", "4"]),
                    ("gpt2", ["--width", "16", "--layers", "1", "--heads", "2", "--context", "32", "--vocabulary", "256",
                              "--precision", "bfloat16"])):
    done = check.commands.run([sys.executable, "-B", ROOT / "scripts/gpu_check_pytorch.py", "--device", "cpu", "--model", model,
                               "--shards", 2, "--batch", 2, "--steps", 2, "--warm-up", 1, "--fashion", FASHION,
                               "--tokens", check.deps / "data/kjv-train.tokens", *more])
    assert done.code == 0 and done.text.count('"note": ""') == 4, done.text
    print(done.last_words())

# The images of 32x32 are those of 28x28 with an edge of nothing.
padded = models.padded_images(check).read_bytes()
assert len(padded) == 16 + 60000 * 1024 and padded[4:16] == bytes([0, 0, 0xEA, 0x60, 0, 0, 0, 32, 0, 0, 0, 32])
assert not any(padded[16:16 + 66]) and sum(padded[16:16 + 1024]) > 0
stage.end()
assert len(kept_stages(folder)["models"]["rows"]) == 14
