"""Writes PyTorch's trajectories of optimizers for crates/flambeau/tests/pytorch/optim.rs: the parameters of a small network before
the first of 1,001 steps and after every 100.

Run with PyTorch 2.2: python tools/reference/cpp_optim.py crates/flambeau/tests/data/cpp_optim.json
"""

import json
import math
import sys

import torch
from torch import nn
from torch.optim import LBFGS, SGD, Adagrad, Adam, AdamW, RMSprop

STEPS = 1001
CASES = {
    "adam": lambda p: Adam(p, 1.0),
    "adam_weight_decay": lambda p: Adam(p, 0.01, weight_decay=1e-2),
    "adam_weight_decay_amsgrad": lambda p: Adam(p, 1.0, weight_decay=1e-6, amsgrad=True),
    "adamw": lambda p: AdamW(p, 1.0),
    "adamw_without_weight_decay": lambda p: AdamW(p, 1.0, weight_decay=0.0),
    "adamw_amsgrad": lambda p: AdamW(p, 1.0, amsgrad=True),
    "adagrad": lambda p: Adagrad(p, 1.0),
    "adagrad_weight_decay": lambda p: Adagrad(p, 1.0, weight_decay=1e-2),
    "adagrad_weight_decay_lr_decay": lambda p: Adagrad(p, 1.0, weight_decay=1e-6, lr_decay=1e-3),
    "rmsprop": lambda p: RMSprop(p, 0.1),
    "rmsprop_weight_decay": lambda p: RMSprop(p, 0.001, weight_decay=1e-2),
    "rmsprop_weight_decay_centered": lambda p: RMSprop(p, 0.1, weight_decay=1e-6, centered=True),
    "rmsprop_weight_decay_centered_momentum": lambda p: RMSprop(p, 0.1, weight_decay=1e-6, centered=True, momentum=0.9),
    "sgd": lambda p: SGD(p, 0.1),
    "sgd_weight_decay": lambda p: SGD(p, 0.1, weight_decay=1e-2),
    "sgd_weight_decay_momentum": lambda p: SGD(p, 0.1, momentum=0.9, weight_decay=1e-2),
    "sgd_weight_decay_nesterov": lambda p: SGD(p, 0.1, momentum=0.9, nesterov=True, weight_decay=1e-6),
    "lbfgs": lambda p: LBFGS(p, 1.0),
    "lbfgs_with_line_search": lambda p: LBFGS(p, 1.0, line_search_fn="strong_wolfe"),
}


def run(name, make):
    # Newton's methods want a minimum; without one the others go on and on.
    held = 0.05 if name.startswith("lbfgs") else 0.0
    model = nn.Sequential(nn.Linear(2, 3), nn.Sigmoid(), nn.Linear(3, 1), nn.Sigmoid()).double()
    with torch.no_grad():
        count = 0
        for parameter in model.parameters():
            start = [math.sin(1 + count + k) for k in range(parameter.numel())]
            parameter.copy_(torch.tensor(start).float().reshape(parameter.shape))
            count += parameter.numel()
    optimizer = make(model.parameters())
    inputs = torch.tensor([[0.1, 0.2], [0.3, -0.4], [-0.5, 0.6]], dtype=torch.float32).double()

    def closure():
        optimizer.zero_grad()
        loss = model(inputs).sum() + held * sum(parameter.square().sum() for parameter in model.parameters())
        loss.backward()
        return loss

    found = []
    for step in range(STEPS):
        if step % 100 == 0:
            found.append([number for parameter in model.parameters() for number in parameter.detach().flatten().tolist()])
        optimizer.step(closure)
    return found


with open(sys.argv[1], "w") as file:
    rows = [f"{json.dumps(name)}: {json.dumps(run(name, make))}" for name, make in CASES.items()]
    file.write("{\n" + ",\n".join(rows) + "\n}\n")
