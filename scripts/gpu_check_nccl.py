"""NCCL's all_reduce between two GPUs, as torch.distributed has it (on the CPU, to try it: Gloo's). The last line is JSON: the median
of the seconds that one takes, from the call until both have the sum.
"""
import argparse
import json
import os
import statistics
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def wait(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def member(rank, given, meeting, results):
    device = torch.device("cuda", rank) if given.device == "cuda" else torch.device("cpu")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    else:
        torch.set_num_threads(1)
    dist.init_process_group("nccl" if given.device == "cuda" else "gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
    values = torch.empty(given.elements, device=device)
    times = []
    for _ in range(given.warm_up + given.repeats):
        values.fill_(rank + 1)
        dist.barrier()
        wait(device)
        began = time.perf_counter()
        dist.all_reduce(values)
        wait(device)
        times.append(time.perf_counter() - began)
    right = bool((values == 3).all())
    slowest = torch.tensor(times, dtype=torch.float64, device=device)
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    if rank == 0:
        results.put({"seconds": statistics.median(slowest.tolist()[given.warm_up:]), "right": right})
    dist.barrier()
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--elements", type=int, required=True, help="of float32")
    parser.add_argument("--warm-up", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=30)
    given = parser.parse_args()
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    results = mp.get_context("spawn").SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(member, (given, f"{folder}/meeting", results), nprocs=2)
    result = results.get()
    assert result.pop("right"), "the sum is wrong"
    print(json.dumps({"torch": torch.__version__, **result}))


if __name__ == "__main__":
    main()
