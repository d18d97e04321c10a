#!/usr/bin/env python3
"""Prints the table in crates/flambeau/tests/values/optim.rs (a small network's parameters after ten steps of PyTorch's
optimizers), and writes what its other tests compare with: parameters after 1, 10 and 100 steps of every optimizer,
what L-BFGS finds, and sixty learning rates of every schedule.

Run with PyTorch 1.13:
/usr/bin/python3 tools/reference/optim.py crates/flambeau/tests/data/optim.safetensors
"""

import json
import math
import struct
import sys

import torch
from torch.optim import lr_scheduler

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


class Lion(torch.optim.Optimizer):
    """From "Symbolic Discovery of Optimization Algorithms", algorithm 2."""

    def __init__(self, params, lr, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            (beta1, beta2), lr = group["betas"], group["lr"]
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                update = torch.sign(beta1 * m + (1 - beta1) * p.grad)
                p -= lr * (update + group["weight_decay"] * p)
                m.copy_(beta2 * m + (1 - beta2) * p.grad)


class NAdam(torch.optim.Optimizer):
    """From "Incorporating Nesterov Momentum into Adam". PyTorch 1.13's own multiplies the product of the momenta with
    the present one twice, which PyTorch 2.0 corrected."""

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, momentum_decay=4e-3):
        options = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay)
        super().__init__(params, options)

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            (beta1, beta2), lr = group["betas"], group["lr"]
            mu = lambda t: beta1 * (1 - 0.5 * 0.96 ** (t * group["momentum_decay"]))
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state.update(t=0, product=1.0, m=torch.zeros_like(p), v=torch.zeros_like(p))
                state["t"] += 1
                t, m, v = state["t"], state["m"], state["v"]
                state["product"] *= mu(t)
                grad = p.grad + group["weight_decay"] * p
                m.copy_(beta1 * m + (1 - beta1) * grad)
                v.copy_(beta2 * v + (1 - beta2) * grad * grad)
                direction = mu(t + 1) * m / (1 - state["product"] * mu(t + 1))
                direction += (1 - mu(t)) * grad / (1 - state["product"])
                p -= lr * direction / ((v / (1 - beta2**t)).sqrt() + group["eps"])


class Muon(torch.optim.Optimizer):
    """From the definition: a running mean of gradients, five Newton-Schulz iterations, decoupled weight decay."""

    def __init__(self, params, lr=1e-3, momentum=0.95, nesterov=True, weight_decay=0.1):
        super().__init__(params, dict(lr=lr, momentum=momentum, nesterov=nesterov, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            mu, lr = group["momentum"], group["lr"]
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                m.copy_(mu * m + (1 - mu) * p.grad)
                direction = mu * m + (1 - mu) * p.grad if group["nesterov"] else m
                x = direction.flatten(1)
                rows, columns = x.shape
                if rows > columns:
                    x = x.T
                x = x / x.norm().clamp(min=1e-7)
                for _ in range(5):
                    a = x @ x.T
                    x = 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x
                if rows > columns:
                    x = x.T
                p.mul_(1 - lr * group["weight_decay"])
                p -= lr * math.sqrt(max(1, rows / columns)) * x.reshape(p.shape)


TENSORS = {}
DOUBLE = torch.float64
SHAPES = [(3, 4), (5,), (2, 3, 2), (), (70,)]
MATRICES = [(3, 4), (6, 2), (2, 3, 2)]
O = torch.optim
STEPS = [
    ("sgd", O.SGD, dict(lr=0.05)),
    ("sgd all", O.SGD, dict(lr=0.05, momentum=0.8, dampening=0.2, weight_decay=0.1)),
    ("sgd nesterov", O.SGD, dict(lr=0.05, momentum=0.8, nesterov=True, weight_decay=0.1)),
    ("sgd maximize", O.SGD, dict(lr=0.05, momentum=0.5, maximize=True)),
    ("adam", O.Adam, dict(lr=0.02)),
    ("adam all", O.Adam, dict(lr=0.02, betas=(0.8, 0.95), eps=1e-4, weight_decay=0.1, amsgrad=True, maximize=True)),
    ("adamw", O.AdamW, dict(lr=0.02)),
    ("adamw all", O.AdamW, dict(lr=0.02, betas=(0.8, 0.95), weight_decay=0.2, amsgrad=True, maximize=True)),
    ("adagrad", O.Adagrad, dict(lr=0.1)),
    ("adagrad all", O.Adagrad, dict(lr=0.1, lr_decay=0.01, weight_decay=0.1, initial_accumulator_value=0.5, eps=1e-3)),
    ("adadelta", O.Adadelta, dict(lr=1.0)),
    ("adadelta all", O.Adadelta, dict(lr=2.0, rho=0.8, eps=1e-3, weight_decay=0.1, maximize=True)),
    ("adamax", O.Adamax, dict(lr=0.02)),
    ("adamax all", O.Adamax, dict(lr=0.02, betas=(0.8, 0.9), eps=1e-4, weight_decay=0.1, maximize=True)),
    ("nadam", NAdam, dict(lr=0.02)),
    ("nadam all", NAdam, dict(lr=0.02, betas=(0.8, 0.95), eps=1e-4, weight_decay=0.1, momentum_decay=0.1)),
    ("radam", O.RAdam, dict(lr=0.02)),
    ("radam all", O.RAdam, dict(lr=0.02, betas=(0.8, 0.7), eps=1e-4, weight_decay=0.1)),
    ("rmsprop", O.RMSprop, dict(lr=0.01)),
    ("rmsprop all", O.RMSprop, dict(lr=0.01, alpha=0.9, eps=1e-3, weight_decay=0.1, momentum=0.5, centered=True)),
    ("lion", Lion, dict(lr=0.01)),
    ("lion all", Lion, dict(lr=0.01, betas=(0.8, 0.9), weight_decay=0.1)),
    ("muon", Muon, dict(lr=0.02)),
    ("muon plain", Muon, dict(lr=0.02, momentum=0.8, nesterov=False, weight_decay=0.0)),
]


def start(shape, number):
    """Parameter number `number`, and the part of its gradient that does not depend on it, at a step."""
    count = torch.tensor(shape).prod().int().item() if shape else 1
    index = torch.arange(count, dtype=DOUBLE)
    value = torch.sin(1 + index + 10 * number).reshape(shape).requires_grad_()
    push = lambda step: torch.cos(0.7 * index + number + 0.3 * step).reshape(shape)
    return value, push


def record(name, opt, values):
    """100 steps with the gradient 0.1 value + push; the learning rates are halved after the fiftieth."""
    for step in range(100):
        if step == 50:
            for group in opt.param_groups:
                group["lr"] /= 2
        for value, push in values:
            value.grad = 0.1 * value.detach() + push(step)
        opt.step()
        if step + 1 in (1, 10, 100):
            TENSORS[f"{name}.{step + 1}"] = torch.cat([value.detach().flatten() for value, _ in values])


for name, optimizer, options in STEPS:
    values = [start(shape, k) for k, shape in enumerate(MATRICES if "muon" in name else SHAPES)]
    record(name, optimizer([value for value, _ in values], **options), values)
values = [start(shape, k) for k, shape in enumerate(SHAPES)]
body, head = ([value for value, _ in part] for part in (values[:3], values[3:]))
groups = [dict(params=body, lr=0.01, weight_decay=0.1), dict(params=head, lr=0.05, betas=(0.5, 0.9))]
record("groups", O.Adam(groups), values)

# L-BFGS on a least-squares problem with a little of a quartic: parameters after each of five calls, and the loss.
for name, options in [
    ("fixed", dict(lr=0.5, max_iter=4)),
    ("short", dict(lr=1.0, max_iter=6, history_size=2, line_search_fn="strong_wolfe")),
    ("wolfe", dict(lr=1.0, max_iter=5, line_search_fn="strong_wolfe")),
]:
    matrix = torch.sin(torch.arange(24, dtype=DOUBLE) * 1.3).reshape(6, 4)
    target = torch.cos(torch.arange(6, dtype=DOUBLE))
    w = torch.tensor([1.0, -2.0, 0.5, 3.0], dtype=DOUBLE, requires_grad=True)
    b = torch.tensor([[0.5]], dtype=DOUBLE, requires_grad=True)
    opt = torch.optim.LBFGS([w, b], **options)

    def closure():
        opt.zero_grad()
        loss = ((matrix @ w + b[0] - target) ** 2).sum() + 0.1 * (w**4).sum()
        loss.backward()
        return loss

    for call in range(5):
        loss = opt.step(closure).detach().reshape(1)
        TENSORS[f"lbfgs {name}.{call}"] = torch.cat([loss, w.detach(), b.detach().flatten()])

S = lr_scheduler
SCHEDULES = {
    "step": lambda o: S.StepLR(o, 7, 0.5),
    "multi_step": lambda o: S.MultiStepLR(o, [5, 20, 20, 41], 0.3),
    "exponential": lambda o: S.ExponentialLR(o, 0.93),
    "cosine": lambda o: S.CosineAnnealingLR(o, 25, 0.002),
    "restarts": lambda o: S.CosineAnnealingWarmRestarts(o, 6, 2, 0.001),
    "restarts_even": lambda o: S.CosineAnnealingWarmRestarts(o, 9),
    "linear": lambda o: S.LinearLR(o, 0.2, 0.9, 12),
    "constant": lambda o: S.ConstantLR(o, 0.25, 8),
    "one_cycle": lambda o: S.OneCycleLR(o, 0.4, 61),
    "one_cycle_three": lambda o: S.OneCycleLR(
        o, 0.4, 61, pct_start=0.25, anneal_strategy="linear", div_factor=10, final_div_factor=100, three_phase=True
    ),
    "polynomial": lambda o: S.PolynomialLR(o, 30, 2.0),
    "lambda": lambda o: S.LambdaLR(o, lambda n: 1 / (1 + n)),
    "sequential": lambda o: S.SequentialLR(
        o, [S.ConstantLR(o, 0.1, 20), S.ExponentialLR(o, 0.9), S.CosineAnnealingLR(o, 20)], [4, 30]
    ),
    "warm_up": lambda o: S.SequentialLR(o, [S.LinearLR(o, 0.1, 1.0, 10), S.CosineAnnealingLR(o, 50)], [10]),
    "plateau": lambda o: S.ReduceLROnPlateau(o, factor=0.5, patience=2, threshold=0.05, cooldown=3, min_lr=0.004),
    "plateau_max": lambda o: S.ReduceLROnPlateau(o, "max", 0.3, 1, threshold=0.1, threshold_mode="abs"),
}


def metric(step):
    return 2 + math.cos(0.4 * step) + 1 / (1 + step)


for name, schedule in SCHEDULES.items():
    two = [torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)]
    opt = O.SGD([dict(params=two[:1]), dict(params=two[1:], lr=0.02)], lr=0.1, momentum=0.9)
    scheduler = schedule(opt)
    rates = []
    for step in range(60):
        rates.append([group[key] for group in opt.param_groups for key in ("lr", "momentum")])
        opt.step()
        scheduler.step(metric(step)) if "plateau" in name else scheduler.step()
    TENSORS[f"schedule {name}"] = torch.tensor(rates, dtype=DOUBLE)

header, blob = {}, b""
for name in sorted(TENSORS):
    data = TENSORS[name].contiguous().numpy().tobytes()
    shape = list(TENSORS[name].shape)
    header[name] = dict(dtype="F64", shape=shape, data_offsets=[len(blob), len(blob) + len(data)])
    blob += data
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + blob)
print(len(TENSORS), "tensors", len(blob), "bytes")
