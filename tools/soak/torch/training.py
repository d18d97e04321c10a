"""Optimizers over several steps, and learning rate schedules."""

import torch
from torch import optim

import draw as random


class NAdam(optim.Optimizer):
    """NAdam as PyTorch 2 has it: 1.13 multiplies by the step's momentum twice."""

    def __init__(self, params, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, momentum_decay=4e-3):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, decay=momentum_decay))
        self.steps, self.product = 0, 1.0

    @torch.no_grad()
    def step(self):
        self.steps += 1
        for group in self.param_groups:
            first, second = group["betas"]
            mu, following = [first * (1 - 0.5 * 0.96 ** ((self.steps + k) * group["decay"])) for k in (0, 1)]
            self.product *= mu
            for p in group["params"]:
                state = self.state[p]
                mean, square = state.get("mean", torch.zeros_like(p)), state.get("square", torch.zeros_like(p))
                grad = p.grad + group["weight_decay"] * p
                state["mean"] = mean = first * mean + (1 - first) * grad
                state["square"] = square = second * square + (1 - second) * grad * grad
                size = (square / (1 - second**self.steps)).sqrt() + group["eps"]
                p -= group["lr"] * (1 - mu) / (1 - self.product) * grad / size
                p -= group["lr"] * following / (1 - self.product * following) * mean / size


def some(draw, **ranges):
    """Options, each of them given or left at its default."""
    return {key: draw.choice(values) for key, values in ranges.items() if draw.random() < 0.6}


OPTIMIZERS = {
    "sgd": (optim.SGD, dict(momentum=[0.0, 0.5, 0.9], dampening=[0.0, 0.3], weight_decay=[0.0, 0.1], maximize=[False, True])),
    "adam": (optim.Adam, dict(betas=[(0.9, 0.999), (0.5, 0.7)], eps=[1e-8, 0.1], weight_decay=[0.0, 0.1],
                              amsgrad=[False, True], maximize=[False, True])),
    "adamw": (optim.AdamW, dict(betas=[(0.9, 0.999), (0.5, 0.7)], eps=[1e-8, 0.1], weight_decay=[0.0, 0.1],
                                amsgrad=[False, True], maximize=[False, True])),
    "adagrad": (optim.Adagrad, dict(lr_decay=[0.0, 0.1], weight_decay=[0.0, 0.1], initial_accumulator_value=[0.0, 0.5],
                                    eps=[1e-10, 0.1], maximize=[False, True])),
    "adadelta": (optim.Adadelta, dict(rho=[0.9, 0.5], eps=[1e-6, 0.1], weight_decay=[0.0, 0.1], maximize=[False, True])),
    "adamax": (optim.Adamax, dict(betas=[(0.9, 0.999), (0.5, 0.7)], eps=[1e-8, 0.1], weight_decay=[0.0, 0.1],
                                  maximize=[False, True])),
    "nadam": (NAdam, dict(betas=[(0.9, 0.999), (0.5, 0.7)], eps=[1e-8, 0.1], weight_decay=[0.0, 0.1],
                                momentum_decay=[4e-3, 0.1])),
    "radam": (optim.RAdam, dict(betas=[(0.9, 0.999), (0.5, 0.7)], eps=[1e-8, 0.1], weight_decay=[0.0, 0.1])),
    "rmsprop": (optim.RMSprop, dict(alpha=[0.99, 0.5], eps=[1e-8, 0.1], weight_decay=[0.0, 0.1], momentum=[0.0, 0.5],
                                    centered=[False, True], maximize=[False, True])),
}

SCHEDULES = {
    "step": lambda d: (dict(size=d.randint(1, 4), gamma=d.uniform(0.1, 1)),
                       lambda o, s: optim.lr_scheduler.StepLR(o, s["size"], s["gamma"])),
    "multi_step": lambda d: (dict(milestones=sorted(d.sample(range(1, 12), 3)), gamma=d.uniform(0.1, 1)),
                             lambda o, s: optim.lr_scheduler.MultiStepLR(o, s["milestones"], s["gamma"])),
    "exponential": lambda d: (dict(gamma=d.uniform(0.5, 1)), lambda o, s: optim.lr_scheduler.ExponentialLR(o, s["gamma"])),
    "cosine_restarts": lambda d: (dict(period=d.randint(1, 4), factor=d.randint(1, 3), lowest=d.uniform(0, 0.1)),
                                  lambda o, s: optim.lr_scheduler.CosineAnnealingWarmRestarts(
                                      o, s["period"], s["factor"], s["lowest"])),
    "linear": lambda d: (dict(start=d.uniform(0.1, 1), end=d.uniform(0.1, 1), steps=d.randint(1, 8)),
                         lambda o, s: optim.lr_scheduler.LinearLR(o, s["start"], s["end"], s["steps"])),
    "constant": lambda d: (dict(factor=d.uniform(0.1, 1), steps=d.randint(1, 8)),
                           lambda o, s: optim.lr_scheduler.ConstantLR(o, s["factor"], s["steps"])),
    "one_cycle": lambda d: (dict(highest=d.uniform(0.1, 2), steps=d.randint(13, 30), share=d.uniform(0.2, 0.45),
                                 three=d.random() < 0.5, linear=d.random() < 0.5, cycle=d.random() < 0.5),
                            lambda o, s: optim.lr_scheduler.OneCycleLR(
                                o, s["highest"], s["steps"], pct_start=s["share"], three_phase=s["three"],
                                anneal_strategy="linear" if s["linear"] else "cos", cycle_momentum=s["cycle"])),
}


def schedule(draw):
    name = draw.choice(sorted(SCHEDULES))
    options, make = SCHEDULES[name](draw)
    parameter = torch.zeros(1, requires_grad=True)
    optimizer = optim.SGD([parameter], 0.5, momentum=0.9)
    scheduler = make(optimizer, options)
    rates, momenta = [], []
    for _ in range(12):
        rates.append(optimizer.param_groups[0]["lr"])
        momenta.append(optimizer.param_groups[0]["momentum"])
        optimizer.step()
        scheduler.step()
    return {"schedule": name, "opt": options, "rates": rates, "momenta": momenta}


def case(draw, program):
    if draw.random() < 0.15:
        return schedule(draw)
    name = draw.choice(sorted(OPTIMIZERS))
    kind, ranges = OPTIMIZERS[name]
    options = some(draw, **ranges)
    if name == "sgd" and options.get("momentum", 0) > 0 and not options.get("dampening") and draw.random() < 0.4:
        options["nesterov"] = True
    options["lr"] = draw.choice([0.01, 0.1, 0.5])
    start = [random.normal(random.shape(draw, most=2, elements=8)) for _ in range(draw.randint(1, 3))]
    # Adadelta divides small numbers by small numbers at gradients of 0; none are drawn.
    steps = [[random.normal(list(p.shape), draw.choice([0.1, 1.0])) for p in start] for _ in range(draw.randint(1, 6))]

    def run(dtype):
        parameters = [p.to(dtype).clone().requires_grad_() for p in start]
        optimizer = kind(parameters, **options)
        for grads in steps:
            for parameter, grad in zip(parameters, grads):
                parameter.grad = grad.to(dtype)
            optimizer.step()
        return [p.detach() for p in parameters]

    single, exact = run(torch.float32), run(torch.float64)
    # A parameter may end near zero: it was as large as it was at the start.
    program.floor = 1e-6 * max(p.abs().max().item() for p in start + exact)
    wants = [program.want(a, b, [], sums=True) for a, b in zip(single, exact)]
    if any(want is None for want in wants):
        return None
    from generate import numbers, tensor_of

    grads = [[numbers(g) for g in step] for step in steps]
    return {"optim": name, "opt": options, "leaves": [dict(tensor_of(p), g=True) for p in start], "steps_grads": grads,
            "want": wants}
