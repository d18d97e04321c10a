"""What the scripts that write PyTorch's values share.

A case is a function of named inputs. For each, the file gets `<name>.out`, and where inputs are differentiated
`<name>.grad.<input>` of sum(out * weight) and, if asked for, `<name>.grad2.<input>` of sum(grad * weight2), all in
float64. `weight(n)[i] = cos(i)`, `weight2(n)[i] = sin(1 + i)`. The inputs themselves are `in.<input>`.
"""

import json
import struct

import torch

DOUBLE = torch.float64
KINDS = {torch.float64: "F64", torch.int64: "I64", torch.bool: "BOOL"}


def weights(like, function, shift=0.0):
    return function(torch.arange(like.numel(), dtype=DOUBLE) + shift).reshape(like.shape)


class Cases:
    def __init__(self, inputs):
        self.inputs = inputs
        self.cases = []

    def add(self, name, function, *inputs, second=False):
        self.cases.append((name, function, inputs, second))

    def write(self, path):
        tensors = {"in." + name: value for name, value in self.inputs.items()}
        for name, function, inputs, second in self.cases:
            assert name + ".out" not in tensors, name
            leaves = [self.inputs[i].clone().requires_grad_() for i in inputs]
            out = function(*leaves)
            tensors[name + ".out"] = out
            if not inputs:
                continue
            loss = (out * weights(out, torch.cos)).sum()
            grads = torch.autograd.grad(loss, leaves, create_graph=second)
            for i, grad in zip(inputs, grads):
                tensors[f"{name}.grad.{i}"] = grad
            if second:
                loss = sum((grad * weights(grad, torch.sin, 1.0)).sum() for grad in grads)
                seconds = [None] * len(leaves)
                if loss.requires_grad:
                    seconds = torch.autograd.grad(loss, leaves, allow_unused=True)
                for i, leaf, grad in zip(inputs, leaves, seconds):
                    tensors[f"{name}.grad2.{i}"] = torch.zeros_like(leaf) if grad is None else grad
        header, blob = {}, b""
        for name in sorted(tensors):
            value = tensors[name].detach().contiguous()
            data = value.numpy().tobytes()
            header[name] = {
                "dtype": KINDS[value.dtype],
                "shape": list(value.shape),
                "data_offsets": [len(blob), len(blob) + len(data)],
            }
            blob += data
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(path, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text + blob)
        print(len(self.cases), "cases,", len(text) + len(blob), "bytes")
