#!/usr/bin/env python3
"""Ten training steps of three models, for tests/values/golden.rs: first weights, data, every loss, last weights.

Everything is computed in float64 from weights and data that were rounded to float32.
Run with PyTorch 1.13: /usr/bin/python3 tools/reference/golden.py
"""

import torch
import torch.nn.functional as F
from networks import Cnn, Gpt, Mlp
from recorder import Recorder, rounded

torch.manual_seed(0)
record = Recorder()
STEPS = 10


def train(name, model, optimizer, batches, loss_of):
    """A batch a step; `batches` is (inputs, targets), each with a dimension for the steps in front."""
    inputs, targets = (rounded(tensor) for tensor in batches)
    record.state(name, model)
    record.put(f"{name}/in/x", inputs)
    record.put(f"{name}/in/y", targets)
    optimizer = optimizer(model.parameters())
    losses = []
    for x, y in zip(inputs, targets):
        loss = loss_of(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    record.put(f"{name}/losses", torch.stack(losses))
    for key, tensor in model.state_dict().items():
        record.put(f"{name}/last/{key}", tensor)


def labels(*shape, classes):
    return torch.randint(0, classes, (STEPS, *shape))


randn = lambda *shape: torch.randn(STEPS, *shape)
train("mlp", Mlp([12, 16, 5]), lambda p: torch.optim.Adam(p, lr=0.01),
      (randn(8, 12), labels(8, classes=5)), F.cross_entropy)
train("cnn", Cnn(4, 1, 12, [4, 6], 8, True), lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
      (randn(6, 1, 12, 12), labels(6, classes=4)), F.cross_entropy)
tokens = labels(2, 9, classes=13)
# The bias of the keys has no influence, and its gradient is nothing but rounding. A larger eps keeps AdamW from making
# steps of it.
train("gpt", Gpt(13, 8, 2, 2, 32), lambda p: torch.optim.AdamW(p, lr=0.003, weight_decay=0.1, eps=1e-4),
      (tokens[:, :, :-1], tokens[:, :, 1:]), lambda scores, y: F.cross_entropy(scores.flatten(0, 1), y.flatten()))
record.write("crates/flambeau/tests/data/golden.safetensors")
