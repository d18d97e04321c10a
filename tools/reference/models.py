#!/usr/bin/env python3
"""Values and gradients of the models, for tests/values/models.rs.

Run with PyTorch 1.13: /usr/bin/python3 tools/reference/models.py
"""

import torch
import torch.nn.functional as F
from networks import BasicBlock, Bottleneck, Cnn, Gpt, Mlp, ResNet
from recorder import Recorder

torch.manual_seed(0)
record = Recorder()
randn = lambda *shape: torch.randn(*shape, dtype=torch.float64)
image = lambda module, x: [module(x["x"])]


def shaken(module):
    """Norms away from where they begin, running statistics too."""
    for key, tensor in module.state_dict().items():
        if tensor.dim() == 1 and tensor.is_floating_point() and ("bn" in key or "ln" in key or "downsample" in key):
            tensor.uniform_(0.5, 1.5)
    return module


record.case("mlp", Mlp([12, 7, 5, 3], torch.tanh), {"x": randn(4, 3, 2, 2)}, image)
cnn = lambda batch_norm: shaken(Cnn(5, 2, 14, [3, 4], 6, batch_norm))
record.case("cnn", cnn(False), {"x": randn(2, 2, 14, 14)}, image)
record.case("cnn_norm", cnn(True), {"x": randn(3, 2, 14, 14)}, image)
record.case("cnn_norm_eval", cnn(True).eval(), {"x": randn(2, 2, 14, 14)}, image)
record.case("resnet18_cifar", shaken(ResNet(BasicBlock, [2, 2, 2, 2], 3, 1, cifar=True)), {"x": randn(3, 3, 16, 16)},
            image)
record.case("resnet50", shaken(ResNet(Bottleneck, [3, 4, 6, 3], 3, 1)).eval(), {"x": randn(1, 3, 32, 32)}, image)
tokens = torch.randint(0, 11, (2, 6))
language = lambda module, x: [module(x["tokens"].long())]
record.case("gpt", shaken(Gpt(11, 8, 2, 2, 8)), {"tokens": tokens}, language)
record.case("gpt_untied", shaken(Gpt(11, 8, 1, 4, 8, bias=False, tied=False)), {"tokens": tokens}, language)
record.write("crates/flambeau/tests/data/models.safetensors")
