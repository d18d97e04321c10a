"""PyTorch training ResNet-18 on CIFAR-10 by the recipe of `flambeau train cifar10 --recipe resnet18`.

Usage: cifar10.py FOLDER [--seeds 1,2,3] [--epochs 36] [--batch 128] [--lr 0.1] [--max-steps N] [--amp] [--channels-last] [--compile] [--graph]

FOLDER has data_batch_1.bin to data_batch_5.bin and test_batch.bin, as `flambeau data fetch cifar10` writes them. Prints one JSON
object a line, one for each seed: accuracy, seconds of training with a test after every epoch (`seconds`) and without (`training_seconds`),
epochs and settings. On CUDA products are F32 without TF32; `--amp` takes autocast to F16 and a gradient scaler, as Flambeau's does.
Everything lies on the device from the start: pictures as bytes, and their changes (shift by up to 4, flip, a black square of 8) are
made there; the model normalises them. `--graph` records a training step as a CUDA graph and replays it: a step then waits for no host. (It
drops the last batch of an epoch, which is smaller, and its first eleven steps are run before the clock starts and undone.)
"""

import argparse
import json
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

SIDE = 32
SHIFT, HOLE = 4, 8
MEAN, DEVIATION = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
MOMENTUM, WEIGHT_DECAY, SMOOTHING, RISING = 0.9, 5e-4, 0.1, 0.25
TEST_BATCH = 500


class Residual(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(after), nn.BatchNorm2d(after)
        self.downsample = None
        if stride != 1:
            self.downsample = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x):
        straight = x if self.downsample is None else self.downsample(x)
        x = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(x)) + straight)


class ResNet18(nn.Module):
    """torchvision's resnet18 with a 3 × 3 stem and no pool, and its first values."""

    def __init__(self):
        super().__init__()
        for name, numbers in ("mean", MEAN), ("deviation", DEVIATION):
            self.register_buffer(name, torch.tensor(numbers).reshape(1, 3, 1, 1))
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64)
        widths = [64, 64, 128, 256, 512]
        self.layers = nn.Sequential(
            *[
                nn.Sequential(Residual(widths[k], widths[k + 1], 1 if k == 0 else 2), Residual(widths[k + 1], widths[k + 1], 1))
                for k in range(4)
            ]
        )
        self.fc = nn.Linear(512, 10)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        x = (x - self.mean) / self.deviation
        x = self.layers(F.relu(self.bn1(self.conv1(x))))
        return self.fc(x.mean((2, 3)))


def read(folder, names, device):
    """Pictures (N, 3, 32, 32) as bytes, and their classes."""
    files = [torch.frombuffer(bytearray(open(f"{folder}/{name}.bin", "rb").read()), dtype=torch.uint8) for name in names]
    records = torch.cat(files).reshape(-1, 1 + 3 * SIDE * SIDE).to(device)
    return records[:, 1:].reshape(-1, 3, SIDE, SIDE).contiguous(), records[:, 0].long()


def augmented(x):
    """Each picture shifted, flipped and with a hole, by numbers of its own."""
    count, device = x.shape[0], x.device
    top, left = torch.randint(0, 2 * SHIFT + 1, (2, count, 1), device=device)
    along = torch.arange(SIDE, device=device)
    flipped = torch.rand(count, 1, device=device) < 0.5
    rows, columns = top + along, left + torch.where(flipped, along.flip(0), along)
    x = F.pad(x, [SHIFT] * 4)
    each = torch.arange(count, device=device)[:, None, None]
    # Indexes around a slice put the channels last.
    x = x[each, :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
    first = torch.randint(-(HOLE // 2), SIDE - HOLE // 2, (2, count, 1), device=device)
    within = [(along >= start) & (along < start + HOLE) for start in first]
    hole = within[0][:, :, None] & within[1][:, None, :]
    return x.masked_fill(hole[:, None], 0.0)


def rate(step, total, highest):
    """From a hundredth of the highest up to it in a quarter of the run, and down to nothing, in straight lines."""
    rise, end = RISING * total - 1, total - 1
    first = highest / 100
    if step <= rise:
        return first + (highest - first) * step / max(rise, 1e-9)
    return highest + (first / 1e4 - highest) * (step - rise) / max(end - rise, 1e-9)


def recorded(one_step, model, optimizer, scaler, batch, device):
    """The step as a CUDA graph. What it and the steps before it change is put back in place afterwards."""
    model.train()
    before = [value.clone() for value in model.state_dict().values()]
    part = torch.arange(batch, device=device)
    beside = torch.cuda.Stream()
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):
        for _ in range(11):
            one_step(part)
    torch.cuda.current_stream().wait_stream(beside)
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        loss = one_step(part)
    with torch.no_grad():
        for value, old in zip(model.state_dict().values(), before):
            value.copy_(old)
        for state in optimizer.state.values():
            state["momentum_buffer"].zero_()
        if scaler.is_enabled():
            scaler._scale.fill_(65536.0)
            scaler._growth_tracker.zero_()

    def take_step(chosen):
        part.copy_(chosen)
        graph.replay()
        return loss.clone()

    return take_step


def train(seed, data, options, device):
    torch.manual_seed(seed)
    (train_x, train_y), (test_x, test_y) = data
    layout = torch.channels_last if options.channels_last else torch.contiguous_format
    model = ResNet18().to(device, memory_format=layout)
    # A graph has the rate's place in it, not its value, and a fused optimizer skips a step without asking the host.
    lr = torch.tensor(options.lr, device=device) if options.graph else options.lr
    optimizer = torch.optim.SGD(
        model.parameters(), lr=lr, momentum=MOMENTUM, nesterov=True, weight_decay=WEIGHT_DECAY, fused=options.graph
    )
    forward = torch.compile(model) if options.compile else model
    scaler = torch.amp.GradScaler(device.type, enabled=options.amp)

    def scores(x):
        x = x.contiguous(memory_format=layout)
        with torch.autocast(device.type, dtype=torch.float16, enabled=options.amp):
            return forward(x)

    def wait():
        if device.type == "cuda":
            torch.cuda.synchronize()

    def one_step(part):
        x = augmented(train_x[part].float() / 255)
        loss = F.cross_entropy(scores(x).float(), train_y[part], label_smoothing=SMOOTHING)
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    per_epoch = len(train_x) // options.batch if options.graph else -(-len(train_x) // options.batch)
    take_step = recorded(one_step, model, optimizer, scaler, options.batch, device) if options.graph else one_step
    total = min(options.epochs * per_epoch, options.max_steps or sys.maxsize)
    step, testing, accuracy, losses = 0, 0.0, 0.0, []
    start = time.perf_counter()
    while step < total:
        model.train()
        order, summed, count = torch.randperm(len(train_x), device=device), torch.zeros((), device=device), 0
        for part in order.split(options.batch)[:per_epoch]:
            for group in optimizer.param_groups:
                if options.graph:
                    group["lr"].fill_(rate(step, total, options.lr))
                else:
                    group["lr"] = rate(step, total, options.lr)
            summed, count, step = summed + take_step(part), count + 1, step + 1
            if step >= total:
                break
        losses.append(summed.item() / count)
        before = time.perf_counter()
        model.eval()
        right = 0
        with torch.no_grad():
            for x, y in zip(test_x.split(TEST_BATCH), test_y.split(TEST_BATCH)):
                right = right + (scores(x.float() / 255).argmax(1) == y).sum()
        accuracy = right.item() / len(test_x)
        testing += time.perf_counter() - before
        print(f"epoch {len(losses)}: loss {losses[-1]:.4f}, test accuracy {accuracy:.4f}", file=sys.stderr, flush=True)
    wait()
    seconds = time.perf_counter() - start
    return {
        "peer": "PyTorch",
        "version": torch.__version__,
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
        "seed": seed,
        "test_accuracy": accuracy,
        "seconds": seconds,
        "training_seconds": seconds - testing,
        "epochs": len(losses),
        "steps": step,
        "batch": options.batch,
        "amp": options.amp,
        "channels_last": options.channels_last,
        "compile": options.compile,
        "graph": options.graph,
        "losses": losses,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--epochs", type=int, default=36)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--max-steps", type=int)
    parser.add_argument("--amp", action="store_true")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--graph", action="store_true")
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    train_set = read(options.folder, [f"data_batch_{batch}" for batch in range(1, 6)], device)
    test_set = read(options.folder, ["test_batch"], device)
    for seed in options.seeds.split(","):
        print(json.dumps(train(int(seed), (train_set, test_set), options, device)), flush=True)


if __name__ == "__main__":
    main()
