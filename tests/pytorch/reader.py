"""Reads safetensors files into PyTorch: all that a user of Muster's checkpoints needs."""
import json
import struct

import torch


def read(path):
    """Tensors by name, and the metadata."""
    data = open(path, "rb").read()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    metadata = header.pop("__metadata__", {})
    body = bytearray(data[8 + size:])
    tensors = {name: torch.frombuffer(body[begin:end], dtype=torch.float32).reshape(entry["shape"])
               for name, entry in header.items() for begin, end in [entry["data_offsets"]] if end > begin}
    return tensors, metadata
