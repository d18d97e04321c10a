#!/usr/bin/env python3
"""PyTorch's recurrent and attention layers: values and gradients for tests/values/sequence.rs.

Run with PyTorch 1.13: /usr/bin/python3 tools/reference/sequence.py
"""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from recorder import Recorder

torch.manual_seed(0)
record = Recorder()
randn = lambda *shape: torch.randn(*shape, dtype=torch.float64)
T, B, I, H = 4, 2, 3, 4


def recurrent(name, module, inputs):
    def call(module, x):
        states = (x["h"], x["c"]) if "c" in x else x.get("h")
        output, last = module(x["x"], states)
        return [output, *(last if isinstance(last, tuple) else [last])]

    record.case(name, module, inputs, call)


def packed(name, module, batch_first=False):
    lengths = [3, T, 1]

    def call(module, x):
        sequence = pack_padded_sequence(x["x"], lengths, batch_first=batch_first, enforce_sorted=False)
        output, last = module(sequence)
        output, _ = pad_packed_sequence(output, batch_first=batch_first)
        return [output, *(last if isinstance(last, tuple) else [last])]

    shape = (3, T, I) if batch_first else (T, 3, I)
    record.case(name, module, {"x": randn(*shape)}, call)


recurrent("rnn", nn.RNN(I, H), {"x": randn(T, B, I)})
recurrent("rnn_relu", nn.RNN(I, H, 2, nonlinearity="relu", bias=False, bidirectional=True),
          {"x": randn(T, B, I), "h": randn(4, B, H)})
recurrent("rnn_one", nn.RNN(I, H), {"x": randn(T, I), "h": randn(1, H)})
recurrent("gru", nn.GRU(I, H, 2, bidirectional=True), {"x": randn(T, B, I), "h": randn(4, B, H)})
recurrent("gru_batch_first", nn.GRU(I, H, bias=False, batch_first=True), {"x": randn(B, T, I)})
recurrent("lstm", nn.LSTM(I, H), {"x": randn(T, B, I)})
recurrent("lstm_deep", nn.LSTM(I, H, 2, bidirectional=True, batch_first=True),
          {"x": randn(B, T, I), "h": randn(4, B, H), "c": randn(4, B, H)})
recurrent("lstm_proj", nn.LSTM(I, H, 2, bidirectional=True, bias=False, proj_size=2),
          {"x": randn(T, B, I), "h": randn(4, B, 2), "c": randn(4, B, H)})
packed("rnn_packed", nn.RNN(I, H, bidirectional=True))
packed("gru_packed", nn.GRU(I, H, 2, bidirectional=True), batch_first=True)
packed("lstm_packed", nn.LSTM(I, H, 2, bidirectional=True, proj_size=2))
packed("lstm_packed_plain", nn.LSTM(I, H))

cell = lambda module, x: [module(x["x"], x["h"])]
record.case("rnn_cell", nn.RNNCell(I, H, nonlinearity="relu"), {"x": randn(B, I), "h": randn(B, H)}, cell)
record.case("gru_cell", nn.GRUCell(I, H), {"x": randn(B, I), "h": randn(B, H)}, cell)
record.case("lstm_cell", nn.LSTMCell(I, H, bias=False), {"x": randn(I), "h": randn(H), "c": randn(H)},
            lambda module, x: list(module(x["x"], (x["h"], x["c"]))))

E, HEADS, S = 8, 2, 5


def attention(name, module, inputs, **options):
    """Masks among the inputs are named as PyTorch's arguments."""
    def call(module, x):
        masks = {key: x[key] for key in ("attn_mask", "key_padding_mask") if key in x}
        key = x.get("k", x["q"])
        output, weights = module(x["q"], key, x.get("v", key), **masks, **options)
        return [output] if weights is None else [output, weights]

    # PyTorch begins with biases of zero.
    for key, parameter in module.named_parameters():
        if "bias" in key:
            nn.init.normal_(parameter)
    record.case(name, module, inputs, call)


padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
attention("attention", nn.MultiheadAttention(E, HEADS), {"q": randn(T, B, E)})
attention("attention_no_weights", nn.MultiheadAttention(E, HEADS, batch_first=True, bias=False),
          {"q": randn(B, T, E), "attn_mask": torch.ones(T, T).triu(1).bool()}, need_weights=False)
attention("attention_cross", nn.MultiheadAttention(E, HEADS, kdim=3, vdim=5, batch_first=True),
          {"q": randn(B, T, E), "k": randn(B, S, 3), "v": randn(B, S, 5), "key_padding_mask": padding},
          average_attn_weights=False)
attention("attention_additive", nn.MultiheadAttention(E, HEADS),
          {"q": randn(T, B, E), "k": randn(S, B, E), "attn_mask": randn(B * HEADS, T, S), "key_padding_mask": padding})
attention("attention_one", nn.MultiheadAttention(E, HEADS), {"q": randn(T, E), "k": randn(S, E)})


def shaken(module):
    """Norms and biases away from where they begin."""
    for key, parameter in module.named_parameters():
        if parameter.dim() == 1:
            nn.init.normal_(parameter, 0.5, 0.5)
    return module


WIDE = 6
options = dict(d_model=E, nhead=HEADS, dim_feedforward=WIDE, dropout=0.0)
causal = torch.ones(T, T).triu(1).bool()
record.case("encoder_layer", shaken(nn.TransformerEncoderLayer(**options)), {"x": randn(T, B, E), "mask": causal},
            lambda module, x: [module(x["x"], src_mask=x["mask"])])
record.case("encoder_layer_norm_first",
            shaken(nn.TransformerEncoderLayer(**options, norm_first=True, activation="gelu", batch_first=True)),
            {"x": randn(B, S, E), "padding": padding},
            lambda module, x: [module(x["x"], src_key_padding_mask=x["padding"])])
record.case("decoder_layer", shaken(nn.TransformerDecoderLayer(**options)),
            {"x": randn(T, B, E), "memory": randn(S, B, E), "mask": causal, "padding": padding},
            lambda module, x: [module(x["x"], x["memory"], tgt_mask=x["mask"], memory_key_padding_mask=x["padding"])])
record.case("decoder_layer_norm_first",
            shaken(nn.TransformerDecoderLayer(**options, norm_first=True, activation="gelu", batch_first=True)),
            {"x": randn(B, T, E), "memory": randn(B, S, E)}, lambda module, x: [module(x["x"], x["memory"])])
record.case("encoder", shaken(nn.TransformerEncoder(
                nn.TransformerEncoderLayer(**options), 2, norm=nn.LayerNorm(E), enable_nested_tensor=False)),
            {"x": randn(S, B, E), "padding": padding},
            lambda module, x: [module(x["x"], src_key_padding_mask=x["padding"])])
record.case("transformer", shaken(nn.Transformer(
                num_encoder_layers=1, num_decoder_layers=1, **options, batch_first=True)),
            {"src": randn(B, S, E), "tgt": randn(B, T, E), "mask": causal, "padding": padding},
            lambda module, x: [module(x["src"], x["tgt"], tgt_mask=x["mask"], src_key_padding_mask=x["padding"],
                                      memory_key_padding_mask=x["padding"])])
record.write("crates/flambeau/tests/data/sequence.safetensors")
