"""PyTorch's side of scripts/gpu-check: the example models in a plain training loop, on a GPU or (to try it) on the CPU.

Four variants of each: a step of equal micro-batches (as many backward passes as Muster has shards, then one update) or of one big
batch; with PyTorch's defaults, or as Muster computes: with deterministic algorithms and without TF32. Everything that costs PyTorch
time beside the training itself is
left out: samples lie shuffled in pinned memory, a batch is a slice of them that is copied while the GPU computes, and the first
steps are not timed. The last line is JSON: the samples a second of each.
"""
import argparse
import contextlib
import json
import os
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "pytorch")]
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # or cuBLAS refuses to be deterministic

import numpy
import torch
from torch.nn import functional as F

import twins
from compare_ddp_driver import load

IMAGES = 60000


def images(given, side):
    x, y = load(given.fashion, min(IMAGES, given.rows), seed=1)
    edge = (side - 28) // 2
    return F.pad(x, (edge,) * 4, value=-0.286 / 0.353) if edge else x, y


def token_windows(given):
    """[windows, context + 1]: each window begins with the last token of the one before it."""
    tokens = numpy.fromfile(given.tokens, numpy.uint8)
    count = min((len(tokens) - 1) // given.context, given.rows)
    windows = numpy.stack([tokens[i * given.context:(i + 1) * given.context + 1] for i in range(count)]).astype(numpy.int64)
    return (torch.from_numpy(windows[numpy.random.default_rng(1).permutation(count)]),)


def make_model(given):
    if given.model == "fashion_cnn":
        return twins.FashionCnn()
    if given.model == "resnet18":
        return twins.ResNet18(channels=1, classes=10, width=given.width or 64)
    fused = hasattr(F, "scaled_dot_product_attention")
    model = twins.Gpt2(given.layers, given.heads, given.width or 768, given.context, given.vocabulary, fused)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.02)
    return model


def make_optimizer(given, model):
    fused = {"fused": True} if given.device == "cuda" else {}  # faster than the default
    if given.model == "gpt2":
        return torch.optim.AdamW(model.parameters(), lr=0.0006, betas=(0.9, 0.95), weight_decay=0.1, **fused)
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, **fused)


class Training:
    def __init__(self, given, data):
        torch.manual_seed(7)
        self.given, self.data = given, data
        self.model = make_model(given).to(given.device).train()
        self.optimizer = make_optimizer(given, self.model)
        self.begin = 0

    def slice(self, rows):
        """The next so many samples on the device; after the last ones the first come again."""
        if self.begin + rows > len(self.data[0]):
            self.begin = 0
        here = slice(self.begin, self.begin + rows)
        self.begin += rows
        return [part[here].to(self.given.device, non_blocking=True) for part in self.data]

    def autocast(self):
        if self.given.precision == "float32":
            return contextlib.nullcontext()
        return torch.autocast(self.given.device, dtype=torch.bfloat16)

    def loss(self, batch):
        with self.autocast():
            if self.given.model == "gpt2":
                logits = self.model(batch[0][:, :-1])
                return F.cross_entropy(logits.flatten(0, 1), batch[0][:, 1:].flatten(), reduction="sum")
            return F.cross_entropy(self.model(batch[0]), batch[1], reduction="sum")

    def step(self, parts, rows):
        """An update from so many micro-batches of so many samples: their sum, divided once."""
        self.optimizer.zero_grad(set_to_none=True)
        weight = parts * rows * (self.given.context if self.given.model == "gpt2" else 1)
        losses = []
        for _ in range(parts):
            loss = self.loss(self.slice(rows)) / weight
            loss.backward()
            losses.append(loss.detach())
        self.optimizer.step()
        return losses


def wait(given):
    if given.device == "cuda":
        torch.cuda.synchronize()


def measure(given, data, parts, rows):
    """Samples a second, the most memory of the GPU that PyTorch held, the last step's loss."""
    training = Training(given, data)
    if given.device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    for _ in range(given.warm_up):
        training.step(parts, rows)
    wait(given)
    began = time.perf_counter()
    for _ in range(given.steps):
        losses = training.step(parts, rows)
    wait(given)
    took = time.perf_counter() - began
    return {"samples_per_second": given.steps * parts * rows / took, "loss": float(sum(losses)),
            "peak_bytes": torch.cuda.max_memory_reserved() if given.device == "cuda" else 0}


def variant(given, data, name, deterministic):
    parts, rows = (given.shards, given.batch) if name == "micro" else (1, given.shards * given.batch)
    row = {"variant": name, "deterministic": deterministic, "samples_per_second": 0, "peak_bytes": 0, "note": ""}
    try:
        for strict in (True, False) if deterministic else (False,):
            torch.use_deterministic_algorithms(deterministic, warn_only=not strict)
            torch.backends.cudnn.allow_tf32 = not deterministic  # of convolutions; of matrix products it is off anyway
            try:
                return {**row, **measure(given, data, parts, rows)}
            except RuntimeError as error:
                if not strict or "deterministic" not in str(error):
                    raise
                row["note"] = f"not wholly deterministic: {str(error).split('.')[0].split(',')[0]}"
    except RuntimeError as error:  # out of memory, say: the other variants still count
        row["note"] = str(error).splitlines()[0]
    finally:
        torch.use_deterministic_algorithms(False)
        torch.backends.cudnn.allow_tf32 = True
        if given.device == "cuda":
            torch.cuda.empty_cache()
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=["fashion_cnn", "resnet18", "gpt2"], required=True)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--shards", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True, help="of each shard")
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--warm-up", type=int, required=True)
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--fashion", help="folder of Fashion-MNIST")
    parser.add_argument("--tokens", help="a file of one byte a token")
    parser.add_argument("--width", type=int, help="of resnet18 and gpt2; as published unless said otherwise")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--context", type=int, default=1024)
    parser.add_argument("--vocabulary", type=int, default=50257)
    given = parser.parse_args()
    given.rows = max((given.steps + given.warm_up) * given.shards * given.batch, given.shards * given.batch)
    data = token_windows(given) if given.model == "gpt2" else images(given, 32 if given.model == "resnet18" else 28)
    if given.device == "cuda":
        data = [part.pin_memory() for part in data]
    rows = [variant(given, data, name, deterministic) for name in ("micro", "big") for deterministic in (False, True)]
    print(json.dumps({"torch": torch.__version__, "variants": rows}))


if __name__ == "__main__":
    main()
