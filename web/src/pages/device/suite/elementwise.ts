/** Cases of the ops that work element by element. */

import { CaseMaker, floats, given, integers, of, truths, type Case } from "./case.js";

const POSITIVE = floats([33, 17], 0.2, 3);
const WITHIN_ONE = floats([33, 17], -0.9, 0.9);
const SPECIAL = given([0, 1, -1, Number.NaN, Infinity, -Infinity, 3.5, -2.5], [2, 4]);
const WHOLE = integers([33, 17], -20, 20);
const SHIFTS = integers([17], 0, 6);

const arithmetic = new CaseMaker("Arithmetic")
  .binary("add")
  .binary("sub")
  .binary("mul")
  .binary("div")
  .binary("rsub")
  .binary("maximum")
  .binary("minimum")
  .binary("remainder")
  .binary("fmod")
  .binary("floorDivide")
  .binary("hypot")
  .binary("pow", POSITIVE)
  .unary("neg")
  .unary("reciprocal", POSITIVE)
  .unary("abs")
  .unary("sign")
  .unary("square")
  .unary("floor")
  .unary("ceil")
  .unary("round")
  .unary("trunc")
  .unary("frac")
  .smooth("clamp", [floats([33, 17])], ([x]) => of(x).clamp(-1, 0.5))
  .smooth("clampMin", [floats([33, 17]), floats([17])], ([x, low]) => of(x).clampMin(of(low)))
  .smooth("clampMax", [floats([33, 17]), floats([17])], ([x, high]) => of(x).clampMax(of(high)))
  .smooth("lerp", [floats([33, 17]), floats([17]), floats([33, 1], 0, 1)], ([x, end, weight]) => of(x).lerp(of(end), of(weight)))
  .smooth("where", [truths([33, 17]), floats([17]), floats([33, 1])], ([condition, a, b]) => of(condition).where(of(a), of(b)))
  .plain("nanToNum", [SPECIAL], ([x]) => of(x).nanToNum(0.5, 9, -9));

const functions = new CaseMaker("Functions")
  .unary("exp")
  .unary("exp2")
  .unary("expm1")
  .unary("log", POSITIVE)
  .unary("log2", POSITIVE)
  .unary("log10", POSITIVE)
  .unary("log1p", POSITIVE)
  .unary("sqrt", POSITIVE)
  .unary("rsqrt", POSITIVE)
  .unary("sin")
  .unary("cos")
  .unary("tan", floats([33, 17], -1.2, 1.2))
  .unary("asin", WITHIN_ONE)
  .unary("acos", WITHIN_ONE)
  .unary("atan")
  .unary("sinh")
  .unary("cosh")
  .unary("tanh")
  .unary("asinh")
  .unary("acosh", floats([33, 17], 1.2, 4))
  .unary("atanh", WITHIN_ONE)
  .binary("atan2")
  .unary("erf")
  .unary("erfc")
  .unary("sigmoid")
  .unary("logSigmoid")
  .smooth("logit", [floats([33, 17], 0.1, 0.9)], ([x]) => of(x).logit(0.05))
  .binary("logaddexp")
  .unary("deg2rad", floats([33, 17], -180, 180))
  .unary("rad2deg");

const comparison = new CaseMaker("Comparison and bits")
  .unary("isnan", SPECIAL, false)
  .unary("isinf", SPECIAL, false)
  .unary("isfinite", SPECIAL, false)
  .unary("bitnot", WHOLE, false)
  .unary("logicalNot", truths([33, 17]), false);
for (const op of ["gt", "ge", "lt", "le", "eq", "ne", "bitand", "bitor", "bitxor"] as const) {
  comparison.binary(op, WHOLE, integers([17], -3, 4), false);
}
for (const op of ["shiftLeft", "shiftRight"] as const) comparison.binary(op, WHOLE, SHIFTS, false);
for (const op of ["logicalAnd", "logicalOr", "logicalXor"] as const) {
  comparison.binary(op, integers([33, 17], 0, 2), integers([17], 0, 2), false);
}

const activations = new CaseMaker("Activations")
  .unary("relu")
  .unary("relu6", floats([33, 17], -2, 8))
  .unary("silu")
  .unary("gelu")
  .unary("geluTanh")
  .unary("mish")
  .unary("hardsigmoid", floats([33, 17], -5, 5))
  .unary("hardswish", floats([33, 17], -5, 5))
  .unary("softplus")
  .unary("selu")
  .unary("softsign")
  .unary("tanhshrink")
  .smooth("softplusWith", [floats([33, 17])], ([x]) => of(x).softplusWith(2, 3))
  .smooth("elu", [floats([33, 17])], ([x]) => of(x).elu(0.7))
  .smooth("celu", [floats([33, 17])], ([x]) => of(x).celu(0.7))
  .smooth("leakyRelu", [floats([33, 17])], ([x]) => of(x).leakyRelu(0.2))
  .smooth("prelu", [floats([4, 3, 5]), floats([3], 0.1, 0.5)], ([x, slope]) => of(x).prelu(of(slope)))
  .smooth("hardtanh", [floats([33, 17])], ([x]) => of(x).hardtanh(-1, 1))
  .smooth("hardshrink", [floats([33, 17])], ([x]) => of(x).hardshrink(0.5))
  .smooth("softshrink", [floats([33, 17])], ([x]) => of(x).softshrink(0.5))
  .smooth("threshold", [floats([33, 17])], ([x]) => of(x).threshold(0.3, -1))
  .smooth("glu", [floats([33, 18])], ([x]) => of(x).glu(1))
  .smooth("softmax", [floats([9, 40])], ([x]) => of(x).softmax(1))
  .smooth("logSoftmax", [floats([9, 40])], ([x]) => of(x).logSoftmax(1))
  .smooth("softmin", [floats([9, 40])], ([x]) => of(x).softmin(0));

/** Every case of this file. */
export const elementwise: readonly Case[] = [arithmetic, functions, comparison, activations].flatMap(({ cases }) => cases);
