/**
 * The kernels that a GPU is asked for early in Node, `src/generated/early.ts`: they must be those that the module will ask for, letter by
 * letter. Here the module says which: it describes a step of training on a device that never answers, which compiles nothing.
 */

import { readFile, writeFile } from "node:fs/promises";
import { currentDevice, init, nn, optim, rand, useDevice, zeros } from "flambeau";

/** The kernels of a classifier that Adam trains, by what is done in them; those that take longest first, as far as all nets need them. */
const WANTED = [
  /^matmul$/,
  /\bamax\b.*\blog\b/,
  /^random_bits\+uniform_from_bits\+mul\+add$/,
  /^copy$/,
  /\bgather\b/,
  /\bsqrt\b/,
  /^exp\b/,
];

/** The texts that training asks a GPU of this vendor for, with their names. */
async function asked(gpu: GPU, vendor: string): Promise<[label: string, text: string][]> {
  const adapter = await gpu.requestAdapter();
  const raw = await adapter?.requestDevice();
  if (raw === undefined) throw new Error("no adapter");
  // As if it were a GPU: software adapters have kernels of their own.
  Object.defineProperty(raw, "adapterInfo", { value: { vendor, architecture: "", description: "" } });
  raw.createComputePipelineAsync = () => new Promise(() => undefined);
  const found: [string, string][] = [];
  const { createShaderModule } = raw;
  raw.createShaderModule = (descriptor) => {
    found.push([descriptor.label ?? "", descriptor.code]);
    return createShaderModule.call(raw, descriptor);
  };
  const before = currentDevice();
  const device = await init({ device: raw });
  const net = nn.sequential(nn.linear(784, 128), nn.relu(), nn.linear(128, 10));
  const optimizer = optim.adam(net.parameters(), { lr: 1e-3 });
  const [x, y] = [rand([32, 784]).eval(), zeros([32], "i32").eval()];
  const loss = net.forward(x).crossEntropy(y);
  loss.backward();
  optimizer.step();
  const read = loss.item().catch(() => undefined);
  useDevice(before);
  device.destroy();
  await read;
  return found;
}

const escaped = (text: string) => text.replace(/[\\`$]/g, "\\$&");

/** Writes the file anew if it is out of date; what is wrong then. */
export async function checkEarly(gpu: GPU, root: URL): Promise<string[]> {
  const chosen = (kernels: [label: string, text: string][]) =>
    WANTED.map((wanted) => {
      const [, text] = kernels.find(([label]) => wanted.test(label)) ?? [];
      if (text === undefined) throw new Error(`no kernel is called ${wanted}: ${kernels.map(([label]) => label).join(", ")}`);
      return text;
    });
  const texts = chosen(await asked(gpu, "nvidia"));
  // A GPU that is part of a processor gets the same.
  if (chosen(await asked(gpu, "intel")).join() !== texts.join())
    return ["small GPUs have other texts: they must not be asked early"];
  const path = new URL("packages/flambeau/src/generated/early.ts", root);
  const written = [
    "// Kernels that training begins with, as written by `node tests/run.mjs node --only early`: do not edit by hand.",
    "",
    `export const EARLY: readonly string[] = [\n${texts.map((text) => `  \`${escaped(text)}\`,\n`).join("")}];`,
    "",
  ].join("\n");
  if ((await readFile(path, "utf8").catch(() => "")) === written) return [];
  await writeFile(path, written);
  return ["src/generated/early.ts was out of date, and is written anew: build the package again, and commit"];
}
