/** Networks from lists of layers, in a worker. */

import { nn, type Tensor } from "flambeau";
import { isActivation, ruleOf, samePadding, type ItemShape, type LayerSpec } from "./layers.js";

/** relu(x + f(x)) with f two convolutions of 3 × 3 with batch norm; where the shape changes, x goes through one of 1 × 1. */
class ResidualBlock extends nn.Module {
  conv1: nn.Layer;
  bn1: nn.Layer;
  conv2: nn.Layer;
  bn2: nn.Layer;
  shortcut: nn.Layer[];

  constructor(channels: number, out: number, stride: number) {
    super();
    this.conv1 = nn.conv2d(channels, out, 3, { stride, padding: 1, bias: false });
    this.bn1 = nn.batchNorm2d(out);
    this.conv2 = nn.conv2d(out, out, 3, { padding: 1, bias: false });
    this.bn2 = nn.batchNorm2d(out);
    this.shortcut =
      channels === out && stride === 1 ? [] : [nn.conv2d(channels, out, 1, { stride, bias: false }), nn.batchNorm2d(out)];
  }

  forward(x: Tensor): Tensor {
    const inner = this.bn2.forward(this.conv2.forward(this.bn1.forward(this.conv1.forward(x)).relu()));
    return inner.add(this.shortcut.reduce((y, layer) => layer.forward(y), x)).relu();
  }
}

type Forward = nn.Module & { forward(input: Tensor): Tensor };

function build({ kind, values }: LayerSpec, input: ItemShape): Forward {
  const [first = 0, second = 0, third = 0] = values;
  const [channels = 0] = input;
  if (isActivation(kind)) return nn[kind]();
  switch (kind) {
    case "linear":
      return nn.linear(channels, first);
    case "conv":
      return nn.conv2d(channels, first, second, { stride: third, padding: samePadding(second) });
    case "residual":
      return new ResidualBlock(channels, first, second);
    case "maxpool":
      return nn.maxPool2d(first);
    case "avgpool":
      return nn.avgPool2d(first);
    case "globalpool":
      return nn.sequential(nn.adaptiveAvgPool2d([1, 1]), nn.flatten());
    case "flatten":
      return nn.flatten();
    case "batchnorm":
      return input.length === 3 ? nn.batchNorm2d(channels) : nn.batchNorm1d(channels);
    case "dropout":
      return nn.dropout(first);
  }
}

/** The network of a list, for items of this shape. */
export function buildModel(layers: readonly LayerSpec[], input: ItemShape): nn.Sequential {
  let shape = input;
  const modules = layers.map((layer) => {
    const built = build(layer, shape);
    shape = ruleOf(layer.kind).shape(shape, layer.values);
    return built;
  });
  return nn.sequential(...modules);
}
