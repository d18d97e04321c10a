"""Writes what PyTorch gives for a network of the program's, for crates/flambeau-cli/tests/program/files.rs.

Run: /usr/bin/python3 tools/reference/program.py crates/flambeau-cli/tests/data

cnn.pt: the weights of the cnn for mnist, as PyTorch begins them; cnn.json: its logits on ten of MNIST's test pictures.
"""

import json
import sys

import torch

sys.path.insert(0, "crates/flambeau-cli/tests")
from torch_logits import logits, mnist

# One of each class; the centre of mass of each is where MNIST's makers put it, so that they stay as they are.
INDICES = [3, 2, 1, 18, 4, 15, 11, 0, 61, 7]

torch.manual_seed(3)
layers = {
    "conv1": torch.nn.Conv2d(1, 16, 3),
    "conv2": torch.nn.Conv2d(16, 32, 3),
    "fc1": torch.nn.Linear(800, 64),
    "fc2": torch.nn.Linear(64, 10),
}
state = {f"{name}.{part}": value.detach() for name, layer in layers.items() for part, value in layer.named_parameters()}
# Larger scores than the first weights give: errors would show.
state["fc2.weight"] = state["fc2.weight"] * 20
folder = sys.argv[1]
torch.save(state, f"{folder}/cnn.pt")
with torch.no_grad():
    rows = logits(state, mnist("data/mnist", INDICES)).tolist()
with open(f"{folder}/cnn.json", "w") as file:
    json.dump({"indices": INDICES, "logits": [[float(f"{value:.9g}") for value in row] for row in rows]}, file)
    file.write("\n")
