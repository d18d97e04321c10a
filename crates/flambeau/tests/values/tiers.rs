//! Kernels in two tiers: those for all sizes (in browsers products have a short text at first), and those compiled for the
//! sizes of a hot plan. All must give the same bits, and a run must not show when the second took over.

use crate::common::{new_gpu, values};
use flambeau::nn::models::{Gpt, GptConfig};
use flambeau::optim::Adam;
use flambeau::prelude::*;
use flambeau::{GpuConfig, Specialise, Subgroups, manual_seed};

fn gpu(specialise: Specialise, subgroups: Subgroups) -> Device {
    new_gpu(GpuConfig { specialise, subgroups, ..GpuConfig::default() })
}

/// As in browsers, if it is without subgroups.
fn compact_gpu(subgroups: Subgroups) -> Device {
    new_gpu(GpuConfig { specialise: Specialise::WhenHot, compact: true, subgroups, ..GpuConfig::default() })
}

fn randn(shape: &[usize], seed: u64, device: &Device) -> Tensor {
    Tensor::randn(shape, &Generator::new(seed), device)
}

/// A name, the shapes of the inputs, and what is made of them.
type Case = (&'static str, Vec<&'static [usize]>, Box<dyn Fn(&[Tensor]) -> Tensor>);

/// Bits of what a function and its gradients give on a device.
fn bits(device: &Device, shapes: &[&[usize]], run: &dyn Fn(&[Tensor]) -> Tensor) -> Vec<Vec<u64>> {
    let inputs: Vec<Tensor> =
        shapes.iter().zip(1..).map(|(shape, seed)| randn(shape, seed, device).requires_grad()).collect();
    let result = run(&inputs);
    result.backward_with(&randn(result.shape().dims(), 77, device)).unwrap();
    let all = std::iter::once(result).chain(inputs.iter().map(|input| input.grad().unwrap()));
    all.map(|tensor| values(&tensor).into_iter().map(f64::to_bits).collect()).collect()
}

/// Sizes that fill tiles and sizes that do not, depths that end within a round, parts of sums, strides, groups, windows.
#[test]
fn all_tiers_give_the_same_bits() {
    [Subgroups::Never, Subgroups::Always].into_iter().for_each(all_tiers_agree);
}

fn all_tiers_agree(subgroups: Subgroups) {
    let general = gpu(Specialise::Never, subgroups);
    let specialised = gpu(Specialise::AtOnce, subgroups);
    let compact = compact_gpu(subgroups);
    let padded = Conv2dOptions::default().with_padding(1);
    let strided = padded.with_stride(2);
    let cases: Vec<Case> = vec![
        ("product", vec![&[256, 192], &[192, 256]], Box::new(|x| x[0].matmul(&x[1]))),
        ("product with edges", vec![&[250, 197], &[197, 131]], Box::new(|x| x[0].matmul(&x[1]).gelu())),
        ("small product", vec![&[32, 784], &[128, 784]], Box::new(|x| x[0].matmul(&x[1].t()).relu())),
        ("small product in parts", vec![&[29, 1605], &[1605, 13]], Box::new(|x| x[0].matmul(&x[1]))),
        ("batched product", vec![&[3, 130, 66], &[3, 66, 132]], Box::new(|x| x[0].matmul(&x[1]))),
        (
            "conv",
            vec![&[4, 16, 20, 21], &[24, 16, 3, 3]],
            Box::new(move |x| x[0].conv2d(&x[1], None, &padded)),
        ),
        (
            "small conv",
            vec![&[3, 5, 9, 10], &[7, 5, 3, 3]],
            Box::new(move |x| x[0].conv2d(&x[1], None, &padded).tanh()),
        ),
        (
            "conv in groups",
            vec![&[5, 12, 15, 14], &[24, 6, 3, 3]],
            Box::new(move |x| x[0].conv2d(&x[1], None, &strided.with_groups(2))),
        ),
        (
            "strided conv",
            vec![&[8, 16, 32, 31], &[32, 16, 3, 3]],
            Box::new(move |x| x[0].conv2d(&x[1], None, &strided).relu()),
        ),
        (
            "depthwise conv",
            vec![&[2, 12, 17, 16], &[12, 1, 3, 3]],
            Box::new(move |x| x[0].conv2d(&x[1], None, &padded.with_groups(12))),
        ),
        ("max pool", vec![&[2, 5, 17, 16]], Box::new(|x| x[0].max_pool2d(3, &Default::default()))),
        ("mean pool", vec![&[2, 5, 17, 16]], Box::new(|x| x[0].avg_pool2d(2, &Default::default()))),
        ("large reduction", vec![&[1030, 1024]], Box::new(|x| x[0].sum(1))),
        ("long rows", vec![&[520, 2100]], Box::new(|x| x[0].softmax(-1))),
        ("rows of many threads", vec![&[37, 999]], Box::new(|x| x[0].log_softmax(-1))),
        ("rows of vectors", vec![&[70, 512]], Box::new(|x| x[0].softmax(-1))),
        ("short rows", vec![&[1000, 10]], Box::new(|x| x[0].log_softmax(-1))),
        ("short columns", vec![&[29, 300]], Box::new(|x| x[0].sum(0))),
        ("columns", vec![&[41, 300]], Box::new(|x| x[0].exp().sum(0))),
        ("columns of many", vec![&[1500, 40]], Box::new(|x| x[0].var(0, 1))),
    ];
    for (name, shapes, run) in &cases {
        let bits = [&general, &compact, &specialised].map(|device| bits(device, shapes, run));
        assert!(bits[0] == bits[2], "{name}: specialised kernels differ");
        assert!(bits[0] == bits[1], "{name}: compact kernels differ");
    }
    let created = |device: &Device| device.gpu_stats().unwrap().pipelines_created;
    assert!(created(&specialised) > created(&general), "sizes are in the text of some");
    assert!(created(&compact) < created(&general), "one text serves more sizes");
    crate::suite::validate_shaders(&compact);
}

/// The losses of a small GPT; after `wait` steps, what is being compiled is waited for.
fn losses(device: &Device, steps: usize, wait: Option<usize>) -> Vec<f64> {
    manual_seed(5);
    let config =
        GptConfig { vocabulary: 33, context: 64, layers: 1, heads: 2, width: 64, ..Default::default() };
    let model = Gpt::new(config, device);
    let mut optimizer = Adam::new(model.parameters(), 1e-3);
    let x = Tensor::randint(0, 33, [8, 64], &Generator::new(3), device);
    let y = x.flatten(0, 1);
    let mut losses = Vec::new();
    for step in 0..steps {
        if wait == Some(step) {
            device.wait_for_compilation();
        }
        let loss = model.forward(&x).flatten(0, 1).cross_entropy(&y);
        loss.backward().unwrap();
        optimizer.step().unwrap();
        optimizer.zero_grad();
        losses.push(values(&loss)[0]);
    }
    losses
}

#[test]
fn a_run_does_not_show_when_kernels_were_exchanged() {
    let never = Subgroups::Never;
    let general = gpu(Specialise::Never, never);
    let without = losses(&general, 14, None);
    assert_eq!(general.gpu_stats().unwrap().pipelines_specialised, 0);
    for hot in [gpu(Specialise::WhenHot, never), compact_gpu(never)] {
        let with = losses(&hot, 14, Some(10));
        let stats = hot.gpu_stats().unwrap();
        assert!(stats.pipelines_specialised > 0, "{stats:?}");
        let bits = |losses: &[f64]| losses.iter().map(|loss| loss.to_bits()).collect::<Vec<u64>>();
        assert_eq!(bits(&with), bits(&without));
        assert!(with[13] < with[0]);
    }
}
