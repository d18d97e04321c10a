//! What the word for the precision of products costs: plans, and which word makes one. Threads play the matrix units.

use crate::alone;
use crate::common::{gpu, new_gpu, values};
use flambeau::nn::Linear;
use flambeau::optim::Sgd;
use flambeau::prelude::*;
use flambeau::{
    GpuConfig, MatrixUnits, Precision, Specialise, float32_matmul_precision, matmul_precision,
    set_float32_matmul_precision,
};

fn played(precision: Option<Precision>) -> Device {
    let (matrix_units, specialise) = (MatrixUnits::Played, Specialise::Never);
    new_gpu(GpuConfig { matrix_units, specialise, precision, ..GpuConfig::default() })
}

/// Plans found and plans made by what the closure evaluates.
fn plans(device: &Device, body: impl FnOnce()) -> (u64, u64) {
    let before = device.plan_stats();
    body();
    let after = device.plan_stats();
    (after.hits - before.hits, after.misses - before.misses)
}

fn operands(device: &Device) -> [Tensor; 2] {
    let generator = Generator::new(1);
    let both = [[64, 96], [96, 64]].map(|shape| Tensor::randn(shape, &generator, device));
    eval(&[&both[0], &both[1]]).unwrap();
    both
}

const BOTH: [Precision; 2] = [Precision::Highest, Precision::High];

#[test]
fn both_precisions_of_a_graph_have_a_plan_each_and_find_it_again() {
    let _alone = alone();
    let device = played(None);
    let [a, b] = operands(&device);
    // A primitive and a composite, whose products are found when it is written out.
    let layer = Linear::new(96, 64, &device);
    layer.parameters().iter().for_each(|parameter| parameter.value().eval().unwrap());
    for graph in [&|| a.matmul(&b).relu() as Tensor, &|| layer.forward(&a)] as [&dyn Fn() -> Tensor; 2] {
        let run = |precision| plans(&device, || matmul_precision(precision, graph).eval().unwrap());
        assert_eq!(BOTH.map(run), [(0, 1), (0, 1)], "the first time");
        assert_eq!(BOTH.map(run), [(1, 0), (1, 0)], "the second time");
        assert_eq!(plans(&device, || graph().eval().unwrap()), (1, 0), "without a scope it is the highest");
    }
}

#[test]
fn what_has_no_products_of_f32_has_one_plan() {
    let _alone = alone();
    let device = played(None);
    let [a, _] = operands(&device);
    let halves = a.to_dtype(DType::F16);
    halves.eval().unwrap();
    for graph in
        [&|| (&a * 2.0).exp().sum(1) as Tensor, &|| halves.matmul(&halves.t())] as [&dyn Fn() -> Tensor; 2]
    {
        let run = |precision| plans(&device, || matmul_precision(precision, graph).eval().unwrap());
        assert_eq!(BOTH.map(run), [(0, 1), (1, 0)]);
    }
}

#[test]
fn without_matrix_units_there_is_one_plan() {
    let _alone = alone();
    let plain = new_gpu(GpuConfig { matrix_units: MatrixUnits::Never, ..GpuConfig::default() });
    for device in [Device::cpu(), gpu(), plain] {
        let [a, b] = operands(&device);
        let run = |precision| {
            plans(&device, || matmul_precision(precision, || a.matmul(&b).tanh().sum(0)).eval().unwrap())
        };
        assert_eq!(BOTH.map(run), [(0, 1), (1, 0)], "{device}");
    }
}

/// A training step at `high` is one run of one plan, as at `highest`.
#[test]
fn a_step_in_a_scope_makes_nothing_new() {
    let _alone = alone();
    let device = played(None);
    let [a, _] = operands(&device);
    let layer = Linear::new(96, 64, &device);
    let mut sgd = Sgd::new(layer.parameters(), 0.01);
    let mut step = |precision| {
        let loss = matmul_precision(precision, || layer.forward(&a).square().mean(..));
        loss.backward().unwrap();
        sgd.step().unwrap();
        sgd.zero_grad();
    };
    let kernels = BOTH.map(|precision| {
        step(precision);
        step(precision);
        let before = device.gpu_stats().unwrap();
        assert_eq!(plans(&device, || step(precision)), (1, 0), "{precision}");
        let after = device.gpu_stats().unwrap();
        assert_eq!(after.submits - before.submits, 1, "{precision}");
        assert_eq!(after.pipelines_created, before.pipelines_created, "{precision}");
        after.dispatches - before.dispatches
    });
    assert_eq!(kernels[0], kernels[1], "the same kernels with other texts");
}

/// The process's word holds where neither a scope nor the device has one, for all threads, from when it is said on.
#[test]
fn the_words_of_process_device_and_scope() {
    struct Restored;
    impl Drop for Restored {
        fn drop(&mut self) {
            set_float32_matmul_precision(Precision::Highest);
        }
    }
    let (_alone, _restored) = (alone(), Restored);
    let (silent, own) = (played(None), played(Some(Precision::Highest)));
    assert_eq!(float32_matmul_precision(), Precision::Highest);
    let [a, b] = operands(&silent);
    let before = a.matmul(&b);
    set_float32_matmul_precision(Precision::High);
    assert_eq!(float32_matmul_precision(), Precision::High);
    let said = [&silent, &own, &Device::cpu()].map(Device::matmul_precision);
    assert_eq!(said, [Precision::High, Precision::Highest, Precision::High]);
    let elsewhere = std::thread::scope(|threads| threads.spawn(|| silent.matmul_precision()).join().unwrap());
    assert_eq!(elsewhere, Precision::High);
    assert_eq!(matmul_precision(Precision::Highest, || silent.matmul_precision()), Precision::Highest);
    assert_eq!(matmul_precision(Precision::High, || own.matmul_precision()), Precision::High);
    // What was recorded before keeps its own.
    let after = a.matmul(&b);
    assert_eq!(plans(&silent, || before.eval().unwrap()), (0, 1));
    assert_eq!(plans(&silent, || after.eval().unwrap()), (0, 1));
    assert_ne!(values(&before), values(&after));
    assert_eq!(values(&matmul_precision(Precision::Highest, || a.matmul(&b))), values(&before));
    assert_eq!(values(&matmul_precision(Precision::High, || a.matmul(&b))), values(&after));
}
