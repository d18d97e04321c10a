"""Losses with their options."""

import torch
import torch.nn.functional as F

import draw as random


def case(draw, program):
    reduction = draw.choice(["mean", "sum", "none"])
    options = {"reduction": reduction}
    rows, classes = draw.randint(1, 5), draw.randint(1, 5)
    kind = draw.choice(sorted(KINDS))
    KINDS[kind](draw, program, options, rows, classes)
    return program


def leaf(program, dims, low=-2.0, high=2.0):
    return program.leaf(random.floats(dims, low, high))


def class_case(kind):
    def make(draw, program, options, rows, classes):
        inner = random.shape(draw, most=2, elements=6) if draw.random() < 0.3 else []
        single = not inner and draw.random() < 0.1
        x = leaf(program, [classes] if single else [rows, classes] + inner, -4, 4)
        target = torch.randint(0, classes, [] if single else [rows] + inner)
        ignored = draw.choice([-100, 0, 1])
        options["ignore_index"] = ignored
        if draw.random() < 0.3:
            target[torch.rand(target.shape) < 0.4] = ignored
        smoothing = draw.choice([0.0, 0.0, 0.1, 0.5]) if kind == "cross_entropy" else 0.0
        operands = [x, program.leaf(target, gradient=False)]
        if draw.random() < 0.3:
            operands.append(program.leaf(random.floats([classes], 0.2, 2.0), gradient=False))
        if kind == "cross_entropy":
            options["label_smoothing"] = smoothing
            function = lambda x, y, w=None: F.cross_entropy(
                x, y, w, ignore_index=ignored, reduction=options["reduction"], label_smoothing=smoothing)
        else:
            function = lambda x, y, w=None: F.nll_loss(x, y, w, ignore_index=ignored, reduction=options["reduction"])
        program.step(kind, operands, options, function)

    return make


def probabilities(draw, program, options, rows, classes):
    x = leaf(program, [rows, classes], -4, 4)
    y = program.leaf(torch.softmax(random.normal([rows, classes]), 1), gradient=False)
    options["label_smoothing"] = smoothing = draw.choice([0.0, 0.2])
    options["ignore_index"] = -100
    program.step("cross_entropy", [x, y], options,
                 lambda x, y: F.cross_entropy(x, y, reduction=options["reduction"], label_smoothing=smoothing))


def of_two(name, low=(-2, 2), high=(-2, 2), gradient=True, **ranges):
    """A loss of two tensors of one shape, with numbers as options."""

    def make(draw, program, options, rows, classes):
        dims = random.shape(draw)
        numbers = {key: draw.choice(values) for key, values in ranges.items()}
        options.update(numbers)
        x = leaf(program, dims, *low)
        y = program.leaf(random.floats(dims, *high), gradient=gradient)
        function = lambda x, y: getattr(F, name)(x, y, reduction=options["reduction"], **numbers)
        program.step(name, [x, y], options, function)

    return make


def binary(draw, program, options, rows, classes):
    dims = random.shape(draw)
    logits = draw.random() < 0.5
    x = leaf(program, dims, *((-9, 9) if logits else (0.01, 0.99)))
    y = program.leaf(random.floats(dims, 0, 1).round() if draw.random() < 0.5 else random.floats(dims, 0, 1), gradient=False)
    operands = [x, y]
    weighted = draw.random() < 0.3
    if weighted:
        operands.append(program.leaf(random.floats(random.broadcast(draw, dims), 0.2, 2), gradient=False))
    name = "binary_cross_entropy_with_logits" if logits else "binary_cross_entropy"
    program.step(name, operands, options,
                 lambda x, y, w=None: getattr(F, name)(x, y, w, reduction=options["reduction"]))


def signs(dims):
    return torch.randint(0, 2, dims).float() * 2 - 1


def margins(draw, program, options, rows, classes):
    margin = options["margin"] = draw.choice([0.0, 0.5, 1.0])
    reduction = options["reduction"]
    kind = draw.choice(["hinge_embedding_loss", "margin_ranking_loss", "soft_margin_loss", "triplet_margin_loss",
                        "cosine_embedding_loss", "multi_margin_loss", "multilabel_soft_margin_loss"])
    if kind == "hinge_embedding_loss":
        x, y = leaf(program, [rows, classes]), program.leaf(signs([rows, classes]), gradient=False)
        program.step(kind, [x, y], options, lambda x, y: F.hinge_embedding_loss(x, y, margin, reduction=reduction))
    elif kind == "margin_ranking_loss":
        operands = [leaf(program, [rows]), leaf(program, [rows]), program.leaf(signs([rows]), gradient=False)]
        program.step(kind, operands, options, lambda a, b, y: F.margin_ranking_loss(a, b, y, margin, reduction=reduction))
    elif kind == "soft_margin_loss":
        x, y = leaf(program, [rows, classes]), program.leaf(signs([rows, classes]), gradient=False)
        program.step(kind, [x, y], options, lambda x, y: F.soft_margin_loss(x, y, reduction=reduction))
    elif kind == "triplet_margin_loss":
        p, swap = draw.choice([1.0, 2.0, 3.0]), draw.random() < 0.5
        options.update(p=p, swap=swap)
        operands = [leaf(program, [rows, classes]) for _ in range(3)]
        program.step(kind, operands, options, lambda a, b, c: F.triplet_margin_loss(
            a, b, c, margin, p, 1e-6, swap, reduction=reduction))
    elif kind == "cosine_embedding_loss":
        operands = [leaf(program, [rows, classes]) for _ in range(2)] + [program.leaf(signs([rows]), gradient=False)]
        program.step(kind, operands, options, lambda a, b, y: F.cosine_embedding_loss(a, b, y, margin, reduction=reduction))
    elif kind == "multi_margin_loss":
        p = options["p"] = draw.choice([1, 2])
        operands = [leaf(program, [rows, classes]), program.leaf(torch.randint(0, classes, [rows]), gradient=False)]
        if draw.random() < 0.3:
            operands.append(program.leaf(random.floats([classes], 0.2, 2), gradient=False))
        program.step(kind, operands, options, lambda x, y, w=None: F.multi_margin_loss(
            x, y, p, margin, w, reduction=reduction))
    else:
        operands = [leaf(program, [rows, classes]), program.leaf(random.floats([rows, classes], 0, 1).round(), gradient=False)]
        if draw.random() < 0.3:
            operands.append(program.leaf(random.floats([classes], 0.2, 2), gradient=False))
        program.step(kind, operands, options, lambda x, y, w=None: F.multilabel_soft_margin_loss(x, y, w, reduction=reduction))


def divergence(draw, program, options, rows, classes):
    options["reduction"] = reduction = draw.choice(["mean", "sum", "none", "batchmean"])
    options["log_target"] = log = draw.random() < 0.5
    x = program.leaf(torch.log_softmax(random.normal([rows, classes]), 1))
    y = torch.log_softmax(random.normal([rows, classes]), 1)
    y = program.leaf(y if log else y.exp(), gradient=False)
    program.step("kl_div", [x, y], options, lambda x, y: F.kl_div(x, y, reduction=reduction, log_target=log))


def distributions(draw, program, options, rows, classes):
    reduction, full = options["reduction"], draw.random() < 0.5
    options["full"] = full
    if draw.random() < 0.5:
        log = options["log_input"] = draw.random() < 0.5
        x = leaf(program, [rows, classes], *((-2, 2) if log else (0.1, 4)))
        y = program.leaf(torch.randint(0, 6, [rows, classes]).float(), gradient=False)
        program.step("poisson_nll_loss", [x, y], options, lambda x, y: F.poisson_nll_loss(
            x, y, log, full, reduction=reduction))
    else:
        x, y = leaf(program, [rows, classes]), leaf(program, [rows, classes])
        v = leaf(program, draw.choice([[rows, classes], [rows, 1], [rows]]), 0.1, 3)
        program.step("gaussian_nll_loss", [x, y, v], options, lambda x, y, v: F.gaussian_nll_loss(
            x, y, v, full=full, reduction=reduction))


def ctc(draw, program, options, rows, classes):
    reduction = options["reduction"]
    steps, batch, classes = draw.randint(2, 6), draw.randint(1, 3), classes + 1
    longest = draw.randint(1, max(1, steps // 2))
    zero = options["zero_infinity"] = draw.random() < 0.5
    scores = program.leaf(random.normal([steps, batch, classes]))
    y = program.leaf(torch.randint(1, classes, [batch, longest]), gradient=False)
    # PyTorch's gradient takes it that the inputs came from log_softmax ("ctc_loss of other inputs").
    program.step("log_softmax", [scores], {"dim": 2}, lambda x: F.log_softmax(x, 2))
    program.outputs = [3]
    given = [draw.randint(2 * longest, steps) if 2 * longest <= steps else steps for _ in range(batch)]
    wanted = [draw.randint(1, longest) for _ in range(batch)]
    options.update(input_lengths=given, target_lengths=wanted)
    program.step("ctc_loss", [2, y], options, lambda x, y: F.ctc_loss(
        x, y, torch.tensor(given), torch.tensor(wanted), 0, reduction, zero))


KINDS = {
    "cross_entropy": class_case("cross_entropy"),
    "nll_loss": class_case("nll_loss"),
    "probabilities": probabilities,
    "mse": of_two("mse_loss"),
    "l1": of_two("l1_loss"),
    "smooth_l1": of_two("smooth_l1_loss", beta=[0.3, 1.0, 0.0]),
    "huber": of_two("huber_loss", delta=[0.3, 1.0]),
    "binary": binary,
    "margins": margins,
    "divergence": divergence,
    "distributions": distributions,
    "ctc": ctc,
}
