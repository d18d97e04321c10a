// The programs of "Show as code" for three presets, as tests run them: short, on the CPU. `node tests/programs.mjs` writes the Rust ones
// into crates/flambeau/examples, where every build compiles them; `--check` only says whether they are up to date.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
export const root = here("../../");

/** The presets whose programs are run: an MLP, convolutions with dropout, and residual blocks on pictures changed by chance. */
export const SAMPLES = [
  { preset: "Quick look", name: "app_perceptron", shorter: { steps: 60 } },
  { preset: "Convolutions", name: "app_convolutions", shorter: { steps: 20 } },
  { preset: "Residual", name: "app_residual", shorter: { steps: 10, batch: 16 }, isLong: true },
];

const bundle = here("../node_modules/.programs.mjs");
await build({
  stdin: {
    contents: `
      export { dataFile } from "./work/code/files.ts";
      export { programOf } from "./work/code/index.ts";
      export { ACTIVATIONS } from "./work/generated/catalogue.ts";
      export { OPTIMIZER_NAMES } from "./work/optimizers.ts";
      export { readQuery } from "./app/url.ts";
      export { PRESETS, trainSchema } from "./work/settings.ts";`,
    resolveDir: here("../src"),
  },
  bundle: true,
  platform: "node",
  format: "esm",
  outfile: bundle,
  logLevel: "warning",
});
export const { ACTIVATIONS, dataFile, OPTIMIZER_NAMES, PRESETS, programOf, readQuery, trainSchema } = await import(bundle);

/** All settings of a preset, with others in place of some. */
export const settingsOf = (preset, others) => ({
  ...readQuery(trainSchema, new URLSearchParams()),
  ...PRESETS.find(({ name }) => name === preset).settings,
  ...others,
});

/** The program of these settings for MNIST's pictures on the CPU. */
export const programFor = (language, name, settings) =>
  programOf(language, {
    name,
    settings,
    device: "cpu",
    shape: [1, 28, 28],
    isBytes: true,
    isNumber: false,
    begunWith: undefined,
  }).text;

export const exampleOf = ({ name }) => `${root}crates/flambeau/examples/${name}.rs`;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  let stale = 0;
  for (const sample of SAMPLES) {
    const text = programFor(
      "rust",
      `Preset “${sample.preset}”, ${sample.shorter.steps} steps`,
      settingsOf(sample.preset, sample.shorter),
    );
    const path = exampleOf(sample);
    if (!process.argv.includes("--check")) writeFileSync(path, text);
    else if (readFileSync(path, "utf8") !== text) {
      console.error(`${path} is not what the app shows: run \`node tests/programs.mjs\` in web/`);
      stale += 1;
    }
  }
  process.exit(stale === 0 ? 0 : 1);
}
