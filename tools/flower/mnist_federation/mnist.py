"""MNIST, its shares, and a network of two linear layers with its derivative, in NumPy."""

import gzip
from pathlib import Path

import numpy as np

PIXELS = 784
CLASSES = 10


def read(folder, part):
    """The pictures (N, 784) from 0 to 1 and the labels (N) of a part: train or t10k."""

    def idx(name, header):
        plain = Path(folder) / name
        packed = Path(folder) / f"{name}.gz"
        content = plain.read_bytes() if plain.exists() else gzip.decompress(packed.read_bytes())
        return np.frombuffer(content, np.uint8)[header:]

    pictures = idx(f"{part}-images-idx3-ubyte", 16).reshape(-1, PIXELS)
    labels = idx(f"{part}-labels-idx1-ubyte", 8)
    return pictures.astype(np.float32) * np.float32(1 / 255), labels.astype(np.int64)


def share(labels, member, members, non_iid):
    """The places of a member's pictures, in ascending order.

    Alike: every `members`-th. Non-IID as in McMahan et al. 2017: pictures in the order of their labels are cut into
    two shards for each member, of which member k has the k-th and the (k + members)-th.
    """
    if not non_iid:
        return np.arange(member, len(labels), members)
    order = np.argsort(labels, kind="stable")
    size = len(labels) // (2 * members)
    shards = [order[number * size : (number + 1) * size] for number in (member, member + members)]
    return np.sort(np.concatenate(shards))


def first_parameters(hidden, seed):
    """Uniform numbers up to 1 / sqrt(inputs), as PyTorch begins."""
    random = np.random.default_rng(seed)

    def uniform(inputs, *shape):
        bound = 1 / np.sqrt(inputs)
        return random.uniform(-bound, bound, shape).astype(np.float32)

    return {
        "fc1.weight": uniform(PIXELS, hidden, PIXELS),
        "fc1.bias": uniform(PIXELS, hidden),
        "fc2.weight": uniform(hidden, CLASSES, hidden),
        "fc2.bias": uniform(hidden, CLASSES),
    }


def scores(parameters, x):
    """The hidden values (N, H) and the scores (N, 10)."""
    hidden = np.maximum(x @ parameters["fc1.weight"].T + parameters["fc1.bias"], 0)
    return hidden, hidden @ parameters["fc2.weight"].T + parameters["fc2.bias"]


def log_softmax(logits):
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def train(parameters, x, y, epochs, batch, rate, mu=0.0):
    """Plain gradient descent over batches in their order; the new parameters and the mean loss of all steps.

    FedProx adds mu/2 |w - w0|^2, with w0 what the round began with.
    """
    start = parameters
    now = {name: value.copy() for name, value in parameters.items()}
    losses = []
    for _ in range(epochs):
        for begin in range(0, len(y), batch):
            inputs, labels = x[begin : begin + batch], y[begin : begin + batch]
            rows = np.arange(len(labels))
            hidden, logits = scores(now, inputs)
            logs = log_softmax(logits)
            losses.append((-logs[rows, labels].mean(), len(labels)))
            of_scores = np.exp(logs)
            of_scores[rows, labels] -= 1
            of_scores /= np.float32(len(labels))
            of_hidden = (of_scores @ now["fc2.weight"]) * (hidden > 0)
            gradients = {
                "fc1.weight": of_hidden.T @ inputs,
                "fc1.bias": of_hidden.sum(axis=0),
                "fc2.weight": of_scores.T @ hidden,
                "fc2.bias": of_scores.sum(axis=0),
            }
            for name, gradient in gradients.items():
                now[name] = now[name] - np.float32(rate) * (gradient + np.float32(mu) * (now[name] - start[name]))
    total = sum(count for _, count in losses)
    return now, float(sum(loss * count for loss, count in losses) / total)


def judge(parameters, x, y):
    """Mean loss and accuracy."""
    logs = log_softmax(scores(parameters, x)[1])
    return float(-logs[np.arange(len(y)), y].mean()), float((logs.argmax(axis=1) == y).mean())
