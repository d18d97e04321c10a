//! Attention's kernels against its definition with tensor ops, which a mask that hides nothing leads to: values,
//! gradients, and gradients of gradients.

use crate::common::{assert_close, devices, values};
use flambeau::autograd::{BackwardOptions, grad};
use flambeau::nn::functional::AttentionOptions;
use flambeau::prelude::*;

/// Queries, keys and values (B, H, T, D), as a transformer cuts them from one product.
fn operands(device: &Device, [b, t, h, d]: [usize; 4]) -> (Tensor, Vec<Tensor>) {
    let joined = Tensor::randn([b, t, 3, h, d], &Generator::new(3), device);
    joined.eval().unwrap();
    let joined = joined.requires_grad();
    let cut = joined.permute(&[2, 0, 3, 1, 4]);
    (joined, (0..3).map(|k| cut.select(0, k)).collect())
}

fn options(device: &Device, causal: bool, composite: bool, lengths: [usize; 2]) -> AttentionOptions {
    let all = || Tensor::ones(lengths, device);
    let mask = composite.then(|| if causal { all().tril(0) } else { all() }.to_dtype(DType::Bool));
    AttentionOptions { causal: causal && !composite, mask, ..Default::default() }
}

#[test]
fn as_defined() {
    for device in devices() {
        for causal in [false, true] {
            for (t, d) in [(37, 16), (70, 64)] {
                let of = |composite: bool| {
                    let (joined, x) = operands(&device, [2, t, 3, d]);
                    let options = options(&device, causal, composite, [t, t]);
                    let y = x[0].scaled_dot_product_attention(&x[1], &x[2], &options);
                    let weights = Tensor::randn(y.shape(), &Generator::new(4), &device);
                    (&y * weights).sum(..).backward().unwrap();
                    (values(&y), values(&joined.grad().unwrap()))
                };
                let (fused, composite) = (of(false), of(true));
                assert_close(&fused.0, &composite.0, 1e-5, 1e-5);
                assert_close(&fused.1, &composite.1, 2e-5, 1e-4);
            }
        }
    }
}

#[test]
fn of_other_lengths_and_widths() {
    // Queries, keys, their width, and that of values: part of a block, several blocks, part of a vector, several.
    for [l, s, e, v] in
        [[33, 100, 5, 7], [100, 33, 33, 48], [40, 65, 128, 100], [1, 40, 8, 3], [64, 1, 4, 128]]
    {
        for device in devices() {
            for causal in [false, true] {
                let random = |shape: [usize; 4], seed: u64| {
                    let x = Tensor::randn(shape, &Generator::new(seed), &device);
                    x.eval().unwrap();
                    x.requires_grad()
                };
                let of = |composite: bool| {
                    let (q, k, x) =
                        (random([2, 2, l, e], 1), random([2, 2, s, e], 2), random([2, 2, s, v], 3));
                    let options = options(&device, causal, composite, [l, s]);
                    let y = q.scaled_dot_product_attention(&k, &x, &options);
                    let weights = Tensor::randn(y.shape(), &Generator::new(4), &device);
                    (&y * weights).sum(..).backward().unwrap();
                    [q, k, x]
                        .map(|x| values(&x.grad().unwrap()))
                        .into_iter()
                        .chain([values(&y)])
                        .collect::<Vec<_>>()
                };
                for (fused, composite) in of(false).iter().zip(&of(true)) {
                    assert_close(fused, composite, 2e-5, 1e-4);
                }
            }
        }
    }
}

#[test]
fn second_derivatives() {
    let device = Device::cpu();
    let of = |composite: bool| {
        let (joined, x) = operands(&device, [1, 5, 2, 4]);
        let y = x[0].scaled_dot_product_attention(&x[1], &x[2], &options(&device, true, composite, [5, 5]));
        let again = BackwardOptions { create_graph: true, ..Default::default() };
        let first =
            grad(&[y.square().sum(..)], std::slice::from_ref(&joined), again).unwrap().remove(0).unwrap();
        first.square().sum(..).backward().unwrap();
        values(&joined.grad().unwrap())
    };
    assert_close(&of(false), &of(true), 1e-3, 1e-4);
}
