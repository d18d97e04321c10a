/**
 * Flambeau: deep learning in the page, on WebGPU, with PyTorch's vocabulary.
 *
 * @packageDocumentation
 */

export { autocast, type AutocastOptions, GradScaler, type GradScalerState, isAutocastEnabled } from "./amp.js";
export { enableGrad, grad, isGradEnabled, noGrad } from "./autograd.js";
export {
  currentDevice,
  Device,
  deviceInfo,
  init,
  memory,
  stats,
  useDevice,
  type DeviceInfo,
  type InitOptions,
  type Memory,
  type Stats,
  type Trace,
  type TracedKernel,
} from "./device.js";
/** Data sets: idx, CSV and pictures in host memory, and loaders that make batches of them. */
export * as data from "./data.js";
export { DataLoader } from "./data.js";
/** Weights and checkpoints as files. */
export * as io from "./io.js";
export { kernel, type KernelOptions } from "./kernel.js";
/** Layers, modules and what belongs to them. */
export * as nn from "./nn/index.js";
/** Optimizers and learning rate schedules. */
export * as optim from "./optim.js";
export {
  getFloat32MatmulPrecision,
  matmulPrecision,
  setFloat32MatmulPrecision,
  type Precision,
} from "./precision.js";
export { Generator, manualSeed } from "./random.js";
export { scope } from "./scope.js";
export {
  get_gpu_info,
  init_gpu,
  matmul_cpu,
  matmul_gpu,
  train_mnist,
  type MnistProgress,
  type TrainedMnist,
  type TrainMnistOptions,
} from "./short.js";
export * from "./tensor.js";
export {
  correct,
  Trainer,
  type EpochReport,
  type Outcome,
  type Progress,
  type Summary,
  type TrainerOptions,
} from "./trainer.js";
export type { Dims, DType, Nested, Sizes, TypedArray } from "./types.js";
export type { WasmSource } from "./wasm.js";
