"""The models of flambeau::nn::models, written with PyTorch: what models.py and golden.py take their values from.

Names and structure are those of torchvision's residual networks and of nanoGPT, which are not needed to run this.
"""

import torch
import torch.nn.functional as F
from torch import nn


class Mlp(nn.Module):
    def __init__(self, sizes, activation=F.relu):
        super().__init__()
        self.activation, self.count = activation, len(sizes) - 1
        for k, (inputs, outputs) in enumerate(zip(sizes, sizes[1:])):
            setattr(self, f"fc{k + 1}", nn.Linear(inputs, outputs))

    def forward(self, x):
        x = self.fc1(x.flatten(1))
        for k in range(1, self.count):
            x = getattr(self, f"fc{k + 1}")(self.activation(x))
        return x


class Cnn(nn.Module):
    def __init__(self, classes, inputs, size, channels, hidden, batch_norm):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, channels[0], 3)
        self.bn1 = nn.BatchNorm2d(channels[0]) if batch_norm else nn.Identity()
        self.conv2 = nn.Conv2d(channels[0], channels[1], 3)
        self.bn2 = nn.BatchNorm2d(channels[1]) if batch_norm else nn.Identity()
        shrunk = lambda side: (side - 2) // 2
        self.fc1 = nn.Linear(channels[1] * shrunk(shrunk(size)) ** 2, hidden)
        self.fc2 = nn.Linear(hidden, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, inputs, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = downsample(inputs, width, stride)

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, inputs, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.downsample = downsample(inputs, 4 * width, stride)

    def forward(self, x):
        y = F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))))
        return F.relu(self.bn3(self.conv3(y)) + (x if self.downsample is None else self.downsample(x)))


def downsample(inputs, outputs, stride):
    if stride == 1 and inputs == outputs:
        return None
    return nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))


class ResNet(nn.Module):
    def __init__(self, block, blocks, classes, width, cifar=False):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, 1, 1, bias=False) if cifar else nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.maxpool = nn.Identity() if cifar else nn.MaxPool2d(3, 2, 1)
        inputs = width
        for stage, count in enumerate(blocks):
            layers = []
            for k in range(count):
                layers.append(block(inputs, width << stage, 2 if stage > 0 and k == 0 else 1))
                inputs = (width << stage) * block.expansion
            setattr(self, f"layer{stage + 1}", nn.Sequential(*layers))
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x):
        x = self.maxpool(F.relu(self.bn1(self.conv1(x))))
        for layer in (self.layer1, self.layer2, self.layer3, self.layer4):
            x = layer(x)
        return self.fc(x.mean((2, 3)))


class LayerNorm(nn.Module):
    def __init__(self, width, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


class Attention(nn.Module):
    def __init__(self, width, heads, bias):
        super().__init__()
        self.c_attn = nn.Linear(width, 3 * width, bias=bias)
        self.c_proj = nn.Linear(width, width, bias=bias)
        self.heads = heads

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (y.view(B, T, self.heads, -1).transpose(1, 2) for y in self.c_attn(x).split(C, dim=2))
        scores = q @ k.transpose(-2, -1) / (C // self.heads) ** 0.5
        scores = scores.masked_fill(torch.ones(T, T, device=x.device).triu(1).bool(), float("-inf"))
        return self.c_proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self, width, heads, bias):
        super().__init__()
        self.ln_1 = LayerNorm(width, bias)
        self.attn = Attention(width, heads, bias)
        self.ln_2 = LayerNorm(width, bias)
        self.mlp = nn.ModuleDict(dict(c_fc=nn.Linear(width, 4 * width, bias=bias),
                                      c_proj=nn.Linear(4 * width, width, bias=bias)))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp["c_proj"](F.gelu(self.mlp["c_fc"](self.ln_2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, vocabulary, context, layers, heads, width, bias=True, tied=True):
        super().__init__()
        self.transformer = nn.ModuleDict(dict(
            wte=nn.Embedding(vocabulary, width),
            wpe=nn.Embedding(context, width),
            h=nn.ModuleList([Block(width, heads, bias) for _ in range(layers)]),
            ln_f=LayerNorm(width, bias)))
        self.lm_head = nn.Linear(width, vocabulary, bias=False)
        for parameter in self.parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, 0.0, 0.2)
        if tied:
            self.lm_head.weight = self.transformer["wte"].weight

    def forward(self, tokens):
        x = self.transformer["wte"](tokens) + self.transformer["wpe"].weight[:tokens.shape[1]]
        for block in self.transformer["h"]:
            x = block(x)
        return self.lm_head(self.transformer["ln_f"](x))
