"""checkpoints_test.py MUSTER FOLDER: what Muster has trained, PyTorch goes on with: the same loss and answers on the test set."""
import gzip
import sys

import torch
from torch.nn import functional as F

import twins
from jobs import FASHION, IMAGES, fresh, train
from reader import read

muster, folder = sys.argv[1], fresh(sys.argv[2])
torch.set_num_threads(1)
TRAIN = """[train]
shards = 4
batch = 8
[train.optimizer]
name = "adamw"
learning_rate = 0.003
[cluster]
replicas = 2
[checkpoint]
folder = "."
"""


def compare(report, loss, correct, weight):
    row = report["evaluation"][-1]
    print(f"loss {row['loss']:.7f}, in PyTorch {loss / weight:.7f}; accuracy {row['accuracy']:.4f}, {correct / weight:.4f}")
    assert abs(row["loss"] - loss / weight) <= 1e-5 * row["loss"]
    assert abs(row["accuracy"] - correct / weight) <= 1e-3


def loaded(model, report):
    tensors, _ = read(folder / report["checkpoint"])
    model.load_state_dict(tensors)
    return model.eval()


def decoder():
    text = "".join(f"{n} times {n} is {n * n}. " for n in range(400))
    (folder / "train").write_text(text[:-1000])
    (folder / "test").write_text(text[-1000:])
    report, _ = train(muster, folder, "decoder", f"""name = "decoder"
[model]
name = "gpt2"
layers = 2
heads = 4
width = 32
context = 32
vocabulary = 128
[data]
source = "tokens"
train = "train"
test = "test"
type = "uint8"
vocabulary = 128
context = 32
{TRAIN}""")
    model = loaded(twins.Gpt2(2, 4, 32, 32, 128), report)
    tokens = torch.tensor(list(text[-1000:].encode()))
    loss = correct = weight = 0
    with torch.no_grad():
        for begin in range(0, len(tokens) - 1, 32):
            window = tokens[begin:begin + 33]
            logits = model(window[None, :-1])[0]
            loss += F.cross_entropy(logits, window[1:], reduction="sum").item()
            correct += (logits.argmax(1) == window[1:]).sum().item()
            weight += len(window) - 1
    compare(report, loss, correct, weight)
    assert weight == 999


def resnet():
    report, _ = train(muster, folder, "resnet", f"""name = "resnet"
[model]
name = "resnet18"
channels = 1
side = 28
width = 4
{IMAGES}test_images = "{FASHION}t10k-images-idx3-ubyte.gz"
test_labels = "{FASHION}t10k-labels-idx1-ubyte.gz"
take = 480
{TRAIN}""")
    model = loaded(twins.ResNet18(1, 10, 4), report)
    images = torch.frombuffer(bytearray(gzip.open(FASHION + "t10k-images-idx3-ubyte.gz").read()[16:]), dtype=torch.uint8)
    labels = torch.frombuffer(bytearray(gzip.open(FASHION + "t10k-labels-idx1-ubyte.gz").read()[8:]), dtype=torch.uint8).long()
    loss = correct = 0
    with torch.no_grad():
        for part, right in zip((images.float() / 255).view(-1, 1, 28, 28).split(500), labels.split(500)):
            logits = model(part)
            loss += F.cross_entropy(logits, right, reduction="sum").item()
            correct += (logits.argmax(1) == right).sum().item()
    compare(report, loss, correct, len(labels))


decoder()
resnet()
