/** Types that the whole package shares. */

export type { Generator } from "./random.js";

/** The element types. WebGPU has no 64-bit numbers: `i64` and `f64` exist on the CPU only. */
export type DType = "bool" | "u8" | "i32" | "u32" | "i64" | "f16" | "f32" | "f64";

/** Sizes of dimensions, or one for all. */
export type Sizes = number | readonly number[];

/** Dimensions to work along; all of them when left out. Negative ones count from the end. */
export type Dims = number | readonly number[] | undefined;

/** Arrays that tensors are made from and read into. */
export type TypedArray = Uint8Array | Int32Array | Uint32Array | BigInt64Array | Uint16Array | Float32Array | Float64Array;

/** Numbers in nested lists, all of the same length at each depth. */
export type Nested = number | boolean | readonly Nested[];

/** The dtypes by the numbers that the module uses. */
export const dtypes: readonly DType[] = ["bool", "u8", "i32", "u32", "i64", "f16", "f32", "f64"];
