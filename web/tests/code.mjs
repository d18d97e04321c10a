// Whether the Rust and the PyTorch programs of “Show as code” reach what the JavaScript one reaches, which gives the app's own losses bit for
// bit (code.e2e.mjs): `node tests/code.mjs [part of a name]`. It compiles the Rust ones against crates/flambeau and runs the others with
// PYTHON (/usr/bin/python3), which needs PyTorch and NumPy (Debian: python3-torch). Some minutes: no part of the tests.
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { folder, keep, output } from "./node.mjs";
import { ACTIVATIONS, dataFile, OPTIMIZER_NAMES, programOf, root, SAMPLES, settingsOf } from "./programs.mjs";

/** How far a loss may be from the JavaScript's, relative to it (losses below 1: absolute). */
const MOST = 1e-3;
const PYTHON = process.env.PYTHON ?? "/usr/bin/python3";
const mnist = `${root}data/mnist`;
const small = { layers: "flatten_linear-32_relu_linear-10", items: 600, batch: 32, steps: 30 };
const MNIST = { device: "cpu", shape: [1, 28, 28], isBytes: true, isNumber: false, begunWith: undefined };

/** Rows of five numbers, and a class or a number that follows from them. */
function part(count, isNumber) {
  const items = Float32Array.from({ length: 5 * count }, (_, place) => Math.sin(1 + place * place * 0.7));
  const sums = Float32Array.from({ length: count }, (_, row) => items[5 * row] + 0.5 * items[5 * row + 3]);
  return { items, labels: isNumber ? sums : Uint8Array.from(sums, (sum) => (sum < -0.4 ? 0 : sum < 0.4 ? 1 : 2)) };
}

async function own(isNumber) {
  const file = dataFile({ shape: [5], train: part(100, isNumber), test: part(40, isNumber) });
  const place = keep(`own-${isNumber}.safetensors`, new Uint8Array(await file.arrayBuffer()));
  return { ...MNIST, shape: [5], isBytes: false, isNumber, place };
}

/** What is run: presets, every optimizer, all activations, and what else a program can have. */
const cases = [
  ...SAMPLES.map(({ preset, name, shorter }) => ({ name, settings: settingsOf(preset, shorter), ...MNIST })),
  ...OPTIMIZER_NAMES.map((optimizer) => ({
    name: `optimizer_${optimizer}`,
    settings: settingsOf("Quick look", { ...small, optimizer, lr: optimizer === "adadelta" ? 0.5 : 0.002, decay: 0.01 }),
    ...MNIST,
    // NAdam of PyTorch before 2 is another one: see docs/departures.md.
    skip: optimizer === "nadam" ? "python" : undefined,
  })),
  ...Object.keys(ACTIVATIONS).map((activation) => ({
    name: `activation_${activation.toLowerCase()}`,
    settings: settingsOf("Quick look", { ...small, layers: `flatten_linear-32_${activation}_linear-10`, steps: 20 }),
    ...MNIST,
  })),
  {
    name: "layers",
    settings: settingsOf("Quick look", {
      ...small,
      layers: "conv-4-5-2_batchnorm_relu_avgpool-2_conv-6-1-1_tanh_flatten_batchnorm_dropout-0.3_linear-10",
    }),
    ...MNIST,
  },
  {
    name: "augmented",
    settings: settingsOf("Quick look", {
      ...small,
      shift: 1.5,
      zoom: 0.2,
      noise: 0.15,
      mirror: true,
      rates: [
        { step: 0, lr: 0.002 },
        { step: 13, lr: 0.0003 },
      ],
    }),
    ...MNIST,
  },
  {
    name: "own_classes",
    settings: settingsOf("Quick look", { data: "csv", layers: "linear-8_relu_linear-3", batch: 16, steps: 40 }),
    ...(await own(false)),
  },
  {
    name: "own_number",
    settings: settingsOf("Quick look", { data: "csv", layers: "linear-8_relu_linear-1", batch: 16, steps: 40, items: 70 }),
    ...(await own(true)),
  },
].filter(({ name }) => name.includes(process.argv[2] ?? ""));

/** Compiles the Rust programs as the binaries of one package; gives where they are. */
function compile() {
  const crate = join(folder, "rust");
  rmSync(join(crate, "src"), { recursive: true, force: true });
  mkdirSync(join(crate, "src/bin"), { recursive: true });
  writeFileSync(
    join(crate, "Cargo.toml"),
    `[package]\nname = "shown"\nversion = "0.0.0"\nedition = "2024"\n\n[dependencies]\nflambeau = { path = ${JSON.stringify(`${root}crates/flambeau`)}, default-features = false }\n\n[profile.dev]\nopt-level = 1\ndebug = false\n\n[profile.dev.package."*"]\nopt-level = 3\n\n[workspace]\n`,
  );
  execFileSync("cp", [`${root}Cargo.lock`, crate]);
  for (const each of cases) writeFileSync(join(crate, `src/bin/${each.name}.rs`), programOf("rust", each).text);
  const target = `${root}target/shown`;
  execFileSync("cargo", ["build", "--manifest-path", join(crate, "Cargo.toml"), "--target-dir", target], { stdio: "inherit" });
  return join(target, "debug");
}

/** The largest distance between two curves, tests at the end included. */
const distance = (a, b) =>
  a.points.length === b.points.length
    ? Math.max(
        ...[...a.points, a.test].map(
          ({ loss }, place) => Math.abs(loss - [...b.points, b.test][place].loss) / Math.max(1, Math.abs(loss)),
        ),
      )
    : Number.POSITIVE_INFINITY;

const binaries = compile();
let failed = 0;
console.log("program                   last loss  Rust      PyTorch");
for (const each of cases) {
  const place = each.place ?? mnist;
  const program = (language, end) => keep(`${each.name}.${end}`, programOf(language, each).text);
  const wanted = await output("node", program("javascript", "mjs"), place);
  const rust = distance(wanted, await output(join(binaries, each.name), place));
  const python = each.skip === "python" ? undefined : distance(wanted, await output(PYTHON, program("python", "py"), place));
  const bad = !(rust <= MOST) || (python !== undefined && !(python <= MOST));
  failed += bad ? 1 : 0;
  const written = (value) => (value === undefined ? "left out" : value.toExponential(1)).padEnd(9);
  console.log(
    `${each.name.padEnd(25)} ${wanted.points.at(-1).loss.toFixed(4).padEnd(10)} ${written(rust)} ${written(python)}${bad ? " TOO FAR" : ""}`,
  );
}
console.log(failed === 0 ? `all ${cases.length} within ${MOST}` : `${failed} of ${cases.length} are too far`);
process.exit(failed === 0 && cases.length > 0 ? 0 : 1);
