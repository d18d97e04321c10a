/**
 * The `GPUDevice` that the module is given: WebGPU's own, but kernels are compiled beside everything else.
 *
 * The module asks for its kernels with `createComputePipeline`, all that a step lacks one after the other. A GPU process, and
 * Dawn in Node, would compile them one after the other too. So each is asked for with `createComputePipelineAsync`, which
 * compiles many at once, and the module gets something that stands for it. Commands are written down while kernels are under
 * way; submitted, they wait until theirs are there, and whatever is asked of the queue afterwards waits behind them: the order
 * is the one that the module knows. A kernel that does not compile is created once more as it was asked for, and fails as it
 * would have done. A lost device ends all waits.
 */

import { compilerOf } from "./parts.js";

/** Told how many of the kernels asked for so far have been compiled. */
export type Compiled = (done: number, all: number) => void;

/** Compiles kernels beside everything else. */
export interface Compiler {
  module(descriptor: GPUShaderModuleDescriptor): GPUShaderModule;
  pipeline(kernel: object, descriptor: GPUComputePipelineDescriptor): Promise<GPUComputePipeline>;
  /** Called when work begins to wait for kernels; `needed` are those that it waits for at the moment. */
  help(needed: () => ReadonlySet<object>): void;
}

/** Stands for a pipeline, which it has when that is compiled. */
class Kernel {
  pipeline?: GPUComputePipeline;
}

/** A call that was written down, with those of the pass that it began. */
type Call = [name: string, args: unknown[], inner: Call[]];

/** Commands that were written down. */
class Commands {
  constructor(
    readonly calls: Call[],
    readonly kernels: Set<Kernel>,
  ) {}
}

/** An error scope of the module. */
interface Scope {
  filter: GPUErrorFilter;
  /** Kernels that were asked for in it, until it is known whether they compile. */
  kernels: Promise<unknown>[];
  error?: GPUError | null;
}

/** What waits for its turn at the queue. */
interface Waiting {
  kernels: Iterable<Kernel>;
  run: () => void;
}

/** Takes an encoder's place: writes down what it is called with. */
function recorder(calls: Call[], kernels: Set<Kernel>): object {
  const call = (name: string, args: unknown[]) => {
    for (const arg of args) if (arg instanceof Kernel) kernels.add(arg);
    const inner: Call[] = [];
    calls.push([name, args, inner]);
    return name === "finish" ? new Commands(calls, kernels) : name === "beginComputePass" ? recorder(inner, kernels) : undefined;
  };
  return new Proxy({}, { get: (_, name: string) => (name === "label" ? "" : (...args: unknown[]) => call(name, args)) });
}

const compiled = (arg: unknown) => (arg instanceof Kernel ? arg.pipeline : arg);

/** Calls an encoder with what was written down; what the last call gives. */
function replay(calls: Call[], encoder: object): unknown {
  let given: unknown;
  for (const [name, args, inner] of calls) {
    given = (encoder as Record<string, (...args: unknown[]) => unknown>)[name]?.(...args.map(compiled));
    if (inner.length > 0) replay(inner, given as object);
  }
  return given;
}

/** An encoder that takes what stands for a pipeline. */
function translating(encoder: GPUCommandEncoder): GPUCommandEncoder {
  const begin = encoder.beginComputePass;
  encoder.beginComputePass = (descriptor) => {
    const pass = begin.call(encoder, descriptor);
    const set = pass.setPipeline;
    pass.setPipeline = (pipeline) => set.call(pass, (pipeline as object as Kernel).pipeline as GPUComputePipeline);
    return pass;
  };
  return encoder;
}

/** The device with its kernels compiled beside everything else. The device itself stays as it is, for others that use it. */
export function compiling(device: GPUDevice, isSoftware: boolean, tell?: Compiled): GPUDevice {
  const { queue } = device;
  const compiler = compilerOf(device, isSoftware);
  const waiting: Waiting[] = [];
  const scopes: Scope[] = [];
  let [done, all, isLost] = [0, 0, false];

  const isThere = (kernels: Iterable<Kernel>) => {
    for (const { pipeline } of kernels) if (pipeline === undefined && !isLost) return false;
    return true;
  };

  /** Does what need not wait any longer. */
  const proceed = () => {
    while (waiting[0] !== undefined && isThere(waiting[0].kernels)) {
      try {
        waiting.shift()?.run();
      } catch (error) {
        // Results of later work would be wrong: there must be none.
        console.error(error);
        device.destroy();
      }
    }
  };

  /** Does something when it is its turn. */
  const inTurn = (run: () => void, kernels: Iterable<Kernel> = []) => {
    if (waiting.length === 0 && isThere(kernels)) run();
    else {
      waiting.push({ kernels, run });
      compiler.help(needed);
    }
  };

  const needed = () => new Set(waiting.flatMap(({ kernels }) => [...kernels]));

  /** Asks something when it is its turn. */
  const answer = <T>(ask: () => Promise<T>) =>
    waiting.length === 0 ? ask() : new Promise<T>((resolve) => inTurn(() => resolve((async () => ask())())));

  /** Has a kernel that did not compile fail where it would have failed when it was asked for. */
  const failed = (kernel: Kernel, descriptor: GPUComputePipelineDescriptor, open: Scope[]) => {
    for (const { filter } of open) device.pushErrorScope(filter);
    kernel.pipeline = device.createComputePipeline(descriptor);
    return Promise.all(open.reverse().map(async (scope) => (scope.error ??= await device.popErrorScope())));
  };

  void device.lost.then(() => {
    isLost = true;
    proceed();
  });

  const own: Partial<Record<string | symbol, unknown>> = {
    queue: {
      submit: (commands: (GPUCommandBuffer | Commands)[]) => {
        const kernels = commands.flatMap((each) => (each instanceof Commands ? [...each.kernels] : []));
        const encoded = (each: GPUCommandBuffer | Commands) =>
          each instanceof Commands ? (replay(each.calls, device.createCommandEncoder()) as GPUCommandBuffer) : each;
        const submit = () => isLost || queue.submit(commands.map(encoded));
        // Nothing is submitted to have the browser look for what is done: that must not wait.
        if (commands.length === 0) submit();
        else inTurn(submit, kernels);
      },
      writeBuffer: (buffer: GPUBuffer, offset: number, bytes: Uint8Array<ArrayBuffer>, ...part: number[]) => {
        // They lie in the module's memory, which changes.
        const kept = waiting.length === 0 ? bytes : bytes.slice();
        inTurn(() => queue.writeBuffer(buffer, offset, kept, ...part));
      },
      onSubmittedWorkDone: () => answer(() => queue.onSubmittedWorkDone()),
    },
    createCommandEncoder: (descriptor: GPUCommandEncoderDescriptor) =>
      done === all ? translating(device.createCommandEncoder(descriptor)) : recorder([], new Set()),
    createBuffer: (descriptor: GPUBufferDescriptor) => {
      const buffer = device.createBuffer(descriptor);
      const { destroy, mapAsync } = buffer;
      buffer.destroy = () => inTurn(() => destroy.call(buffer)) as undefined;
      buffer.mapAsync = (...args) => answer(() => mapAsync.apply(buffer, args));
      return buffer;
    },
    createShaderModule: (descriptor: GPUShaderModuleDescriptor) => compiler.module(descriptor),
    createComputePipeline: (descriptor: GPUComputePipelineDescriptor) => {
      const kernel = new Kernel();
      const open = [...scopes];
      const asked = compiler.pipeline(kernel, descriptor);
      all += 1;
      const made = asked.then(
        (pipeline) => {
          kernel.pipeline = pipeline;
        },
        () => failed(kernel, descriptor, open),
      );
      for (const { kernels } of open) kernels.push(made);
      void made.then(() => {
        done += 1;
        proceed();
        if (!isLost) tell?.(done, all);
      });
      return kernel;
    },
    pushErrorScope: (filter: GPUErrorFilter) => {
      scopes.push({ filter, kernels: [] });
      device.pushErrorScope(filter);
    },
    popErrorScope: async () => {
      const [scope, found] = [scopes.pop(), device.popErrorScope()];
      await Promise.all(scope?.kernels ?? []);
      return (await found) ?? scope?.error ?? null;
    },
  };

  return new Proxy({} as GPUDevice, {
    get: (_, name) => {
      if (name in own) return own[name];
      const value: unknown = Reflect.get(device, name);
      return typeof value === "function" ? value.bind(device) : value;
    },
    set: (_, name, value) => Reflect.set(device, name, value),
  });
}
