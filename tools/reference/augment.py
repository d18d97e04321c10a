"""Writes what PyTorch gives for the augmentations of crates/flambeau/tests/values/data.rs.

Run: /usr/bin/python3 tools/reference/augment.py crates/flambeau/tests/data/augment.safetensors

torchvision's colour changes and affine matrices are written out here: it is not needed.
"""

import json
import math
import struct
import sys

import torch
import torch.nn.functional as F

torch.manual_seed(0)
N, C, H, W = 4, 3, 6, 9
x = torch.rand(N, C, H, W, dtype=torch.float64).float().double()
out = {"x": x}

# Crops after padding.
top, left, padding, size = [0, 3, 1, 4], [5, 0, 2, 1], 2, (5, 7)
padded = F.pad(x, [padding] * 4)
out["crop"] = torch.stack([padded[i, :, top[i] : top[i] + size[0], left[i] : left[i] + size[1]] for i in range(N)])

# Flips.
which = torch.tensor([True, False, True, False])
out["flip_horizontal"] = torch.where(which[:, None, None, None], x.flip(3), x)
out["flip_vertical"] = torch.where(which[:, None, None, None], x.flip(2), x)


def inverse_affine_matrix(angle, shift, scale, shear):
    """torchvision's _get_inverse_affine_matrix about the middle, with a shear of vertical lines only."""
    a = math.cos(angle)
    b = -math.cos(angle) * math.tan(shear) - math.sin(angle)
    c = math.sin(angle)
    d = -math.sin(angle) * math.tan(shear) + math.cos(angle)
    matrix = [d / scale, -b / scale, 0.0, -c / scale, a / scale, 0.0]
    matrix[2] += matrix[0] * -shift[0] + matrix[1] * -shift[1]
    matrix[5] += matrix[3] * -shift[0] + matrix[4] * -shift[1]
    return matrix


def normalised(matrix):
    """In coordinates from -1 to 1, as affine_grid has them."""
    a, b, tx, c, d, ty = matrix
    return [[a, b * H / W, tx * 2 / W], [c * W / H, d, ty * 2 / H]]


angles = [0.3, -1.2, 0.0, 2.5]
shifts = [(0.0, 0.0), (1.5, -0.7), (-2.25, 1.0), (0.4, 0.9)]
scales = [1.0, 0.8, 1.3, 1.1]
shears = [0.0, 0.2, -0.3, 0.1]
theta = torch.tensor(
    [normalised(inverse_affine_matrix(*one)) for one in zip(angles, shifts, scales, shears)], dtype=torch.float64
)
out["theta"] = theta
out["affine"] = F.grid_sample(x, F.affine_grid(theta, list(x.shape), align_corners=False), align_corners=False)
free = torch.randn(N, 2, 3, dtype=torch.float64).float().double()
out["free_theta"] = free
out["free_affine"] = F.grid_sample(x, F.affine_grid(free, list(x.shape), align_corners=False), align_corners=False)

# Colours, as torchvision's functional_tensor.
factor = torch.tensor([0.0, 0.5, 1.0, 1.7], dtype=torch.float64)[:, None, None, None]
grey = (0.2989 * x[:, 0] + 0.587 * x[:, 1] + 0.114 * x[:, 2])[:, None]


def blend(a, b):
    return (factor * a + (1 - factor) * b).clamp(0, 1)


out["brightness"] = blend(x, torch.zeros_like(x))
out["contrast"] = blend(x, grey.mean((1, 2, 3), keepdim=True))
out["saturation"] = blend(x, grey)
mean, deviation = [0.4, 0.5, 0.6], [0.2, 0.25, 0.3]
out["normalize"] = (x - torch.tensor(mean)[None, :, None, None].double()) / torch.tensor(deviation)[
    None, :, None, None
].double()

# Holes and mixtures.
erased = x.clone()
for i, (t, l) in enumerate([(-1, 2), (0, 0), (3, 7), (5, -2)]):
    erased[i, :, max(t, 0) : max(t + 3, 0), max(l, 0) : max(l + 4, 0)] = 0
out["erase"] = erased
out["mixup"] = 0.3 * x + 0.7 * x[[2, 0, 3, 1]]


def write(path, tensors):
    header, blob = {}, b""
    for name, tensor in tensors.items():
        data = b"".join(struct.pack("<f", v) for v in tensor.flatten().tolist())
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [len(blob), len(blob) + len(data)]}
        blob += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + blob)


write(sys.argv[1], out)
