//! The user's word for how precise products of f32 are: which word holds for what, by the errors that products have. Threads play
//! the matrix units, and f64 on the CPU judges: operands of `high` have 11 bits, `highest` is as precise as f32.

use crate::common::{devices, new_gpu, values};
use crate::matrix_units::{error, randn};
use flambeau::autograd::checkpoint;
use flambeau::data::{DataLoader, TensorDataset};
use flambeau::func::vmap;
use flambeau::nn::Linear;
use flambeau::nn::loss::MseLoss;
use flambeau::optim::Sgd;
use flambeau::prelude::*;
use flambeau::train::{Outcome, Trainer};
use flambeau::{
    CpuConfig, GpuConfig, MatrixUnits, Precision, Specialise, block_on, enter_matmul_precision,
    matmul_precision,
};
use std::cell::RefCell;
use std::sync::OnceLock;

fn device_with(precision: Option<Precision>) -> Device {
    let (matrix_units, specialise) = (MatrixUnits::Played, Specialise::Never);
    new_gpu(GpuConfig { matrix_units, specialise, precision, ..GpuConfig::default() })
}

/// A device on which threads play matrix units, without a word of its own.
fn device() -> Device {
    static DEVICE: OnceLock<Device> = OnceLock::new();
    DEVICE.get_or_init(|| device_with(None)).clone()
}

/// How precise a product is, by its error.
#[track_caller]
fn precision_of(a: &Tensor, b: &Tensor, product: &Tensor) -> Precision {
    match error(a, b, product) {
        error if error < 3e-7 => Precision::Highest,
        error if (1e-6..6e-4).contains(&error) => Precision::High,
        error => panic!("an error of {error:e} is that of neither precision"),
    }
}

fn operands(device: &Device) -> [Tensor; 2] {
    [randn(&[70, 96], 1, device), randn(&[96, 66], 2, device)]
}

/// Runs a closure in a scope, or in none.
fn within<T>(scope: Option<Precision>, body: impl FnOnce() -> T) -> T {
    let _scope = scope.map(enter_matmul_precision);
    body()
}

const HIGHEST: Option<Precision> = Some(Precision::Highest);
const HIGH: Option<Precision> = Some(Precision::High);

#[test]
fn what_holds_is_what_was_said_when_the_product_was_recorded() {
    let device = device();
    let [a, b] = operands(&device);
    let (outside, inside) = (a.matmul(&b), matmul_precision(Precision::High, || a.matmul(&b)));
    // One plan has both, though op and operands are the same.
    eval(&[&outside, &inside]).unwrap();
    assert_eq!(precision_of(&a, &b, &outside), Precision::Highest);
    assert_eq!(precision_of(&a, &b, &inside), Precision::High);
    // Evaluated in the other's scope.
    let (outside, inside) = (a.matmul(&b), matmul_precision(Precision::High, || a.matmul(&b)));
    matmul_precision(Precision::High, || outside.eval()).unwrap();
    assert_eq!(precision_of(&a, &b, &outside), Precision::Highest);
    assert_eq!(precision_of(&a, &b, &inside), Precision::High);
}

/// PyTorch's `high` is TF32: operands rounded to 11 bits, products and sums in f32.
#[test]
fn high_is_the_product_of_operands_rounded_to_eleven_bits() {
    let device = device();
    let [a, b] = operands(&device);
    let product = matmul_precision(Precision::High, || a.matmul(&b));
    let rounded = |tensor: &Tensor| {
        let round = |x: f64| {
            let bits = (x as f32).to_bits();
            // To the nearest of 11 bits, and to the even one of two.
            f64::from(f32::from_bits((bits + 0xfff + (bits >> 13 & 1)) & !0x1fff))
        };
        let numbers: Vec<f64> = values(tensor).into_iter().map(round).collect();
        Tensor::from_vec(numbers, tensor.shape().dims(), &Device::cpu())
    };
    let (a, b) = (rounded(&a), rounded(&b));
    let error = error(&a, &b, &product);
    assert!(error < 3e-7, "{error:e} beside the product of rounded operands");
}

#[test]
fn scopes_nest_and_end_and_belong_to_their_thread() {
    let device = device();
    let said = || device.matmul_precision();
    assert_eq!(said(), Precision::Highest);
    matmul_precision(Precision::High, || {
        assert_eq!(said(), Precision::High);
        matmul_precision(Precision::Highest, || assert_eq!(said(), Precision::Highest));
        assert_eq!(said(), Precision::High);
        let elsewhere = std::thread::scope(|threads| threads.spawn(said).join().unwrap());
        assert_eq!(elsewhere, Precision::Highest);
    });
    let broken = std::panic::catch_unwind(|| matmul_precision(Precision::High, || panic!("in the scope")));
    assert!(broken.is_err());
    assert_eq!(said(), Precision::Highest);
}

#[test]
fn a_scope_counts_before_the_device() {
    let device = device_with(HIGH);
    let [a, b] = operands(&device);
    assert_eq!(device.matmul_precision(), Precision::High);
    assert_eq!(precision_of(&a, &b, &a.matmul(&b)), Precision::High);
    let product = matmul_precision(Precision::Highest, || a.matmul(&b));
    assert_eq!(precision_of(&a, &b, &product), Precision::Highest);
    let cpu = Device::cpu_with(&CpuConfig { precision: HIGH, ..CpuConfig::default() });
    assert_eq!(cpu.matmul_precision(), Precision::High);
}

/// Of the word where `backward` is called, or else of that where the op was recorded.
#[test]
fn derivatives_are_as_precise_as_their_op_unless_backward_has_a_scope() {
    let device = device();
    let cases = [
        (None, None, Precision::Highest, Precision::Highest),
        (HIGH, None, Precision::High, Precision::High),
        (None, HIGH, Precision::Highest, Precision::High),
        (HIGH, HIGHEST, Precision::High, Precision::Highest),
    ];
    let g = randn(&[70, 66], 3, &device);
    for (forward, backward, of_result, of_gradients) in cases {
        // A primitive, and a composite that has a rule.
        for is_layer in [false, true] {
            let case = format!("forward {forward:?}, backward {backward:?}, a layer: {is_layer}");
            let [a, b] = operands(&device).map(|tensor| tensor.requires_grad());
            let layer = Linear::new(96, 66, &device);
            layer.weight.set(&b.t().detach());
            layer.bias.as_ref().unwrap().set(&Tensor::zeros([66], &device));
            let y = within(forward, || if is_layer { layer.forward(&a) } else { a.matmul(&b) });
            let loss = (&y * &g).sum(..);
            within(backward, || loss.backward()).unwrap();
            assert_eq!(precision_of(&a, &b, &y), of_result, "{case}");
            assert_eq!(precision_of(&g, &b.t(), &a.grad().unwrap()), of_gradients, "{case}: of a");
            let of_b = if is_layer { layer.weight.grad().unwrap().t() } else { b.grad().unwrap() };
            assert_eq!(precision_of(&a.t(), &g, &of_b), of_gradients, "{case}: of b");
        }
    }
}

#[test]
fn gradients_of_gradients_are_as_precise_as_the_op() {
    let device = device();
    let [a, b] = operands(&device).map(|tensor| tensor.requires_grad());
    let g = randn(&[70, 66], 3, &device).requires_grad();
    let y = matmul_precision(Precision::High, || a.matmul(&b));
    let create = BackwardOptions { create_graph: true, ..Default::default() };
    let first = grad(&[(y * &g).sum(..)], &[a], create).unwrap().remove(0).unwrap();
    let h = randn(&[70, 96], 4, &device);
    // d(g·bᵀ)·h / dg = h·b.
    let second = grad(&[(first * &h).sum(..)], &[g], BackwardOptions::default()).unwrap().remove(0).unwrap();
    assert_eq!(precision_of(&h, &b, &second), Precision::High);
}

/// What is computed again has the numbers of the first time, whatever scope `backward` is called in.
#[test]
fn checkpoints_are_computed_again_as_they_were_recorded() {
    let device = device();
    let [a, b] = operands(&device);
    for (forward, backward) in [(HIGH, HIGHEST), (HIGH, None), (None, HIGH)] {
        let factor = Tensor::ones([70, 66], &device).requires_grad();
        let product = within(forward, || a.matmul(&b));
        let (a, b) = (a.clone(), b.clone());
        let region = move |inputs: &[Tensor]| inputs[0].try_mul(&a.try_matmul(&b)?);
        let y = within(forward, || checkpoint(region, &[&factor])).unwrap();
        within(backward, || y.sum(..).backward()).unwrap();
        // The derivative by the factor is the product, computed again.
        assert_eq!(values(&factor.grad().unwrap()), values(&product), "{forward:?}, {backward:?}");
    }
}

#[test]
fn vmap_batches_products_as_the_function_has_recorded_them() {
    let device = device();
    let [a, b] = operands(&device);
    for (inner, outer, expected) in
        [(HIGH, None, Precision::High), (HIGHEST, HIGH, Precision::Highest), (None, HIGH, Precision::High)]
    {
        let row = |x: &Tensor| within(inner, || x.unsqueeze(0).matmul(&b).squeeze(0));
        let product = within(outer, || vmap(row)(&a));
        assert_eq!(precision_of(&a, &b, &product), expected, "{inner:?} in {outer:?}");
    }
}

/// All three directions of convolutions.
#[test]
fn convolutions_heed_it() {
    let device = device();
    let options = Conv2dOptions::default().with_padding(1);
    let run = |device: &Device, dtype: DType, scope: Option<Precision>| {
        let draw = |shape: &[usize], seed: u64| {
            let numbers: Vec<f32> =
                values(&randn(shape, seed, &Device::cpu())).into_iter().map(|x| x as f32).collect();
            Tensor::from_vec(numbers, shape, device).to_dtype(dtype).detach().requires_grad()
        };
        let (x, w) = (draw(&[2, 40, 7, 9], 1), draw(&[36, 40, 3, 3], 2));
        let y = within(scope, || x.conv2d(&w, None, &options));
        (y.square().sum(..) * 0.5).backward().unwrap();
        [y, x.grad().unwrap(), w.grad().unwrap()].map(|tensor| values(&tensor))
    };
    let exact = run(&Device::cpu(), DType::F64, None);
    let norm = |numbers: &mut dyn Iterator<Item = f64>| numbers.map(|x| x * x).sum::<f64>().sqrt();
    for (scope, range) in [(None, 0.0..1e-6), (HIGH, 1e-5..1e-3)] {
        let results =
            ["result", "gradient of x", "gradient of w"].iter().zip(run(&device, DType::F32, scope));
        for ((what, got), exact) in results.zip(&exact) {
            let error = norm(&mut got.iter().zip(exact).map(|(got, exact)| got - exact));
            let error = error / norm(&mut exact.iter().copied());
            assert!(range.contains(&error), "{what} in {scope:?}: {error:e}");
        }
    }
}

/// Without matrix units both words are f32 arithmetic, bit for bit; explain and the device say so.
#[test]
fn without_matrix_units_it_makes_no_difference() {
    let plain = new_gpu(GpuConfig { matrix_units: MatrixUnits::Never, ..GpuConfig::default() });
    for device in devices().into_iter().chain([plain.clone()]) {
        let [a, b] = operands(&device);
        let [highest, high] = [Precision::Highest, Precision::High]
            .map(|precision| matmul_precision(precision, || (a.matmul(&b), device.products_of_f32())));
        assert_eq!(values(&highest.0), values(&high.0), "{device}");
        assert_eq!(highest.1, high.1);
        assert!(high.1.starts_with("by f32 arithmetic, at highest and at high"), "{}", high.1);
    }
    let explained = |device: &Device| {
        let [a, b] = operands(device);
        eval(&[&a, &b]).unwrap();
        a.matmul(&b).explain()
    };
    let line = "products by f32 arithmetic; matrix units are not used: the CPU has none: kernels 0";
    assert!(explained(&Device::cpu()).contains(line), "{}", explained(&Device::cpu()));
    let line = "products by f32 arithmetic; matrix units are not used: they are turned off: kernels ";
    assert!(explained(&plain).contains(line), "{}", explained(&plain));
}

#[test]
fn a_plan_says_how_precise_each_product_is_and_why() {
    let device = device();
    let [a, b] = operands(&device);
    let said = |tensor: &Tensor| {
        let text = tensor.explain();
        text.lines().filter(|line| line.starts_with("products")).map(String::from).collect::<Vec<_>>()
    };
    eval(&[&a, &b]).unwrap();
    let both = a.matmul(&b) - matmul_precision(Precision::High, || a.matmul(&b));
    let lines = said(&both);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(
        lines[0].starts_with("products at high, of operands rounded to 11 bits, on matrix units: kernels ")
    );
    assert!(lines[1].starts_with("products at highest, each as three of f16 on matrix units: kernels "));
    let small = a.narrow(1, 0, 20).matmul(&b.narrow(0, 0, 20));
    assert_eq!(
        said(&small),
        ["products by f32 arithmetic; matrix units are not used: it is too small: kernels 0"]
    );
    let (a, b) = (a.to_dtype(DType::F16), b.to_dtype(DType::F16));
    eval(&[&a, &b]).unwrap();
    assert_eq!(said(&a.matmul(&b)), ["products of f16 on matrix units: kernels 0"]);
    let q = randn(&[1, 2, 40, 32], 5, &device);
    q.eval().unwrap();
    let attention =
        matmul_precision(Precision::High, || q.scaled_dot_product_attention(&q, &q, &Default::default()));
    let none = "matrix units are not used: there are no kernels for attention of f32: kernels 0";
    assert_eq!(said(&attention), [format!("products by f32 arithmetic; {none}")]);
    assert!(said(&(&q + 1.0)).is_empty(), "what multiplies nothing has no such line");
    // The device's own account.
    assert!(device.products_of_f32().starts_with("at highest"), "{}", device.products_of_f32());
    let said = matmul_precision(Precision::High, || device.products_of_f32());
    assert!(said.starts_with("at high: "), "{said}");
}

/// A trainer makes and evaluates its losses in a scope.
#[test]
fn a_trainer_is_told() {
    let device = Device::cpu();
    let (x, y) = (Tensor::ones([4, 2], &device), Tensor::zeros([4, 1], &device));
    let batches = || DataLoader::new(TensorDataset::new([x.clone(), y.clone()]).unwrap(), &device);
    let layer = Linear::new(2, 1, &device);
    let optimizer = Sgd::new(layer.parameters(), 0.1);
    let mut trainer = Trainer::new(layer, optimizer).with_precision(Precision::High);
    let said = RefCell::new(Vec::new());
    let outcome = |layer: &Linear, (x, y): (Tensor, Tensor)| {
        said.borrow_mut().push(device.matmul_precision());
        Ok(Outcome::new(MseLoss::default().try_forward(&layer.try_forward(&x)?, &y)?, 4))
    };
    block_on(trainer.fit(&mut batches(), Some(&mut batches()), outcome)).unwrap();
    let said = said.into_inner();
    assert!(said.len() >= 2 && said.iter().all(|&word| word == Precision::High), "{said:?}");
    assert_eq!(device.matmul_precision(), Precision::Highest);
}
