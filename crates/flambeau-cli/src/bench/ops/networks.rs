//! Further ops of linear algebra and of networks: products of odd shapes, layers and losses, Fourier transforms.

use super::cases::{Case, Given, Least, Sample, floats, gradient};
use super::further::{Sizes, of_memory};
use flambeau::fft::{FftNorm, StftOptions};
use flambeau::nn::functional::{InterpolateMode, InterpolateOptions};
use flambeau::prelude::*;

/// Classes of the samples that cross entropy is of.
const CLASSES: usize = 1024;
/// Channels of pictures, and their side.
const CHANNELS: usize = 64;
const SIDE: usize = 32;
/// Samples of a piece of a signal, and steps between pieces.
const PIECE: usize = 512;
const STEP: usize = PIECE / 4;

pub fn products(sizes: &Sizes) -> Vec<Case> {
    let Sizes { square, wide, many, small, .. } = *sizes;
    let product = |name, inputs: [&[usize]; 2], flops: usize, rows| Case {
        name,
        inputs: inputs.map(floats).to_vec(),
        least: Least::Flops(2.0 * flops as f64),
        sample: Sample::Rows(rows),
        body: |x| x[0].try_matmul(&x[1]),
    };
    let (batch, heads) = ([&[64, 256, 64][..], &[64, 64, 256][..]], [&[4, 8, 256, 64][..]; 2]);
    let points = square.min(2048);
    vec![
        // What takes time is reading the matrix, or the thin one and its result.
        Case {
            least: Least::Bytes(4.0 * (wide * wide) as f64),
            ..product("matrix by vector", [&[wide, wide], &[wide]], 0, 1)
        },
        product("32 rows by a square", [&[32, wide], &[wide, wide]], 32 * wide * wide, 1),
        product("thin by 64 × 64", [&[many, 64], &[64, 64]], many * 64 * 64, 1),
        product("64 of 256 × 64 × 256", batch, 64 * 256 * 64 * 256, 2),
        Case {
            body: |x| Tensor::try_einsum("bhqd,bhkd->bhqk", x),
            ..product("einsum bhqd,bhkd->bhqk", heads, 4 * 8 * 256 * 256 * 64, 2)
        },
        Case {
            least: Least::Bytes(12.0 * (small * 8 * 8) as f64),
            ..product("many of 8 × 8", [&[small, 8, 8]; 2], 0, 2)
        },
        of_memory("outer product", vec![floats(&[square]); 2], square * square, Sample::Rows(1), |x| {
            x[0].try_outer(&x[1])
        }),
        Case {
            body: |x| x[0].try_cdist(&x[1], 2.0),
            ..product("distances of rows", [&[points, 64]; 2], points * points * 64, 1)
        },
    ]
}

pub fn layers(sizes: &Sizes) -> Vec<Case> {
    let Sizes { images, tokens, .. } = *sizes;
    let pictures = floats(&[images, CHANNELS, SIDE, SIDE]);
    let elements = images * CHANNELS * SIDE * SIDE;
    let (channels, positions) = (floats(&[CHANNELS]), SIDE * SIDE);
    let logits = vec![floats(&[tokens, CLASSES]), Given::Indexes(vec![tokens], CLASSES)];
    let picture = |name, quarters: usize, body| {
        of_memory(name, vec![pictures.clone()], quarters * elements / 4, Sample::Rows(1), body)
    };
    vec![
        of_memory("cross entropy", logits.clone(), tokens * CLASSES, Sample::Whole, |x| {
            x[0].try_cross_entropy(&x[1])
        }),
        of_memory("cross entropy gradient", logits, 2 * tokens * CLASSES, Sample::Whole, |x| {
            let whole = Tensor::try_full((), 1.0, (x[0].dtype(), x[0].device()))?;
            gradient(&x[0], &whole, |logits| logits.try_cross_entropy(&x[1]))
        }),
        picture("max pool", 5, |x| x[0].try_max_pool2d(2, &Default::default())),
        picture("average pool", 5, |x| x[0].try_avg_pool2d(2, &Default::default())),
        Case {
            inputs: vec![floats(&[images, CHANNELS, positions]), floats(&[CHANNELS, CHANNELS, 3])],
            least: Least::Flops((2 * elements * CHANNELS * 3) as f64),
            ..picture("conv1d", 0, |x| {
                x[0].try_conv1d(&x[1], None, &Conv1dOptions::default().with_padding(1))
            })
        },
        Case {
            inputs: vec![pictures.clone(), floats(&[CHANNELS, 1, 3, 3])],
            ..picture("depthwise conv2d", 8, |x| {
                let options = Conv2dOptions::default().with_padding(1);
                x[0].try_conv2d(&x[1], None, &Conv2dOptions { groups: CHANNELS, ..options })
            })
        },
        Case {
            inputs: vec![pictures.clone(), channels.clone(), channels],
            ..picture("group norm", 8, |x| x[0].try_group_norm(8, Some(&x[1]), Some(&x[2]), 1e-5))
        },
        picture("bilinear interpolation", 20, |x| {
            x[0].try_interpolate(&InterpolateOptions::factor(&[2.0]).with_mode(InterpolateMode::Linear))
        }),
    ]
}

pub fn transforms(sizes: &Sizes) -> Vec<Case> {
    let Sizes { lines, samples, .. } = *sizes;
    let pieces = samples / STEP + 1;
    vec![
        of_memory("fft of rows", vec![floats(&[lines, 1024, 2])], 4096 * lines, Sample::Rows(1), |x| {
            x[0].try_fft(None, -1, FftNorm::Backward)
        }),
        of_memory("rfft of rows", vec![floats(&[lines, 1024])], 2050 * lines, Sample::Rows(1), |x| {
            x[0].try_rfft(None, -1, FftNorm::Backward)
        }),
        of_memory(
            "stft",
            vec![floats(&[1, samples]), floats(&[PIECE])],
            samples + pieces * (PIECE + 2),
            Sample::Rows(1),
            |x| x[0].try_stft(PIECE, &StftOptions { window: Some(x[1].clone()), ..Default::default() }),
        ),
    ]
}
