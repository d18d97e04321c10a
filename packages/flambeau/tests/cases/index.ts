/** Every test, and how they are run in a page or in Node. */

import { init, useDevice, type Device } from "flambeau";
import { tests, type Context } from "../harness.js";
import "./tensor.js";
import "./nn.js";
import "./amp.js";
import "./arrays.js";
import "./compiling.js";
import "./faults.js";
import "./federated.js";
import "./readme.js";
import "./mnist.js";

/** What the place says about itself. */
export interface Place {
  device: "cpu" | "software";
  file: Context["file"];
  tell: (line: string) => void;
  gpu?: GPU;
  thorough: boolean;
  /** Only tests with this in their names. */
  filter?: string;
}

/** Message and stack: not every browser has the first in the second. */
function told(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, stack = "" } = error;
  return stack.includes(message) ? stack : `${message}\n${stack}`;
}

/** Runs the tests; the names of those that failed. */
export async function runAll({ device, file, tell, gpu, thorough, filter = "" }: Place): Promise<string[]> {
  const opened: Device = await init({ device, ...(gpu === undefined ? {} : { gpu }) });
  tell(`device: ${opened.info.name || "unnamed"} (${opened.info.type}; ${opened.info.reason})`);
  const open: Context["open"] = async (options) => {
    const another = await init({ device: "software", ...(gpu === undefined ? {} : { gpu }), ...options });
    useDevice(opened);
    return another;
  };
  const adapter: Context["adapter"] = async () => {
    const found = await (gpu ?? navigator.gpu).requestAdapter();
    if (found === null) throw new Error("no adapter");
    return found;
  };
  const failed: string[] = [];
  const isGpu = opened.info.type === "gpu";
  const here = tests.filter(({ name, needsGpu }) => name.includes(filter) && (isGpu || !needsGpu));
  for (const { name, run } of here) {
    const start = performance.now();
    const notes: string[] = [];
    try {
      await run({ gpu: isGpu, thorough, open, adapter, file, note: (text) => void notes.push(text) });
      tell(`ok     ${name} (${Math.round(performance.now() - start)} ms)${notes.map((note) => `\n         ${note}`).join("")}`);
    } catch (error) {
      failed.push(name);
      tell(`FAILED ${name}\n         ${told(error)}`);
    }
  }
  return failed;
}
