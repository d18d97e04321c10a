/** A run as a Rust program, with the crate `flambeau`. */

import { type Activation, isActivation, samePadding } from "../layers.js";
import type { OptimizerName } from "../optimizers.js";
import {
  type CodeSource,
  folderOf,
  hasKind,
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

/** The crate's optimizers; their settings have the same name with `Options` behind. */
const OPTIMIZERS: Record<OptimizerName, string> = {
  sgd: "Sgd",
  momentum: "Sgd",
  adam: "Adam",
  adamw: "AdamW",
  adadelta: "Adadelta",
  adagrad: "Adagrad",
  adamax: "Adamax",
  lion: "Lion",
  nadam: "NAdam",
  radam: "RAdam",
  rmsprop: "RmsProp",
};

/** Activations that have settings, which stay as they are. */
const WITH_SETTINGS = new Set<Activation>([
  "gelu",
  "leakyRelu",
  "elu",
  "celu",
  "softplus",
  "hardtanh",
  "hardshrink",
  "softshrink",
]);
const ALONG_THE_LAST = new Set<Activation>(["softmax", "logSoftmax", "softmin"]);

/** A number that Rust takes for a float. */
export const float = (value: number) => (Number.isInteger(value) && !String(value).includes("e") ? `${value}.0` : String(value));

function activation(kind: Activation): string {
  const name = `nn::${kind.charAt(0).toUpperCase()}${kind.slice(1)}`;
  if (ALONG_THE_LAST.has(kind)) return `${name} { dim: -1 }`;
  return WITH_SETTINGS.has(kind) ? `${name}::default()` : name;
}

function layer({ kind, values, input }: PlacedLayer): string {
  const [first = 0, second = 0, third = 0] = values;
  const [channels = 0] = input;
  if (isActivation(kind)) return activation(kind);
  switch (kind) {
    case "linear":
      return `nn::Linear::new(${channels}, ${first}, &device)`;
    case "conv": {
      const stride = third === 1 ? "" : `.with_stride(${third})`;
      const padding = samePadding(second) === 0 ? "" : `.with_padding(${samePadding(second)})`;
      if (stride + padding === "") return `nn::Conv2d::new(${channels}, ${first}, ${second}, &device)`;
      return `nn::Conv2d::with_options(${channels}, ${first}, ${second}, Conv2dOptions::default()${stride}${padding}, &device)`;
    }
    case "residual":
      return `ResidualBlock::new(${channels}, ${first}, ${second}, &device)`;
    case "maxpool":
      return `nn::MaxPool2d::new(${first})`;
    case "avgpool":
      return `nn::AvgPool2d::new(${first})`;
    case "globalpool":
      return "Sequential::new().with(nn::AdaptiveAvgPool2d::new(1)).with(nn::Flatten::default())";
    case "flatten":
      return "nn::Flatten::default()";
    case "batchnorm":
      return `nn::BatchNorm${input.length === 3 ? 2 : 1}d::new(${channels}, &device)`;
    case "dropout":
      return `nn::Dropout::new(${float(first)})`;
  }
}

const RESIDUAL = `
/// relu(x + f(x)), f two convolutions of 3 × 3 with batch norm; where the shape changes, x goes through one of 1 × 1.
#[derive(Module)]
struct ResidualBlock {
    conv1: nn::Conv2d,
    bn1: nn::BatchNorm2d,
    conv2: nn::Conv2d,
    bn2: nn::BatchNorm2d,
    shortcut: Sequential,
}

impl ResidualBlock {
    fn new(channels: usize, out: usize, stride: usize, device: &Device) -> ResidualBlock {
        let conv = |channels, kernel, stride, padding: usize| {
            let windows = Conv2dOptions::default().with_stride(stride).with_padding(padding);
            let options = nn::ConvLayerOptions { bias: false, ..windows.into() };
            nn::Conv2d::with_options(channels, out, kernel, options, device)
        };
        let (conv1, conv2) = (conv(channels, 3, stride, 1), conv(out, 3, 1, 1));
        let [bn1, bn2] = [out, out].map(|out| nn::BatchNorm2d::new(out, device));
        let mut shortcut = Sequential::new();
        if channels != out || stride != 1 {
            shortcut = shortcut.with(conv(channels, 1, stride, 0)).with(nn::BatchNorm2d::new(out, device));
        }
        ResidualBlock { conv1, bn1, conv2, bn2, shortcut }
    }
}

impl Forward for ResidualBlock {
    fn try_forward(&self, x: &Tensor) -> Result<Tensor> {
        let inner = self.bn1.try_forward(&self.conv1.try_forward(x)?)?.relu();
        let inner = self.bn2.try_forward(&self.conv2.try_forward(&inner)?)?;
        Ok((inner + self.shortcut.try_forward(x)?).relu())
    }
}`;

function augment(source: CodeSource): string {
  const { shift, zoom, noise, mirror } = source.settings;
  const resampling = [
    "",
    "/// (B, 1, n, n) matrices that resample rows of n pixels: shifted, zoomed and mirrored by chance, picture by picture.",
    "fn resampling(batch: usize, size: usize, mirror: bool, device: &Device) -> Tensor {",
    "    let generator = Generator::default_generator();",
    "    let draw = || Tensor::rand([batch, 1, 1, 1], &generator, device) * 2.0 - 1.0;",
    "    let middle = (size as f64 - 1.0) / 2.0;",
    `    let mut scale = draw() * ${float(zoom)} + 1.0;`,
    "    if mirror {",
    "        scale *= draw().sign();",
    "    }",
    "    let pixels = Tensor::arange(0.0, size as f64, 1.0, device);",
    `    let from = (pixels.reshape([1, 1, size, 1]) - middle) * scale + middle + draw() * ${float(shift)};`,
    "    ((from - pixels.reshape([1, 1, 1, size])).abs().neg() + 1.0).relu()",
    "}",
  ];
  const changed = isResampled(source) ? "rows.matmul(pictures).matmul(&columns.transpose(2, 3))" : "pictures";
  return lines(
    isResampled(source) ? resampling : undefined,
    "",
    "/// The pictures (B, C, H, W), changed by chance.",
    "fn augment(pictures: &Tensor) -> Tensor {",
    isResampled(source)
      ? [
          "    let device = pictures.device();",
          "    let [batch, channels, height, width] = [0, 1, 2, 3].map(|dim| pictures.size(dim));",
          "    let rows = resampling(batch, height, false, device).expand([batch, channels, height, height]);",
          `    let columns = resampling(batch, width, ${mirror}, device).expand([batch, channels, width, width]);`,
        ]
      : undefined,
    noise > 0
      ? [
          `    let noise = Tensor::randn(pictures.shape(), &Generator::default_generator(), pictures.device()) * ${float(noise)};`,
          `    ${changed} + noise`,
        ]
      : `    ${changed}`,
    "}",
  ).trimEnd();
}

/** Reads the data: `train` and `test` are items and labels. */
function readData(source: CodeSource): string[] {
  const { data, items } = source.settings;
  if (folderOf(source) !== undefined) {
    const first = items === 0 ? "" : `.first(${items})`;
    return [
      `    let set = ${data === "mnist" ? "Mnist" : "FashionMnist"}::open(&place)?;`,
      "    let tensors = |images: &Images| -> Result<(Tensor, Tensor)> {",
      "        let labels = Tensor::from_slice(images.labels(), [images.labels().len()], &device);",
      "        Ok((images.pixels().to_tensor(&device)?, labels))",
      "    };",
      `    let (train, test) = (tensors(&set.train${first})?, tensors(&set.test)?);`,
    ];
  }
  const take = (name: string) => (items === 0 || name.startsWith("test") ? "" : `.narrow(0, 0, count)`);
  const label = source.isNumber ? "" : ".to_dtype(DType::I32)";
  return [
    "    let file = flambeau::io::load_safetensors(&place, &device)?.tensors;",
    '    let part = |name: &str| file.get(name).expect("items and labels, to train with and to test with");',
    items === 0 ? undefined : `    let count = part("train_labels").size(0).min(${items});`,
    `    let train = (part("train_items")${take("train")}.clone(), part("train_labels")${take("train")}${label || ".clone()"});`,
    `    let test = (part("test_items").clone(), part("test_labels")${label || ".clone()"});`,
  ].filter((line) => line !== undefined);
}

function rate(source: CodeSource): string | undefined {
  const { settings } = source;
  if (settings.rates.length === 0) return undefined;
  const rates = ratesOf(settings);
  return lines(
    "",
    "/// The learning rate of the step that follows `step` others.",
    "fn rate(step: usize) -> f64 {",
    "    match step {",
    rates.map(([from, lr], place) => {
      const next = rates[place + 1]?.[0];
      return `        ${next === undefined ? "_" : `${from}..${next}`} => ${float(lr)},`;
    }),
    "    }",
    "}",
  ).trimEnd();
}

/** The program. */
export function rustProgram(source: CodeSource): string {
  const { settings, begunWith, device, isNumber } = source;
  const { optimizer, lr, decay, batch, epochs, steps, seed, rates, data, amp } = settings;
  const scope = (body: string) => (amp ? `autocast(true, || ${body})` : body);
  const kind = OPTIMIZERS[optimizer];
  const options = [
    `learning_rate: ${float(lr)}`,
    ...(decay === 0 && optimizer !== "adamw" ? [] : [`weight_decay: ${float(decay)}`]),
    ...(optimizer === "momentum" ? ["momentum: 0.9"] : []),
  ];
  const reader = folderOf(source) === undefined ? [] : ["Images", data === "mnist" ? "Mnist" : "FashionMnist"];
  const names = ["HostRandom", ...reader].sort();
  const scaled = source.isBytes ? "to_dtype(DType::F32) / 255.0" : "clone()";
  return lines(
    `//! ${source.name}: a run of Flambeau's app as a program.`,
    "//!",
    `//! In a crate that depends on \`flambeau\`: \`cargo run --release -- ${placeOfData(source)}\``,
    needs(source).map((line) => `//! ${line}`),
    "//! Weights, batches and chance are those of the run; its losses are met up to rounding.",
    "",
    amp ? "use flambeau::autograd::autocast;" : undefined,
    `use flambeau::data::${names.length === 1 ? names[0] : `{${names.join(", ")}}`};`,
    "use flambeau::nn::{self, Sequential};",
    "use flambeau::optim;",
    "use flambeau::prelude::*;",
    hasKind(source, "residual") ? RESIDUAL : undefined,
    isAugmented(source) ? augment(source) : undefined,
    rate(source),
    "",
    "/// Items as the network takes them.",
    "fn input(items: &Tensor) -> Tensor {",
    `    items.${scaled}`,
    "}",
    "",
    isNumber
      ? [
          "/// The squared error, and how much of the variation is explained (R²), times the items of the batch.",
          "fn outcome(outputs: &Tensor, labels: &Tensor) -> (Tensor, Tensor) {",
          "    let loss = outputs.reshape(labels.shape()).mse_loss(labels);",
          "    let explained = (loss.detach().neg() + 1.0) * labels.size(0) as f64;",
          "    (loss, explained)",
          "}",
        ]
      : [
          "/// The cross entropy, and how many answers are right.",
          "fn outcome(outputs: &Tensor, labels: &Tensor) -> (Tensor, Tensor) {",
          "    (outputs.cross_entropy(labels), outputs.argmax(1).eq(labels).sum(..))",
          "}",
        ],
    "",
    "fn main() -> Result<()> {",
    "    flambeau::block_on(run())",
    "}",
    "",
    "async fn run() -> Result<()> {",
    `    let device = Device::named("${device}").await?;`,
    `    let place = std::env::args().nth(1).unwrap_or_else(|| "${placeOfData(source)}".into());`,
    readData(source),
    "",
    `    flambeau::manual_seed(${seed});`,
    "    let model = Sequential::new()",
    placedLayers(source).map((each, index, all) => `        .with(${layer(each)})${index + 1 === all.length ? ";" : ""}`),
    begunWith === undefined
      ? undefined
      : `    model.load_weights(std::env::args().nth(2).unwrap_or_else(|| ${JSON.stringify(begunWith)}.into()))?;`,
    `    let options = optim::${kind}Options { ${options.join(", ")}, ..Default::default() };`,
    `    let mut optimizer = optim::${kind}::with_options(model.parameters(), options);`,
    amp ? "    let mut scaler = optim::GradScaler::new(&device);" : undefined,
    "",
    `    let (count, batch, epochs) = (train.1.size(0), ${batch}, ${epochs});`,
    steps === 0
      ? "    let steps = epochs * count.div_ceil(batch);"
      : `    let steps = (epochs * count.div_ceil(batch)).min(${steps});`,
    `    let mut random = HostRandom::new(&Generator::new(${seed}));`,
    "    let (mut step, mut sums, mut seen) = (0, [0.0, 0.0], 0);",
    "    while step < steps {",
    "        let order: Vec<i32> = random.permutation(count).into_iter().map(|place| place as i32).collect();",
    "        for places in order.chunks(batch).take(steps - step) {",
    "            let rows = Tensor::from_slice(places, [places.len()], &device);",
    "            let x = input(&train.0.index_select(0, &rows));",
    isAugmented(source) ? "            let x = augment(&x);" : undefined,
    "            let labels = train.1.index_select(0, &rows);",
    `            let (loss, right) = ${scope("outcome(&model.forward(&x), &labels)")};`,
    `            ${amp ? "scaler.scale(&loss)" : "loss"}.backward()?;`,
    rates.length === 0 ? undefined : "            optimizer.set_learning_rate(rate(step));",
    amp ? ["            scaler.step(&mut optimizer)?;", "            scaler.update()?;"] : "            optimizer.step()?;",
    "            optimizer.zero_grad();",
    "            sums = [sums[0] + loss.item().await? * places.len() as f64, sums[1] + right.item().await?];",
    "            (step, seen) = (step + 1, seen + places.len());",
    "            if step % 10 == 0 || step == steps {",
    "                let [loss, accuracy] = sums.map(|sum| sum / seen as f64);",
    '                println!("step {step}: loss {loss}, accuracy {accuracy}");',
    "                (sums, seen) = ([0.0, 0.0], 0);",
    "            }",
    "        }",
    "    }",
    "",
    "    model.eval();",
    "    let (count, mut sums) = (test.1.size(0), [0.0, 0.0]);",
    `    for start in (0..count).step_by(${TEST_BATCH}) {`,
    `        let size = ${TEST_BATCH}.min(count - start);`,
    "        let part = |all: &Tensor| all.narrow(0, start, size);",
    `        let (loss, right) = no_grad(|| ${scope("outcome(&model.forward(&input(&part(&test.0))), &part(&test.1))")});`,
    "        sums = [sums[0] + loss.item().await? * size as f64, sums[1] + right.item().await?];",
    "    }",
    "    let [loss, accuracy] = sums.map(|sum| sum / count as f64);",
    '    println!("test: loss {loss}, accuracy {accuracy}");',
    "    Ok(())",
    "}",
  );
}
