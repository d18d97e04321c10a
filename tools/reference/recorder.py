"""What the reference scripts for modules share: running a PyTorch module in float64 and writing what it computes.

For every case `<name>`: `<name>/in/<input>`, `<name>/state/<parameter or buffer>`, `<name>/out/<k>`, and the gradients
`<name>/grad/in/<input>` and `<name>/grad/state/<parameter>` of the sum over all outputs k of out * cos(i + k), i being
the place of the element. Inputs and states are rounded to float32 first, so that both sides begin with the same.
"""

import json
import struct

import torch

NAMES = {torch.float32: "F32", torch.int32: "I32", torch.bool: "BOOL"}


def rounded(tensor):
    return tensor.float().double() if tensor.is_floating_point() else tensor


class Recorder:
    def __init__(self):
        self.tensors = {}

    def put(self, name, tensor):
        tensor = tensor.detach()
        if tensor.is_floating_point():
            tensor = tensor.float()
        elif tensor.dtype != torch.bool:
            tensor = tensor.int()
        assert name not in self.tensors, name
        self.tensors[name] = tensor.contiguous().clone()

    def state(self, name, module):
        """Rounds the module's state and records it."""
        module.double()
        for tensor in module.state_dict().values():
            tensor.copy_(rounded(tensor))
        for key, tensor in module.state_dict().items():
            self.put(f"{name}/state/{key}", tensor)

    def case(self, name, module, inputs, call, grads=True):
        """`call(module, inputs)` gives a list of tensors."""
        self.state(name, module)
        inputs = {key: rounded(tensor) for key, tensor in inputs.items()}
        for key, tensor in inputs.items():
            self.put(f"{name}/in/{key}", tensor)
            if grads and tensor.is_floating_point():
                tensor.requires_grad_(True)
        outputs = call(module, inputs)
        for k, output in enumerate(outputs):
            self.put(f"{name}/out/{k}", output)
        if not grads:
            return
        weight = lambda k, out: torch.cos(torch.arange(out.numel(), dtype=torch.float64) + k).reshape(out.shape)
        sum((output * weight(k, output)).sum() for k, output in enumerate(outputs)).backward()
        for key, tensor in inputs.items():
            if tensor.grad is not None:
                self.put(f"{name}/grad/in/{key}", tensor.grad)
        for key, parameter in module.named_parameters():
            if parameter.grad is not None:
                self.put(f"{name}/grad/state/{key}", parameter.grad)

    def write(self, path):
        header, blob = {}, b""
        for name, tensor in self.tensors.items():
            data = tensor.numpy().tobytes()
            offsets = [len(blob), len(blob) + len(data)]
            header[name] = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": offsets}
            blob += data
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        with open(path, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text + blob)
        print(path, len(text) + len(blob), "bytes")
