//! The further ops of `bench ops --all`: what users of NumPy and PyTorch evaluate one by one. `single_ops` of `bench/peers/pytorch.py`
//! has the same, under the same names and with the same sizes.

use super::super::Kind;
use super::cases::{Body, Case, Given, Least, Sample, floats};
use super::{along, networks};
use flambeau::numeric::HistogramOptions;
use flambeau::prelude::*;

/// How large the inputs are.
#[derive(Clone, Copy)]
pub struct Sizes {
    /// The side of a square matrix.
    pub square: usize,
    /// The length of a vector.
    pub vector: usize,
    /// Rows and columns of a table, and how many of its rows are named.
    pub symbols: usize,
    pub width: usize,
    pub tokens: usize,
    /// The side of a matrix that is multiplied by vectors.
    pub wide: usize,
    /// Rows of a thin matrix, and small matrices of a batch.
    pub many: usize,
    pub small: usize,
    /// Pictures of 64 channels of 32 × 32.
    pub images: usize,
    /// Lines of 1024 complex numbers, and samples of a signal.
    pub lines: usize,
    pub samples: usize,
}

impl Sizes {
    fn of(kind: Kind) -> Sizes {
        let large = Sizes {
            square: 4096,
            vector: 1 << 24,
            symbols: 8192,
            width: 512,
            tokens: 16384,
            wide: 4096,
            many: 65536,
            small: 10_000,
            images: 128,
            lines: 8192,
            samples: 960_000,
        };
        let table = Sizes { symbols: 512, width: 64, tokens: 1024, ..large };
        match kind {
            Kind::Gpu => large,
            Kind::Cpu => Sizes { square: 1024, vector: 1 << 20, images: 8, lines: 1024, ..table },
            Kind::Software => Sizes {
                square: 256,
                vector: 1 << 16,
                wide: 256,
                many: 4096,
                small: 100,
                images: 1,
                lines: 16,
                samples: 4000,
                ..table
            },
        }
    }
}

/// An op of tensors of four bytes an element: `elements` is how many of them must be read and written.
pub fn of_memory(
    name: &'static str,
    inputs: Vec<Given>,
    elements: usize,
    sample: Sample,
    body: Body,
) -> Case {
    Case { name, inputs, least: Least::Bytes(4.0 * elements as f64), sample, body }
}

/// All further cases.
pub fn all(kind: Kind) -> Vec<Case> {
    let sizes = Sizes::of(kind);
    let mut cases = elementwise(sizes.square);
    cases.extend(moved(sizes.square));
    cases.extend(along::rows(sizes.square));
    cases.extend(along::columns(sizes.square));
    cases.extend(along::vectors(&sizes));
    cases.extend(counted(sizes.vector));
    cases.extend(random(&sizes));
    cases.extend(indexed(&sizes));
    cases.extend(networks::products(&sizes));
    cases.extend(networks::layers(&sizes));
    cases.extend(networks::transforms(&sizes));
    cases
}

fn elementwise(side: usize) -> Vec<Case> {
    let (count, shape) = (side * side, vec![side, side]);
    let x = floats(&shape);
    let one = |name, body| of_memory(name, vec![x.clone()], 2 * count, Sample::Rows(1), body);
    let two = |name, body| of_memory(name, vec![x.clone(); 2], 3 * count, Sample::Rows(2), body);
    // A truth value is a byte.
    let with_bools = |case| Case { least: Least::Bytes(9.0 * count as f64), ..case };
    vec![
        two("sub", |x| x[0].try_sub(&x[1])),
        two("mul", |x| x[0].try_mul(&x[1])),
        Case {
            inputs: vec![x.clone(), Given::Between(shape.clone(), 0.5, 1.5)],
            ..two("div", |x| x[0].try_div(&x[1]))
        },
        with_bools(two("greater", |x| x[0].try_gt(&x[1]))),
        one("exp", |x| x[0].try_exp()),
        one("sin", |x| x[0].try_sin()),
        one("tanh", |x| x[0].try_tanh()),
        one("erf", |x| x[0].try_erf()),
        Case { inputs: vec![Given::Between(shape.clone(), 0.0, 1.0)], ..one("sqrt", |x| x[0].try_sqrt()) },
        one("log(|x| + 1)", |x| x[0].try_abs()?.try_add(1.0)?.try_log()),
        one("x³", |x| x[0].try_pow(3)),
        one("clamp", |x| x[0].try_clamp(-0.5, 0.5)),
        one("where", |x| x[0].try_gt(0.0)?.try_where_cond(&x[0], 0.0)),
        Case {
            inputs: vec![x.clone(), Given::Bools(shape, 0.5)],
            ..with_bools(two("masked fill", |x| x[0].try_masked_fill(&x[1], 0.0)))
        },
        // By a power of two, so that no rounding decides which integer it is.
        one("to i32", |x| x[0].try_mul(128.0)?.try_to_dtype(DType::I32)),
    ]
}

/// Elements that are put elsewhere.
fn moved(side: usize) -> Vec<Case> {
    let (count, x) = (side * side, floats(&[side, side]));
    let one = |name, sample, body| of_memory(name, vec![x.clone()], 2 * count, sample, body);
    let quarter = floats(&[side / 2, side / 2]);
    let windows = side * (side / 2 - 1) * 4;
    vec![
        one("transposed copy", Sample::Whole, |x| x[0].try_t()),
        of_memory("cat", vec![x.clone(); 2], 4 * count, Sample::Rows(2), |x| Tensor::try_cat(x, -1)),
        of_memory("tile", vec![quarter], 5 * count / 4, Sample::Whole, |x| x[0].try_tile([2, 2])),
        one("flip", Sample::Rows(1), |x| x[0].try_flip(1)),
        one("roll", Sample::Rows(1), |x| x[0].try_roll(&[5], &[1])),
        one("tril", Sample::Whole, |x| x[0].try_tril(0)),
        one("pad", Sample::Whole, |x| x[0].try_pad(&[1, 1, 1, 1], 0.0)),
        of_memory("unfold", vec![x.clone()], count + windows, Sample::Rows(1), |x| x[0].try_unfold(1, 4, 2)),
    ]
}

/// How often numbers come, and where they belong.
fn counted(length: usize) -> Vec<Case> {
    let x = floats(&[length]);
    vec![
        // Bins whose edges are exact.
        of_memory("histogram", vec![x.clone()], length, Sample::Whole, |x| {
            let options = HistogramOptions { range: Some((-1.0, 1.0)), ..Default::default() };
            Ok(x[0].try_histogram(128, &options)?.0)
        }),
        of_memory("searchsorted", vec![x, Given::Edges(1000)], 2 * length, Sample::Rows(1), |x| {
            x[1].try_searchsorted(&x[0], false)
        }),
        of_memory("bincount", vec![Given::Indexes(vec![length], 1000)], length, Sample::Whole, |x| {
            x[0].try_bincount_of(1000, None)
        }),
    ]
}

/// Random numbers; the input says how many.
fn random(sizes: &Sizes) -> Vec<Case> {
    let vector = || vec![floats(&[sizes.vector])];
    let square = sizes.square;
    let normal = Sample::Random { mean: 0.0, variance: 1.0 };
    let uniform = Sample::Random { mean: 0.5, variance: 1.0 / 12.0 };
    // Half of the numbers are twice as large.
    let dropped = Sample::Random { mean: 0.0, variance: 2.0 / 3.0 };
    vec![
        of_memory("randn", vector(), sizes.vector, normal, |x| {
            Tensor::try_randn(x[0].shape(), &Generator::new(1), x[0].device())
        }),
        of_memory("rand", vector(), sizes.vector, uniform, |x| {
            Tensor::try_rand(x[0].shape(), &Generator::new(1), x[0].device())
        }),
        of_memory("dropout", vec![floats(&[square, square])], 2 * square * square, dropped, |x| {
            // Not the generator that the input comes from: what is dropped would depend on it.
            x[0].try_dropout(0.5, &Generator::new(2))
        }),
    ]
}

fn indexed(sizes: &Sizes) -> Vec<Case> {
    let Sizes { square: side, symbols, width, tokens, .. } = *sizes;
    let (count, x) = (side * side, floats(&[side, side]));
    let index = Given::Indexes(vec![side, side], side);
    let table = floats(&[symbols, width]);
    let added = 2 * symbols * width + tokens * width + tokens;
    vec![
        of_memory("gather", vec![x.clone(), index.clone()], 3 * count, Sample::Rows(2), |x| {
            x[0].try_gather(1, &x[1])
        }),
        of_memory("scatter add", vec![x.clone(), index, x], 4 * count, Sample::Rows(3), |x| {
            x[0].try_scatter_add(1, &x[1], &x[2])
        }),
        of_memory(
            "index add",
            vec![table, Given::Indexes(vec![tokens], symbols), floats(&[tokens, width])],
            added,
            Sample::Whole,
            |x| x[0].try_index_add(0, &x[1], &x[2]),
        ),
        of_memory(
            "one hot",
            vec![Given::Indexes(vec![tokens], 1000)],
            tokens + 1000 * tokens,
            Sample::Rows(1),
            |x| x[0].try_one_hot(1000),
        ),
    ]
}
