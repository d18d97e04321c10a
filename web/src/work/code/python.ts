/** A run as a PyTorch program. It draws Flambeau's random numbers, so weights, batches and chance are the run's. */

import { type Activation, isActivation, samePadding } from "../layers.js";
import { ACTIVATIONS } from "../generated/catalogue.js";
import type { OptimizerName } from "../optimizers.js";
import {
  type CodeSource,
  folderOf,
  hasKind,
  indented,
  isAugmented,
  isResampled,
  lines,
  needs,
  type PlacedLayer,
  placedLayers,
  placeOfData,
  ratesOf,
  TEST_BATCH,
} from "./source.js";

/** PyTorch's optimizers; it has no Lion. */
const OPTIMIZERS: Record<OptimizerName, string> = {
  sgd: "torch.optim.SGD",
  momentum: "torch.optim.SGD",
  adam: "torch.optim.Adam",
  adamw: "torch.optim.AdamW",
  adadelta: "torch.optim.Adadelta",
  adagrad: "torch.optim.Adagrad",
  adamax: "torch.optim.Adamax",
  lion: "Lion",
  nadam: "torch.optim.NAdam",
  radam: "torch.optim.RAdam",
  rmsprop: "torch.optim.RMSprop",
};

const ALONG_THE_LAST = new Set<Activation>(["softmax", "logSoftmax", "softmin"]);

function layer({ kind, values, input }: PlacedLayer): string {
  const [first = 0, second = 0, third = 0] = values;
  const [channels = 0] = input;
  if (isActivation(kind)) return `nn.${ACTIVATIONS[kind]}(${ALONG_THE_LAST.has(kind) ? "dim=-1" : ""})`;
  switch (kind) {
    case "linear":
      return `nn.Linear(${channels}, ${first})`;
    case "conv":
      return `nn.Conv2d(${channels}, ${first}, ${second}, stride=${third}, padding=${samePadding(second)})`;
    case "residual":
      return `ResidualBlock(${channels}, ${first}, ${second})`;
    case "maxpool":
      return `nn.MaxPool2d(${first})`;
    case "avgpool":
      return `nn.AvgPool2d(${first})`;
    case "globalpool":
      return "nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())";
    case "flatten":
      return "nn.Flatten()";
    case "batchnorm":
      return `nn.BatchNorm${input.length === 3 ? 2 : 1}d(${channels})`;
    case "dropout":
      return first === 0 ? "nn.Identity()" : `Dropout(${first})`;
  }
}

const RANDOM = `
class Random:
    """Flambeau's random numbers: Threefry-2x32 with 20 rounds, counted from a seed."""

    def __init__(self, seed):
        self.seed, self.counter = seed, 0

    def bits(self, count):
        """The next numbers, of 32 bits each."""
        counters = np.arange(self.counter, self.counter + count, dtype=np.uint64)
        self.counter += count
        word = lambda number: np.uint32(number & 0xFFFFFFFF)
        keys = [word(self.seed), word(self.seed >> 32), np.uint32(0)]
        keys[2] = np.uint32(0x1BD11BDA) ^ keys[0] ^ keys[1]
        with np.errstate(over="ignore"):
            a = counters.astype(np.uint32) + keys[0]
            b = (counters >> np.uint64(32)).astype(np.uint32) + keys[1]
            for group in range(5):
                for turn in ([13, 15, 26, 6], [17, 29, 16, 24])[group % 2]:
                    a = a + b
                    b = (b << np.uint32(turn) | b >> np.uint32(32 - turn)) ^ a
                a = a + keys[(group + 1) % 3]
                b = b + keys[(group + 2) % 3] + np.uint32(group + 1)
        return a

    def uniform(self, *shape):
        """Numbers in [0, 1): multiples of 2⁻²⁴."""
        bits = self.bits(int(np.prod(shape))) >> np.uint32(8)
        return torch.from_numpy(bits.astype(np.float32) * np.float32(2**-24)).reshape(shape)
`;

const NORMAL = `
    def normal(self, *shape):
        """Standard normal numbers."""
        bits = self.bits(int(np.prod(shape))) >> np.uint32(9) << np.uint32(1) | np.uint32(1)
        return torch.special.ndtri(torch.from_numpy(bits * 2.0**-24)).float().reshape(shape)
`;

const PERMUTATION = `
    def permutation(self, count):
        """The numbers below \`count\` in random order."""
        order = list(range(count))
        words = self.bits(2 * (count - 1)).astype(np.uint64).reshape(-1, 2)
        bounds = np.arange(count, 1, -1, dtype=np.uint64)
        half = np.uint64(32)
        chosen = (words[:, 0] * bounds + (words[:, 1] * bounds >> half)) >> half
        for place, other in zip(range(count - 1, 0, -1), chosen.tolist()):
            order[place], order[other] = order[other], order[place]
        return torch.tensor(order)


def initialise(model):
    """Draws the first weights as Flambeau does: each layer's from U(-1/√n, 1/√n), n inputs of an output."""
    for module in model.modules():
        if isinstance(module, (nn.Linear, nn.Conv2d)):
            bound = np.float32(1 / module.weight[0].numel() ** 0.5)
            for parameter in filter(lambda each: each is not None, (module.weight, module.bias)):
                parameter.data = random.uniform(*parameter.shape) * (2 * bound) - bound`;

const DROPOUT = `

class Dropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training:
            return x
        return torch.where(random.uniform(*x.shape) < 1 - self.p, x * (1 / (1 - self.p)), torch.zeros(()))`;

const RESIDUAL = `

class ResidualBlock(nn.Module):
    """relu(x + f(x)), f two convolutions of 3 × 3 with batch norm; where the shape changes, x goes through one of 1 × 1."""

    def __init__(self, channels, out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        changed = [nn.Conv2d(channels, out, 1, stride=stride, bias=False), nn.BatchNorm2d(out)]
        self.shortcut = nn.Sequential(*([] if channels == out and stride == 1 else changed))

    def forward(self, x):
        inner = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(inner + self.shortcut(x))`;

const LION = `

class Lion(torch.optim.Optimizer):
    def __init__(self, parameters, lr, weight_decay):
        super().__init__(parameters, dict(lr=lr, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.sub_(group["lr"] * torch.sign(0.9 * m + 0.1 * p.grad))
                m.mul_(0.99).add_(p.grad, alpha=0.01)`;

const RESAMPLING = `

def resampling(batch, size, shift, zoom, mirror):
    """(B, 1, n, n) matrices that resample rows of n pixels: shifted, zoomed and mirrored by chance, picture by picture."""
    draw = lambda: random.uniform(batch, 1, 1, 1) * 2 - 1
    middle = (size - 1) / 2
    scale = draw() * zoom + 1
    if mirror:
        scale = scale * torch.sign(draw())
    pixels = torch.arange(size, dtype=torch.float32)
    places = (pixels.reshape(1, 1, size, 1) - middle) * scale + middle + draw() * shift
    return torch.relu(1 - (places - pixels.reshape(1, 1, 1, size)).abs())`;

const FILE = `

def read(path):
    """The tensors of a safetensors file."""
    with open(path, "rb") as file:
        head = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        content = file.read()
    kinds = {"U8": np.uint8, "F32": np.float32, "I32": np.int32}
    head.pop("__metadata__", None)
    part = lambda entry: np.frombuffer(content[slice(*entry["data_offsets"])], kinds[entry["dtype"]]).copy()
    return {name: torch.from_numpy(part(entry)).reshape(entry["shape"]) for name, entry in head.items()}`;

function augment(source: CodeSource): string {
  const { shift, zoom, noise, mirror } = source.settings;
  const called = (side: string, mirrored: boolean) =>
    `resampling(batch, ${side}, ${shift}, ${zoom}, ${mirrored ? "True" : "False"})`;
  return lines(
    isResampled(source) ? RESAMPLING : undefined,
    "",
    "",
    "def augment(pictures):",
    '    """The pictures (B, C, H, W), changed by chance."""',
    "    batch, channels, height, width = pictures.shape",
    isResampled(source)
      ? `    pictures = ${called("height", false)} @ pictures @ ${called("width", mirror)}.transpose(2, 3)`
      : undefined,
    noise > 0 ? `    pictures = pictures + random.normal(batch, channels, height, width) * ${noise}` : undefined,
    "    return pictures",
  ).trimEnd();
}

function readData(source: CodeSource): string {
  const { items } = source.settings;
  const first = items === 0 ? "" : `[:${items}]`;
  if (folderOf(source) === undefined) {
    const label = source.isNumber ? "" : ".long()";
    return lines(
      "file = read(place)",
      `train = file["train_items"]${first}, file["train_labels"]${first}${label}`,
      `test = file["test_items"], file["test_labels"]${label}`,
    ).trimEnd();
  }
  return lines(
    "",
    "def idx(name, start):",
    '    with gzip.open(f"{place}/{name}-ubyte.gz") as file:',
    "        return torch.from_numpy(np.frombuffer(file.read(), np.uint8, offset=start).copy())",
    "",
    "",
    "def pair(name):",
    '    """Pictures (N, 1, 28, 28) and their classes."""',
    '    return idx(f"{name}-images-idx3", 16).reshape(-1, 1, 28, 28), idx(f"{name}-labels-idx1", 8).long()',
    "",
    "",
    `train, test = ${items === 0 ? 'pair("train")' : `[part${first} for part in pair("train")]`}, pair("t10k")`,
  ).trimEnd();
}

/** The program. */
export function pythonProgram(source: CodeSource): string {
  const { settings, begunWith, isNumber } = source;
  const { optimizer, lr, decay, batch, epochs, steps, seed, rates, amp } = settings;
  const scope = (line: string, indent: string) =>
    amp ? [`${indent}with torch.autocast("cpu", dtype=torch.float16):`, `${indent}    ${line}`] : `${indent}${line}`;
  const readsFile = folderOf(source) === undefined || begunWith !== undefined;
  const options = [`lr=${lr}`, `weight_decay=${decay}`, ...(optimizer === "momentum" ? ["momentum=0.9"] : [])];
  return lines(
    `# ${source.name}: a run of Flambeau's app as a PyTorch program.`,
    `# python3 run.py ${placeOfData(source)}`,
    needs(source).map((line) => `# ${line}`),
    "# Weights, batches and chance are those of the run; its losses are met up to rounding.",
    optimizer === "nadam" ? "# It needs PyTorch 2: before, NAdam multiplied by a step's momentum twice." : undefined,
    amp
      ? "# It needs PyTorch 2.3: before, the CPU had no mixed precision in float16. Its lists of ops differ a little from a GPU's."
      : undefined,
    folderOf(source) === undefined ? undefined : "import gzip",
    readsFile ? "import json" : undefined,
    "import sys",
    "",
    "import numpy as np",
    "import torch",
    "from torch import nn",
    "from torch.nn import functional as F",
    "",
    `${RANDOM}${isAugmented(source) && settings.noise > 0 ? NORMAL : ""}${PERMUTATION}`,
    hasKind(source, "dropout") ? DROPOUT : undefined,
    hasKind(source, "residual") ? RESIDUAL : undefined,
    optimizer === "lion" ? LION : undefined,
    isAugmented(source) ? augment(source) : undefined,
    readsFile ? FILE : undefined,
    "",
    "",
    "def scaled(items):",
    '    """Items as the network takes them."""',
    source.isBytes ? "    return items.float() / 255" : "    return items",
    "",
    "",
    "def outcome(outputs, labels):",
    isNumber
      ? [
          '    """The squared error, and how much of the variation is explained (R²), times the items of the batch."""',
          "    loss = F.mse_loss(outputs.reshape(len(labels)), labels)",
          "    return loss, (1 - loss.item()) * len(labels)",
        ]
      : [
          '    """The cross entropy, and how many answers are right."""',
          "    return F.cross_entropy(outputs, labels), (outputs.argmax(1) == labels).sum().item()",
        ],
    "",
    "",
    `place = sys.argv[1] if len(sys.argv) > 1 else "${placeOfData(source)}"`,
    readData(source),
    "",
    `random = Random(${seed})`,
    "model = nn.Sequential(",
    placedLayers(source).map((each) => `${indented(layer(each), 4)},`),
    ")",
    "initialise(model)",
    begunWith === undefined
      ? undefined
      : `model.load_state_dict(read(sys.argv[2] if len(sys.argv) > 2 else ${JSON.stringify(begunWith)}))`,
    `optimizer = ${OPTIMIZERS[optimizer]}(model.parameters(), ${options.join(", ")})`,
    amp ? 'scaler = torch.amp.GradScaler("cpu")' : undefined,
    rates.length === 0
      ? undefined
      : [
          `RATES = [${ratesOf(settings)
            .map(([from, rate]) => `(${from}, ${rate})`)
            .join(", ")}]  # from so many steps on`,
        ],
    "",
    `count, batch, epochs = len(train[1]), ${batch}, ${epochs}`,
    steps === 0 ? "steps = epochs * -(-count // batch)" : `steps = min(epochs * -(-count // batch), ${steps})`,
    `shuffled = Random(${seed})`,
    "step, losses, rights, seen = 0, 0.0, 0.0, 0",
    "while step < steps:",
    "    for places in shuffled.permutation(count).split(batch)[: steps - step]:",
    `        x, y = ${isAugmented(source) ? "augment(scaled(train[0][places]))" : "scaled(train[0][places])"}, train[1][places]`,
    scope("loss, right = outcome(model(x), y)", "        "),
    "        optimizer.zero_grad()",
    `        ${amp ? "scaler.scale(loss)" : "loss"}.backward()`,
    rates.length === 0
      ? undefined
      : [
          "        for group in optimizer.param_groups:",
          '            group["lr"] = [rate for start, rate in RATES if start <= step][-1]',
        ],
    amp ? ["        scaler.step(optimizer)", "        scaler.update()"] : "        optimizer.step()",
    "        step, seen = step + 1, seen + len(y)",
    "        losses, rights = losses + loss.item() * len(y), rights + right",
    "        if step % 10 == 0 or step == steps:",
    '            print(f"step {step}: loss {losses / seen}, accuracy {rights / seen}")',
    "            losses, rights, seen = 0.0, 0.0, 0",
    "",
    "model.eval()",
    "losses, rights, count = 0.0, 0.0, len(test[1])",
    "with torch.no_grad():",
    `    for x, y in zip(test[0].split(${TEST_BATCH}), test[1].split(${TEST_BATCH})):`,
    scope("loss, right = outcome(model(scaled(x)), y)", "        "),
    "        losses, rights = losses + loss.item() * len(y), rights + right",
    'print(f"test: loss {losses / count}, accuracy {rights / count}")',
  );
}
