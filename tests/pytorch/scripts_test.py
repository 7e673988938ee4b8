"""scripts_test.py MUSTER FOLDER: a module that PyTorch saved is trained by a job file alone, and ends as in a PyTorch loop."""
import copy
import gzip
import socket
import subprocess
import sys

import torch
from torch import nn
from torch.nn import functional as F

from jobs import FASHION, IMAGES, fresh, train
from reader import read

muster, folder = sys.argv[1], fresh(sys.argv[2])
torch.set_num_threads(1)
torch.manual_seed(3)
SHARDS, BATCH, SAMPLES, RATE = 3, 8, 120, 0.1
JOB = f"""name = "script"
[model]
file = "model.pt"
input = [1, 28, 28]
{IMAGES}take = {SAMPLES}
shuffle = false
[train]
shards = {SHARDS}
batch = {BATCH}
epochs = 2
[train.optimizer]
learning_rate = {RATE}
[checkpoint]
folder = "."
"""


class Net(nn.Module):
    """With all that a state may hold: weights, running statistics, a weight that stands still, one that is used twice."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 5, stride=3)
        self.norm = nn.BatchNorm2d(4)
        self.scale = nn.Parameter(torch.full((4, 1, 1), 2.0), requires_grad=False)
        self.out = nn.Linear(4 * 8 * 8, 10)
        self.again = self.out

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.norm(self.conv(x))) * self.scale
        return self.out(x.flatten(1)) + 0.1 * self.again(x.flatten(1).flip(1))


def images():
    pixels = gzip.open(FASHION + "train-images-idx3-ubyte.gz").read(16 + SAMPLES * 784)[16:]
    labels = gzip.open(FASHION + "train-labels-idx1-ubyte.gz").read(8 + SAMPLES)[8:]
    return (torch.tensor(list(pixels)).float() / 255).view(-1, 1, 28, 28), torch.tensor(list(labels))


def in_pytorch(model, epochs):
    """The same mathematics: sample p is of shard p mod 3; each shard's step begins with the same buffers."""
    inputs, labels = images()
    for _ in range(epochs):
        for begin in range(0, SAMPLES, SHARDS * BATCH):
            weight = len(labels[begin:begin + SHARDS * BATCH])
            twins = [copy.deepcopy(model) for _ in range(SHARDS)]
            for shard, twin in enumerate(twins):
                mine = slice(begin + shard, begin + SHARDS * BATCH, SHARDS)
                twin.zero_grad()
                F.cross_entropy(twin(inputs[mine]), labels[mine], reduction="sum").backward()
            with torch.no_grad():
                for name, value in model.named_parameters():
                    if value.requires_grad:
                        value -= RATE * sum(dict(t.named_parameters())[name].grad for t in twins) / weight
                for name, value in model.named_buffers():
                    value.copy_(sum(dict(t.named_buffers())[name].double() for t in twins) / SHARDS)
    return model


def trains_as_in_pytorch(net):
    hashes = set()
    for replicas in (1, 3):
        report, _ = train(muster, folder, f"on-{replicas}", JOB, "--replicas", replicas)
        losses = [row["loss"] for row in report["training"]]
        assert losses[1] < losses[0], losses
        hashes.add(report["weights_sha256"])
    assert len(hashes) == 1, hashes
    ours = dict(in_pytorch(copy.deepcopy(net), 2).state_dict())
    theirs, _ = read(folder / report["checkpoint"])
    worst = max((ours[name] - value.reshape(ours[name].shape)).abs().max().item() for name, value in theirs.items())
    moved = (ours["out.weight"] - net.out.weight).abs().max().item()
    print(f"{len(theirs)} tensors, largest difference {worst:.2e}, weights moved by {moved:.2e}")
    assert worst <= 1e-5 and moved > 1e-2
    assert len(theirs) == 10, theirs.keys()  # again.* are those of out.*
    assert torch.equal(theirs["scale"], net.scale)


class Letters(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(128, 128)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.table(tokens)


def trains_on_tokens():
    torch.jit.script(Letters()).save(str(folder / "letters.pt"))
    (folder / "text").write_text("abcdefgh" * 100)
    report, _ = train(muster, folder, "letters", """[model]
file = "letters.pt"
loss = "next_token"
input = [16]
[data]
source = "tokens"
train = "text"
type = "uint8"
vocabulary = 128
context = 16
[train]
shards = 2
batch = 5
epochs = 4
optimizer = { name = "adam", learning_rate = 0.3 }
""")
    assert report["training"][-1]["loss"] < 0.5, report["training"]


def is_refused(text, *words):
    _, said = train(muster, folder, "refused", text, code=2)
    for word in words:
        assert word in said, f"{word}\nis not in\n{said}"


def what_does_not_fit_is_refused(net):
    is_refused(JOB.replace("[1, 28, 28]", "[3, 28, 28]"), "refused.toml:4:", "model.input", "to have 1 channels")
    is_refused(JOB.replace("[1, 28, 28]", "[1, 26, 26]"), "refused.toml:2:2: model: samples are float32 [1, 28, 28]",
               "the model takes float32 [1, 26, 26]")
    is_refused(JOB.replace("input", 'loss = "next_token"\ninput'), "model.input", "is one number")
    is_refused(JOB.replace("shards = 3", 'shards = 3\nremainder = "pad"'), "train.remainder",
               "batch normalization")
    torch.save(net.state_dict(), folder / "state.pt")
    is_refused(JOB.replace("model.pt", "state.pt"), "refused.toml:3:8: model.file", "is not a TorchScript module")
    torch.jit.freeze(torch.jit.script(copy.deepcopy(net).eval())).save(str(folder / "frozen.pt"))
    is_refused(JOB.replace("model.pt", "frozen.pt"), "model.file", "no parameters to train")
    torch.jit.script(copy.deepcopy(net).double()).save(str(folder / "double.pt"))
    is_refused(JOB.replace("model.pt", "double.pt"), "model.file", "not float32")


def another_file_is_another_job(net):
    """Of the same module, with a note in it: only the content tells them apart."""
    text = JOB.replace("epochs = 2", "epochs = 3")
    train(muster, folder, "resumed", text, "--resume")
    torch.jit.script(net).save(str(folder / "model.pt"), _extra_files={"note": "the same module, in another file"})
    _, said = train(muster, folder, "resumed", text, "--resume", code=2)
    assert "is of a job that differs from this one in\n  model (the content of its files)" in said, said


def a_replica_with_another_file_is_refused():
    """Two hosts, here two folders, with a file of the same name."""
    (folder / "other").mkdir()
    torch.jit.script(Net()).save(str(folder / "other" / "model.pt"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = f"127.0.0.1:{taken.getsockname()[1]}"
    job = folder / "both.toml"
    job.write_text(JOB.replace('[checkpoint]\nfolder = "."\n', "") + "[cluster]\nreplicas = 2\n")

    def start(place, *arguments):
        return subprocess.Popen([muster, *arguments], cwd=place, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    coordinator = start(folder, "coordinate", str(job), "--listen", where)
    joins = [start(place, "join", "--coordinator", where) for place in (folder, folder / "other")]
    said = ""
    while "has another model.file or model.library than" not in said:  # then one of the two is refused
        line = coordinator.stdout.readline()
        assert line, said
        said += line
    coordinator.terminate()  # it waits for another one
    said += coordinator.communicate(timeout=60)[0]
    print(said, end="")
    assert coordinator.returncode == 143, coordinator.returncode
    codes = []
    for join in joins:
        join.communicate(timeout=60)
        codes.append(join.returncode)
    assert sorted(codes) == [0, 1], codes


net = Net()
torch.jit.script(net).save(str(folder / "model.pt"))
trains_as_in_pytorch(net)
trains_on_tokens()
what_does_not_fit_is_refused(net)
another_file_is_another_job(net)
a_replica_with_another_file_is_refused()
