"""Layers, with their weights given: the step `layer` has the inputs first and then the parameters it names."""

import torch
import torch.nn.functional as F
from torch import nn

import draw as random


def given(program, module, inputs, name, options, forward):
    """A step that runs a module with parameters from leaves."""
    names = [key for key, _ in module.named_parameters()]
    parameters = [program.leaf(random.normal(list(p.shape), 0.5)) for _, p in module.named_parameters()]
    options = dict(options, layer=name, parameters=names)

    def run(*values):
        here = dict(zip(names, values[len(inputs):]))
        copy = forward(module, here, values[: len(inputs)])
        return copy

    program.step("layer", inputs + parameters, options, run)
    return program


def call(module, parameters, inputs):
    """A module's results with other parameters (and of their dtype)."""
    module.to(inputs[0].dtype)
    return nn.utils.stateless.functional_call(module, parameters, tuple(inputs))


def linear(draw, program):
    into, out, bias = draw.randint(1, 5), draw.randint(1, 5), draw.random() < 0.5
    x = program.leaf(random.normal(random.shape(draw, most=2, elements=12) + [into]))
    return given(program, nn.Linear(into, out, bias), [x], "linear", {"inputs": into, "outputs": out, "bias": bias}, call)


def recurrent(draw, program):
    kind = draw.choice(["rnn", "lstm", "gru"])
    into, hidden, count = draw.randint(1, 3), draw.randint(1, 3), draw.randint(1, 2)
    options = {"inputs": into, "hidden": hidden, "num_layers": count, "bias": draw.random() < 0.7,
               "batch_first": draw.random() < 0.5, "bidirectional": draw.random() < 0.4}
    settings = dict(num_layers=count, bias=options["bias"], batch_first=options["batch_first"],
                    bidirectional=options["bidirectional"])
    module = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}[kind](into, hidden, **settings)
    x = program.leaf(random.normal([draw.randint(1, 4), draw.randint(1, 3), into]))

    def run(module, parameters, inputs):
        module._flat_weights = [parameters[key] for key in module._flat_weights_names]
        y, state = module(*inputs)
        return [y, *state] if isinstance(state, tuple) else [y, state]

    return given(program, module, [x], kind, options, run)


def attention(draw, program):
    heads = draw.choice([1, 2])
    width = heads * draw.randint(1, 3)
    options = {"width": width, "heads": heads, "bias": draw.random() < 0.7, "batch_first": draw.random() < 0.5}
    module = nn.MultiheadAttention(width, heads, bias=options["bias"], batch_first=options["batch_first"])
    length, batch, memory = draw.randint(1, 4), draw.randint(1, 2), draw.randint(1, 4)
    order = (lambda n: [batch, n, width]) if options["batch_first"] else (lambda n: [n, batch, width])
    q, kv = program.leaf(random.normal(order(length))), program.leaf(random.normal(order(memory)))

    def run(module, parameters, inputs):
        module.to(inputs[0].dtype)
        q, kv = inputs
        return nn.utils.stateless.functional_call(module, parameters, (q, kv, kv))[0]

    return given(program, module, [q, kv], "attention", options, run)


def encoder(draw, program):
    heads = draw.choice([1, 2])
    width = draw.choice([3, 4]) if heads == 1 else 4  # a norm of two numbers is ±1, without slope
    options = {"width": width, "heads": heads, "feed_forward": draw.randint(1, 5), "eps": draw.choice([1e-5, 0.1]),
               "activation": draw.choice(["relu", "gelu"]), "norm_first": draw.random() < 0.5}
    module = nn.TransformerEncoderLayer(
        width, heads, options["feed_forward"], 0.0, options["activation"], options["eps"], True, options["norm_first"])
    x = program.leaf(random.normal([draw.randint(1, 2), draw.randint(1, 4), width]))
    return given(program, module, [x], "encoder", options, call)


def batch_norm(draw, program):
    channels = draw.randint(1, 3)
    size = [draw.randint(2, 4), channels] + [draw.randint(1, 3) for _ in range(draw.choice([0, 1, 2]))]
    options = {"eps": draw.choice([1e-5, 0.1]), "momentum": draw.choice([0.1, 0.7, None]), "features": channels}
    x = program.leaf(random.normal(size))
    w, b = program.leaf(random.normal([channels])), program.leaf(random.normal([channels]))

    def run(x, w, b):
        mean, var = torch.zeros(channels, dtype=x.dtype), torch.ones(channels, dtype=x.dtype)
        share = 1.0 if options["momentum"] is None else options["momentum"]
        y = F.batch_norm(x, mean, var, w, b, True, share, options["eps"])
        return [y, mean, var]

    program.step("layer", [x, w, b], dict(options, layer="batch_norm", parameters=["weight", "bias"]), run)
    return program


def norm(draw, program):
    eps, affine = draw.choice([1e-5, 0.1]), draw.random() < 0.5
    kind = draw.choice(["layer_norm", "group_norm", "instance_norm", "local_response_norm", "batch_norm_fixed"])
    groups = draw.choice([1, 2])
    channels = groups * draw.randint(1, 2)
    size = [draw.randint(1, 3), channels] + [draw.randint(2, 3) for _ in range(draw.randint(1, 2))]
    x = program.leaf(random.normal(size))
    options = {"eps": eps}
    operands = [x]
    if kind == "layer_norm":
        last = size[-draw.randint(1, 2):]
        options["shape"] = last
        operands += [program.leaf(random.normal(last)) for _ in range(2 if affine else 0)]
        function = lambda x, w=None, b=None: F.layer_norm(x, last, w, b, eps)
    elif kind == "local_response_norm":
        n, alpha, beta, k = draw.randint(1, 4), draw.uniform(0.01, 1), draw.uniform(0.5, 1), draw.uniform(0.5, 2)
        options.update(size=n, alpha=alpha, beta=beta, k=k)
        function = lambda x: F.local_response_norm(x, n, alpha, beta, k)
    elif kind == "batch_norm_fixed":
        operands += [program.leaf(random.normal([channels]), gradient=False),
                     program.leaf(random.floats([channels], 0.2, 2), gradient=False)]
        operands += [program.leaf(random.normal([channels])) for _ in range(2 if affine else 0)]
        function = lambda x, m, v, w=None, b=None: F.batch_norm(x, m, v, w, b, False, 0.1, eps)
    else:
        operands += [program.leaf(random.normal([channels])) for _ in range(2 if affine else 0)]
        if kind == "group_norm":
            options["groups"] = groups
            function = lambda x, w=None, b=None: F.group_norm(x, groups, w, b, eps)
        else:
            function = lambda x, w=None, b=None: F.instance_norm(x, weight=w, bias=b, eps=eps)
    program.step(kind, operands, options, function)
    return program


def scaled_attention(draw, program):
    b, h, l, s, e, v = [draw.randint(1, n) for n in (2, 2, 5, 5, 4, 4)]
    causal = draw.random() < 0.4
    size = draw.choice([0.5, 1.0, 3.0])
    program.noise = 10.0  # the slope of a query that sees one key cancels to nothing
    operands = [program.leaf(random.normal(dims, size)) for dims in ([b, h, l, e], [b, h, s, e], [b, h, s, v])]

    def run(q, k, v):
        scores = q @ k.transpose(-1, -2) / e**0.5
        if causal:
            scores = scores.masked_fill(~torch.ones(l, s, dtype=torch.bool).tril(), float("-inf"))
        return scores.softmax(-1) @ v

    program.step("scaled_dot_product_attention", operands, {"causal": causal}, run)
    return program


def shuffling(draw, program):
    r = draw.randint(1, 3)
    if draw.random() < 0.5:
        x = program.leaf(random.normal([draw.randint(1, 2), r * r * draw.randint(1, 2), 2, draw.randint(1, 3)]))
        program.step("pixel_shuffle", [x], {"factor": r}, lambda x: F.pixel_shuffle(x, r))
    else:
        x = program.leaf(random.normal([1, draw.randint(1, 2), r * 2, r * draw.randint(1, 2)]))
        program.step("pixel_unshuffle", [x], {"factor": r}, lambda x: F.pixel_unshuffle(x, r))
    return program


def slopes(draw, program):
    size = random.shape(draw, least=1)
    count = draw.choice([1, size[1] if len(size) > 1 else 1])
    operands = [program.leaf(random.normal(size)), program.leaf(random.normal([count]))]
    program.step("prelu", operands, {}, F.prelu)
    return program


KINDS = [linear, recurrent, recurrent, attention, encoder, batch_norm, norm, norm, scaled_attention, shuffling, slopes]


def case(draw, program):
    return draw.choice(KINDS)(draw, program)
