"""Files that PyTorch and NumPy write, for the readers; and PyTorch and NumPy as readers of files that Flambeau wrote.

Run from the repository's root with PyTorch 1.13 and NumPy:

  python3 tools/reference/io.py                writes crates/flambeau/tests/data/io/, which tests/values/io.rs reads:
    state_dict.pt     a module's state_dict, with parameters, buffers and `_metadata`
    checkpoint.pt     nested dictionaries and lists, parameters, views of shared storages, every dtype, numbers, strings
    protocol4.pt      the state_dict in pickle protocol 4
    legacy.pt         the format from before PyTorch 1.6
    module.pt         a module itself, which needs code
    arrays.npz, compressed.npz, version2.npy, version3.npy
    expected.safetensors   the values of all of them in float64, under `<file>/<name>`

  python3 tools/reference/io.py check FOLDER   loads FOLDER's ours.pt, ours.npz, ours.npy, and compares with the formulas
"""

import collections
import json
import struct
import sys

import numpy as np
import torch

FOLDER = "crates/flambeau/tests/data/io"


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 2)
        self.norm = torch.nn.BatchNorm1d(2)


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, value in tensors.items():
        raw = np.ascontiguousarray(value, dtype="<f8").tobytes()
        header[name] = {"dtype": "F64", "shape": list(value.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def flatten(value, name=""):
    if isinstance(value, torch.Tensor):
        yield name, value.detach().double().numpy()
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from flatten(item, f"{name}.{key}" if name else str(key))
    elif isinstance(value, (list, tuple)):
        yield from flatten(dict(enumerate(value)), name)


def pytorch_files():
    torch.manual_seed(0)
    net = Net()
    net.norm(net.fc(torch.randn(5, 3)))
    state = net.state_dict()
    base = torch.arange(24.0)
    dtypes = "float16 bfloat16 float32 float64 int64 int32 int16 int8 uint8 bool".split()
    checkpoint = {
        "epoch": 7,
        "best": 0.125,
        "name": "a run",
        "done": False,
        "nothing": None,
        "big": 2**63 + 5,
        "model": state,
        "parameters": [torch.nn.Parameter(torch.tensor([1.5, -2.5]))],
        "views": {
            "transposed": base.reshape(4, 6).t(),
            "offset": base[5:11],
            "strided": base[1::3],
            "expanded": torch.tensor([3.0]).expand(4),
            "overlapping": base.as_strided((3, 4), (2, 1), 1),
            "same": base,
        },
        "dtypes": {name: torch.tensor([0, 1, 100]).to(getattr(torch, name)) for name in dtypes},
        "edge": {"scalar": torch.tensor(2.5), "empty": torch.zeros(0, 3), "negative": torch.tensor([-1, -(2**31)])},
        "optimizer": {"state": {0: {"step": torch.tensor(3.0)}}, "param_groups": [{"lr": 0.1, "params": [0]}]},
        "shape": torch.Size([2, 3]),
    }
    torch.save(state, f"{FOLDER}/state_dict.pt")
    torch.save(checkpoint, f"{FOLDER}/checkpoint.pt")
    torch.save(state, f"{FOLDER}/protocol4.pt", pickle_protocol=4)
    torch.save(state, f"{FOLDER}/legacy.pt", _use_new_zipfile_serialization=False)
    torch.save(torch.nn.Linear(1, 1), f"{FOLDER}/module.pt")
    expected = {}
    for file, content in [("state_dict.pt", state), ("checkpoint.pt", checkpoint), ("protocol4.pt", state)]:
        expected.update((f"{file}/{name}", value) for name, value in flatten(content))
    return expected


def numpy_files():
    grid = np.arange(24).reshape(2, 3, 4)
    arrays = {f"little_{kind}": (grid[0] * 5).astype("<" + kind) for kind in "i2 i4 i8 u2 u4 u8 f2 f4 f8".split()}
    arrays |= {f"big_{kind}": (grid[0] * 5).astype(">" + kind) for kind in "i2 i4 i8 u2 u4 u8 f2 f4 f8".split()}
    arrays |= {"int8": (grid[0] - 6).astype("i1"), "uint8": grid[0].astype("u1") + 200, "bool": grid[0] % 2 == 0}
    arrays |= {"fortran": np.asfortranarray(grid.astype("f4")), "fortran_big": np.asfortranarray(grid.astype(">i2"))}
    arrays |= {"scalar": np.array(2.5), "empty": np.zeros((0, 3), "f4"), "one": np.array([7], "i4")}
    np.savez(f"{FOLDER}/arrays.npz", **arrays)
    np.savez_compressed(f"{FOLDER}/compressed.npz", **arrays)
    expected = {f"{file}/{name}": value for file in ("arrays.npz", "compressed.npz") for name, value in arrays.items()}
    for version in (2, 3):
        value = np.asfortranarray(grid[1].astype(">f8") / 8)
        with open(f"{FOLDER}/version{version}.npy", "wb") as file:
            np.lib.format.write_array(file, value, version=(version, 0))
        expected[f"version{version}.npy/array"] = value
    return expected


def check(folder):
    def same(name, got, dtype, want):
        assert str(got.dtype).removeprefix("torch.") == dtype, f"{name}: {got.dtype}, not {dtype}"
        got = got.double().numpy() if isinstance(got, torch.Tensor) else got.astype("f8")
        assert got.shape == want.shape and (got == want).all(), f"{name}: {got}, not {want}"

    names = {"f32": "float32", "f16": "float16", "f64": "float64", "i32": "int32", "i64": "int64", "u8": "uint8"}
    grid = np.arange(6.0).reshape(2, 3)
    want = {name: (dtype, grid) for name, dtype in names.items()}
    want |= {"bool": ("bool", (grid != 0).astype("f8")), "u32": ("uint32", grid)}
    want |= {"scalar": ("float32", np.array(2.5)), "empty": ("float32", np.zeros((0, 4))), "dotted.é": ("float32", grid / 4)}
    for options in ({}, {"weights_only": True}):
        loaded = torch.load(f"{folder}/ours.pt", **options)
        assert isinstance(loaded, collections.OrderedDict) and list(loaded) == list(want), list(loaded)
        for name, (dtype, value) in want.items():
            assert loaded[name].is_contiguous()
            same(name, loaded[name], {"uint32": "int64"}.get(dtype, dtype), value)
    loaded = np.load(f"{folder}/ours.npz")
    assert loaded.files == list(want), loaded.files
    for name, (dtype, value) in want.items():
        same(name, loaded[name], dtype, value)
    same("ours.npy", np.load(f"{folder}/ours.npy"), "float32", grid)
    print("checked")


if sys.argv[1:2] == ["check"]:
    check(sys.argv[2])
else:
    write_safetensors(f"{FOLDER}/expected.safetensors", {**pytorch_files(), **numpy_files()})
