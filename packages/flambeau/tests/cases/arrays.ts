/** Fourier transforms, linear algebra, NumPy's functions and transforms of functions, held against PyTorch's and NumPy's numbers. */

import { Generator, grad as gradients, io, memory, nn, rand, randn, tensor, type Tensor, zeros } from "flambeau";
import * as fft from "flambeau/fft";
import * as func from "flambeau/func";
import * as linalg from "flambeau/linalg";
import * as numeric from "flambeau/numeric";
import * as random from "flambeau/random";
import { assert, equal, near, test, throws, type Context } from "../harness.js";

type Call = (inputs: Record<string, Tensor>) => readonly Tensor[];

/** The numbers of a reference file. */
const reference = async (file: Context["file"], name: string) =>
  io.readSafetensors(await file(`crates/flambeau/tests/data/${name}.safetensors`));

/** Those whose names begin so, by the rest of their names. */
const below = (recorded: Record<string, Tensor>, start: string) =>
  Object.fromEntries(
    Object.entries(recorded)
      .filter(([name]) => name.startsWith(start))
      .map(([name, value]) => [name.slice(start.length), value]),
  );

/** Fails unless numbers are near, for their size. */
async function close(what: string, found: Tensor, wanted: Tensor | undefined, tolerance: number): Promise<void> {
  assert(wanted !== undefined, `${what}: there is no reference`);
  equal([what, found.shape], [what, wanted.shape]);
  const data = async (of: Tensor) => Array.from((await of.toDtype("f32").data()) as Float32Array);
  const [left, right] = await Promise.all([data(found), data(wanted)]);
  const size = Math.max(1, ...right.filter(Number.isFinite).map(Math.abs));
  // Infinities are equal or not; NaN is where NaN is.
  const off = left.map((value, at) => (Object.is(value, right[at]) ? 0 : value - (right[at] ?? Number.NaN)));
  try {
    near(
      off,
      off.map(() => 0),
      tolerance * size,
    );
  } catch {
    throw new Error(`${what}: found ${left.join(", ")}, wanted ${right.join(", ")}`);
  }
}

/** Holds outputs, and gradients of their sum weighted by cosines, against a case of a reference file. */
async function check(recorded: Record<string, Tensor>, name: string, call: Call, tolerance = 2e-4): Promise<void> {
  const given = Object.entries(below(recorded, `${name}/in/`));
  const inputs = Object.fromEntries(given.map(([key, x]) => [key, x.dtype === "f32" ? x.requiresGrad() : x]));
  const outputs = call(inputs);
  const wanted = below(recorded, `${name}/out/`);
  equal([name, outputs.length], [name, Object.keys(wanted).length]);
  for (const [k, output] of outputs.entries()) await close(`${name} ${k}`, output, wanted[k], tolerance);
  const slopes = below(recorded, `${name}/grad/in/`);
  if (Object.keys(slopes).length === 0) return;
  const weighted = outputs.map((output, k) => {
    const weights = Float32Array.from({ length: output.size }, (_, i) => Math.cos(i + k));
    return output.mul(tensor(weights, { shape: output.shape })).sum();
  });
  weighted.reduce((sum, part) => sum.add(part)).backward();
  for (const [key, slope] of Object.entries(slopes)) {
    const found = inputs[key]?.grad;
    assert(found !== undefined, `${name}: ${key} has no gradient`);
    await close(`${name}, gradient of ${key}`, found, slope, tolerance);
  }
}

const all = async (recorded: Record<string, Tensor>, cases: Record<string, Call>) => {
  for (const [name, call] of Object.entries(cases)) await check(recorded, name, call);
};

/** An input that a case has. */
const of = (inputs: Record<string, Tensor>, name: string): Tensor => {
  const found = inputs[name];
  if (found === undefined) throw new Error(`there is no input ${name}`);
  return found;
};
const x = (inputs: Record<string, Tensor>) => of(inputs, "x");
const y = (inputs: Record<string, Tensor>) => of(inputs, "y");
const w = (inputs: Record<string, Tensor>) => of(inputs, "w");

test("Fourier transforms, and gradients through them, are PyTorch's", async ({ file }) => {
  await all(await reference(file, "fft"), {
    fft_backward: (i) => [fft.fft(x(i))],
    ifft_ortho: (i) => [fft.ifft(x(i), undefined, -1, "ortho")],
    rfft_forward: (i) => [fft.rfft(x(i), undefined, -1, "forward")],
    irfft_backward: (i) => [fft.irfft(x(i))],
    hfft_backward: (i) => [fft.hfft(x(i))],
    ihfft_backward: (i) => [fft.ihfft(x(i))],
    fft_cut: (i) => [fft.fft(x(i), 4, 1)],
    rfft_padded: (i) => [fft.rfft(x(i), 9)],
    fft_prime: (i) => [fft.fft(x(i), 19, 0)],
    fft2: (i) => [fft.fft2(x(i))],
    rfft2_sizes: (i) => [fft.rfft2(x(i), [4, 5], [0, 2])],
    fftn_order: (i) => [fft.fftn(x(i), [], [2, 0])],
    irfftn_sizes: (i) => [fft.irfftn(x(i), [4, 3])],
    complex_mul: (i) => [fft.complexMul(x(i), of(i, "y0"))],
    complex_abs: (i) => [fft.complexAbs(x(i))],
    polar: (i) => [fft.polar(x(i), y(i))],
  });
});

test("spectra of signals, windows and frequencies are PyTorch's and NumPy's", async ({ file }) => {
  const recorded = await reference(file, "fft");
  await all(recorded, {
    stft: (i) => [fft.stft(x(i), 8, undefined, i["window"])],
    stft_plain: (i) => [fft.stft(x(i), 9, 4, undefined, false)],
    stft_short_window: (i) => [fft.stft(x(i), 12, 5, i["window"], true, "constant", true)],
    istft: (i) => [fft.istft(x(i), 8, undefined, i["window"])],
    istft_length: (i) => [fft.istft(x(i), 8, 3, i["window"], true, true, true, 30)],
    convolve: (i) => (["full", "same", "valid"] as const).map((mode) => fft.fftConvolve(x(i), w(i), mode)),
  });
  await close("hann", fft.hannWindow(8), recorded["hann_8_periodic"], 1e-6);
  await close("kaiser", fft.kaiserWindow(9, false), recorded["kaiser_9_symmetric"], 1e-6);
  await close("fftfreq", fft.fftfreq(7, 0.5), recorded["fftfreq_7"], 1e-6);
  const shifted = recorded["shift/in"];
  assert(shifted !== undefined, "there is no shift");
  await close("fftshift", fft.fftshift(shifted), recorded["shift/all"], 0);
});

test("a long transform is undone by the transform back", async () => {
  const signal = randn([3, 1000], new Generator(7));
  const back = fft.irfft(fft.rfft(signal), 1000);
  near(await back.sub(signal).abs().max().item(), 0, 1e-5);
});

/** X Xᵀ + I. */
const positive = (x: Tensor) => {
  const size = x.shape.at(-1) ?? 0;
  return x
    .matmul(x.transpose(-2, -1))
    .add(tensor(Array.from({ length: size }, (_, i) => Array.from({ length: size }, (_, j) => Number(i === j)))));
};
const symmetric = (x: Tensor) => x.add(x.transpose(-2, -1)).mul(0.5);

test("decompositions of matrices, and gradients through them, are PyTorch's", async ({ file }) => {
  await all(await reference(file, "linalg"), {
    cholesky: (i) => [linalg.cholesky(positive(x(i)))],
    cholesky_upper: (i) => [linalg.cholesky(positive(x(i)), true)],
    lu_square: (i) => linalg.lu(x(i)),
    qr_tall: (i) => linalg.qr(x(i)),
    svd_wide: (i) => {
      const [u, s, vt] = linalg.svd(x(i), false);
      return [s, u.square(), vt.square(), u.matmul(s.sin().diagEmbed()).matmul(vt)];
    },
    eigh: (i) => {
      const [values, vectors] = linalg.eigh(symmetric(x(i)));
      const sines = vectors.matmul(values.sin().diagEmbed()).matmul(vectors.transpose(-2, -1));
      return [values, vectors.square(), sines];
    },
    eigvalsh: (i) => [linalg.eigvalsh(symmetric(x(i)))],
    svdvals: (i) => [linalg.svdvals(x(i))],
  });
});

test("equations, norms and functions of matrices are PyTorch's", async ({ file }) => {
  const recorded = await reference(file, "linalg");
  await all(recorded, {
    solve: (i) => [linalg.solve(x(i), y(i))],
    lu_solve: (i) => {
      const [packed, rows] = linalg.luFactor(x(i));
      return [linalg.luSolve(packed, rows, y(i))];
    },
    solve_triangular_10: (i) => [linalg.solveTriangular(x(i), y(i), true)],
    solve_triangular_right: (i) => [linalg.solveTriangular(x(i), y(i), true, false)],
    lstsq: (i) => [linalg.lstsq(x(i), y(i))],
    pinv_tall: (i) => [linalg.pinv(x(i))],
    inv: (i) => [linalg.inv(x(i))],
    det: (i) => [linalg.det(x(i))],
    slogdet: (i) => [linalg.slogdet(x(i))[1]],
    matrix_norm_fro: (i) => [linalg.matrixNorm(x(i))],
    matrix_norm_nuc: (i) => [linalg.matrixNorm(x(i), "nuc")],
    "matrix_norm_-inf": (i) => [linalg.matrixNorm(x(i), Number.NEGATIVE_INFINITY)],
    cond_2: (i) => [linalg.cond(x(i), 2)],
    "matrix_power_-2": (i) => [linalg.matrixPower(x(i), -2)],
    matrix_exp_middle: (i) => [linalg.matrixExp(x(i))],
    cross: (i) => [linalg.cross(x(i), y(i))],
    multi_dot: (i) => [linalg.multiDot([x(i), y(i), of(i, "z")])],
    vander: (i) => [linalg.vander(x(i))],
  });
  const vectors = recorded["vector_norm_3.0/in"];
  const ranked = recorded["matrix_rank/in"];
  assert(vectors !== undefined && ranked !== undefined, "there are no vectors or no matrices");
  await close("vector_norm", linalg.vectorNorm(vectors, 3, -1), recorded["vector_norm_3.0/out"], 1e-5);
  await close("matrix_rank", linalg.matrixRank(ranked), recorded["matrix_rank/out"], 0);
});

test("a matrix of 100 columns is what its factors multiply to", async () => {
  const a = randn([100, 100], new Generator(3)).eval();
  const b = randn([100, 2], new Generator(4)).eval();
  near(await a.matmul(linalg.solve(a, b)).sub(b).abs().max().item(), 0, 2e-2);
  const [q, r] = linalg.qr(a);
  near(await q.matmul(r).sub(a).abs().max().item(), 0, 1e-4);
});

test("what arrays cannot take is an error that says why", async () => {
  await throws(() => fft.fft(zeros([4, 3])), "fft");
  await throws(() => fft.rfft(zeros([4]), 0), "rfft");
  await throws(() => fft.fft(zeros([4, 2]), undefined, -1, "loud" as "ortho"), "loud is none of backward, ortho, forward");
  await throws(() => fft.fft2(zeros([4, 4, 2]), [3]), "s must be two numbers, not 1");
  await throws(() => linalg.inv(zeros([2, 3])), "inv");
  await throws(() => linalg.solve(zeros([3, 3]), zeros([4, 1])), "solve");
  await throws(() => linalg.matrixNorm(zeros([2, 2]), "max" as "fro"), "max is none of fro, nuc and a number");
  const singular = tensor([
    [1, 2],
    [2, 4],
  ]);
  await throws(() => linalg.inv(singular).data(), "singular");
  const negative = tensor([
    [1, 2],
    [2, 1],
  ]);
  await throws(() => linalg.cholesky(negative).data(), "positive definite");
  await throws(() => numeric.rot90(zeros([2, 2]), 1, [0]), "dims must be two, not 1");
});

test("NumPy's functions have its values", async ({ file }) => {
  await all(await reference(file, "numpy"), {
    sinc: (i) => [numeric.sinc(x(i))],
    cbrt: (i) => [numeric.cbrt(x(i))],
    divmod: (i) => numeric.divmod(x(i), y(i)),
    lcm: (i) => [numeric.lcm(x(i), y(i))],
  });
  const ramp = tensor([4, 1, 3, 2, 5]);
  near(await numeric.quantile(ramp, 0.25).item(), 2);
  near(await numeric.percentile(ramp, 50, undefined, "lower").item(), 3);
  near(await numeric.diff(ramp).array(), [-3, 2, -1, 3]);
  near(await numeric.trapezoid(ramp, 0.5).item(), 5.25);
  const [counts, edges] = numeric.histogram(ramp, 2);
  near(await counts.array(), [2, 3]);
  near(await edges.array(), [1, 3, 5]);
  near(await numeric.searchsorted(tensor([1, 2, 3]), tensor([2.5, 0])).array(), [2, 0]);
  near(await numeric.polyval(tensor([2, 0, 1]), tensor([3])).array(), [19]);
  near(await numeric.deleteAt(ramp, [0, -1], 0).array(), [1, 3, 2]);
  near(await numeric.convolve(tensor([1, 2, 3]), tensor([0, 1])).array(), [0, 1, 2, 3]);
});

test("distributions draw the same numbers from the same seed", async () => {
  const draw = () => random.gamma(2, 1, [4000], new Generator(5));
  const [one, other] = [draw(), draw()];
  equal(await one.array(), await other.array());
  near(await one.mean().item(), 2, 0.1);
  const counts = random.poisson(3, [4000], new Generator(6));
  equal(counts.dtype, "i32");
  near(await counts.toDtype("f32").mean().item(), 3, 0.1);
  equal(
    await random
      .permutation(tensor([1, 2, 3]), 0, new Generator(1))
      .sum()
      .item(),
    6,
  );
});

const wave = (x: Tensor) => x.sin().mul(x).mul(x).sum();
const layer = (x: Tensor, w: Tensor) => x.matmul(w).tanh();
const peak = (x: Tensor, w: Tensor) => x.matmul(w).logsumexp(-1);

test("derivatives of functions are PyTorch's", async ({ file }) => {
  await all(await reference(file, "func"), {
    grad: (i) => [func.grad(wave)(x(i))],
    grad_of_two: (i) => {
      const { a, b } = func.grad(({ a, b }: { a: Tensor; b: Tensor }) => a.exp().mul(b.cos()).sum())({
        a: of(i, "a"),
        b: of(i, "b"),
      });
      return [a, b];
    },
    grad_and_value: (i) => func.gradAndValue(wave)(x(i)),
    grad_grad: (i) => [func.grad((x: Tensor) => func.grad(wave)(x).square().sum())(x(i))],
    vjp: (i) => func.vjp(([x, w]: [Tensor, Tensor]) => layer(x, w), [x(i), w(i)])[1](of(i, "g")),
    jvp: (i) => func.jvp((x: Tensor) => layer(x, w(i)), x(i), of(i, "v")),
    jacrev: (i) => func.jacrev(([x, w]: [Tensor, Tensor]) => layer(x, w))([x(i), w(i)]),
    jacfwd: (i) => func.jacfwd(([x, w]: [Tensor, Tensor]) => layer(x, w))([x(i), w(i)]),
    hessian: (i) => [func.hessian(peak)(x(i), w(i))],
    jacfwd_jacrev: (i) => [func.jacfwd(func.jacrev((x: Tensor) => layer(x, w(i))))(x(i))],
  });
});

test("batched functions, and derivatives in and of batches, are PyTorch's", async ({ file }) => {
  await all(await reference(file, "func"), {
    vmap_dims: (i) => [
      func.vmap((x: Tensor, w: Tensor) => layer(x, w).add(w.sum()), { inDims: [1, null], outDims: 1 })(x(i), w(i)),
    ],
    vmap_vmap: (i) => {
      const toAll = func.vmap((a: Tensor, b: Tensor) => a.sub(b).square().sum().sqrt(), { inDims: [null, 0] });
      return [func.vmap(toAll, { inDims: [0, null] })(of(i, "a"), of(i, "b"))];
    },
    vmap_grad: (i) => [func.vmap(func.grad((x: Tensor) => peak(x, w(i))))(x(i))],
    grad_vmap: (i) => [
      func.grad((w: Tensor) =>
        func
          .vmap((x: Tensor) => layer(x, w))(x(i))
          .pow(3)
          .sum(),
      )(w(i)),
    ],
    vmap_hessian: (i) => [func.vmap(func.hessian(peak), { inDims: [0, null] })(x(i), w(i))],
    vmap_jacrev: (i) => [
      func.vmap((x: Tensor, w: Tensor) => func.jacrev((w: Tensor) => layer(x, w))(w), { inDims: [0, null] })(x(i), w(i)),
    ],
  });
});

test("transforms take transforms of arrays, and compose with autograd", async () => {
  // d/da of log det a is the inverse, transposed.
  const a = tensor([
    [
      [2, 1],
      [0, 3],
    ],
    [
      [4, 0],
      [1, 1],
    ],
  ]);
  const slopes = func.vmap(func.grad((a: Tensor) => linalg.slogdet(a)[1]))(a);
  near(await slopes.array(), await linalg.inv(a).transpose(-2, -1).array(), 1e-5);
  // Parseval: the gradient of the spectrum's energy is 2 n x.
  const energy = (x: Tensor) => fft.fft(fft.complex(x, x.zerosLike())).square().sum();
  const signal = tensor([1, -2, 3, 0.5]);
  near(await func.grad(energy)(signal).array(), [8, -16, 24, 4], 1e-4);
  const leaf = signal.requiresGrad();
  const [slope] = gradients(
    func
      .vmap((x: Tensor) => x.mul(x).mul(x))(leaf)
      .sum(),
    [leaf],
  );
  near(await slope?.array(), [3, 12, 27, 0.75], 1e-4);
  const [value, along] = func.linearize((x: Tensor) => x.mul(x), signal);
  near(await value.array(), [1, 4, 9, 0.25]);
  near(await along(signal).array(), [2, 8, 18, 0.5]);
  near(await along(signal.onesLike()).array(), [2, -4, 6, 1]);
});

test("samples draw random numbers as they are told to, and layers can be batched", async () => {
  const noise = (x: Tensor) => x.add(rand([1], new Generator(1)));
  await throws(() => func.vmap(noise)(zeros([3, 1])), "random numbers were drawn");
  const same = (await func
    .vmap(noise, { randomness: "same" })(zeros([3, 1]))
    .array()) as number[][];
  equal([same[1], same[2]], [same[0], same[0]]);
  const different = (await func
    .vmap(noise, { randomness: "different" })(zeros([3, 1]))
    .array()) as number[][];
  assert(different[0]?.[0] !== different[1]?.[0], "every sample draws its own");
  const net = nn.sequential(nn.linear(3, 4), nn.tanh(), nn.linear(4, 2));
  const points = randn([5, 3], new Generator(2));
  const jacobians = func.vmap(func.jacrev((x: Tensor) => net.forward(x)))(points);
  equal(jacobians.shape, [5, 2, 3]);
  near(
    await func
      .vmap((x: Tensor) => net.forward(x))(points)
      .array(),
    await net.forward(points).array(),
    1e-5,
  );
});

test("a module is a function of its parameters: gradients of every sample", async () => {
  const net = nn.sequential(nn.linear(3, 4), nn.tanh(), nn.linear(4, 1));
  const [xs, ys] = [randn([5, 3], new Generator(2)).eval(), randn([5, 1], new Generator(3)).eval()];
  const own = func.parameters(net);
  const loss = (p: Record<string, Tensor>, x: Tensor, y: Tensor) => func.functionalCall(net, p, () => net.forward(x)).mseLoss(y);
  const ofEach = func.vmap(func.grad(loss), { inDims: [null, 0, 0] })(own, xs, ys);
  // Their mean is the gradient of the mean loss, which backward finds.
  net.forward(xs).mseLoss(ys).backward();
  for (const [name, parameter] of net.namedParameters()) {
    const [found, wanted] = [ofEach[name], parameter.grad];
    assert(found !== undefined && wanted !== undefined, `${name} has a gradient`);
    equal(found.shape, [5, ...wanted.shape]);
    near(await found.mean(0).array(), await wanted.array(), 1e-5);
  }
  const before = await net.forward(xs).array();
  const zeroed = Object.fromEntries(Object.entries(own).map(([name, value]) => [name, value.zerosLike()]));
  near(await func.functionalCall(net, zeroed, () => net.forward(xs)).array(), await zeros([5, 1]).array());
  near(await net.forward(xs).array(), before);
  await throws(() => func.functionalCall(net, { nonsense: zeros([1]) }, () => xs), "no parameter or buffer nonsense");
  await throws(() => func.functionalCall(net, { "0.bias": zeros([3]) }, () => xs), "functional_call");
});

test("a function that a transform cannot take is an error, and an error of its own goes on", async () => {
  await throws(() => func.grad((x: Tensor) => x)(zeros([2])), "must return one float");
  await throws(() => func.grad((x: Tensor) => [x, x] as unknown as Tensor)(zeros([2])), "must return one tensor, not 2");
  await throws(() => func.grad((x: Tensor) => x.sum())(zeros([2], "i32")), "no derivatives");
  await throws(() => func.vmap((x: Tensor, y: Tensor) => x.add(y))(zeros([2]), zeros([3])), "2 and 3 samples");
  await throws(() => func.vmap((x: Tensor) => x, { inDims: [0, 0] })(zeros([2])), "inDims has 2 entries for 1 arguments");
  await throws(() => func.vmap((x: Tensor) => x, { inDims: null })(zeros([2])), "no input has a dimension with samples");
  await throws(() => func.vmap((x: Tensor) => Promise.resolve(x) as unknown as Tensor)(zeros([2])), "must not wait");
  await throws(() => func.vmap((_: Tensor) => 3 as unknown as Tensor)(zeros([2])), "tensors were expected");
  await throws(() => func.vjp((x: Tensor) => x, zeros([2]))[1](zeros([3])), "vjp");
  await throws(() => func.vmap((x: Tensor) => x.eval())(zeros([2])), "vmap");
  class Mine extends Error {}
  let caught: unknown;
  try {
    func.grad(() => {
      throw new Mine("of my own");
    })(zeros([2]));
  } catch (error) {
    caught = error;
  }
  assert(caught instanceof Mine, `the function's own error: ${String(caught)}`);
});

test("what a transformed function makes ends with it", async () => {
  const x = randn([4, 3]).keep();
  const slopes = func.vmap(func.grad((x: Tensor) => x.exp().sum()));
  const before = memory().tensors;
  const result = slopes(x);
  equal(memory().tensors, before + 1);
  equal(result.shape, [4, 3]);
});
