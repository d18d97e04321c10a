/** How kernels are compiled in pages: a browser compiles as many at once as it can. `compiler.node.ts` is how Node does it. */

import type { Compiler } from "./compiling.js";

export const compilerOf = (device: GPUDevice, _isSoftware: boolean): Compiler => ({
  module: (descriptor) => device.createShaderModule(descriptor),
  pipeline: (_, descriptor) => device.createComputePipelineAsync(descriptor),
  help: () => undefined,
});

/** Has a kernel compiled that does nothing: drivers load their compiler with the first one, which takes longer than a kernel. */
export function wake(device: GPUDevice, _isSoftware: boolean): Promise<unknown> {
  const module = device.createShaderModule({ code: "@compute @workgroup_size(1) fn main() {}" });
  return device.createComputePipelineAsync({ label: "nothing", layout: "auto", compute: { module } });
}
