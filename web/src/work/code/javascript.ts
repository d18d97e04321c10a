// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders are those of the program that is written.
/** A run as a program for Node, with the package `flambeau`. */

import { OPTIMIZERS } from "../generated/catalogue.js";
import { isActivation, samePadding } from "../layers.js";
import {
  type CodeSource,
  folderOf,
  hasKind,
  indented,
  isAugmented,
  isResampled,
  lines,
  needs,
  type PlacedLayer,
  placedLayers,
  placeOfData,
  ratesOf,
  TEST_BATCH,
} from "./source.js";

function layer({ kind, values, input }: PlacedLayer): string {
  const [first = 0, second = 0, third = 0] = values;
  const [channels = 0] = input;
  if (isActivation(kind)) return `nn.${kind}()`;
  switch (kind) {
    case "linear":
      return `nn.linear(${channels}, ${first})`;
    case "conv":
      return `nn.conv2d(${channels}, ${first}, ${second}, { stride: ${third}, padding: ${samePadding(second)} })`;
    case "residual":
      return `new ResidualBlock(${channels}, ${first}, ${second})`;
    case "maxpool":
      return `nn.maxPool2d(${first})`;
    case "avgpool":
      return `nn.avgPool2d(${first})`;
    case "globalpool":
      return "nn.sequential(nn.adaptiveAvgPool2d([1, 1]), nn.flatten())";
    case "flatten":
      return "nn.flatten()";
    case "batchnorm":
      return `nn.batchNorm${input.length === 3 ? 2 : 1}d(${channels})`;
    case "dropout":
      return `nn.dropout(${first})`;
  }
}

const RESIDUAL = `
/** relu(x + f(x)), f two convolutions of 3 × 3 with batch norm; where the shape changes, x goes through one of 1 × 1. */
class ResidualBlock extends nn.Module {
  constructor(channels, out, stride) {
    super();
    this.conv1 = nn.conv2d(channels, out, 3, { stride, padding: 1, bias: false });
    this.bn1 = nn.batchNorm2d(out);
    this.conv2 = nn.conv2d(out, out, 3, { padding: 1, bias: false });
    this.bn2 = nn.batchNorm2d(out);
    this.shortcut =
      channels === out && stride === 1 ? [] : [nn.conv2d(channels, out, 1, { stride, bias: false }), nn.batchNorm2d(out)];
  }

  forward(x) {
    const inner = this.bn2.forward(this.conv2.forward(this.bn1.forward(this.conv1.forward(x)).relu()));
    return inner.add(this.shortcut.reduce((y, layer) => layer.forward(y), x)).relu();
  }
}`;

const RESAMPLING = `
/** (B, 1, n, n) matrices that resample rows of n pixels: shifted, zoomed and mirrored by chance, picture by picture. */
function resampling(batch, size, shift, zoom, mirror) {
  const draw = () => rand([batch, 1, 1, 1]).mul(2).sub(1);
  const middle = (size - 1) / 2;
  let scale = draw().mul(zoom).add(1);
  if (mirror) scale = scale.mul(draw().sign());
  const places = arange(0, size).reshape([1, 1, size, 1]).sub(middle);
  const from = places.mul(scale).add(middle).add(draw().mul(shift));
  const pixels = arange(0, size).reshape([1, 1, 1, size]);
  return from.sub(pixels).abs().neg().add(1).relu();
}`;

function augment(source: CodeSource): string {
  const { shift, zoom, noise, mirror } = source.settings;
  const [channels = 0, height = 0, width = 0] = source.shape;
  return lines(
    isResampled(source) ? RESAMPLING : undefined,
    "",
    "/** The pictures (B, C, H, W), changed by chance. */",
    "function augment(pictures) {",
    "  const [batch] = pictures.shape;",
    isResampled(source)
      ? [
          `  const rows = resampling(batch, ${height}, ${shift}, ${zoom}, false).expand([batch, ${channels}, ${height}, ${height}]);`,
          `  const columns = resampling(batch, ${width}, ${shift}, ${zoom}, ${mirror}).expand([batch, ${channels}, ${width}, ${width}]);`,
          "  const changed = rows.matmul(pictures).matmul(columns.transpose(2, 3));",
        ]
      : "  const changed = pictures;",
    noise > 0 ? `  return changed.add(randn([batch, ${channels}, ${height}, ${width}]).mul(${noise}));` : "  return changed;",
    "}",
  ).trimEnd();
}

function readData(source: CodeSource): string[] {
  const { items } = source.settings;
  if (folderOf(source) === undefined) {
    const first = items === 0 ? "" : `.narrow(0, 0, Math.min(${items}, file.train_labels.shape[0]))`;
    return [
      "const file = await io.readSafetensors(await readFile(place));",
      `const train = [file.train_items${first}, file.train_labels${first}];`,
      "const test = [file.test_items, file.test_labels];",
    ];
  }
  return [
    "const read = async (name) => data.readIdx(await readFile(`${place}/${name}-ubyte.gz`));",
    `/** Pictures (N, 28, 28) as (N, 1, 28, 28) and their labels${items === 0 ? "" : ": the first so many"}. */`,
    "const pair = async (name, most = Infinity) => {",
    "  const [pictures, labels] = [await read(`${name}-images-idx3`), await read(`${name}-labels-idx1`)];",
    "  const count = Math.min(most, labels.shape[0]);",
    "  return [",
    "    { data: pictures.data.subarray(0, count * 784), shape: [count, 1, 28, 28], dtype: pictures.dtype },",
    "    { data: labels.data.subarray(0, count), shape: [count], dtype: labels.dtype },",
    "  ];",
    "};",
    `const train = await pair("train"${items === 0 ? "" : `, ${items}`});`,
    'const test = await pair("t10k");',
  ];
}

function outcome(source: CodeSource): string[] {
  const scaled = source.isBytes ? 'items.toDtype("f32").div(255)' : "items";
  const changed = source.settings.amp ? `autocast(() => augment(${scaled}), { enabled: false })` : `augment(${scaled})`;
  const input = isAugmented(source) ? `model.training ? ${changed} : ${scaled}` : scaled;
  return source.isNumber
    ? [
        "/** Of a batch: the squared error, and how much of the variation is explained (R²). */",
        "function outcome(model, [items, y]) {",
        "  const count = y.shape[0];",
        `  const loss = model.forward(${input}).reshape([count]).mseLoss(y);`,
        "  return { loss, count, metrics: { accuracy: loss.detach().neg().add(1).mul(count) } };",
        "}",
      ]
    : [
        "/** Of a batch: the cross entropy, and how many answers are right. */",
        "function outcome(model, [items, y]) {",
        `  const outputs = model.forward(${input});`,
        '  const labels = y.toDtype("i32");',
        "  return { loss: outputs.crossEntropy(labels), count: y.shape[0], metrics: { accuracy: correct(outputs, labels) } };",
        "}",
      ];
}

/** The program. */
export function javascriptProgram(source: CodeSource): string {
  const { settings, device, begunWith } = source;
  const { optimizer, lr, decay, batch, epochs, steps, seed, rates, amp } = settings;
  const make = optimizer === "momentum" ? "sgd" : OPTIMIZERS[optimizer][1];
  const options = [`lr: ${lr}`, `weightDecay: ${decay}`, ...(optimizer === "momentum" ? ["momentum: 0.9"] : [])];
  const own = folderOf(source) === undefined;
  const imports = [
    "DataLoader",
    "Trainer",
    ...(isResampled(source) ? ["arange"] : []),
    ...(isAugmented(source) && settings.amp ? ["autocast"] : []),
    ...(source.isNumber ? [] : ["correct"]),
    ...(own ? [] : ["data"]),
    "init",
    ...(own || begunWith !== undefined ? ["io"] : []),
    "manualSeed",
    "nn",
    "optim",
    ...(isResampled(source) ? ["rand"] : []),
    ...(isAugmented(source) && settings.noise > 0 ? ["randn"] : []),
  ];
  const promise =
    device === "cpu"
      ? "On the CPU it gives the run's losses, bit for bit."
      : "On the same GPU it gives the run's losses up to rounding: browsers and Node compile kernels differently.";
  return lines(
    `// ${source.name}: a run of Flambeau's app as a program.`,
    `// npm install flambeau${device === "cpu" ? "" : " webgpu"} && node run.mjs ${placeOfData(source)}`,
    needs(source).map((line) => `// ${line}`),
    `// ${promise}`,
    'import { readFile } from "node:fs/promises";',
    `import { ${imports.join(", ")} } from "flambeau";`,
    device === "cpu" ? undefined : 'import { create, globals } from "webgpu";',
    hasKind(source, "residual") ? RESIDUAL : undefined,
    isAugmented(source) ? augment(source) : undefined,
    "",
    outcome(source),
    "",
    device === "cpu"
      ? 'await init({ device: "cpu" });'
      : ["Object.assign(globalThis, globals);", `await init({ device: "${device}", gpu: create([]) });`],
    `const place = process.argv[2] ?? "${placeOfData(source)}";`,
    readData(source),
    "",
    `manualSeed(${seed});`,
    "const model = nn.sequential(",
    placedLayers(source).map((each) => `${indented(layer(each), 2)},`),
    ");",
    begunWith === undefined
      ? undefined
      : `model.loadStateDict(await io.readSafetensors(await readFile(process.argv[3] ?? ${JSON.stringify(begunWith)})));`,
    `const optimizer = optim.${make}(model.parameters(), { ${options.join(", ")} });`,
    `const batches = new DataLoader(train, { batchSize: ${batch}, shuffle: ${seed} });`,
    rates.length === 0
      ? undefined
      : ["/** The learning rate from so many steps on. */", `const RATES = ${JSON.stringify(ratesOf(settings))};`],
    "const trainer = new Trainer(model, optimizer, {",
    `  epochs: ${epochs},`,
    steps === 0 ? undefined : `  maxSteps: ${steps},`,
    amp ? "  amp: true," : undefined,
    rates.length === 0
      ? undefined
      : "  scheduler: new optim.LrScheduler(optimizer, (_, step) => RATES.findLast(([from]) => from <= step)[1]),",
    "  logEvery: 10,",
    "  onProgress: ({ step, metrics }) => console.log(`step ${step}: loss ${metrics.loss}, accuracy ${metrics.accuracy}`),",
    "});",
    "await trainer.fit(batches, outcome);",
    "",
    `const tested = await trainer.evaluate(new DataLoader(test, { batchSize: ${TEST_BATCH} }), outcome);`,
    "console.log(`test: loss ${tested.test_loss}, accuracy ${tested.test_accuracy}`);",
  );
}
