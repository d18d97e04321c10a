//! Convolutions and pooling on every device against PyTorch 1.13: values, gradients of inputs, weights and biases, and
//! their gradients. `tools/reference/conv.py` wrote the expectations.

use crate::common::{assert_close, devices, new_gpu, values};
use flambeau::prelude::*;
use flambeau::{
    AvgPoolOptions, ConvOptions, ConvTransposeOptions, GpuConfig, MatrixUnits, MaxPoolOptions, Spatial,
};
use safetensors::{Dtype, SafeTensors};

fn reference() -> SafeTensors<'static> {
    SafeTensors::deserialize(include_bytes!("../data/conv.safetensors")).expect("the reference file is whole")
}

struct Expected {
    shape: Vec<usize>,
    dtype: Dtype,
    values: Vec<f64>,
}

fn find(name: &str) -> Option<Expected> {
    let file = reference();
    let view = file.tensor(name).ok()?;
    let words = view.data().chunks_exact(4).map(|word| <[u8; 4]>::try_from(word).expect("four bytes"));
    let values = match view.dtype() {
        Dtype::F32 => words.map(|word| f64::from(f32::from_le_bytes(word))).collect(),
        Dtype::I32 => words.map(|word| f64::from(i32::from_le_bytes(word))).collect(),
        other => panic!("the reference file has no {other:?}"),
    };
    Some(Expected { shape: view.shape().to_vec(), dtype: view.dtype(), values })
}

fn input(name: &str, device: &Device) -> Option<Tensor> {
    let Expected { shape, values, .. } = find(name)?;
    let floats: Vec<f32> = values.iter().map(|&value| value as f32).collect();
    Some(Tensor::from_slice(&floats, shape, device))
}

#[track_caller]
fn compare(name: &str, got: &Tensor) {
    let Expected { shape, dtype, values: expected } =
        find(name).unwrap_or_else(|| panic!("no reference for {name}"));
    println!("{name} on {}", got.device());
    assert_eq!(got.shape().dims(), shape, "shape of {name}");
    let dtype = if dtype == Dtype::I32 { DType::I32 } else { DType::F32 };
    assert_eq!(got.dtype(), dtype, "dtype of {name}");
    // Second derivatives are sums of a hundred products of numbers up to 100, which cancel.
    let scale = expected.iter().fold(1.0, |largest: f64, value| largest.max(value.abs()));
    let absolute = if name.contains("second") { 1e-5 * scale } else { 1e-5 };
    assert_close(&values(got), &expected, absolute, 1e-5);
}

fn weights(like: &Tensor, function: impl Fn(f64) -> f64) -> Tensor {
    let values: Vec<f32> = (0..like.numel()).map(|k| function(k as f64) as f32).collect();
    Tensor::from_slice(&values, like.shape(), like.device())
}

/// Runs a case on every device. The result may come with positions.
#[track_caller]
fn check(name: &str, run: impl Fn(&[Tensor]) -> (Tensor, Option<Tensor>)) {
    for device in devices() {
        let inputs = (0..).map_while(|i| input(&format!("{name}.in{i}"), &device));
        let leaves: Vec<Tensor> = inputs.map(|leaf| leaf.requires_grad()).collect();
        assert!(!leaves.is_empty(), "no inputs for {name}");
        let (out, indices) = run(&leaves);
        compare(&format!("{name}.out"), &out);
        if let Some(indices) = indices {
            compare(&format!("{name}.indices"), &indices);
        }
        let create = BackwardOptions { create_graph: true, ..Default::default() };
        let loss = (&out * weights(&out, f64::cos)).sum(..);
        let grads = grad(&[loss], &leaves, create).unwrap();
        let grads: Vec<Tensor> = grads.into_iter().map(|grad| grad.expect("every input counts")).collect();
        for (i, grad) in grads.iter().enumerate() {
            compare(&format!("{name}.grad{i}"), grad);
        }
        if leaves.len() == 1 {
            continue;
        }
        let terms = grads.iter().map(|grad| (grad * weights(grad, |k| (1.0 + k).sin())).sum(..));
        let loss = terms.reduce(|sum, term| sum + term).expect("there are inputs");
        let seconds = grad(&[loss], &leaves, BackwardOptions::default()).unwrap();
        for (i, (leaf, second)) in leaves.iter().zip(seconds).enumerate() {
            compare(&format!("{name}.second{i}"), &second.unwrap_or_else(|| leaf.detach().zeros_like()));
        }
    }
}

#[test]
fn convolutions_of_one_and_three_dimensions() {
    let conv1d = |name: &str, options: ConvOptions<1>| {
        check(name, |x| (x[0].conv1d(&x[1], Some(&x[2]), &options), None));
    };
    let plain = Conv1dOptions::default();
    conv1d("conv1d", plain);
    conv1d("conv1d_single", plain.with_stride(2).with_padding(1));
    conv1d("conv1d_same", Conv1dOptions { padding: Padding::Same, dilation: [2], ..plain });
    conv1d("conv1d_valid", Conv1dOptions { padding: Padding::Valid, groups: 2, ..plain });
    let conv3d = |name: &str, options: ConvOptions<3>| {
        check(name, |x| (x[0].conv3d(&x[1], Some(&x[2]), &options), None));
    };
    conv3d("conv3d", Conv3dOptions::default().with_stride([1, 2, 1]).with_padding([1, 0, 1]));
    conv3d("conv3d_groups", Conv3dOptions::default().with_groups(2).with_dilation([1, 2, 1]));
}

#[test]
fn convolutions_of_two_dimensions() {
    let conv2d = |name: &str, options: ConvOptions<2>| {
        check(name, |x| (x[0].conv2d(&x[1], Some(&x[2]), &options), None));
    };
    let plain = Conv2dOptions::default();
    conv2d("conv2d", plain);
    conv2d("conv2d_single", plain.with_padding(1));
    conv2d("conv2d_stride", plain.with_stride([2, 3]).with_padding([1, 2]));
    conv2d("conv2d_dilation", plain.with_dilation([2, 3]).with_padding([2, 1]).with_stride([1, 2]));
    conv2d("conv2d_same", Conv2dOptions { padding: Padding::Same, dilation: [1, 3], ..plain });
    conv2d("conv2d_groups", plain.with_groups(3).with_padding(1));
    conv2d("conv2d_depthwise", plain.with_groups(5).with_padding(1).with_stride(2));
    conv2d("conv2d_multiplier", plain.with_groups(3).with_dilation(2));
    conv2d("conv2d_pointwise", plain);
    conv2d("conv2d_wide", plain.with_padding(1));
}

#[test]
fn transposed_convolutions() {
    let one = |name: &str, options: ConvTransposeOptions<1>| {
        check(name, |x| (x[0].conv_transpose1d(&x[1], Some(&x[2]), &options), None));
    };
    let two = |name: &str, options: ConvTransposeOptions<2>| {
        check(name, |x| (x[0].conv_transpose2d(&x[1], Some(&x[2]), &options), None));
    };
    let plain = ConvTranspose1dOptions::default();
    one("conv_transpose1d", plain.with_stride(2).with_padding(1).with_output_padding(1));
    one("conv_transpose1d_single", plain);
    let plain = ConvTranspose2dOptions::default();
    two("conv_transpose2d", plain.with_stride([2, 3]).with_padding([1, 0]).with_output_padding([1, 2]));
    two("conv_transpose2d_groups", plain.with_groups(2).with_dilation([1, 2]));
    two("conv_transpose2d_depthwise", plain.with_groups(3).with_stride(2).with_padding(1));
    two("conv_transpose2d_wide", plain.with_stride(2));
    let options = ConvTranspose3dOptions::default().with_stride(2).with_output_padding(1);
    let options = options.with_padding([0, 1, 0]);
    check("conv_transpose3d", |x| (x[0].conv_transpose3d(&x[1], Some(&x[2]), &options), None));
}

fn with_indices((values, indices): (Tensor, Tensor)) -> (Tensor, Option<Tensor>) {
    (values, Some(indices))
}

#[test]
fn maxima_over_windows() {
    let one = |name: &str, kernel: usize, options: MaxPoolOptions<1>| {
        check(name, |x| with_indices(x[0].max_pool1d_with_indices(kernel, &options)));
    };
    let two = |name: &str, kernel: [usize; 2], options: MaxPoolOptions<2>| {
        check(name, |x| with_indices(x[0].max_pool2d_with_indices(kernel, &options)));
    };
    one("max_pool1d", 2, MaxPool1dOptions::default());
    let options = MaxPool1dOptions { stride: Some([2]), padding: [1], dilation: [2], ceil_mode: true };
    one("max_pool1d_options", 3, options);
    let plain = MaxPool2dOptions::default();
    two("max_pool2d", [2, 2], plain);
    two("max_pool2d_overlap", [3, 3], plain.with_stride([2, 1]).with_padding(1));
    two("max_pool2d_dilation", [2, 3], plain.with_stride(2).with_dilation([3, 2]).with_padding([0, 1]));
    two("max_pool2d_ceil", [3, 2], plain.with_stride([2, 3]).with_padding([1, 0]).with_ceil_mode(true));
    let options = MaxPoolOptions::<3>::default().with_stride([1, 2, 2]).with_padding([0, 1, 1]);
    check("max_pool3d", |x| with_indices(x[0].max_pool3d_with_indices([2, 3, 2], &options)));
}

#[test]
fn means_over_windows() {
    let one = |name: &str, kernel: usize, options: AvgPoolOptions<1>| {
        check(name, |x| (x[0].avg_pool1d(kernel, &options), None));
    };
    let two = |name: &str, kernel: [usize; 2], options: AvgPoolOptions<2>| {
        check(name, |x| (x[0].avg_pool2d(kernel, &options), None));
    };
    let plain = AvgPool1dOptions::default();
    one("avg_pool1d", 2, plain);
    let options = plain.with_stride(2).with_padding(1).with_ceil_mode(true).with_count_include_pad(false);
    one("avg_pool1d_options", 3, options);
    let plain = AvgPool2dOptions::default();
    two("avg_pool2d", [2, 2], plain);
    two("avg_pool2d_pad", [3, 3], plain.with_stride([2, 1]).with_padding(1));
    two("avg_pool2d_exclude", [3, 3], plain.with_stride(2).with_padding(1).with_count_include_pad(false));
    two("avg_pool2d_ceil", [3, 2], plain.with_stride([2, 3]).with_padding([1, 0]).with_ceil_mode(true));
    let options = plain.with_stride(2).with_padding(1).with_ceil_mode(true);
    two("avg_pool2d_divisor", [3, 2], options.with_divisor_override(5));
    let options = AvgPoolOptions::<3>::default().with_stride([1, 2, 2]).with_padding([0, 1, 1]);
    check("avg_pool3d", |x| (x[0].avg_pool3d([2, 3, 2], &options.with_ceil_mode(true)), None));
}

#[test]
fn adaptive_pooling() {
    check("adaptive_avg_pool1d", |x| (x[0].adaptive_avg_pool1d(3), None));
    check("adaptive_avg_pool2d", |x| (x[0].adaptive_avg_pool2d([3, 2]), None));
    check("adaptive_avg_pool2d_more", |x| (x[0].adaptive_avg_pool2d([6, 7]), None));
    check("adaptive_avg_pool2d_global", |x| (x[0].adaptive_avg_pool2d(1), None));
    check("adaptive_avg_pool2d_uniform", |x| (x[0].adaptive_avg_pool2d([3, 2]), None));
    check("adaptive_max_pool1d", |x| with_indices(x[0].adaptive_max_pool1d_with_indices(3)));
    check("adaptive_max_pool2d", |x| with_indices(x[0].adaptive_max_pool2d_with_indices([3, 2])));
    check("adaptive_max_pool2d_global", |x| with_indices(x[0].adaptive_max_pool2d_with_indices(1)));
}

#[test]
fn maxima_among_equals_infinities_and_nan() {
    for device in devices() {
        let x = input("special.in0", &device).expect("an input");
        let (values, indices) = x.max_pool2d_with_indices(2, &Default::default());
        compare("special.out", &values);
        compare("special.indices", &indices);
        let padded = MaxPool2dOptions::default().with_stride(1).with_padding(1);
        let (values, indices) = x.max_pool2d_with_indices(3, &padded);
        compare("special_padded.out", &values);
        compare("special_padded.indices", &indices);
    }
}

/// The gradient of a maximum's gradient picks what the positions say.
#[test]
fn second_derivatives_through_maxima() {
    for device in devices() {
        let x = Tensor::new([[1.0, 3.0, 2.0, 5.0]], &device).requires_grad();
        let y = x.max_pool1d(2, &Default::default());
        let create = BackwardOptions { create_graph: true, ..Default::default() };
        let first = grad(&[(&y * &y * &y).sum(..)], std::slice::from_ref(&x), create).unwrap();
        let first = first[0].clone().expect("x counts");
        assert_close(&values(&first), &[0.0, 27.0, 0.0, 75.0], 0.0, 1e-6);
        let second = grad(&[first.sum(..)], &[x], BackwardOptions::default()).unwrap();
        let second = second[0].clone().expect("x counts");
        assert_close(&values(&second), &[0.0, 18.0, 0.0, 30.0], 0.0, 1e-6);
    }
}

#[test]
fn wrong_arguments_are_refused_by_name() {
    let device = Device::cpu();
    let zeros = |shape: &[usize]| Tensor::zeros(shape, &device);
    let (x, w) = (zeros(&[2, 3, 8, 8]), zeros(&[4, 3, 3, 3]));
    let plain = Conv2dOptions::default();
    let refused = |result: Result<Tensor>, words: &[&str]| {
        let message = result.expect_err("this must be refused").to_string();
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
    };
    refused(x.try_conv2d(&zeros(&[4, 2, 3, 3]), None, &plain), &["conv2d", "[4, 2, 3, 3]"]);
    refused(x.try_conv2d(&w, Some(&zeros(&[3])), &plain), &["conv2d", "bias", "[3]"]);
    refused(x.try_conv2d(&zeros(&[4, 3, 9, 3]), None, &plain), &["conv2d", "window of 9"]);
    refused(x.try_conv2d(&w, None, &plain.with_stride(0)), &["conv2d", "stride"]);
    refused(x.try_conv2d(&w, None, &plain.with_groups(2)), &["conv2d", "groups"]);
    refused(x.try_conv2d(&zeros(&[4, 3, 3]), None, &plain), &["conv2d", "dimensions"]);
    let same = Conv2dOptions { padding: Padding::Same, stride: [2, 1], ..plain };
    refused(x.try_conv2d(&w, None, &same), &["conv2d", "Same"]);
    let integers = x.to_dtype(DType::I32);
    refused(integers.try_conv2d(&w.to_dtype(DType::I32), None, &plain), &["conv2d", "i32"]);
    let options = ConvTranspose2dOptions::default().with_output_padding(1);
    refused(
        x.try_conv_transpose2d(&zeros(&[3, 4, 3, 3]), None, &options),
        &["conv_transpose2d", "output_padding"],
    );
    refused(x.try_max_pool2d(9, &Default::default()), &["max_pool2d", "[9, 9]"]);
    refused(x.try_max_pool2d(2, &MaxPool2dOptions::default().with_padding(2)), &["max_pool2d", "half"]);
    refused(integers.try_avg_pool2d(2, &Default::default()), &["avg_pool2d", "i32"]);
    refused(x.try_max_pool1d(Spatial([2]), &Default::default()), &["max_pool1d", "dimensions"]);
}

/// Sizes that take the kernels for large products and for few channels, against sums in f64.
#[test]
fn convolutions_that_fill_a_gpu() {
    let device = crate::common::gpu();
    let random = |shape: [usize; 4], seed: u64| Tensor::randn(shape, &Generator::new(seed), &Device::cpu());
    for (x, w, options) in [
        ([8, 16, 24, 24], [32, 16, 3, 3], Conv2dOptions::default().with_padding(1)),
        (
            [6, 16, 41, 41],
            [64, 8, 3, 3],
            Conv2dOptions::default().with_padding(1).with_stride(2).with_groups(2),
        ),
        ([20, 24, 16, 16], [24, 1, 3, 3], Conv2dOptions::default().with_padding(1).with_groups(24)),
        ([4, 12, 16, 16], [24, 2, 3, 3], Conv2dOptions::default().with_padding(1).with_groups(6)),
    ] {
        let (x, w) = (random(x, 1), random(w, 2));
        let slope = random(x.conv2d(&w, None, &options).shape().dims().try_into().unwrap(), 3);
        let run = |device: &Device, dtype: DType| {
            let to = |x: &Tensor| flambeau::block_on(x.to(device)).unwrap().to_dtype(dtype);
            let (x, w) = (to(&x).requires_grad(), to(&w).requires_grad());
            let y = x.conv2d(&w, None, &options);
            y.backward_with(&to(&slope)).unwrap();
            [y, x.grad().unwrap(), w.grad().unwrap()].map(|result| values(&result))
        };
        let (got, expected) = (run(&device, DType::F32), run(&Device::cpu(), DType::F64));
        for (got, expected) in got.iter().zip(&expected) {
            let scale = expected.iter().fold(1.0, |largest: f64, value| largest.max(value.abs()));
            assert_close(got, expected, 1e-5 * scale, 1e-5);
        }
    }
}

/// Runs something on a GPU, which must take a shader of phases for it, and compares with the CPU in f64. The device is a
/// new one: shapes share shaders.
#[track_caller]
fn compare_phases(dtype: DType, shapes: &[&[usize]], run: impl Fn(&[Tensor]) -> Tensor) {
    let gpu = new_gpu(GpuConfig { matrix_units: MatrixUnits::Never, ..GpuConfig::default() });
    let inputs: Vec<Tensor> = shapes
        .iter()
        .zip(1..)
        .map(|(&shape, seed)| Tensor::randn(shape, &Generator::new(seed), &Device::cpu()).to_dtype(dtype))
        .collect();
    let on = |device: &Device, dtype: DType| {
        let to = |x: &Tensor| flambeau::block_on(x.to_dtype(dtype).to(device)).unwrap();
        values(&run(&inputs.iter().map(to).collect::<Vec<_>>()))
    };
    let (got, expected) = (on(&gpu, dtype), on(&Device::cpu(), DType::F64));
    let shaders = gpu.shader_sources();
    assert!(shaders.iter().any(|source| source.contains("phase_of")), "{shapes:?} should go by phases");
    let scale = expected.iter().fold(1.0, |largest: f64, value| largest.max(value.abs()));
    let tolerance = if dtype == DType::F16 { 1e-3 } else { 1e-5 };
    assert_close(&got, &expected, tolerance * scale, tolerance);
}

/// Strides, kernels, paddings and sizes of every kind: taps that some phases have and others do not, positions past
/// the end, depths that end within a round.
#[test]
fn transposed_convolutions_that_fill_a_gpu_by_phases() {
    let one = |x: &[usize], w: &[usize], options: ConvTransposeOptions<1>| {
        let shapes = [x, w, &[w[1] * options.groups]];
        compare_phases(DType::F32, &shapes, |x| x[0].conv_transpose1d(&x[1], Some(&x[2]), &options));
    };
    let two = |dtype: DType, x: &[usize], w: &[usize], options: ConvTransposeOptions<2>| {
        let shapes = [x, w, &[w[1] * options.groups]];
        compare_phases(dtype, &shapes, |x| x[0].conv_transpose2d(&x[1], Some(&x[2]), &options));
    };
    let three = |x: &[usize], w: &[usize], options: ConvTransposeOptions<3>| {
        let shapes = [x, w, &[w[1] * options.groups]];
        compare_phases(DType::F32, &shapes, |x| x[0].conv_transpose3d(&x[1], Some(&x[2]), &options));
    };
    one(&[8, 22, 259], &[22, 16, 5], ConvTranspose1dOptions::default().with_stride(2).with_padding(2));
    let plain = ConvTranspose2dOptions::default();
    let (twice, thrice) = (plain.with_stride(2), plain.with_stride(3));
    for dtype in [DType::F32, DType::F16] {
        let doubled = twice.with_padding(1).with_output_padding(1);
        two(dtype, &[4, 16, 16, 16], &[16, 16, 3, 3], doubled);
        two(dtype, &[4, 17, 17, 16], &[17, 16, 3, 3], twice.with_padding([1, 0]));
    }
    let float = DType::F32;
    two(float, &[4, 32, 16, 17], &[32, 32, 2, 2], twice);
    two(
        float,
        &[2, 40, 17, 16],
        &[40, 6, 5, 5],
        twice.with_padding(2).with_output_padding([1, 0]).with_groups(2),
    );
    two(float, &[4, 15, 12, 13], &[15, 6, 7, 7], thrice.with_padding(3));
    two(float, &[4, 28, 13, 12], &[28, 32, 3, 3], thrice.with_padding(1).with_output_padding([2, 1]));
    let across = plain.with_stride([1, 2]).with_padding([0, 1]);
    two(float, &[4, 14, 22, 22], &[14, 12, 3, 3], across);
    two(float, &[4, 14, 20, 22], &[14, 12, 3, 3], across.with_dilation([2, 1]));
    let plain = ConvTranspose3dOptions::default();
    three(&[3, 16, 6, 6, 5], &[16, 8, 3, 3, 3], plain.with_stride(2).with_padding(1));
    let mixed = plain.with_stride([1, 2, 3]).with_padding([0, 1, 0]).with_output_padding([0, 0, 2]);
    three(&[2, 20, 5, 7, 9], &[20, 12, 2, 3, 3], mixed);
}

/// What a stride leaves over of the input gets zeros; what follows a gradient is done by its kernel, zeros or not.
#[test]
fn strided_input_gradients_that_fill_a_gpu_by_phases() {
    for (kernel, features, padding) in [(3, 16, 0), (2, 36, 0), (3, 20, 1)] {
        let shapes: [&[usize]; 2] = [&[4, 32, 34, 35], &[features, 32, kernel, kernel]];
        let options = Conv2dOptions::default().with_stride(2).with_padding(padding);
        compare_phases(DType::F32, &shapes, |x| {
            let image = x[0].requires_grad();
            let y = image.conv2d(&x[1], None, &options);
            let slope = weights(&y, f64::cos).to_dtype(y.dtype());
            y.backward_with(&slope).unwrap();
            (image.grad().unwrap() + 1.0).sin()
        });
    }
}

/// Kernels without barriers cut loops of over 32,768 rounds into parts, in either of the depth's two loops and in both together:
/// software adapters end loops that are too long without a word. Sums of small whole numbers are exact in any order.
#[test]
fn long_loops_without_barriers() {
    let gpu = new_gpu(GpuConfig { avoid_barriers: true, ..Default::default() });
    // A long line, many lines, many channels, and neither long nor many but for both together.
    let cases: [(&[usize], &[usize]); 4] = [
        (&[1, 5, 40_000], &[6, 5, 3]),
        (&[1, 5, 40_000, 1], &[6, 5, 3, 1]),
        (&[1, 40_000, 4], &[6, 40_000, 1]),
        (&[1, 5, 400, 300], &[6, 5, 3, 3]),
    ];
    for (x, w) in cases {
        let of = |device: &Device| {
            let whole = |shape: &[usize], seed: usize| {
                let count = Shape::new(shape).numel();
                let number = |k: usize| ((k * 7 + k / 11 + seed) % 5) as f32 - 2.0;
                let numbers: Vec<f32> = (0..count).map(number).collect();
                Tensor::from_slice(&numbers, shape, device).requires_grad()
            };
            let (x, w) = (whole(x, 1), whole(w, 3));
            let y = match x.shape().dims().len() {
                3 => x.conv1d(&w, None, &Default::default()),
                _ => x.conv2d(&w, None, &Default::default()),
            };
            let weights = whole(y.shape().dims(), 2).detach();
            (&y * &weights).sum(..).backward().expect("a derivative");
            [y.detach(), x.grad().expect("of x"), w.grad().expect("of w")].map(|tensor| values(&tensor))
        };
        for (what, (got, want)) in ["y", "dx", "dw"].iter().zip(of(&gpu).iter().zip(&of(&Device::cpu()))) {
            let wrong = got.iter().zip(want).position(|(got, want)| got != want);
            assert!(got.len() == want.len() && wrong.is_none(), "{what} of {x:?} and {w:?} at {wrong:?}");
        }
    }
}
