//! Attention's kernels against its definition, written here with tensor ops, and against PyTorch 1.13
//! (`tools/reference/attention.py`): masks, dropout, shared heads, all widths, F16; values, gradients, and gradients of
//! gradients.

use crate::common::recorded::{Inputs, Recorded};
use crate::common::{assert_close, devices, gpu, new_gpu, values};
use flambeau::autograd::{BackwardOptions, grad};
use flambeau::nn::functional::AttentionOptions;
use flambeau::nn::{
    AttentionMasks, Dropout, MultiheadAttention, MultiheadAttentionOptions, TransformerEncoderLayer,
    TransformerLayerOptions,
};
use flambeau::prelude::*;
use flambeau::{GpuConfig, MatrixUnits};

fn random(shape: &[usize], seed: u64, device: &Device) -> Tensor {
    let x = Tensor::randn(shape, &Generator::new(seed), device);
    x.eval().unwrap();
    x
}

/// Queries, keys and values (B, H, T, D), as a transformer cuts them from one product.
fn cut(device: &Device, [b, t, h, d]: [usize; 4]) -> (Tensor, [Tensor; 3]) {
    let joined = random(&[b, t, 3, h, d], 3, device).requires_grad();
    let cut = joined.permute(&[2, 0, 3, 1, 4]);
    let parts = [0, 1, 2].map(|k| cut.select(0, k));
    (joined, parts)
}

/// (…, G, S, D) with each head repeated for those of the queries that share it.
fn repeated(x: &Tensor, heads: usize) -> Tensor {
    let [b, g, s, d] = *x.shape().dims() else { panic!("four dimensions") };
    x.reshape([b, g, 1, s, d]).expand([b, g, heads / g, s, d]).reshape([b, heads, s, d])
}

/// What attention is, op by op.
fn definition([q, k, v]: &[Tensor; 3], options: &AttentionOptions) -> Tensor {
    let (k, v) = match options.enable_gqa {
        true => (repeated(k, q.size(1)), repeated(v, q.size(1))),
        false => (k.clone(), v.clone()),
    };
    let scale = options.scale.unwrap_or(1.0 / (q.size(-1) as f64).sqrt());
    let mut scores = (q * scale).matmul(&k.transpose(-2, -1));
    if options.causal {
        let seen = Tensor::ones([q.size(-2), k.size(-2)], q.device()).tril(0).to_dtype(DType::Bool);
        scores = seen.where_cond(&scores, f64::NEG_INFINITY);
    }
    scores = match &options.mask {
        // As PyTorch: what is hidden has a score of −∞, through which gradients flow.
        Some(mask) if mask.dtype() == DType::Bool => {
            scores + mask.where_cond(Tensor::zeros([1], q.device()), f64::NEG_INFINITY)
        }
        Some(mask) => scores + mask,
        None => scores,
    };
    let mut weights = scores.softmax(-1);
    if let Some((p, generator)) = &options.dropout {
        weights = weights.dropout(*p, generator);
    }
    weights.matmul(&v)
}

/// The result and the gradients of the leaves.
fn run(x: &[Tensor; 3], leaves: &[&Tensor], attend: impl Fn(&[Tensor; 3]) -> Tensor) -> Vec<Vec<f64>> {
    let y = attend(x);
    let weights = random(y.shape().dims(), 4, y.device()).to_dtype(y.dtype());
    (&y * weights).sum(..).backward().unwrap();
    let gradients = leaves.iter().map(|leaf| {
        let gradient = leaf.grad().unwrap();
        leaf.zero_grad();
        values(&gradient)
    });
    std::iter::once(values(&y)).chain(gradients).collect()
}

/// Compares the kernels with the definition, forward and backward. Options are made anew for each, with fresh generators.
#[track_caller]
fn check(x: &[Tensor; 3], leaves: &[&Tensor], tolerance: f64, options: impl Fn() -> AttentionOptions) {
    let fused = run(x, leaves, |[q, k, v]| q.scaled_dot_product_attention(k, v, &options()));
    let defined = run(x, leaves, |x| definition(x, &options()));
    for (fused, defined) in fused.iter().zip(&defined) {
        assert_close(fused, defined, tolerance, 5.0 * tolerance);
    }
}

/// Leaves of these shapes.
fn leaves(shapes: [[usize; 4]; 3], device: &Device) -> [Tensor; 3] {
    let mut seed = 0;
    shapes.map(|shape| {
        seed += 1;
        random(&shape, seed, device).requires_grad()
    })
}

/// Booleans of a shape in which three of four keys are seen, and by every query key 0.
fn seen(shape: [usize; 4], device: &Device) -> Tensor {
    let [b, h, l, keys] = shape;
    let flags: Vec<bool> = (0..b * h * l * keys).map(|k| k % keys == 0 || k * 7 % 4 != 1).collect();
    Tensor::from_vec(flags, shape, device)
}

#[test]
fn as_defined() {
    for device in devices() {
        for causal in [false, true] {
            for (t, d) in [(37, 16), (70, 64)] {
                let (joined, x) = cut(&device, [2, t, 3, d]);
                check(&x, &[&joined], 2e-5, || AttentionOptions { causal, ..Default::default() });
            }
        }
    }
}

#[test]
fn of_other_lengths_and_widths() {
    // Queries, keys, their width, and that of values: part of a block, several blocks, part of a vector, several.
    for [l, s, e, v] in [
        [33, 100, 5, 7],
        [100, 33, 33, 48],
        [40, 65, 128, 100],
        [1, 40, 8, 3],
        [64, 1, 4, 128],
        [20, 33, 131, 260],
    ] {
        for device in devices() {
            let x = leaves([[2, 2, l, e], [2, 2, s, e], [2, 2, s, v]], &device);
            for causal in [false, true] {
                check(&x, &x.each_ref(), 2e-5, || AttentionOptions { causal, ..Default::default() });
            }
        }
    }
}

/// Masks of keys, of queries, of heads and of all, of booleans and of numbers, with and without the other options.
#[test]
fn with_masks() {
    let (b, h, l, s) = (2, 2, 37, 40);
    for device in devices() {
        let x = leaves([[b, h, l, 8], [b, h, s, 8], [b, h, s, 12]], &device);
        let numbers = |shape: [usize; 4]| random(&shape, 9, &device);
        let hiding = |shape: [usize; 4]| seen(shape, &device).where_cond(numbers(shape), f64::NEG_INFINITY);
        for (mask, causal, p) in [
            (seen([b, 1, 1, s], &device), true, 0.2),
            (hiding([b, 1, 1, s]), true, 0.0),
            (hiding([1, 1, l, s]), false, 0.0),
            (seen([b, h, l, s], &device), false, 0.0),
            (numbers([1, h, l, 1]), true, 0.2),
            (numbers([1, 1, 1, 1]).to_dtype(DType::F16), false, 0.0),
        ] {
            check(&x, &x.each_ref(), 2e-5, || {
                let dropout = Some((p, Generator::new(5)));
                AttentionOptions { mask: Some(mask.clone()), causal, dropout, ..Default::default() }
            });
        }
    }
}

/// Masks, queries, keys and values that lie in memory in other ways, and in fewer and more dimensions.
#[test]
fn with_views() {
    for device in devices() {
        let (l, s) = (35, 33);
        let wide = random(&[2, 2, 40, 24], 1, &device).requires_grad();
        let x = [
            wide.narrow(2, 5, l).narrow(3, 3, 6),
            wide.flip(2).narrow(2, 1, s).narrow(3, 0, 6),
            wide.transpose(0, 1).narrow(2, 0, s).narrow(3, 11, 5),
        ];
        let turned = random(&[s, l, 2, 1], 2, &device).permute(&[2, 3, 1, 0]);
        let second = || Index::step(.., 2);
        let stepped = seen([2, 1, 2 * l, 2 * s], &device).i((.., .., second(), second()));
        let constant = Tensor::zeros([l, s], &device);
        for mask in [turned, stepped, constant] {
            check(&x, &[&wide], 2e-5, || AttentionOptions {
                mask: Some(mask.clone()),
                dropout: Some((0.5, Generator::new(6))),
                ..Default::default()
            });
        }
        // Two, three and five dimensions; masks of fewer.
        for outer in [vec![], vec![3], vec![2, 1, 3]] {
            let shape = |rows: usize, width: usize| [&outer[..], &[rows, width]].concat();
            let x = [shape(9, 4), shape(7, 4), shape(7, 5)]
                .map(|shape| random(&shape, 8, &device).requires_grad());
            let ones = vec![1; outer.len().saturating_sub(1)];
            let of_first = [&outer[..outer.len().min(1)], &ones[..], &[1, 7]].concat();
            for mask in [random(&of_first, 7, &device), random(&[9, 1], 7, &device)] {
                check(&x, &x.each_ref(), 2e-5, || AttentionOptions {
                    mask: Some(mask.clone()),
                    ..Default::default()
                });
            }
        }
    }
}

/// Keys for all sequences of a batch, given once.
#[test]
fn keys_are_broadcast() {
    for device in devices() {
        let x = leaves([[3, 2, 9, 4], [1, 2, 7, 4], [1, 1, 7, 5]], &device);
        check(&x, &x.each_ref(), 2e-5, Default::default);
    }
}

#[test]
fn of_shared_heads() {
    for device in devices() {
        for (h, g, causal) in [(4, 2, true), (6, 1, false)] {
            let x = leaves([[2, h, 37, 8], [2, g, 40, 8], [2, g, 40, 12]], &device);
            let mask = causal.then(|| seen([2, h, 1, 40], &device));
            check(&x, &x.each_ref(), 4e-5, || AttentionOptions {
                mask: mask.clone(),
                causal,
                dropout: Some((0.3, Generator::new(8))),
                enable_gqa: true,
                ..Default::default()
            });
        }
        // Heads in front of three dimensions.
        let [q, k, v] = leaves([[1, 4, 5, 8], [1, 2, 6, 8], [1, 2, 6, 3]], &device);
        let grouped = AttentionOptions { enable_gqa: true, ..Default::default() };
        let three = q.select(0, 0).scaled_dot_product_attention(&k.select(0, 0), &v.select(0, 0), &grouped);
        assert_close(&values(&three), &values(&definition(&[q, k, v], &grouped)), 1e-5, 1e-5);
    }
}

/// In F16 results have three digits; what is computed from the rounded inputs in F32 says which.
#[test]
fn of_half_precision() {
    for device in devices() {
        let [q, k, v] = leaves([[2, 2, 37, 12], [2, 2, 40, 12], [2, 2, 40, 7]], &device);
        let halves = [&q, &k, &v].map(|x| x.detach().to_dtype(DType::F16).requires_grad());
        let floats = halves.each_ref().map(|x| x.detach().to_dtype(DType::F32).requires_grad());
        let padding = seen([2, 1, 1, 40], &device);
        let options = || AttentionOptions {
            mask: Some(padding.clone()),
            causal: true,
            dropout: Some((0.25, Generator::new(8))),
            ..Default::default()
        };
        let attend = |[q, k, v]: &[Tensor; 3]| q.scaled_dot_product_attention(k, v, &options());
        assert_eq!(attend(&halves).dtype(), DType::F16);
        let got = run(&halves, &halves.each_ref(), attend);
        let want = run(&floats, &floats.each_ref(), attend);
        for (got, want) in got.iter().zip(&want) {
            assert_close(got, want, 4e-3, 4e-3);
        }
    }
}

/// The same on matrix units, which threads play: every kind of mask, dropout, shared heads, views, lengths and widths of whole
/// and of part of a block or a square. The CPU judges, with the same numbers in F32.
#[test]
fn of_half_precision_on_matrix_units() {
    let config = GpuConfig { matrix_units: MatrixUnits::Played, ..Default::default() };
    let device = new_gpu(config);
    // Queries (B, H, L, E), heads of keys, keys, their width as values; causal, a mask, the share of weights that are dropped.
    let cases = [
        ([2, 2, 70, 20], [2, 70, 64], true, None, 0.3),
        ([2, 4, 37, 12], [2, 40, 7], true, Some([2, 1, 1, 40]), 0.0),
        ([1, 2, 65, 16], [1, 33, 16], false, Some([1, 2, 65, 33]), 0.25),
    ];
    for ([b, h, l, e], [g, s, v], causal, mask, dropped) in cases {
        let [q, k, v] = leaves([[b, h, l, e], [b, g, s, e], [b, g, s, v]], &device);
        let halves = [&q, &k, &v].map(|x| x.detach().to_dtype(DType::F16).requires_grad());
        // The CPU has the same numbers.
        let floats = halves.each_ref().map(|x| {
            let numbers: Vec<f32> = values(x).into_iter().map(|x| x as f32).collect();
            Tensor::from_vec(numbers, x.shape().dims(), &Device::cpu()).requires_grad()
        });
        let options = |device: &Device| AttentionOptions {
            mask: mask.map(|shape| seen(shape, device)),
            causal,
            dropout: (dropped > 0.0).then(|| (dropped, Generator::new(8))),
            enable_gqa: g != h,
            ..Default::default()
        };
        let attend = |[q, k, v]: &[Tensor; 3]| q.scaled_dot_product_attention(k, v, &options(q.device()));
        let got = run(&halves, &halves.each_ref(), attend);
        let want = run(&floats, &floats.each_ref(), attend);
        for (got, want) in got.iter().zip(&want) {
            assert_close(got, want, 5e-3, 5e-3);
        }
    }
    let played = |source: &&String| source.contains("fn play_lines");
    assert!(device.shader_sources().iter().filter(played).count() >= 9);
}

/// The CPU, the GPU and the definition drop the same weights, and as many as they should. With one-hot values the result is
/// the weights themselves.
#[test]
fn dropout_is_the_same_everywhere() {
    let (b, h, t) = (2, 3, 48);
    let weights = |device: &Device, fused: bool| {
        let x = random(&[b, h, t, 8], 1, device);
        let one_hot = Tensor::eye(t, device).expand([b, h, t, t]);
        let generator = Generator::new(11);
        // Close to where the low word of the counter ends.
        generator.set_counter((1 << 32) - 1000);
        let dropout = Some((0.4, generator.clone()));
        let options = AttentionOptions { dropout, ..Default::default() };
        let y = match fused {
            true => x.scaled_dot_product_attention(&x, &one_hot, &options),
            false => definition(&[x.clone(), x, one_hot], &options),
        };
        assert_eq!(generator.counter(), (1 << 32) - 1000 + (b * h * t * t) as u64);
        values(&y)
    };
    let (cpu, gpu) = (Device::cpu(), gpu());
    let defined = weights(&cpu, false);
    for got in [weights(&cpu, true), weights(&gpu, true), weights(&gpu, false)] {
        assert!(got.iter().zip(&defined).all(|(a, b)| (*a == 0.0) == (*b == 0.0)));
        assert_close(&got, &defined, 1e-6, 1e-5);
    }
    let kept = defined.iter().filter(|weight| **weight != 0.0).count() as f64 / defined.len() as f64;
    let deviation = (0.4 * 0.6 / defined.len() as f64).sqrt();
    assert!((kept - 0.6).abs() < 4.0 * deviation, "{kept} of all weights were kept");
    // All or none.
    for device in devices() {
        let x = random(&[1, 1, 5, 4], 1, &device);
        let with = |p: f64| {
            let options = AttentionOptions { dropout: Some((p, Generator::new(1))), ..Default::default() };
            values(&x.scaled_dot_product_attention(&x, &x, &options))
        };
        assert_eq!(with(0.0), values(&x.scaled_dot_product_attention(&x, &x, &Default::default())));
        assert!(with(1.0).iter().all(|&sum| sum == 0.0));
    }
}

#[test]
fn second_derivatives() {
    let device = Device::cpu();
    let of = |fused: bool| {
        let (joined, x) = cut(&device, [1, 5, 4, 4]);
        let [q, k, v] = &x;
        let x = [q.clone(), k.narrow(1, 0, 2), v.narrow(1, 2, 2)];
        let options = AttentionOptions {
            mask: Some(random(&[1, 4, 1, 5], 2, &device)),
            causal: true,
            dropout: Some((0.2, Generator::new(3))),
            enable_gqa: true,
            ..Default::default()
        };
        let y = match fused {
            true => x[0].scaled_dot_product_attention(&x[1], &x[2], &options),
            false => definition(&x, &options),
        };
        let again = BackwardOptions { create_graph: true, ..Default::default() };
        let first =
            grad(&[y.square().sum(..)], std::slice::from_ref(&joined), again).unwrap().remove(0).unwrap();
        first.square().sum(..).backward().unwrap();
        values(&joined.grad().unwrap())
    };
    assert_close(&of(true), &of(false), 1e-3, 1e-4);
}

/// A mask of numbers may be learnt.
#[test]
fn masks_have_gradients() {
    for device in devices() {
        let x = leaves([[2, 2, 9, 4], [2, 2, 7, 4], [2, 2, 7, 4]], &device);
        for shape in [[2, 1, 1, 7], [1, 2, 9, 7], [1, 1, 9, 1]] {
            let bias = random(&shape, 5, &device).requires_grad();
            let [q, k, v] = x.each_ref();
            check(&x, &[q, k, v, &bias], 2e-5, || AttentionOptions {
                mask: Some(bias.clone()),
                causal: true,
                dropout: Some((0.2, Generator::new(5))),
                ..Default::default()
            });
        }
    }
}

/// A query that sees no key gives NaN, and so do its gradients; the others do not hear of it. Keys that a mask puts at the
/// lowest float are seen where there are no others.
#[test]
fn queries_that_see_nothing() {
    for device in devices() {
        let hidden = Tensor::from_vec((0..40).map(|k| k / 8 != 2).collect::<Vec<_>>(), [1, 1, 5, 8], &device);
        let lowest = hidden.where_cond(Tensor::zeros([1], &device), f64::from(f32::MIN));
        let infinite = hidden.where_cond(Tensor::zeros([1], &device), f64::NEG_INFINITY);
        let masks = [(hidden.clone(), true), (infinite, true), (lowest, false)];
        for (mask, nothing) in masks {
            let x = leaves([[1, 1, 5, 4], [1, 1, 8, 4], [1, 1, 8, 4]], &device);
            let options = AttentionOptions { mask: Some(mask), ..Default::default() };
            let of = |attend: &dyn Fn(&[Tensor; 3]) -> Tensor| run(&x, &x.each_ref(), attend);
            let fused = of(&|[q, k, v]| q.scaled_dot_product_attention(k, v, &options));
            let defined = of(&|x| definition(x, &options));
            for (fused, defined) in fused.iter().zip(&defined) {
                assert_close(fused, defined, 2e-5, 1e-4);
            }
            let rows: Vec<bool> = fused[0].chunks(4).map(|row| row.iter().all(|x| x.is_nan())).collect();
            assert_eq!(rows, [false, false, nothing, false, false]);
            assert_eq!(fused[3].iter().all(|x| x.is_nan()), nothing);
        }
    }
}

#[test]
fn of_nothing() {
    for device in devices() {
        for [b, h, l, s, e] in [[0, 2, 3, 4, 5], [1, 2, 0, 4, 5], [1, 2, 3, 0, 5], [1, 0, 3, 4, 5]] {
            let x = [[b, h, l, e], [b, h, s, e], [b, h, s, e]].map(|shape| Tensor::ones(shape, &device));
            let options = || AttentionOptions {
                mask: Some(Tensor::ones([b, 1, 1, s], &device)),
                dropout: Some((0.5, Generator::new(1))),
                ..Default::default()
            };
            let y = x[0].scaled_dot_product_attention(&x[1], &x[2], &options());
            assert_eq!(y.shape().dims(), [b, h, l, e]);
            assert_eq!(values(&y), values(&definition(&x, &options())));
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let device = Device::cpu();
    let ones = |shape: &[usize]| Tensor::ones(shape, &device);
    let refused = |shapes: [&[usize]; 3], options: AttentionOptions, message: &str| {
        let [q, k, v] = shapes.map(ones);
        let error = q.try_scaled_dot_product_attention(&k, &v, &options).unwrap_err();
        assert_eq!(error.to_string(), format!("scaled_dot_product_attention: {message}"));
    };
    let fitting: [&[usize]; 3] = [&[2, 4, 5, 8], &[2, 4, 6, 8], &[2, 4, 6, 8]];
    let masked = |shape: &[usize]| AttentionOptions { mask: Some(ones(shape)), ..Default::default() };
    for shape in [&[5, 5][..], &[3, 1, 1, 6], &[1, 2, 4, 5, 6]] {
        let shown = ones(shape).shape().to_string();
        refused(fitting, masked(shape), &format!("a mask {shown} does not broadcast to scores [2, 4, 5, 6]"));
    }
    let expected = "(…, L, E), (…, S, E) and (…, S, V) are expected";
    let shared: [&[usize]; 3] = [&[2, 4, 5, 8], &[2, 3, 6, 8], &[2, 3, 6, 8]];
    let shapes = "queries [2, 4, 5, 8], keys [2, 3, 6, 8] and values [2, 3, 6, 8]";
    refused(shared, AttentionOptions::default(), &format!("{shapes}; {expected}"));
    let grouped = AttentionOptions { enable_gqa: true, ..Default::default() };
    let expected = "(…, H, L, E), (…, G, S, E) and (…, G, S, V), with H a multiple of G, are expected";
    refused(shared, grouped, &format!("{shapes}; {expected}"));
    let dropout = AttentionOptions { dropout: Some((1.5, Generator::new(1))), ..Default::default() };
    refused(fitting, dropout, "a probability of 1.5 is outside 0..=1");
}

/// PyTorch's layers with masks, in several blocks of queries and keys.
#[test]
fn as_pytorch() {
    let recorded = Recorded::open(include_bytes!("../data/attention.safetensors"));
    // Gradients of parameters are sums over 74 tokens.
    let case = |name: &'static str| recorded.case(name).within(3e-5);
    let masks = |x: &Inputs, causal: bool| AttentionMasks {
        attn_mask: x.find("attn_mask").cloned(),
        key_padding_mask: x.find("key_padding_mask").cloned(),
        causal,
    };
    let batch_first = MultiheadAttentionOptions { batch_first: true, ..Default::default() };
    for (name, causal) in
        [("causal_padding", true), ("causal_padding", false), ("additive", false), ("nothing_seen", false)]
    {
        case(name).check(
            |device| MultiheadAttention::with_options(8, 2, batch_first, device),
            |attention, x| {
                let (query, key) = (x.get("q"), x.find("k").unwrap_or(x.get("q")));
                // Causality is said by the flag, or by the mask that was recorded.
                let mut masks = masks(x, causal);
                masks.attn_mask = masks.attn_mask.filter(|_| !causal);
                vec![attention.forward(query, key, key, &masks)]
            },
        );
    }
    let layer =
        TransformerLayerOptions { dim_feedforward: 6, dropout: 0.0, batch_first: true, ..Default::default() };
    case("encoder_layer").check(
        |device| TransformerEncoderLayer::with_options(8, 2, layer, device),
        |layer, x| vec![layer.forward(x.get("x"), &masks(x, false))],
    );
    case("grouped").check(
        |_| Dropout::new(0.0),
        |_, x| {
            let options =
                AttentionOptions { mask: x.find("mask").cloned(), enable_gqa: true, ..Default::default() };
            vec![x.get("q").scaled_dot_product_attention(x.get("k"), x.get("v"), &options)]
        },
    );
}
