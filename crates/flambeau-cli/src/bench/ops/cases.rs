//! The ops that are measured: what they are given, what they compute, and what that costs at least.

use super::super::Kind;
use flambeau::nn::functional::AttentionOptions;
use flambeau::prelude::*;

/// What an op costs at least.
#[derive(Clone, Copy)]
pub enum Least {
    /// Bytes that must be read and written.
    Bytes(f64),
    /// Multiplications and additions that must be made.
    Flops(f64),
}

/// Which part of a result can be computed from a part of the inputs.
#[derive(Clone, Copy)]
pub enum Sample {
    /// Rows `k` of the result need rows `k` of the first so many inputs, and all of the others.
    Rows(usize),
    /// Likewise for columns: the last dimension.
    Columns(usize),
    /// Only the whole result can be checked.
    Whole,
    /// Nothing but how random numbers are distributed: their mean and their variance.
    Random { mean: f64, variance: f64 },
}

/// A kind of input.
#[derive(Clone)]
pub enum Given {
    /// Uniform numbers from −1 to 1.
    Floats(Vec<usize>),
    /// The same in F16.
    Halves(Vec<usize>),
    /// Integers below a bound.
    Indexes(Vec<usize>, usize),
    /// Uniform numbers between two others.
    Between(Vec<usize>, f64, f64),
    /// Truth values, of which such a share is true.
    Bools(Vec<usize>, f64),
    /// So many numbers from −1 to 1 in increasing order, all as far apart.
    Edges(usize),
}

/// What an op does with its inputs.
pub type Body = fn(&[Tensor]) -> Result<Tensor>;

/// An op to measure.
pub struct Case {
    pub name: &'static str,
    pub inputs: Vec<Given>,
    pub least: Least,
    pub sample: Sample,
    pub body: Body,
}

impl Case {
    pub fn is_of_halves(&self) -> bool {
        self.inputs.iter().any(|given| matches!(given, Given::Halves(_)))
    }
}

pub fn floats(shape: &[usize]) -> Given {
    Given::Floats(shape.to_vec())
}

/// The gradient of one input of a function, given that of its result.
pub fn gradient(of: &Tensor, grad: &Tensor, f: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let leaf = of.detach().requires_grad();
    f(&leaf)?.backward_with(grad)?;
    leaf.grad().ok_or_else(|| Error::Argument { op: "bench ops", message: "there is no gradient".into() })
}

fn convolved(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    x.try_conv2d(w, None, &Conv2dOptions::default().with_padding(1))
}

fn attended(q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
    let options = AttentionOptions { causal: true, ..Default::default() };
    q.try_scaled_dot_product_attention(k, v, &options)
}

/// All cases, in sizes that fit the device.
pub fn all(kind: Kind) -> Vec<Case> {
    let gpu = kind == Kind::Gpu;
    let (count, side) = match kind {
        Kind::Gpu => (1 << 26, 8192),
        Kind::Cpu => (1 << 22, 1024),
        Kind::Software => (1 << 18, 256),
    };
    let mut cases = elementwise(count);
    cases.extend(rows(side));
    cases.extend(single(side / 2));
    let images = if gpu { 128 } else { 2 };
    let names = ["conv2d", "conv2d input gradient", "conv2d weight gradient", "batch norm"];
    cases.extend(convolutions(names, images, 64, 32));
    let names = [
        "conv2d of 8 × 8",
        "conv2d of 8 × 8 input gradient",
        "conv2d of 8 × 8 weight gradient",
        "batch norm of 8 × 8",
    ];
    cases.extend(convolutions(names, images, 256, 8));
    cases.extend(indexed(gpu));
    cases.extend(attention(if gpu { 16 } else { 1 }));
    cases
}

fn elementwise(count: usize) -> Vec<Case> {
    let bytes = |arrays: usize| Least::Bytes(4.0 * (arrays * count) as f64);
    // As rows, so that a part can be checked.
    let x = floats(&[count / 1024, 1024]);
    let case = |name, inputs: usize, arrays, sample, body| Case {
        name,
        inputs: vec![x.clone(); inputs],
        least: bytes(arrays),
        sample,
        body,
    };
    vec![
        case("add", 2, 3, Sample::Rows(2), |x| x[0].try_add(&x[1])),
        case("sigmoid(relu(2x + y))", 2, 3, Sample::Rows(2), |x| {
            x[0].try_mul(2.0)?.try_add(&x[1])?.try_relu()?.try_sigmoid()
        }),
        case("gelu", 1, 2, Sample::Rows(1), |x| x[0].try_gelu()),
        case("sum", 1, 1, Sample::Whole, |x| x[0].try_sum(..)),
        case("sum of columns", 1, 1, Sample::Whole, |x| x[0].try_sum(0)),
    ]
}

fn rows(side: usize) -> Vec<Case> {
    let x = floats(&[side, side]);
    let bytes = |arrays: usize| Least::Bytes(4.0 * (arrays * side * side) as f64);
    let case = |name, inputs: Vec<Given>, arrays, body| Case {
        name,
        inputs,
        least: bytes(arrays),
        sample: Sample::Rows(1),
        body,
    };
    let sorted = floats(&[side / 4, 1024]);
    vec![
        case("softmax", vec![x.clone()], 2, |x| x[0].try_softmax(-1)),
        case("layer norm", vec![x.clone(), floats(&[side]), floats(&[side])], 2, |x| {
            x[0].try_layer_norm(&[x[1].numel()], Some(&x[1]), Some(&x[2]), 1e-5)
        }),
        Case {
            name: "softmax gradient",
            inputs: vec![x.clone(), x],
            least: bytes(3),
            sample: Sample::Rows(2),
            body: |x| gradient(&x[0], &x[1], |x| x.try_softmax(-1)),
        },
        Case {
            least: Least::Bytes(8.0 * (side / 4 * 1024) as f64),
            ..case("sort of rows", vec![sorted], 2, |x| Ok(x[0].try_sort(-1, false)?.0))
        },
    ]
}

/// Ops that scientists evaluate one by one, on a square matrix.
fn single(side: usize) -> Vec<Case> {
    let x = floats(&[side, side]);
    let case = |name, arrays: usize, sample, body| Case {
        name,
        inputs: vec![x.clone()],
        least: Least::Bytes(4.0 * (arrays * side * side) as f64),
        sample,
        body,
    };
    vec![
        case("sum of a square's rows", 1, Sample::Rows(1), |x| x[0].try_sum(1)),
        case("sum of its columns", 1, Sample::Whole, |x| x[0].try_sum(0)),
        case("argmax of its rows", 1, Sample::Rows(1), |x| x[0].try_argmax(1)),
        case("variance of its rows", 1, Sample::Rows(1), |x| x[0].try_var(1, 1.0)),
        Case {
            inputs: vec![Given::Indexes(vec![side], side), x.clone()],
            ..case("rows by index", 2, Sample::Rows(1), |x| x[1].try_index_select(0, &x[0]))
        },
    ]
}

/// Convolutions 3 × 3 of a residual network's stage, in three directions, and its batch norm.
fn convolutions(names: [&'static str; 4], images: usize, channels: usize, side: usize) -> Vec<Case> {
    let (x, w) = (floats(&[images, channels, side, side]), floats(&[channels, channels, 3, 3]));
    let least = Least::Flops((2 * images * channels * side * side * channels * 9) as f64);
    let elements = images * channels * side * side;
    vec![
        Case {
            name: names[0],
            inputs: vec![x.clone(), w.clone()],
            least,
            sample: Sample::Rows(1),
            body: |x| convolved(&x[0], &x[1]),
        },
        Case {
            name: names[1],
            inputs: vec![x.clone(), x.clone(), w.clone()],
            least,
            sample: Sample::Rows(2),
            body: |x| gradient(&x[0], &x[1], |input| convolved(input, &x[2])),
        },
        Case {
            name: names[2],
            inputs: vec![x.clone(), x.clone(), w],
            least,
            sample: Sample::Whole,
            body: |x| gradient(&x[2], &x[1], |w| convolved(&x[0], w)),
        },
        Case {
            name: names[3],
            inputs: vec![x, floats(&[channels]), floats(&[channels])],
            // Read for the statistics, read again, written.
            least: Least::Bytes(12.0 * elements as f64),
            sample: Sample::Whole,
            body: |x| Ok(x[0].try_batch_norm_training(Some(&x[1]), Some(&x[2]), 1e-5)?.output),
        },
    ]
}

fn indexed(gpu: bool) -> Vec<Case> {
    let (symbols, width, tokens) = if gpu { (8192, 512, 16384) } else { (512, 64, 1024) };
    let (table, taken) = (floats(&[symbols, width]), (2 * tokens * width) as f64);
    let index = Given::Indexes(vec![tokens], symbols);
    vec![
        Case {
            name: "embedding",
            inputs: vec![index.clone(), table.clone()],
            least: Least::Bytes(4.0 * taken),
            sample: Sample::Rows(1),
            body: |x| x[1].try_embedding(&x[0], None),
        },
        Case {
            name: "embedding gradient",
            inputs: vec![index, table, floats(&[tokens, width])],
            least: Least::Bytes(4.0 * (tokens * width + symbols * width) as f64),
            sample: Sample::Whole,
            body: |x| gradient(&x[1], &x[2], |table| table.try_embedding(&x[0], None)),
        },
    ]
}

/// Causal attention with the sizes of the 10M GPT, in F32 and F16: half of all pairs of tokens count.
fn attention(batch: usize) -> Vec<Case> {
    let shape = vec![batch, 6, 256, 64];
    let flops = |terms: f64| Least::Flops(terms * (shape.iter().product::<usize>() * 256 / 2) as f64);
    let names = [["attention", "attention gradients"], ["attention of F16", "attention gradients of F16"]];
    let given = [Given::Floats(shape.clone()), Given::Halves(shape.clone())];
    let both = |([forward, backward], x): ([&'static str; 2], Given)| {
        let forward = Case {
            name: forward,
            inputs: vec![x.clone(); 3],
            least: flops(4.0),
            sample: Sample::Rows(3),
            body: |x| attended(&x[0], &x[1], &x[2]),
        };
        let backward = Case {
            name: backward,
            inputs: vec![x; 4],
            least: flops(14.0),
            sample: Sample::Rows(4),
            body: |x| {
                let leaves = [0, 1, 2].map(|k: usize| x[k].detach().requires_grad());
                attended(&leaves[0], &leaves[1], &leaves[2])?.backward_with(&x[3])?;
                let grads: Vec<Tensor> = leaves.iter().filter_map(Tensor::grad).collect();
                Tensor::try_cat(&grads.iter().collect::<Vec<_>>(), -1)
            },
        };
        [forward, backward]
    };
    names.into_iter().zip(given).flat_map(both).collect()
}
