/** A run's settings in words, as its card says them. */

import { count, counted } from "../ui/write.js";
import { type LayerSpec, nameOf, readLayers, ruleOf } from "./layers.js";
import { titleOf } from "./optimizers.js";
import type { Run } from "./run.js";
import type { DataName } from "./settings.js";

const DATA: Record<DataName, string> = {
  mnist: "MNIST",
  fashion: "Fashion-MNIST",
  idx: "Idx files",
  csv: "A table",
  folder: "A folder of pictures",
};
const MODELS = { mlp: "MLP", cnn: "CNN", resnet: "ResNet" } as const;
const DEVICES = { cpu: "CPU", gpu: "GPU", software: "software GPU" } as const;

/** More layers than these are counted instead. */
const MOST_NAMED = 8;

/** A list of layers in a word or several. */
function modelOf(text: string): string {
  const name = nameOf(text);
  if (name !== undefined) return MODELS[name];
  const layers = readLayers(text) ?? [];
  if (layers.length > MOST_NAMED) return counted(layers.length, "layer");
  return layers.map(({ kind, values }: LayerSpec) => [ruleOf(kind).name, ...values].join(" ")).join(", ");
}

/** A setting that is not as it is to begin with. */
const changed = (value: number | boolean, words: string) => (value === 0 || value === false ? [] : [words]);

/** What was learnt, by what, how, and where: a line each. */
export function settingsInWords({ settings, set, steps, device }: Run): string[] {
  const { data, layers, optimizer, lr, rates, batch, epochs, decay, seed, shift, zoom, noise, mirror, amp } = settings;
  const rate = rates.length === 0 ? `rate ${lr}` : `rate ${lr}, then ${rates.map((each) => each.lr).join(", ")}`;
  const augmented = [
    ...changed(shift, `shift ${shift}`),
    ...changed(zoom, `zoom ${zoom}`),
    ...changed(noise, `noise ${noise}`),
    ...changed(mirror, "mirrored"),
  ];
  return [
    `${DATA[data]}${set === undefined ? "" : `: ${count(set.train)} to train, ${count(set.test)} to test`}`,
    `${modelOf(layers)}${set === undefined ? "" : `, ${counted(set.parameters, "parameter")}`}`,
    [
      titleOf(optimizer),
      rate,
      ...changed(decay, `weight decay ${decay}`),
      `batch ${batch}`,
      ...changed(amp, "mixed precision"),
    ].join(", "),
    [counted(epochs, "epoch"), `${count(steps)} steps`, `seed ${seed}`, DEVICES[device], ...augmented].join(", "),
  ];
}
