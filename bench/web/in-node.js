import { create, globals } from "webgpu";
import { compare } from "./contenders.js";

Object.assign(globalThis, globals);
const gpu = create([]);
Object.defineProperty(globalThis, "navigator", {
  value: { gpu, userAgent: "node", platform: "linux", vendor: "" },
  configurable: true,
  writable: true,
});
const steps = Number(process.env.STEPS ?? 50);
const adapter = await gpu.requestAdapter();
console.log(`Node ${process.version}, Dawn on ${adapter.info.description || adapter.info.vendor}; ${steps} steps a round`);
await compare({ steps, options: { device: "software", gpu }, tell: (line) => console.log(line) });
process.exit(0);
