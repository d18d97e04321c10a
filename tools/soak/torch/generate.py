"""Random cases with PyTorch's answers, as JSON lines on standard output.

    python3 generate.py SEED FIRST COUNT

writes the cases FIRST, FIRST + 1, … of a seed. A case depends on the seed and its number alone. It is either

- a program: leaves, steps (an op's name, the numbers of its operands, its options), and what the named values and the
  gradients of the leaves must be. Values are numbered from the leaves on. Gradients are those of Σ wₖ yₖ over the
  float results, with the weights of `weights`; or
- an optimizer or a schedule: parameters, options, the gradients of some steps, and the parameters (or rates) after them.

Every program runs four times: in the dtypes of the case, in double precision, and twice in double precision with inputs
moved by a unit in the last place. The second run is the answer. The others say how well the case is
conditioned, and so how close one has to come: that is `t`, an absolute tolerance for each element, where the common
one does not do. Where the first run gives infinities or NaN, those are the answer.

Rules that leave something out name the row of docs/departures.md that explains it.
"""

import json
import math
import random
import sys
import warnings

import torch

import elementwise
import layers
import losses
import shapes
import training

warnings.filterwarnings("ignore")
torch.set_num_threads(1)

DTYPES = {
    "f32": torch.float32,
    "f64": torch.float64,
    "i32": torch.int32,
    "i64": torch.int64,
    "u8": torch.uint8,
    "bool": torch.bool,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}

# The common relative tolerance of an element, and that of a result's largest element where elements are sums.
RELATIVE = 4e-6
OF_LARGEST = 2e-6
# What double precision has to be closer by: enough to tell it from single, little enough for slopes that cancel.
DOUBLE = 1e-3


def weights(count, dtype):
    """0.5 to 1.5, no two alike: what the gradients are taken with."""
    return (torch.arange(count, dtype=torch.float64) * 0.6180339887498949).frac().add(0.5).to(dtype)


class Program:
    """A case under construction: leaves, and steps that are run as they are added."""

    def __init__(self, draw):
        self.draw = draw
        self.leaves = []  # (tensor, whether it has a gradient)
        self.steps = []  # (name, operands, options, function)
        self.outputs = None
        self.exact = False  # jumps: moving the inputs says nothing
        self.sums = True  # elements are sums: the largest one counts
        self.floor = 0.0
        self.noise = 1.0  # how much larger intermediate values are than results

    def leaf(self, tensor, gradient=None):
        wanted = tensor.is_floating_point() if gradient is None else gradient
        self.leaves.append((tensor, wanted))
        return len(self.leaves) - 1

    def step(self, name, operands, options, function):
        self.steps.append((name, operands, options, function))

    def run(self, convert):
        """The values of the outputs and the gradients of the leaves."""
        values = []
        for tensor, wanted in self.leaves:
            value = convert(tensor).clone()
            values.append(value.requires_grad_() if wanted else value)
        leaves = list(values)
        for name, operands, options, function in self.steps:
            result = function(*[values[k] for k in operands])
            values.extend(result if isinstance(result, (tuple, list)) else [result])
        outputs = self.outputs
        if outputs is None:
            outputs = range(len(leaves), len(values))
        loss = None
        for k in outputs:
            y = values[k]
            if y.is_floating_point() and y.requires_grad and y.numel() > 0:
                part = (y * weights(y.numel(), y.dtype).reshape(y.shape)).sum()
                loss = part if loss is None else loss + part
        if loss is not None:
            loss.backward()
        grads = [leaf.grad for leaf in leaves]
        return list(outputs), [values[k].detach() for k in outputs], grads

    def answer(self):
        """The case as JSON, or None where its answer says nothing."""
        double = lambda x: x.double() if x.is_floating_point() else x
        order, single, single_grads = self.run(lambda x: x)
        _, exact, exact_grads = self.run(double)
        moved = [(exact, exact_grads)]
        if not self.exact:
            jitter = lambda x: double(x) * (1 + 1.2e-7 * (2.0 * torch.rand(x.shape, dtype=torch.float64).round() - 1))
            # Twice: once may move all inputs the same way, which norms do not notice.
            moved = [self.run(lambda x: jitter(x) if x.is_floating_point() else x)[1:] for _ in range(2)]
        # What cancels to nothing is judged by the size of what it was made of.
        sizes = [x.abs().max().item() for x in exact + exact_grads if x is not None and x.is_floating_point() and x.numel()]
        self.floor = self.noise * 1e-6 * max([x for x in sizes if math.isfinite(x)] + [0.1]) if self.sums else 0.0
        wants = [self.want(a, b, [values[k] for values, _ in moved]) for k, (a, b) in enumerate(zip(single, exact))]
        grads = []
        for leaf, (a, b) in enumerate(zip(single_grads, exact_grads)):
            if a is not None:
                grads.append([leaf, self.want(a, b, [grads[leaf] for _, grads in moved], sums=True)])
        if any(want is None for want in wants) or any(grad is None for _, grad in grads):
            return None
        return {
            "leaves": [dict(tensor_of(tensor), g=wanted) for tensor, wanted in self.leaves],
            "steps": [[name, list(operands), options] for name, operands, options, _ in self.steps],
            "out": order,
            "want": wants,
            "grad": grads,
        }

    def want(self, single, exact, moved, sums=None):
        """What a tensor must be; None if moving the inputs changes it altogether."""
        if not single.is_floating_point():
            return tensor_of(single)
        sums = self.sums if sums is None else sums
        rough = single.double()
        finite = torch.isfinite(rough) & torch.isfinite(exact)
        for other in moved:
            finite &= torch.isfinite(other)
        answer = torch.where(finite, exact, rough)
        if torch.isfinite(rough).ne(torch.isfinite(answer)).any():
            return None
        zero = torch.zeros((), dtype=torch.float64)
        apart = (rough - answer).abs()
        for other in moved:
            apart = torch.maximum(apart, (other - answer).abs())
        apart = torch.where(finite, apart, zero)
        size = torch.where(finite, answer.abs(), zero)
        largest = size.max().item() if size.numel() else 0.0
        if (apart > 1e-2 * (size + 0.1 * largest) + 1e-30).any():
            return None
        scale = 1.0 if single.dtype == torch.float32 else DOUBLE
        largest = OF_LARGEST * largest + self.floor
        common = scale * (RELATIVE * size + (largest if sums else 0.0))
        tolerance = common + 12 * apart + (4 * apart.max() if sums and apart.numel() else 0.0)
        result = dict(tensor_of(answer), d=NAMES[single.dtype])
        result["a"] = float("%.3g" % (scale * largest)) if sums else 0.0
        if (tolerance > 1.5 * common).any():
            result["t"] = [float("%.2g" % t) for t in tolerance.flatten().tolist()]
        return result


def tensor_of(tensor):
    return {"s": list(tensor.shape), "d": NAMES[tensor.dtype], "v": numbers(tensor)}


def numbers(tensor):
    """JSON has no infinities and no NaN; floats that fit single precision need nine digits, others seventeen."""
    if not tensor.is_floating_point():
        return [int(x) for x in tensor.flatten().tolist()]
    single = tensor.dtype == torch.float32

    def number(x):
        if math.isfinite(x):
            return float("%.9g" % x) if single else x
        return "nan" if math.isnan(x) else ("inf" if x > 0 else "-inf")

    return [number(x) for x in tensor.flatten().tolist()]


# Kinds of cases, with how often each is drawn.
KINDS = [
    (30, elementwise.case),
    (10, elementwise.edges),
    (8, elementwise.integers),
    (25, shapes.case),
    (12, losses.case),
    (12, layers.case),
    (15, shapes.program),
    (8, training.case),
]


def generate(seed, number):
    """A case; what cannot be answered is drawn again."""
    for attempt in range(50):
        draw = random.Random("%d %d %d" % (seed, number, attempt))
        torch.manual_seed(draw.getrandbits(32))
        kind = draw.choices([kind for _, kind in KINDS], [often for often, _ in KINDS])[0]
        try:
            made = kind(draw, Program(draw))
            answer = made.answer() if isinstance(made, Program) else made
        except (RuntimeError, IndexError, ValueError, ZeroDivisionError):
            continue  # PyTorch refuses these options
        if answer is not None:
            return answer
    return None


def main():
    seed, first, count = (int(word) for word in sys.argv[1:4])
    for number in range(first, first + count):
        case = generate(seed, number)
        if case is not None:
            print(json.dumps(dict(n=number, **case), separators=(",", ":"), allow_nan=False))


if __name__ == "__main__":
    main()
