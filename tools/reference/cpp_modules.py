"""Writes what PyTorch gives for the modules of crates/flambeau/tests/pytorch that have many parameters: attention, transformers,
recurrent layers.

Run with PyTorch 2.2: python tools/reference/cpp_modules.py crates/flambeau/tests/data/cpp_modules.safetensors
"""

import sys

import torch
import torch.nn as nn
from recorder import Recorder

torch.manual_seed(11)
recorder = Recorder()


def attention(name, mask=None, padding=None, need=False, **options):
    module = nn.MultiheadAttention(4, 2, **options)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.5)
    inputs = {"q": torch.randn(3, 2, 4), "k": torch.randn(5, 2, options.get("kdim") or 4), "v": torch.randn(5, 2, options.get("vdim") or 4)}

    def call(m, x):
        y, w = m(x["q"], x["k"], x["v"], attn_mask=mask, key_padding_mask=padding)
        return [y, w]

    recorder.case(name, module, inputs, call)


hidden = torch.tensor([[False, True, False, False, True], [True, False, False, True, False], [False] * 5])
padding = torch.tensor([[False, False, True, False, True], [False] * 5])
attention("mha")
attention("mha_masks", mask=hidden, padding=padding)
attention("mha_bias_kv", add_bias_kv=True)
attention("mha_bias_kv_masks", mask=hidden, padding=padding, add_bias_kv=True)
attention("mha_zero", add_zero_attn=True)
attention("mha_both", mask=hidden, add_bias_kv=True, add_zero_attn=True)
attention("mha_widths", kdim=3, vdim=6)
attention("mha_widths_both", kdim=3, vdim=6, add_bias_kv=True, add_zero_attn=True)
attention("mha_no_bias", bias=False)


def transformer(name, module, inputs, call):
    module.train(False)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.3)
    # Evaluation mode has a fast path without gradients, which training mode does not take.
    for part in module.modules():
        if isinstance(part, (nn.Dropout,)):
            part.p = 0.0
    module.train(True)
    recorder.case(name, module, inputs, call)


source = lambda: {"src": torch.randn(4, 2, 4)}
both = lambda: {"tgt": torch.randn(3, 2, 4), "memory": torch.randn(4, 2, 4)}
pad = torch.tensor([[False, False, False, True], [False, False, True, True]])
causal3 = torch.triu(torch.ones(3, 3, dtype=torch.bool), 1)
options = dict(dim_feedforward=8, dropout=0.0)
for activation in ["relu", "gelu"]:
    transformer(f"encoder_layer_{activation}", nn.TransformerEncoderLayer(4, 2, activation=activation, **options), source(),
                lambda m, x: [m(x["src"])])
    transformer(f"decoder_layer_{activation}", nn.TransformerDecoderLayer(4, 2, activation=activation, **options), both(),
                lambda m, x: [m(x["tgt"], x["memory"])])
transformer("encoder_layer_masks", nn.TransformerEncoderLayer(4, 2, **options), source(),
            lambda m, x: [m(x["src"], src_key_padding_mask=pad)])
transformer("decoder_layer_masks", nn.TransformerDecoderLayer(4, 2, **options), both(),
            lambda m, x: [m(x["tgt"], x["memory"], tgt_mask=causal3, memory_key_padding_mask=pad)])
transformer("encoder", nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, **options), 2, norm=nn.LayerNorm(4),
                                             enable_nested_tensor=False), source(), lambda m, x: [m(x["src"])])
transformer("decoder", nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, **options), 2, norm=nn.LayerNorm(4)), both(),
            lambda m, x: [m(x["tgt"], x["memory"])])
transformer("transformer", nn.Transformer(4, 2, 2, 1, **options), {"src": torch.randn(4, 2, 4), "tgt": torch.randn(3, 2, 4)},
            lambda m, x: [m(x["src"], x["tgt"], tgt_mask=causal3, src_key_padding_mask=pad, memory_key_padding_mask=pad)])

for name, module in {
    "rnn_tanh": nn.RNN(2, 3, 2), "rnn_relu": nn.RNN(2, 3, 1, nonlinearity="relu", bidirectional=True),
    "gru": nn.GRU(2, 3, 2, bidirectional=True), "lstm": nn.LSTM(2, 3, 2, bidirectional=True), "lstm_proj": nn.LSTM(2, 4, 2, proj_size=3),
}.items():
    lstm = name.startswith("lstm")
    recorder.case(name, module, {"x": torch.randn(5, 4, 2)},
                  lambda m, x, lstm=lstm: (lambda out, state: [out, *state] if lstm else [out, state])(*m(x["x"])))

recorder.write(sys.argv[1])
