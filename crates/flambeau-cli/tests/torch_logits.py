"""Prints PyTorch's logits of a model that `flambeau train` wrote (as .pt) on some of MNIST's test pictures.

Run: python3 torch_logits.py MODEL.pt DATA_FOLDER INDEX…
"""

import gzip
import json
import sys

import torch
import torch.nn.functional as F


def mnist(folder, indices):
    with gzip.open(f"{folder}/t10k-images-idx3-ubyte.gz") as file:
        data = file.read()[16:]
    pictures = [list(data[i * 784 : (i + 1) * 784]) for i in indices]
    return torch.tensor(pictures, dtype=torch.float32).reshape(-1, 1, 28, 28) / 255


def logits(state, x):
    linear = lambda x, name: F.linear(x, state[f"{name}.weight"], state[f"{name}.bias"])
    for name in ("conv1", "conv2"):
        if f"{name}.weight" in state:
            x = F.max_pool2d(F.relu(F.conv2d(x, state[f"{name}.weight"], state[f"{name}.bias"])), 2)
    return linear(F.relu(linear(x.flatten(1), "fc1")), "fc2")


if __name__ == "__main__":
    state = torch.load(sys.argv[1])
    x = mnist(sys.argv[2], [int(index) for index in sys.argv[3:]])
    with torch.no_grad():
        print(json.dumps(logits(state, x).tolist()))
