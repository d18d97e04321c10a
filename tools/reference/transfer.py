#!/usr/bin/env python3
"""A small network that knows the digits 0 to 4, for examples/transfer.rs: crates/flambeau/tests/data/transfer.pt.

Run from the repository's root with PyTorch 1.13: /usr/bin/python3 tools/reference/transfer.py
"""

import gzip

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2), nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(),
            nn.Flatten(),
        )
        self.head = nn.Linear(128, classes)

    def forward(self, x):
        return self.head(self.body(x))


def read(name, header):
    with gzip.open(f"data/mnist/train-{name}-ubyte.gz") as file:
        return torch.from_numpy(np.frombuffer(file.read(), dtype=np.uint8, offset=header).copy())


labels = read("labels-idx1", 8).long()
images = read("images-idx3", 16).view(-1, 1, 28, 28).float() / 255
known = labels < 5
images, labels = images[known], labels[known]

net = Net(5)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(2):
    for batch in torch.randperm(len(labels)).split(64):
        loss = nn.functional.cross_entropy(net(images[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f}")

torch.save({"epoch": 2, "model": net.state_dict()}, "crates/flambeau/tests/data/transfer.pt")
