"""PyTorch's side of scripts/compare-ddp: one process of a DDP job (gloo), or a plain loop if it is the only one.

Everything that costs PyTorch time beside the training itself is left out: the images are float tensors in memory, shuffled
before the clock starts, and a batch is a slice. The first steps (warm-up) are not timed.
"""
import argparse
import gzip
import json
import os
import time

import numpy
import torch
from torch import nn


class FashionCnn(nn.Module):
    """The network of Muster's fashion_cnn: 421,642 parameters. `tuned` computes the same function in the order that suits
    this libtorch best: channels last, and ReLU after the pooling instead of before it."""

    def __init__(self, tuned):
        super().__init__()
        self.tuned = tuned
        self.conv1 = nn.Conv2d(1, 32, 3, padding=1)
        self.conv2 = nn.Conv2d(32, 64, 3, padding=1)
        self.linear1 = nn.Linear(3136, 128)
        self.linear2 = nn.Linear(128, 10)

    def forward(self, x):
        if self.tuned:
            x = nn.functional.max_pool2d(self.conv1(x), 2).relu_()
            x = nn.functional.max_pool2d(self.conv2(x), 2).relu_()
        else:
            x = nn.functional.max_pool2d(self.conv1(x).relu(), 2)
            x = nn.functional.max_pool2d(self.conv2(x).relu(), 2)
        return self.linear2(self.linear1(x.flatten(1)).relu())


def read_idx(path, header):
    with gzip.open(path) as file:
        return numpy.frombuffer(file.read(), numpy.uint8, offset=header)


def load(folder, rows, seed):
    images = read_idx(f"{folder}/train-images-idx3-ubyte.gz", 16).reshape(-1, 1, 28, 28)
    labels = read_idx(f"{folder}/train-labels-idx1-ubyte.gz", 8)
    order = numpy.random.default_rng(seed).permutation(len(labels))
    order = numpy.resize(order, rows)
    x = torch.from_numpy((images[order].astype(numpy.float32) / 255 - 0.286) / 0.353)
    return x, torch.from_numpy(labels[order].astype(numpy.int64))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--world", type=int, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--warm-up", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True, help="of all processes together")
    parser.add_argument("--data", required=True)
    parser.add_argument("--tuned", action="store_true")
    given = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(7)
    distributed = given.world > 1
    if distributed:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(given.port))
        torch.distributed.init_process_group("gloo", rank=given.rank, world_size=given.world)
    batch = given.batch // given.world
    x, y = load(given.data, (given.warm_up + given.steps) * batch, seed=given.rank)
    model = FashionCnn(given.tuned)
    assert sum(p.numel() for p in model.parameters()) == 421642
    if given.tuned:
        model = model.to(memory_format=torch.channels_last)
        x = x.to(memory_format=torch.channels_last)
    if distributed:
        model = nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss()

    def train(begin, end):
        for step in range(begin, end):
            rows = slice(step * batch, (step + 1) * batch)
            optimizer.zero_grad(set_to_none=not distributed)
            criterion(model(x[rows]), y[rows]).backward()
            optimizer.step()
        if distributed:
            torch.distributed.barrier()

    train(0, given.warm_up)
    start = time.perf_counter()
    train(given.warm_up, given.warm_up + given.steps)
    seconds = time.perf_counter() - start
    if given.rank == 0:
        print(json.dumps({"samples_per_second": given.steps * batch * given.world / seconds}))


if __name__ == "__main__":
    main()
