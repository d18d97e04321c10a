#!/usr/bin/env python3
"""Prints the table in crates/flambeau/tests/optim.rs: a small network's parameters after ten steps of PyTorch's
optimizers. Run with PyTorch 1.13: /usr/bin/python3 tools/reference/optim.py"""

import torch

X = torch.tensor([[0.5, -1.0, 0.25], [1.5, 0.75, -0.5], [-0.25, 0.5, 1.0], [0.1, -0.6, -1.2]])
Y = torch.tensor([[0.3, -0.2], [1.0, 0.4], [-0.7, 0.9], [0.2, -1.1]])
W1 = [[0.2, -0.4, 0.1, 0.6], [0.5, 0.3, -0.7, -0.1], [-0.3, 0.8, 0.4, 0.2]]
B1 = [0.05, -0.1, 0.0, 0.2]
W2 = [[0.7, -0.2], [-0.5, 0.6], [0.3, 0.9], [0.1, -0.8]]

CASES = [
    ("sgd", torch.optim.SGD, dict(lr=0.1)),
    ("sgd momentum", torch.optim.SGD, dict(lr=0.1, momentum=0.9)),
    ("sgd dampening", torch.optim.SGD, dict(lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.05)),
    ("sgd nesterov", torch.optim.SGD, dict(lr=0.1, momentum=0.8, nesterov=True, weight_decay=0.01)),
    ("adam", torch.optim.Adam, dict(lr=0.05)),
    ("adam decay", torch.optim.Adam, dict(lr=0.05, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1)),
    ("adam amsgrad", torch.optim.Adam, dict(lr=0.2, betas=(0.5, 0.6), amsgrad=True)),
    ("adamw", torch.optim.AdamW, dict(lr=0.05)),
    ("adamw amsgrad", torch.optim.AdamW, dict(lr=0.2, betas=(0.5, 0.6), weight_decay=0.2, amsgrad=True)),
]

for name, optimizer, options in CASES:
    w1, b1, w2 = (torch.tensor(p, requires_grad=True) for p in (W1, B1, W2))
    opt = optimizer([w1, b1, w2], **options)
    for step in range(10):
        # The learning rate is halved after five steps.
        if step == 5:
            opt.param_groups[0]["lr"] /= 2
        loss = ((torch.tanh(X @ w1 + b1) @ w2 - Y) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    values = torch.cat([p.detach().flatten() for p in (w1, b1, w2)]).tolist()
    print(f'("{name}", {loss.item():.7}, [{", ".join(f"{v:.7}" for v in values)}]),')
