#!/usr/bin/env python3
"""PyTorch's transforms of functions (functorch): values, and gradients through them, for tests/values/func.rs.

Run with PyTorch 1.13 and its functorch: /usr/bin/python3 tools/reference/func.py
"""

import torch
from functorch import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, make_functional, vjp, vmap
from torch import nn
from torch.nn import functional as F
from recorder import Recorder

torch.manual_seed(0)
record = Recorder()
randn = lambda *shape: torch.randn(*shape, dtype=torch.float64)


def case(name, call, **inputs):
    """`call` takes the inputs by name."""
    record.case(name, nn.Identity(), inputs, lambda _, x: listed(call(**x)))


def listed(result):
    if isinstance(result, torch.Tensor):
        return [result]
    return [tensor for part in result for tensor in listed(part)]


wave = lambda x: (x.sin() * x * x).sum()
layer = lambda x, w: torch.tanh(x @ w)
peak = lambda x, w: torch.logsumexp(x @ w, -1)
x, w = randn(3), randn(3, 2)

case("grad", lambda x: grad(wave)(x), x=x)
case("grad_of_two", lambda a, b: grad(lambda a, b: (a.exp() * b.cos()).sum(), argnums=(0, 1))(a, b), a=randn(4), b=randn(4))
case("grad_and_value", lambda x: grad_and_value(wave)(x), x=x)
case("grad_grad", lambda x: grad(lambda x: (grad(wave)(x) ** 2).sum())(x), x=x)
case("vjp", lambda x, w, g: vjp(layer, x, w)[1](g), x=x, w=w, g=randn(2))
case("jvp", lambda x, w, v: jvp(lambda x: layer(x, w), (x,), (v,)), x=x, w=w, v=randn(3))
case("jacrev", lambda x, w: jacrev(layer, argnums=(0, 1))(x, w), x=x, w=w)
case("jacfwd", lambda x, w: jacfwd(layer, argnums=(0, 1))(x, w), x=x, w=w)
case("jacobian_of_matrices", lambda x, w: jacrev(lambda x: layer(x, w))(x), x=randn(2, 3), w=w)
case("hessian", lambda x, w: hessian(lambda x: peak(x, w))(x), x=x, w=w)
case("jacfwd_jacrev", lambda x, w: jacfwd(jacrev(lambda x: layer(x, w)))(x), x=x, w=w)
case("jacrev_jacfwd", lambda x, w: jacrev(jacfwd(lambda x: layer(x, w)))(x), x=x, w=w)

case("vmap_dims", lambda x, w: vmap(lambda x, w: layer(x, w) + w.sum(), in_dims=(1, None), out_dims=1)(x, w), x=randn(3, 4), w=w)
distance = lambda a, b: ((a - b) ** 2).sum().sqrt()
case("vmap_vmap", lambda a, b: vmap(vmap(distance, in_dims=(None, 0)), in_dims=(0, None))(a, b), a=randn(3, 2), b=randn(4, 2))
case("vmap_grad", lambda x, w: vmap(grad(lambda x: peak(x, w)))(x), x=randn(4, 3), w=w)
case("grad_vmap", lambda x, w: grad(lambda w: (vmap(lambda x: layer(x, w))(x) ** 3).sum())(w), x=randn(4, 3), w=w)
case("vmap_hessian", lambda x, w: vmap(hessian(lambda x: peak(x, w)))(x), x=randn(4, 3), w=w)
case("vmap_jvp", lambda x, w, v: vmap(lambda x, v: jvp(lambda x: layer(x, w), (x,), (v,))[1])(x, v), x=randn(4, 3), w=w, v=randn(4, 3))
case("jvp_vmap", lambda x, w, v: jvp(lambda x: vmap(lambda x: layer(x, w))(x), (x,), (v,))[1], x=randn(4, 3), w=w, v=randn(4, 3))
case("vmap_jacrev", lambda x, w: vmap(jacrev(layer, argnums=1), in_dims=(0, None))(x, w), x=randn(4, 3), w=w)

# Ops with rules of their own, inside of the gradient of every sample.
kernel = randn(3, 2, 3, 3)
conv = lambda x, k: (F.conv2d(x[None], k, padding=1, stride=2) ** 3).sum()
case("vmap_grad_conv", lambda x, k: vmap(grad(conv, argnums=(0, 1)), in_dims=(0, None))(x, k), x=randn(3, 2, 4, 5), k=kernel)
case("vmap_conv_of_kernels", lambda x, k: vmap(lambda x, k: F.conv2d(x, k, groups=2))(x, k), x=randn(3, 2, 4, 4, 3), k=randn(3, 2, 2, 2, 2))
pool = lambda x: (F.max_pool2d(x[None], 2) * F.avg_pool2d(x[None], 2)).sum()
case("vmap_grad_pool", lambda x: vmap(grad(pool))(x), x=randn(3, 2, 4, 4))
# Written out: the second derivative of `F.layer_norm` is wrong inside of functorch 1.13's vmap (a loop over the samples says so).
unit = lambda x: (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, unbiased=False, keepdim=True) + 1e-5)
norm = lambda x, w: ((unit(x) * w) ** 3).sum()
case("vmap_grad_norm", lambda x, w: vmap(grad(norm, argnums=(0, 1)), in_dims=(0, None))(x, w), x=randn(3, 2, 5), w=randn(5))
attend = lambda q, k, v: (torch.softmax(q @ k.transpose(-2, -1) / 2, -1) @ v).pow(2).sum()
case("vmap_grad_attention", lambda q, k, v: vmap(grad(attend, argnums=(0, 1, 2)), in_dims=(0, None, 0))(q, k, v),
     q=randn(3, 2, 5, 4), k=randn(2, 5, 4), v=randn(3, 2, 5, 4))
order = lambda x: (torch.sort(x)[0] * torch.cumsum(x, 0)).sum()
case("vmap_grad_sort", lambda x: vmap(grad(order))(x), x=randn(3, 6))


class Net(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.first, self.last = nn.Linear(inputs, 5), nn.Linear(5, outputs)

    def forward(self, x):
        return self.last(torch.tanh(self.first(x)))


def per_sample(net, x):
    apply, state = make_functional(net)
    loss = lambda state, x, y: F.cross_entropy(apply(state, x[None]), y[None])
    return list(vmap(grad(loss), in_dims=(None, 0, 0))(tuple(net.parameters()), x["x"], x["y"].long()))


record.case("per_sample_gradients", Net(4, 3), {"x": randn(6, 4), "y": torch.tensor([0, 2, 1, 1, 0, 2])}, per_sample)


def curvature(net, x):
    """u, u' and u'' of a network of one number."""
    apply, _ = make_functional(net)
    state = tuple(net.parameters())
    u = lambda x: apply(state, x[None])[0]
    return [vmap(u)(x["x"]), vmap(grad(u))(x["x"]), vmap(grad(grad(u)))(x["x"])]


record.case("second_derivatives_of_a_network", Net(1, 1), {"x": randn(6)}, curvature)

record.write("crates/flambeau/tests/data/func.safetensors")
