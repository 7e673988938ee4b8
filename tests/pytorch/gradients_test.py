"""gradients_test.py PROGRAM FOLDER: gradients, losses and running statistics are PyTorch's, and so is clipping."""
import pathlib
import subprocess
import sys

import torch
from torch.nn import functional as F

import twins
from reader import read

program, folder = sys.argv[1:]
subprocess.run([program, folder], check=True)
torch.set_num_threads(1)


def check(name, model, loss_of):
    state, _ = read(pathlib.Path(folder) / f"{name}.safetensors")
    theirs, facts = read(pathlib.Path(folder) / f"{name}.gradient.safetensors")
    batch, _ = read(pathlib.Path(folder) / f"{name}.batch.safetensors")
    model.load_state_dict({key: value.clone() for key, value in state.items()})
    model.train()
    loss, weight = loss_of(model, batch)
    loss.backward()
    assert abs(loss.item() - float(facts["loss"])) <= 1e-5 * loss.item(), (loss.item(), facts)
    assert weight == float(facts["weight"]), (weight, facts)
    ours = {key: value.grad for key, value in model.named_parameters()}
    for key, value in model.named_buffers():  # the change, times the weight
        ours[key] = (value - state[key]) * weight
    assert ours.keys() == theirs.keys(), ours.keys() ^ theirs.keys()
    worst = 0.0
    for key, value in ours.items():
        scale = max(1.0, value.abs().max().item())
        worst = max(worst, (value - theirs[key].reshape(value.shape)).abs().max().item() / scale)
    print(f"{name}: {len(ours)} tensors, largest difference {worst:.2e}")
    assert worst <= 1e-5, worst
    check_clipping(name, model)
    assert any(value.abs().max() > 1e-2 for value in ours.values()), "there is nothing to compare"


def check_clipping(name, model):
    """Of the same gradient, so that only the order of the norm and its precision are between the two."""
    gradient, _ = read(pathlib.Path(folder) / f"{name}.gradient.safetensors")
    clipped, facts = read(pathlib.Path(folder) / f"{name}.clipped.safetensors")
    for key, value in model.named_parameters():
        value.grad = gradient[key].reshape(value.shape).clone()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), float(facts["bound"])).item()
    assert abs(norm - float(facts["norm"])) <= 1e-5 * norm, (norm, facts)
    assert abs(norm - 2 * float(facts["bound"])) <= 1e-5 * norm, (norm, facts)
    for key, value in model.named_parameters():
        torch.testing.assert_close(clipped[key].reshape(value.shape), value.grad, rtol=1e-5, atol=0)


def classified(model, batch):
    loss = F.cross_entropy(model(batch["0"]), batch["1"].long(), reduction="sum")
    return loss, len(batch["1"])


check("fashion_cnn", twins.FashionCnn(), classified)
check("resnet18", twins.ResNet18(3, 10, 8), classified)
check("gpt2", twins.Gpt2(2, 4, 32, 24, 61), lambda model, batch: twins.next_token_loss(model, batch["0"].long()))
