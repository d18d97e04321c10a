//! Values, gradients and second derivatives of the tensor API, on every device, against PyTorch 1.13:
//! `tools/reference/tensor_api.py` wrote the expectations.

// A bound of -1 counts from the back: 1..-1 is not empty here.
#![allow(clippy::reversed_empty_ranges)]

mod common;

use common::{assert_close, devices, values};
use flambeau::prelude::*;
use safetensors::{Dtype, SafeTensors};

/// PyTorch's inputs and results.
struct Reference {
    file: SafeTensors<'static>,
}

impl Reference {
    fn open() -> Reference {
        let bytes = include_bytes!("data/tensor_api.safetensors");
        Reference { file: SafeTensors::deserialize(bytes).expect("the reference file is whole") }
    }

    fn find(&self, name: &str) -> Option<(Vec<usize>, Dtype, Vec<f64>)> {
        let view = self.file.tensor(name).ok()?;
        let words = view.data().chunks_exact(8).map(|word| <[u8; 8]>::try_from(word).expect("eight bytes"));
        let values = match view.dtype() {
            Dtype::F64 => words.map(f64::from_le_bytes).collect(),
            Dtype::I64 => words.map(|word| i64::from_le_bytes(word) as f64).collect(),
            Dtype::BOOL => view.data().iter().map(|&byte| f64::from(byte)).collect(),
            other => panic!("the reference file has no {other:?}"),
        };
        Some((view.shape().to_vec(), view.dtype(), values))
    }
}

/// An input, in the dtype Flambeau would have it.
struct Inputs<'a> {
    reference: &'a Reference,
    device: &'a Device,
}

impl Inputs<'_> {
    fn get(&self, name: &str) -> Tensor {
        let (shape, dtype, values) =
            self.reference.find(&format!("in.{name}")).expect("an input of that name");
        let dtype = dtype_here(dtype);
        let floats: Vec<f32> = values.iter().map(|&value| value as f32).collect();
        Tensor::from_slice(&floats, shape, self.device).to_dtype(dtype)
    }
}

fn dtype_here(dtype: Dtype) -> DType {
    match dtype {
        Dtype::F64 => DType::F32,
        Dtype::I64 => DType::I32,
        Dtype::BOOL => DType::Bool,
        other => panic!("the reference file has no {other:?}"),
    }
}

fn weights(like: &Tensor, function: impl Fn(f64) -> f64) -> Tensor {
    let values: Vec<f32> = (0..like.numel()).map(|k| function(k as f64) as f32).collect();
    Tensor::from_slice(&values, like.shape(), like.device())
}

/// Checks every case of a topic: the result, then the gradients PyTorch has for it, then those of the gradients.
struct Checker {
    reference: Reference,
}

impl Checker {
    fn new() -> Checker {
        Checker { reference: Reference::open() }
    }

    fn case(&self, name: &str, names: &[&str], run: impl Fn(&[Tensor], &Inputs) -> Tensor) {
        for device in devices() {
            let inputs = Inputs { reference: &self.reference, device: &device };
            let leaves: Vec<Tensor> = names.iter().map(|input| inputs.get(input).requires_grad()).collect();
            let out = run(&leaves, &inputs);
            self.compare(&format!("{name}.out"), &out, &device);
            if names.is_empty() {
                continue;
            }
            let create = BackwardOptions { create_graph: true, ..Default::default() };
            let loss = (&out * weights(&out, f64::cos)).sum(..);
            let grads: Vec<Tensor> =
                grad(&[loss], &leaves, create).unwrap().into_iter().map(|grad| grad.unwrap()).collect();
            for (input, grad) in names.iter().zip(&grads) {
                self.compare(&format!("{name}.grad.{input}"), grad, &device);
            }
            if self.reference.find(&format!("{name}.grad2.{}", names[0])).is_none() {
                continue;
            }
            let terms = grads.iter().map(|grad| (grad * weights(grad, |k| (1.0 + k).sin())).sum(..));
            let loss = terms.reduce(|sum, term| sum + term).unwrap();
            // A result that is linear in its inputs has no second derivative: PyTorch's is written as zero.
            let seconds = match loss.is_tracked() {
                true => grad_or_none(loss, &leaves),
                false => vec![None; leaves.len()],
            };
            for ((input, leaf), second) in names.iter().zip(&leaves).zip(seconds) {
                let second = second.unwrap_or_else(|| leaf.detach().zeros_like());
                self.compare(&format!("{name}.grad2.{input}"), &second, &device);
            }
        }
    }

    fn compare(&self, name: &str, got: &Tensor, device: &Device) {
        let (shape, dtype, expected) =
            self.reference.find(name).unwrap_or_else(|| panic!("no reference for {name}"));
        assert_eq!(got.shape().dims(), shape, "shape of {name}");
        assert_eq!(got.dtype(), dtype_here(dtype), "dtype of {name}");
        println!("{name} on {device}");
        assert_close(&values(got), &expected, 2e-5, 2e-5);
    }
}

fn grad_or_none(loss: Tensor, leaves: &[Tensor]) -> Vec<Option<Tensor>> {
    grad(&[loss], leaves, BackwardOptions::default()).unwrap()
}

#[test]
fn views() {
    let check = Checker::new();
    check.case("reshape", &["a"], |x, _| x[0].reshape([2, -1]));
    check.case("flatten", &["c"], |x, _| x[0].flatten(0, 1));
    check.case("unflatten", &["c"], |x, _| x[0].unflatten(2, (2, -1)));
    check.case("movedim", &["c"], |x, _| x[0].movedim([0, 1], [2, 0]));
    check.case("transpose", &["c"], |x, _| x[0].swapaxes(0, 2));
    check.case("expand", &["u"], |x, _| x[0].unsqueeze(1).expand([-1, 2]));
    check.case("slice", &["a"], |x, _| x[0].slice(1, 1..-1, 1));
    check.case("slice_step", &["c"], |x, _| x[0].slice(-1, 1.., 2));
    check.case("flip", &["c"], |x, _| x[0].flip([0, 2]));
    check.case("roll", &["c"], |x, _| x[0].roll(&[1, -2], &[0, 2]));
    check.case("roll_flat", &["a"], |x, _| x[0].roll(&[5], &[]));
    check.case("unfold", &["c"], |x, _| x[0].unfold(2, 3, 1));
    check.case("unfold_middle", &["c"], |x, _| x[0].unfold(1, 2, 1));
    check.case("chunk", &["a"], |x, _| x[0].chunk(3, 1)[1].clone());
    check.case("split", &["a"], |x, _| x[0].split([1, 3], 1)[1].clone());
    check.case("unbind", &["c"], |x, _| x[0].unbind(1)[2].clone());
    check.case("repeat", &["a"], |x, _| x[0].repeat([2, 1, 2]));
    check.case("repeat_interleave", &["a"], |x, _| x[0].repeat_interleave(3, 0));
    check.case("tile", &["c"], |x, _| x[0].tile(2));
    check.case("diagonal", &["c"], |x, _| x[0].diagonal(1, 2, 0));
    check.case("diagonal_below", &["a"], |x, _| x[0].diagonal(-1, 0, 1));
    check.case("diag", &["v"], |x, _| x[0].diag(-2));
    check.case("tril", &["c"], |x, _| x[0].tril(1));
    check.case("triu", &["a"], |x, _| x[0].triu(-1));
}

#[test]
fn pads() {
    let check = Checker::new();
    check.case("pad_zero", &["a"], |x, _| x[0].pad(&[1, 2, 0, 1], 0.0));
    check.case("pad_value", &["a"], |x, _| x[0].pad(&[1, -2, -1, 2], 7.5));
    check.case("pad_reflect", &["c"], |x, _| x[0].pad(&[2, 3], PadMode::Reflect));
    check.case("pad_reflect_crop", &["c"], |x, _| x[0].pad(&[3, -2], PadMode::Reflect));
    check.case("pad_replicate", &["c"], |x, _| x[0].pad(&[2, 3], PadMode::Replicate));
    check.case("pad_circular", &["c"], |x, _| x[0].pad(&[3, 1], PadMode::Circular));
}

#[test]
fn joins() {
    let check = Checker::new();
    check.case("cat", &["a", "b"], |x, _| Tensor::cat(&[&x[0], &x[1], &x[0]], 1));
    check.case("cat_many", &["a", "v"], |x, _| {
        let rows = (0..20).map(|k| x[1].unsqueeze(0) * f64::from(k));
        Tensor::cat(&[x[0].clone()].into_iter().chain(rows).collect::<Vec<_>>(), 0)
    });
    check.case("stack", &["a", "b"], |x, _| Tensor::stack(x, 1));
    check
        .case("cat_empty", &["u"], |x, i| Tensor::cat(&[Tensor::zeros([0], i.device), x[0].unsqueeze(0)], 0));
}

#[test]
fn indexes() {
    let check = Checker::new();
    check.case("i", &["c"], |x, _| x[0].i((.., 2, 1..3)));
    check.case("i_ellipsis", &["c"], |x, _| x[0].i((Ellipsis, NewAxis, 1)));
    check.case("i_picks", &["c"], |x, i| x[0].i((1, &i.get("picks"), Index::step(.., 2))));
    check.case("i_assign", &["a", "u"], |x, _| {
        let mut a = &x[0] * 1.0;
        a.i_assign((.., 1), &x[1]);
        a.i_assign((0, 2..), 9.0);
        a
    });
    check.case("i_assign_picks", &["c", "v"], |x, i| {
        let mut c = &x[0] * 1.0;
        c.i_assign((1, &Tensor::new([2, 0], i.device)), &x[1]);
        c
    });
    check.case("gather", &["a"], |x, i| x[0].gather(0, &i.get("index")));
    check.case("index_select", &["c"], |x, i| x[0].index_select(1, &i.get("picks")));
    check.case("scatter", &["a", "b"], |x, i| x[0].scatter(1, &i.get("index").narrow(1, 0, 2), &x[1]));
    check.case("scatter_add", &["a", "b"], |x, i| x[0].scatter_add(0, &i.get("index"), &x[1]));
    check.case("scatter_value", &["a"], |x, i| x[0].scatter(1, &i.get("index"), 2.5));
    check.case("index_add", &["a", "b"], |x, i| x[0].index_add(0, &i.get("picks"), &x[1]));
    check.case("masked_fill", &["a"], |x, i| x[0].masked_fill(&i.get("mask"), -2.0));
    check.case("masked_select", &["a"], |x, i| x[0].masked_select_blocking(&i.get("mask")).unwrap());
    check.case("nonzero", &[], |_, i| i.get("zeros").nonzero_blocking().unwrap());
    check.case("one_hot", &[], |_, i| i.get("index").one_hot(4));
}

#[test]
fn creation() {
    let check = Checker::new();
    check.case("arange", &[], |_, i| Tensor::arange(-3, 11, 4, i.device));
    check.case("arange_float", &[], |_, i| Tensor::arange(0.5, -1, -0.3, i.device));
    check.case("linspace", &[], |_, i| Tensor::linspace(-2.0, 3.0, 7, i.device));
    check.case("linspace_one", &[], |_, i| Tensor::linspace(-2.0, 3.0, 1, i.device));
    check.case("eye", &[], |_, i| Tensor::eye_rectangular(2, 3, i.device));
}

#[test]
fn reductions() {
    let check = Checker::new();
    check.case("prod", &["zeros"], |x, _| x[0].prod(..));
    check.case("prod_dim", &["a"], |x, _| x[0].prod(1));
    check.case("amax", &["ties"], |x, _| x[0].amax(1));
    check.case("amin", &["ties"], |x, _| x[0].amin([0, 1]));
    check.case("max_all", &["ties"], |x, _| x[0].max(..));
    check.case("max_dim", &["ties"], |x, _| x[0].max_dim(1).0);
    check.case("min_dim", &["ties"], |x, _| x[0].min_dim(0).0);
    check.case("max_positions", &[], |_, i| i.get("ties").max_dim(1).1);
    check.case("argmax", &[], |_, i| i.get("a").argmax(..));
    check.case("argmin", &[], |_, i| i.get("a").argmin(0));
    check.case("all", &[], |_, i| i.get("zeros").all(1));
    check.case("any", &[], |_, i| i.get("zeros").any(1));
    check.case("count_nonzero", &[], |_, i| i.get("zeros").count_nonzero(1));
    check.case("all_empty", &[], |_, i| i.get("empty").all(0));
    check.case("sum_empty", &[], |_, i| i.get("empty").sum(0));
    check.case("mean_empty", &[], |_, i| i.get("empty").mean(0));
}

#[test]
fn statistics() {
    let check = Checker::new();
    check.case("var", &["c"], |x, _| x[0].var([0, 2], 1));
    check.case("var_biased", &["a"], |x, _| x[0].var_keepdim(1, 0));
    check.case("std", &["c"], |x, _| x[0].std(1, 1));
    check.case("std_zero", &["zeros"], |x, _| x[0].std(1, 1));
    check.case("logsumexp", &["c"], |x, _| x[0].logsumexp([0, 2]));
    check.case("logsumexp_large", &["large"], |x, _| x[0].logsumexp(1));
    check.case("logsumexp_inf", &[], |_, i| i.get("inf").logsumexp(1));
    check.case("norm_1", &["zeros"], |x, _| x[0].norm(1, 1));
    check.case("norm_2", &["zeros"], |x, _| x[0].norm(2, 1));
    check.case("norm_2_second", &["c"], |x, _| x[0].norm(2, [0, 1]));
    check.case("norm_3", &["zeros"], |x, _| x[0].norm(3, 1));
    check.case("norm_half", &["zeros"], |x, _| x[0].norm(0.5, 1));
    check.case("norm_1_5", &["zeros"], |x, _| x[0].norm(1.5, 0));
    check.case("norm_inf", &["ties"], |x, _| x[0].norm(f64::INFINITY, 1));
    check.case("norm_neg_inf", &["ties"], |x, _| x[0].norm(f64::NEG_INFINITY, 0));
    check.case("norm_0", &[], |_, i| i.get("zeros").norm(0, 1));
    check.case("norm_minus_2", &["p"], |x, _| x[0].norm(-2, 1));
}

#[test]
fn softmaxes() {
    let check = Checker::new();
    check.case("softmax", &["c"], |x, _| x[0].softmax(1));
    check.case("softmax_large", &["large"], |x, _| x[0].softmax(1));
    check.case("log_softmax", &["c"], |x, _| x[0].log_softmax(2));
    check.case("log_softmax_large", &["large"], |x, _| x[0].log_softmax(1));
}

#[test]
fn products() {
    let check = Checker::new();
    check.case("matmul", &["c", "m"], |x, _| x[0].matmul(&x[1]));
    check.case("bmm", &["c", "n"], |x, _| x[0].bmm(&x[1]));
    check.case("mv", &["a", "v"], |x, _| x[0].mv(&x[1]));
    check.case("dot", &["v"], |x, _| x[0].dot(&x[0]));
    check.case("outer", &["u", "v"], |x, _| x[0].outer(&x[1]));
    check.case("addmm", &["a", "m"], |x, _| x[1].i(0).addmm(&x[0], &x[1], 0.5, 2.0));
    check.case("baddbmm", &["c", "n"], |x, _| x[1].i((0, 0)).baddbmm(&x[0], &x[1], 1, 1));
    check.case("tensordot", &["c", "a"], |x, _| x[0].tensordot(&x[1], ([1, 2], [0, 1])));
    check.case("tensordot_inner", &["c", "m"], |x, _| x[0].tensordot(&x[1], 1));
    check.case("trace", &["s"], |x, _| x[0].trace());
    check.case("kron", &["a", "v"], |x, _| x[0].kron(&x[1]));
}

#[test]
fn einsums() {
    let check = Checker::new();
    for (name, equation, inputs) in [
        ("einsum_matmul", "ij,jk->ik", &["a", "m"] as &[&str]),
        ("einsum_implicit", "bij,jk", &["c", "m"]),
        ("einsum_permuted", "ji,kj->ik", &["m", "a"]),
        ("einsum_batch", "bij,bjk->bik", &["c", "n"]),
        ("einsum_ellipsis", "...ij,jk->...ik", &["c", "m"]),
        ("einsum_ellipsis_middle", "i...k,k->k...i", &["c", "v"]),
        ("einsum_trace", "ii", &["s"]),
        ("einsum_diagonal", "ii->i", &["s"]),
        ("einsum_diagonal_product", "ii,i->i", &["s", "v"]),
        ("einsum_sum", "ij->", &["a"]),
        ("einsum_outer", "i,j->ji", &["u", "v"]),
        ("einsum_three", "bij,jk,ji->bk", &["c", "m", "m3"]),
        ("einsum_bilinear", "bn,anm,bm->ba", &["q", "n", "r"]),
        ("einsum_elementwise", "ij,ij->ij", &["a", "b"]),
        ("einsum_broadcast", "...j,...j->...", &["c", "one"]),
        ("einsum_spaces", " i j , j k -> k ", &["a", "m"]),
    ] {
        check.case(name, inputs, |x, _| Tensor::einsum(equation, x));
    }
    check.case("einsum_dot", &["v"], |x, _| Tensor::einsum("i,i", &[&x[0], &x[0]]));
}

/// No case of the reference file is left out above.
#[test]
fn every_case_is_checked() {
    let source = include_str!("tensor_api.rs");
    let reference = Reference::open();
    let names = reference.file.names();
    for name in names.iter().filter_map(|name| name.strip_suffix(".out")) {
        assert!(
            source.contains(&format!("\"{name}\"")),
            "{name} is in the reference file but not in the test"
        );
    }
}
