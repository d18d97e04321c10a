/**
 * How kernels are compiled in Node, where nobody but Dawn does it: two at a time, on threads of its own, in the order in which it is
 * asked; what is done is told when the event loop turns.
 *
 * So kernels that nearly every training begins with are asked for as soon as a device is open, while the module is still being
 * compiled: their texts are in `generated/early.ts`. All others Dawn is handed a few at a time, those with the longest texts first, so that no
 * thread ends with a long one while the others have nothing to do. And while work waits for kernels, the thread that waits compiles one of them
 * itself, the shortest, and then looks at the event loop.
 */

import { EARLY } from "./generated/early.js";
import { compilerOf as inOrder } from "./compiler.js";
import type { Compiler } from "./compiling.js";

/** Kernels that Dawn compiles at the same time. */
const AT_ONCE = 2;
/** Kernels that it has at most, so that it has work while this thread does something else. */
const AHEAD = 3;

/** A kernel that was asked for. */
class Asked {
  resolve!: (pipeline: GPUComputePipeline) => void;
  reject!: (error: unknown) => void;
  readonly made = new Promise<GPUComputePipeline>((resolve, reject) => {
    [this.resolve, this.reject] = [resolve, reject];
  });

  constructor(
    /** What waits for it. */
    readonly kernel: object,
    readonly descriptor: GPUComputePipelineDescriptor,
    /** Characters of its text, by which those are known that take long. */
    readonly length: number,
  ) {}
}

class NodeCompiler implements Compiler {
  readonly #lengths = new WeakMap<GPUShaderModule, number>();
  /** What was asked for before anybody needed it: modules by their texts, and pipelines by their modules. */
  readonly #modules = new Map<string, GPUShaderModule>();
  readonly #early = new WeakMap<GPUShaderModule, Promise<GPUComputePipeline>>();
  /** What Dawn has not been handed yet, the longest texts first. */
  readonly #waiting: Asked[] = [];
  #underWay = 0;
  #isHelping = false;

  constructor(readonly device: GPUDevice) {}

  /** Asks for kernels that will probably be needed: all at once, because this thread will have other things to do than to look after them. */
  prepare(texts: readonly string[]): void {
    for (const code of texts) {
      const module = this.device.createShaderModule({ code });
      this.#modules.set(code, module);
      this.#early.set(module, this.#begin({ label: "early", layout: layoutOf(this.device, code), compute: { module } }));
    }
  }

  module(descriptor: GPUShaderModuleDescriptor): GPUShaderModule {
    const { code } = descriptor;
    const known = this.#modules.get(code);
    if (known !== undefined) return known;
    const module = this.device.createShaderModule(descriptor);
    this.#lengths.set(module, code.length);
    return module;
  }

  pipeline(kernel: object, descriptor: GPUComputePipelineDescriptor): Promise<GPUComputePipeline> {
    const { module } = descriptor.compute;
    const early = this.#early.get(module);
    if (early !== undefined) return early;
    const asked = new Asked(kernel, descriptor, this.#lengths.get(module) ?? 0);
    if (this.#underWay < AT_ONCE) this.#begin(descriptor).then(asked.resolve, asked.reject);
    else {
      const place = this.#waiting.findIndex(({ length }) => length < asked.length);
      this.#waiting.splice(place < 0 ? this.#waiting.length : place, 0, asked);
    }
    return asked.made;
  }

  help(needed: () => ReadonlySet<object>): void {
    if (this.#isHelping) return;
    this.#isHelping = true;
    const turn = () => {
      this.#handOver();
      const kernels = needed();
      const shortest = this.#waiting.filter(({ kernel }) => kernels.has(kernel)).at(-1);
      this.#isHelping = shortest !== undefined;
      if (shortest === undefined) return;
      this.#waiting.splice(this.#waiting.indexOf(shortest), 1);
      this.#compileHere(shortest);
      setImmediate(turn);
    };
    setImmediate(turn);
  }

  /** Hands Dawn what it has room for. */
  #handOver(): void {
    while (this.#underWay < AHEAD) {
      const asked = this.#waiting.shift();
      if (asked === undefined) return;
      this.#begin(asked.descriptor).then(asked.resolve, asked.reject);
    }
  }

  #begin(descriptor: GPUComputePipelineDescriptor): Promise<GPUComputePipeline> {
    this.#underWay += 1;
    const made = this.device.createComputePipelineAsync(descriptor);
    const end = () => {
      this.#underWay -= 1;
      this.#handOver();
    };
    made.then(end, end);
    return made;
  }

  /** Compiles on this thread. An error is for who asked: it will be made again where it is to fail. */
  #compileHere({ descriptor, resolve, reject }: Asked): void {
    const made = async () => {
      const { device } = this;
      const kinds: GPUErrorFilter[] = ["internal", "validation"];
      for (const kind of kinds) device.pushErrorScope(kind);
      const pipeline = device.createComputePipeline(descriptor);
      const errors = await Promise.all(kinds.map(() => device.popErrorScope()));
      const error = errors.find((each) => each !== null);
      if (error !== undefined) throw error;
      return pipeline;
    };
    made().then(resolve, reject);
  }
}

/** The layout of what a text binds, all in group 0: the module has layouts of its own for the same, and WebGPU takes equal ones for one. */
function layoutOf(device: GPUDevice, code: string): GPUPipelineLayout {
  const types = { read: "read-only-storage", read_write: "storage" } as const;
  const entries = [...code.matchAll(/@group\(0\) @binding\((\d+)\) var<(?:uniform|storage, (read|read_write))>/g)].map(
    ([, binding, access]): GPUBindGroupLayoutEntry => ({
      binding: Number(binding),
      visibility: COMPUTE,
      buffer: { type: access === undefined ? "uniform" : types[access as keyof typeof types] },
    }),
  );
  return device.createPipelineLayout({ bindGroupLayouts: [device.createBindGroupLayout({ entries })] });
}

/** `GPUShaderStage.COMPUTE`, which Node does not have. */
const COMPUTE = 4;

const compilers = new WeakMap<GPUDevice, NodeCompiler>();

/** The one of a GPU; the driver of a software adapter compiles one kernel at a time, whoever asks. */
function nodeCompilerOf(device: GPUDevice): NodeCompiler {
  const known = compilers.get(device);
  if (known !== undefined) return known;
  const made = new NodeCompiler(device);
  compilers.set(device, made);
  return made;
}

/** How kernels of a device are compiled. */
export const compilerOf = (device: GPUDevice, isSoftware: boolean): Compiler =>
  isSoftware ? inOrder(device, isSoftware) : nodeCompilerOf(device);

/** Has kernels compiled that will probably be needed. Those of software adapters have other texts. */
export function wake(device: GPUDevice, isSoftware: boolean): void {
  if (!isSoftware) nodeCompilerOf(device).prepare(EARLY);
}
