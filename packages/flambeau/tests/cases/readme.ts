import { assert, test } from "../harness.js";

test("the README's example runs as it stands, and its loss falls", async ({ file }) => {
  const text = new TextDecoder().decode(await file("packages/flambeau/README.md"));
  const example = /## Ten lines\n\n```js\n([\s\S]*?)```/.exec(text)?.[1];
  assert(example !== undefined, "the README has an example");
  const names = /import \{([^}]*)\} from "flambeau";/.exec(example)?.[1];
  assert(names !== undefined, "it imports the package");
  const body = example.replace(/import [^;]*;\n/, "").replace("await init()", 'await init({ device: "cpu" })');
  const said: number[] = [];
  const run = new Function("flambeau", "console", `return (async () => { const {${names}} = flambeau; ${body} })();`) as (
    library: object,
    console: object,
  ) => Promise<void>;
  const flambeau = await import("flambeau");
  const before = flambeau.currentDevice();
  try {
    await run(flambeau, { log: (_: number, loss: number) => void said.push(loss) });
  } finally {
    flambeau.useDevice(before);
  }
  assert(said.length === 3 && (said[2] ?? 1) < (said[0] ?? 0), `losses: ${said.join(", ")}`);
});
