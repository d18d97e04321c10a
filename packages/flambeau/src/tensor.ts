import { Ops } from "./generated/ops.js";
import { adopt, setMaker } from "./maker.js";
import { closed, leaveScopes, opened } from "./scope.js";
import { dtypes, type DType, type Nested, type TypedArray } from "./types.js";
import { arrived, wasm } from "./wasm.js";
import type { Device } from "./device.js";

export * from "./generated/ops.js";

/**
 * An n-dimensional array on a device. Methods build a graph and return at once; a value is computed when it is read
 * (`data`, `item`), by an optimizer's step, or by `eval`.
 */
export class Tensor extends Ops {
  #handle: number;

  /** @internal Use `tensor`, `zeros`, … instead. */
  constructor(handle: number) {
    super();
    this.#handle = handle;
    opened(this, handle);
  }

  /** @internal */
  get handle(): number {
    if (this.#handle === 0) throw new Error("flambeau: the tensor has been disposed of");
    return this.#handle;
  }

  /** The sizes of the dimensions. */
  get shape(): number[] {
    return Array.from(wasm().tensor_shape(this.handle));
  }

  /** The number of dimensions. */
  get rank(): number {
    return this.shape.length;
  }

  /** The number of elements. */
  get size(): number {
    return this.shape.reduce((product, size) => product * size, 1);
  }

  /** The element type. */
  get dtype(): DType {
    return dtypes[wasm().tensor_dtype(this.handle)] ?? "f32";
  }

  /** The values in row-major order, in the typed array of the dtype (`f16` as its bits). */
  async data(): Promise<TypedArray> {
    const dtype = this.dtype;
    return view(await arrived(wasm().tensor_bytes(this.handle)), dtype);
  }

  /** The values as nested lists. */
  async array(): Promise<Nested> {
    const { shape, dtype } = this;
    const flat = dtype === "f16" ? await this.toDtype("f32").data() : await this.data();
    const values = Array.from(flat as ArrayLike<number | bigint>, Number);
    return nest(dtype === "bool" ? values.map(Boolean) : values, shape);
  }

  /** The only value. */
  item(): Promise<number> {
    return arrived(wasm().tensor_item(this.handle));
  }

  /** The tensor as PyTorch prints it. */
  text(): Promise<string> {
    return arrived(wasm().tensor_text(this.handle));
  }

  /** Computes the value now, without reading it. */
  eval(): this {
    wasm().tensor_eval(Uint32Array.of(this.handle));
    return this;
  }

  /** The plan that would compute it: one line per kernel. */
  explain(): string {
    return wasm().tensor_explain(this.handle);
  }

  /** The same values on another device. */
  async to(device: Device): Promise<Tensor> {
    return adopt(await arrived(wasm().tensor_to(this.handle, device.number)));
  }

  /** Elements where `mask` is true. Their number is known only then: it waits. */
  async maskedSelect(mask: Tensor): Promise<Tensor> {
    return adopt(await arrived(wasm().tensor_masked_select(this.handle, mask.handle)));
  }

  /** Positions of the elements that are not zero, one row each. */
  async nonzero(): Promise<Tensor> {
    return adopt(await arrived(wasm().tensor_nonzero(this.handle)));
  }

  /** The distinct values in order, where each element's value is among them, and how often each occurs. */
  async unique(): Promise<{ values: Tensor; inverse: Tensor; counts: Tensor }> {
    const [values, inverse, counts] = await arrived(wasm().tensor_unique(this.handle));
    return { values: adopt(values ?? 0), inverse: adopt(inverse ?? 0), counts: adopt(counts ?? 0) };
  }

  /** A leaf with the same values that collects its gradient. */
  requiresGrad(): Tensor {
    return adopt(wasm().tensor_requires_grad(this.handle));
  }

  /** Does it take part in derivatives? */
  get isTracked(): boolean {
    return wasm().tensor_is_tracked(this.handle);
  }

  /** The gradient that `backward` has collected. */
  get grad(): Tensor | undefined {
    const handle = wasm().tensor_grad(this.handle);
    return handle === 0 ? undefined : adopt(handle);
  }

  /** Forgets the gradient. */
  zeroGrad(): void {
    wasm().tensor_zero_grad(this.handle);
  }

  /** Keeps the gradient of a tensor that is no leaf. */
  retainGrad(): this {
    wasm().tensor_retain_grad(this.handle);
    return this;
  }

  /** Adds the derivatives of this scalar (or of `gradient` · this) to the leaves it was made from. */
  backward(options: { gradient?: Tensor; createGraph?: boolean; retainGraph?: boolean } = {}): void {
    const { gradient, createGraph = false, retainGraph = false } = options;
    wasm().tensor_backward(this.handle, gradient?.handle ?? 0, createGraph, retainGraph);
  }

  /** Gives this handle the values of another tensor; others keep what they had. */
  assign(value: Tensor): this {
    wasm().tensor_assign(this.handle, value.handle);
    return this;
  }

  /** Another handle of the same tensor. */
  clone(): Tensor {
    return adopt(wasm().tensor_clone(this.handle));
  }

  /** Computes it with the next training step, and lets it live on after that and after the scope it was made in. */
  keep(): this {
    leaveScopes(this);
    wasm().tensor_keep(this.handle);
    return this;
  }

  /** Lets go of the tensor now. The collector does it otherwise. */
  dispose(): void {
    if (this.#handle === 0) return;
    closed(this);
    wasm().tensor_release(this.#handle);
    this.#handle = 0;
  }

  /** What `using` calls at the end of its block. */
  [Symbol.dispose](): void {
    this.dispose();
  }

  /** Shape and dtype, without computing anything. */
  override toString(): string {
    return this.#handle === 0 ? "Tensor(disposed)" : `Tensor(shape=[${this.shape.join(", ")}], dtype=${this.dtype})`;
  }
}

setMaker((handle) => new Tensor(handle));

/** What a tensor can be made from. */
export type TensorData = Nested | TypedArray | readonly boolean[];

/**
 * A tensor of these values: nested lists, a number, or a typed array with a shape. Lists of numbers become `f32` unless a
 * dtype is given, lists of booleans `bool`.
 *
 * ```ts
 * tensor([[1, 2], [3, 4]]);
 * tensor(new Float32Array(784), { shape: [28, 28] });
 * ```
 */
export function tensor(data: TensorData, options: { shape?: readonly number[]; dtype?: DType } = {}): Tensor {
  if (ArrayBuffer.isView(data)) {
    const array = data as TypedArray;
    const own = dtypeOf(array);
    const shape = options.shape ?? [array.length];
    const dtype = options.dtype === "bool" && own === "u8" ? "bool" : own;
    const made = make(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), shape, dtype);
    return options.dtype === undefined || options.dtype === dtype ? made : made.toDtype(options.dtype);
  }
  const shape: number[] = [];
  for (let at: Nested = data as Nested; Array.isArray(at); at = at[0] as Nested) shape.push(at.length);
  const flat: (number | boolean)[] = [];
  flatten(data as Nested, shape, 0, flat);
  const dtype = options.dtype ?? (typeof flat[0] === "boolean" ? "bool" : "f32");
  return make(encode(flat, dtype), options.shape ?? shape, dtype);
}

function make(bytes: Uint8Array, shape: readonly number[], dtype: DType): Tensor {
  return adopt(wasm().tensor_new(bytes, Uint32Array.from(shape), dtypes.indexOf(dtype)));
}

function flatten(data: Nested, shape: readonly number[], depth: number, to: (number | boolean)[]): void {
  if (!Array.isArray(data)) {
    if (depth !== shape.length) throw new RangeError("flambeau: lists of different depths");
    to.push(data as number | boolean);
    return;
  }
  if (data.length !== shape[depth]) {
    throw new RangeError(`flambeau: a list of ${data.length} where the first of its depth has ${shape[depth]}`);
  }
  for (const part of data as readonly Nested[]) flatten(part, shape, depth + 1, to);
}

function encode(values: readonly (number | boolean)[], dtype: DType): Uint8Array {
  const numbers = values.map(Number);
  const array =
    dtype === "bool" || dtype === "u8"
      ? Uint8Array.from(numbers)
      : dtype === "i32"
        ? Int32Array.from(numbers)
        : dtype === "u32"
          ? Uint32Array.from(numbers)
          : dtype === "i64"
            ? BigInt64Array.from(numbers, (number) => BigInt(number))
            : dtype === "f64"
              ? Float64Array.from(numbers)
              : dtype === "f16"
                ? Uint16Array.from(numbers, halfBits)
                : Float32Array.from(numbers);
  return new Uint8Array(array.buffer);
}

/** The bits of a number in half precision, rounded to even. */
function halfBits(value: number): number {
  const [bits = 0] = new Uint32Array(Float32Array.of(value).buffer);
  const sign = (bits >>> 16) & 0x8000;
  const exponent = (bits >>> 23) & 0xff;
  const fraction = bits & 0x7fffff;
  if (exponent === 0xff) return sign | 0x7c00 | (fraction === 0 ? 0 : 0x200);
  const scaled = exponent - 112;
  if (scaled >= 31) return sign | 0x7c00;
  const shift = scaled > 0 ? 13 : 14 - scaled;
  if (shift > 24) return sign;
  const whole = scaled > 0 ? (scaled << 23) | fraction : fraction | 0x800000;
  const kept = whole >>> shift;
  const rest = whole & ((1 << shift) - 1);
  const half = 1 << (shift - 1);
  return sign | (kept + (rest > half || (rest === half && (kept & 1) === 1) ? 1 : 0));
}

function dtypeOf(array: TypedArray): DType {
  if (array instanceof Float32Array) return "f32";
  if (array instanceof Int32Array) return "i32";
  if (array instanceof Uint32Array) return "u32";
  if (array instanceof Uint8Array) return "u8";
  if (array instanceof Float64Array) return "f64";
  if (array instanceof Uint16Array) return "f16";
  if (array instanceof BigInt64Array) return "i64";
  throw new TypeError(`flambeau: tensors cannot be made from ${Object.prototype.toString.call(array)}`);
}

/** @internal Bytes as the typed array of a dtype. */
export function view(bytes: Uint8Array, dtype: DType): TypedArray {
  // The module gives bytes of their own, from the start of their buffer.
  const { buffer } = bytes.byteOffset === 0 ? bytes : bytes.slice();
  switch (dtype) {
    case "bool":
    case "u8":
      return new Uint8Array(buffer);
    case "i32":
      return new Int32Array(buffer);
    case "u32":
      return new Uint32Array(buffer);
    case "i64":
      return new BigInt64Array(buffer);
    case "f16":
      return new Uint16Array(buffer);
    case "f64":
      return new Float64Array(buffer);
    case "f32":
      return new Float32Array(buffer);
  }
}

function nest(flat: readonly (number | boolean)[], shape: readonly number[]): Nested {
  const [count, ...rest] = shape;
  if (count === undefined) return flat[0] ?? 0;
  const each = rest.reduce((product, size) => product * size, 1);
  return Array.from({ length: count }, (_, index) => nest(flat.slice(index * each, (index + 1) * each), rest));
}

/** Computes several tensors in one plan. */
export function evaluate(tensors: readonly Tensor[]): void {
  wasm().tensor_eval(Uint32Array.from(tensors, (tensor) => tensor.handle));
}

/** Reads the only values of several tensors in one wait. Training goes on meanwhile. */
export async function items(tensors: readonly Tensor[]): Promise<number[]> {
  return Array.from(await arrived(wasm().tensor_items(Uint32Array.from(tensors, (tensor) => tensor.handle))));
}
