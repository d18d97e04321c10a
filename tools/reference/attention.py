#!/usr/bin/env python3
"""PyTorch's attention with masks: values and gradients for tests/values/attention.rs.

Run with PyTorch 1.13: /usr/bin/python3 tools/reference/attention.py
"""

import torch
from torch import nn
from recorder import Recorder

torch.manual_seed(0)
record = Recorder()
randn = lambda *shape: torch.randn(*shape, dtype=torch.float64)
# More queries and keys than a block has.
B, E, HEADS, T, S = 2, 8, 2, 37, 40


def multihead(name, inputs, grads=True):
    """Masks among the inputs are named as PyTorch's arguments."""
    def call(module, x):
        masks = {key: x[key] for key in ("attn_mask", "key_padding_mask") if key in x}
        key = x.get("k", x["q"])
        return [module(x["q"], key, key, **masks, need_weights=False)[0]]

    module = nn.MultiheadAttention(E, HEADS, batch_first=True)
    # PyTorch begins with biases of zero.
    for key, parameter in module.named_parameters():
        if "bias" in key:
            nn.init.normal_(parameter)
    record.case(name, module, inputs, call, grads)


def padding(length, *lengths):
    return torch.tensor([[k >= n for k in range(length)] for n in lengths])


causal = torch.ones(T, T).triu(1).bool()
multihead("causal_padding", {"q": randn(B, T, E), "attn_mask": causal, "key_padding_mask": padding(T, T, 20)})
multihead("additive", {"q": randn(B, T, E), "k": randn(B, S, E), "attn_mask": randn(B * HEADS, T, S),
                       "key_padding_mask": padding(S, 35, S)})
# The second sequence is all padding: NaN.
multihead("nothing_seen", {"q": randn(B, T, E), "key_padding_mask": padding(T, 30, 0)}, grads=False)

layer = nn.TransformerEncoderLayer(E, HEADS, dim_feedforward=6, dropout=0.0, batch_first=True)
record.case("encoder_layer", layer,
            {"x": randn(B, T, E), "attn_mask": causal, "key_padding_mask": padding(T, 33, T)},
            lambda module, x: [module(x["x"], src_mask=x["attn_mask"], src_key_padding_mask=x["key_padding_mask"])])


def grouped(_, x):
    """Written out: PyTorch 1.13 has no public function, and no shared heads."""
    k, v = (x[name].repeat_interleave(2, 1) for name in "kv")
    scores = x["q"] @ k.transpose(-2, -1) / x["q"].shape[-1] ** 0.5
    return [torch.softmax(scores.masked_fill(~x["mask"], float("-inf")), -1) @ v]


record.case("grouped", nn.Identity(),
            {"q": randn(B, 4, T, 3), "k": randn(B, 2, S, 3), "v": randn(B, 2, S, 5),
             "mask": ~padding(S, 11, S).reshape(B, 1, 1, S)}, grouped)
record.write("crates/flambeau/tests/data/attention.safetensors")
