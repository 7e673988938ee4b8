"""PyTorch's side of scripts/recovery-times: one worker of torchrun, a DDP job over gloo that trains until it is ended.

Rank 0 prints a line after each step, every rank one at its start, so that the caller knows whom to kill and when training goes on.
"""
import argparse
import json
import os

import torch
from torch import nn

from compare_ddp_driver import FashionCnn, load

ROWS = 12800  # of each process; they are used again and again


def say(**fields):
    # One write a line: the workers share the pipe.
    os.write(1, (json.dumps({"restart": int(os.environ["TORCHELASTIC_RESTART_COUNT"]), **fields}) + "\n").encode())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, required=True, help="of all processes together")
    parser.add_argument("--data", required=True)
    given = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(7)
    torch.distributed.init_process_group("gloo")
    rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
    say(rank=rank, pid=os.getpid())
    batch = given.batch // world
    x, y = load(given.data, ROWS, seed=rank)
    model = nn.parallel.DistributedDataParallel(FashionCnn(False), gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    step = 0
    while True:
        begin = step * batch % ROWS
        optimizer.zero_grad(set_to_none=False)
        criterion(model(x[begin:begin + batch]), y[begin:begin + batch]).backward()
        optimizer.step()
        step += 1
        if rank == 0:
            say(step=step)


main()
