"""Random shapes and tensors."""

import torch

SPECIAL = [float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -3.0, 1e-30, 1e30, -1e30]


def shape(draw, least=0, most=4, sizes=(1, 1, 2, 2, 3, 3, 4, 5), elements=64):
    """A shape of few elements."""
    while True:
        dims = [draw.choice(sizes) for _ in range(draw.randint(least, most))]
        count = 1
        for size in dims:
            count *= size
        if count <= elements:
            return dims


def floats(dims, low=-2.0, high=2.0):
    return torch.rand(dims) * (high - low) + low


def normal(dims, scale=1.0):
    return torch.randn(dims) * scale


def ties(draw, dims):
    """Few different values, so that some are equal."""
    return torch.randint(-2, 3, dims).float() * draw.choice([0.5, 1.0])


def special(draw, dims):
    """Numbers among which some are at the edges."""
    flat = floats(dims, -4.0, 4.0).flatten()
    for k in range(flat.numel()):
        if draw.random() < 0.5:
            flat[k] = draw.choice(SPECIAL)
    return flat.reshape(dims)


def integers(draw, dims, dtype=torch.int32, low=-6, high=6):
    if dtype == torch.bool:
        return torch.randint(0, 2, dims).bool()
    return torch.randint(max(low, 0) if dtype == torch.uint8 else low, high + 1, dims).to(dtype)


def broadcast(draw, dims):
    """A shape that broadcasts to this one."""
    kept = [1 if draw.random() < 0.3 else size for size in dims]
    return kept[draw.randint(0, len(kept)):] if draw.random() < 0.4 else kept


def dim(draw, rank):
    return draw.randint(-rank, rank - 1)


def dims(draw, rank):
    """Some dimensions, or None for all."""
    if rank == 0 or draw.random() < 0.25:
        return None
    some = draw.sample(range(rank), draw.randint(1, rank))
    return [d - rank if draw.random() < 0.3 else d for d in some]
