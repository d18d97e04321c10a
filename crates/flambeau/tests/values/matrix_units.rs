//! Products on matrix units, played by threads: the same shaders with ordinary arithmetic in place of the units. Judged by f64
//! on the CPU, with operands of every layout, size and magnitude.

use crate::common::{new_gpu, values};
use flambeau::prelude::*;
use flambeau::{GpuConfig, MatrixUnits, Precision, Specialise};

fn played(specialise: Specialise, precision: Precision) -> Device {
    let matrix_units = MatrixUnits::Played;
    new_gpu(GpuConfig { matrix_units, specialise, precision: Some(precision), ..GpuConfig::default() })
}

fn plain() -> Device {
    new_gpu(GpuConfig { matrix_units: MatrixUnits::Never, ..GpuConfig::default() })
}

/// The numbers of a tensor in f64 on the CPU.
fn exactly(tensor: &Tensor) -> Tensor {
    let numbers: Vec<f64> = values(tensor);
    Tensor::from_vec(numbers, tensor.shape().dims(), &Device::cpu())
}

/// The largest error of any element of `a · b`, over Σ |a| |b|: what f32 arithmetic is judged by.
pub fn error(a: &Tensor, b: &Tensor, product: &Tensor) -> f64 {
    let (a, b) = (exactly(a), exactly(b));
    let (exact, size) = (values(&a.matmul(&b)), values(&a.abs().matmul(&b.abs())));
    let errors = values(product).into_iter().zip(exact).zip(size);
    errors
        .map(|((got, exact), size)| if size == 0.0 { got.abs() } else { (got - exact).abs() / size })
        .fold(0.0, f64::max)
}

pub fn randn(shape: &[usize], seed: u64, device: &Device) -> Tensor {
    Tensor::randn(shape, &Generator::new(seed), device)
}

/// A name, the shapes of two operands, and how they become matrices.
type Case = (&'static str, [&'static [usize]; 2], fn(&Tensor) -> Tensor, fn(&Tensor) -> Tensor);

fn cases() -> Vec<Case> {
    let same = |x: &Tensor| x.clone();
    let turned = |x: &Tensor| x.transpose(-2, -1);
    vec![
        ("edges", [&[150, 52], &[52, 100]], same, same),
        ("both turned, odd", [&[51, 67], &[45, 51]], turned, turned),
        ("batches broadcast, B along K", [&[3, 33, 40], &[1, 68, 40]], same, turned),
        ("long sums, in parts", [&[40, 2000], &[2000, 48]], same, same),
    ]
}

/// Did its kernels use what is played?
fn has_played(device: &Device) -> bool {
    device.shader_sources().iter().any(|source| source.contains("fn play_"))
}

/// Few cases: compiling the texts in software is what takes the time.
#[test]
fn products_are_as_precise_as_f32() {
    let (general, specialised) =
        (played(Specialise::Never, Precision::Highest), played(Specialise::AtOnce, Precision::Highest));
    assert_eq!(general.matrix_units().as_deref(), Some("played by threads"));
    for (number, (name, [left, right], of_a, of_b)) in cases().into_iter().enumerate() {
        let operands = |device: &Device| (of_a(&randn(left, 1, device)), of_b(&randn(right, 2, device)));
        let (a, b) = operands(&general);
        let product = a.matmul(&b);
        let error = error(&a, &b, &product);
        assert!(error < 3e-7, "{name}: {error:e}");
        if number == 1 {
            let (a, b) = operands(&specialised);
            assert_eq!(values(&a.matmul(&b)), values(&product), "{name}: the tiers differ");
        }
        if number == 0 {
            let epilogue = a.matmul(&b).relu().add(1.0);
            assert_eq!(values(&epilogue), values(&product.relu().add(1.0)), "{name}, with work behind it");
        }
    }
    assert!(has_played(&general) && has_played(&specialised));
}

/// Rows and columns whose magnitudes differ by sixty orders, and numbers that f16 does not have.
#[test]
fn magnitudes_do_not_matter() {
    let (device, plain) = (played(Specialise::Never, Precision::Highest), plain());
    let mut worst = [0f64; 2];
    for (number, device) in [&device, &plain].into_iter().enumerate() {
        for (left, right) in [(1e-30, 1e30), (1e30, 1e-30), (1e-18, 1e-18), (3e18, 2e18), (1e-6, 1.0)] {
            let tilt = |length: usize, by: f64| {
                let power = move |i: usize| by.powf(i as f64 / length as f64);
                Tensor::from_vec((0..length).map(|i| power(i) as f32).collect::<Vec<_>>(), [length], device)
            };
            let a = randn(&[72, 96], 3, device) * &tilt(72, left).reshape([72, 1]);
            let b = randn(&[96, 80], 4, device) * &tilt(80, right).reshape([1, 80]);
            worst[number] = worst[number].max(error(&a, &b, &a.matmul(&b)));
        }
    }
    // So few steps leave f32 arithmetic little to round; what two halves leave out of operands then counts.
    assert!(
        worst[0] < 2.5e-7 && worst[0] <= 2.0 * worst[1],
        "on units {:e}, by f32 {:e}",
        worst[0],
        worst[1]
    );
}

#[test]
fn infinities_and_nans_are_those_of_f32() {
    let (device, plain) = (played(Specialise::Never, Precision::Highest), plain());
    let with = |device: &Device| {
        let mut numbers: Vec<f32> =
            values(&randn(&[70, 64], 5, &Device::cpu())).into_iter().map(|x| x as f32).collect();
        numbers[3 * 64 + 7] = f32::INFINITY;
        numbers[5 * 64 + 1] = f32::NEG_INFINITY;
        numbers[5 * 64 + 2] = f32::INFINITY;
        numbers[69 * 64] = f32::NAN;
        let a = Tensor::from_vec(numbers, [70, 64], device);
        values(&a.matmul(&randn(&[64, 50], 6, device)))
    };
    let (got, want) = (with(&device), with(&plain));
    let mut special = 0;
    for (got, want) in got.iter().zip(&want) {
        let same = match want.is_finite() {
            true => (got - want).abs() < 1e-4,
            false => got.is_nan() == want.is_nan() && (want.is_nan() || got == want),
        };
        assert!(same, "{got} where f32 has {want}");
        special += usize::from(!want.is_finite());
    }
    assert_eq!(special, 150);
}

#[test]
fn one_product_of_rounded_operands_has_eleven_bits() {
    let device = played(Specialise::Never, Precision::High);
    let (a, b) = (randn(&[70, 200], 7, &device) * 1e20, randn(&[200, 66], 8, &device) * 1e-20);
    let error = error(&a, &b, &a.matmul(&b));
    assert!((1e-6..6e-4).contains(&error), "{error:e}");
    let halves = [
        randn(&[70, 200], 7, &device).to_dtype(DType::F16),
        randn(&[200, 66], 8, &device).to_dtype(DType::F16),
    ];
    let product = halves[0].matmul(&halves[1]);
    assert_eq!(product.dtype(), DType::F16);
    let exact = values(&exactly(&halves[0]).matmul(&exactly(&halves[1])));
    for (got, exact) in values(&product).into_iter().zip(exact) {
        assert!((got - exact).abs() <= 1e-3 * exact.abs() + 1e-3, "{got} where f64 has {exact}");
    }
}

/// Matrices of f16 are read where they lie if their sizes are multiples of 32, in every layout: then nothing is packed.
#[test]
fn halves_are_read_where_they_lie() {
    let device = played(Specialise::Never, Precision::Highest);
    let check = |left: &Tensor, right: &Tensor| {
        let (a, b) = (left.to_dtype(DType::F16), right.to_dtype(DType::F16));
        // What a view is made of has been computed when the product is.
        flambeau::eval(&[&a, &b]).unwrap();
        let product = |a: &Tensor, b: &Tensor| a.matmul(b);
        for (turn_a, turn_b) in [(false, false), (true, false), (false, true), (true, true)] {
            let turned = |x: &Tensor, turn: bool| match turn {
                true => {
                    let copy = x.transpose(-2, -1).contiguous();
                    copy.eval().unwrap();
                    copy.transpose(-2, -1)
                }
                false => x.clone(),
            };
            let (a, b) = (turned(&a, turn_a), turned(&b, turn_b));
            let (got, exact) = (values(&product(&a, &b)), values(&product(&exactly(&a), &exactly(&b))));
            for (got, exact) in got.into_iter().zip(exact) {
                let near = (got - exact).abs() <= 1e-3 * exact.abs() + 1e-3;
                assert!(near, "{:?} · {:?}: {got} where f64 has {exact}", a.shape(), b.shape());
            }
        }
    };
    let packs =
        |device: &Device| device.shader_sources().iter().any(|source| source.contains("packed_a[at] ="));
    check(&randn(&[2, 96, 64], 9, &device), &randn(&[2, 64, 160], 10, &device));
    assert!(has_played(&device) && !packs(&device));
    // Edges of rows along K are none of the lines'; 70 columns across would be.
    check(&randn(&[70, 64], 11, &device), &randn(&[64, 70], 12, &device));
    assert!(packs(&device));
}

/// Every direction of convolutions (the gradients are the other two), beside f64 on the CPU: groups, strides, dilation, little and
/// much padding, and rows, columns and planes that four does not divide.
#[test]
fn convolutions_are_as_precise_as_f32() {
    let device = played(Specialise::Never, Precision::Highest);
    let options = Conv2dOptions::default;
    let cases = [
        ([3, 64, 7, 9], [66, 32, 3, 3], options().with_padding(1).with_groups(2)),
        (
            [2, 40, 9, 11],
            [33, 40, 3, 2],
            options().with_stride([2, 1]).with_dilation([1, 2]).with_padding([0, 2]),
        ),
        ([2, 33, 6, 7], [35, 33, 1, 1], options().with_padding(1)),
        // Phases of a stride: with taps of their own, and without any.
        ([2, 34, 9, 8], [130, 34, 3, 3], options().with_stride(2).with_padding(1)),
        ([2, 33, 7, 6], [129, 33, 1, 1], options().with_stride(2)),
    ];
    let run = |[x, w]: [[usize; 4]; 2], options: &Conv2dOptions, device: &Device, dtype: DType| {
        let draw = |shape: [usize; 4], seed: u64| {
            let drawn = randn(&shape, seed, &Device::cpu());
            let numbers: Vec<f32> = values(&drawn).into_iter().map(|x| x as f32).collect();
            Tensor::from_vec(numbers, shape, device).to_dtype(dtype).detach().requires_grad()
        };
        let (x, w) = (draw(x, 1), draw(w, 2));
        let y = x.conv2d(&w, None, options).relu();
        y.sum(..).backward().unwrap();
        [y, x.grad().unwrap(), w.grad().unwrap()].map(|tensor| values(&tensor))
    };
    let norm = |numbers: &mut dyn Iterator<Item = f64>| numbers.map(|x| x * x).sum::<f64>().sqrt();
    for (x, w, options) in cases {
        let got = run([x, w], &options, &device, DType::F32);
        let exact = run([x, w], &options, &Device::cpu(), DType::F64);
        let results = ["result", "gradient of x", "gradient of w"].into_iter().zip(got).zip(exact);
        for ((what, got), exact) in results {
            let error = norm(&mut got.iter().zip(&exact).map(|(got, exact)| got - exact));
            let relative = error / norm(&mut exact.iter().copied());
            assert!(relative < 3e-7, "{x:?} * {w:?}: {what}: {relative:e}");
        }
    }
    assert!(has_played(&device));
}
