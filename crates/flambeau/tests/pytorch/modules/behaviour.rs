//! `modules.cpp`, layers that behave differently in training and evaluation, containers, cells.

use super::*;

/// Dropping in training, nothing in evaluation.
fn drops(layer: &impl Forward, device: &Device) {
    let x = Tensor::ones([10, 10, 2, 2, 2], device).requires_grad();
    layer.train();
    let y = layer.forward(&x);
    y.sum(..).backward().unwrap();
    let kept = values(&y);
    assert!(kept.iter().any(|&value| value != kept[0]), "everything or nothing was dropped");
    assert_eq!(x.grad().unwrap().shape(), x.shape());
    layer.eval();
    same(&layer.forward(&x).detach(), &x.detach());
}

#[test]
fn dropout() {
    each(|device| drops(&Dropout::new(0.5), device));
}

#[test]
fn dropout2d() {
    each(|device| {
        drops(
            &Sequential::new().with(|x: &Tensor| x.flatten(-2, -1)).with(Dropout2d::new(0.5)).with(back),
            device,
        )
    });
}

#[test]
fn dropout3d() {
    each(|device| drops(&Dropout3d::new(0.5), device));
}

#[test]
fn alpha_dropout() {
    each(|device| drops(&AlphaDropout::new(0.5), device));
}

#[test]
fn feature_alpha_dropout() {
    each(|device| drops(&FeatureAlphaDropout::new(0.5), device));
}

fn back(x: &Tensor) -> Tensor {
    x.unflatten(-1, [2, 2])
}

#[test]
fn parameters() {
    #[derive(Module)]
    struct Nested {
        param: Parameter,
        l1: Linear,
        l2: Linear,
    }
    each(|device| {
        let linear = || Linear::new(5, 2, device);
        let module =
            Nested { param: Parameter::new(&normal([3, 2, 21], device)), l1: linear(), l2: linear() };
        let shapes = |name: &str| {
            let all = module.named_parameters();
            all.into_iter()
                .find(|(own, _)| own == name)
                .map(|(_, parameter)| parameter.shape().dims().to_vec())
        };
        assert_eq!(shapes("param"), Some(vec![3, 2, 21]));
        assert_eq!(shapes("l1.bias"), Some(vec![2]));
        assert_eq!(shapes("l2.weight"), Some(vec![2, 5]));
        assert_eq!(module.named_parameters().len(), 5);
    });
}

#[test]
fn functional_calls_supplied_function() {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    each(|device| {
        let before = CALLS.load(Relaxed);
        let net = Sequential::new().with(|x: &Tensor| {
            CALLS.fetch_add(1, Relaxed);
            x.clone()
        });
        let x = ramp([5, 5], device);
        same(&net.forward(&x), &x);
        assert_eq!(CALLS.load(Relaxed), before + 1);
    });
}

#[test]
fn functional_with_torch_function() {
    each(|device| {
        is(&Sequential::new().with(Tensor::relu).forward(&Tensor::new([-1.0, 2.0], device)), [2], &[0.0, 2.0])
    });
}

#[test]
fn functional_argument_binding() {
    each(|device| {
        let net = Sequential::new().with(|x: &Tensor| x.elu(1.0));
        is(&net.forward(&Tensor::new([-1.0, 2.0], device)), [2], &[(-1f64).exp() - 1.0, 2.0]);
    });
}

/// Batch norm has running statistics, which training moves and evaluation uses.
fn batch_norm_stateful<const N: usize>(shape: &[usize], device: &Device) {
    let norm = BatchNorm::<N>::new(shape[1], device);
    let running = norm.running.as_ref().unwrap();
    let zeros = vec![0.0; shape[1]];
    assert_eq!(values(&running.running_mean.get()), zeros);
    assert_eq!(values(&running.running_var.get()), vec![1.0; shape[1]]);
    let x = normal(shape, device) * 2.0 + 3.0;
    norm.forward(&x);
    assert_eq!(values(&running.num_batches_tracked.get()), [1.0]);
    let dims: Vec<isize> = (0..shape.len() as isize).filter(|&dim| dim != 1).collect();
    same(&running.running_mean.get(), &(x.mean(&dims[..]) * 0.1));
    norm.eval();
    let before = values(&running.running_mean.get());
    norm.forward(&x);
    assert_eq!(values(&running.running_mean.get()), before);
    assert_eq!(
        (norm.weight.unwrap().shape().dims(), norm.bias.unwrap().shape().dims()),
        (&shape[1..2], &shape[1..2])
    );
}

/// Without parameters and running statistics: the batch's own, in evaluation too.
fn batch_norm_stateless<const N: usize>(shape: &[usize], device: &Device) {
    let options = BatchNormOptions { affine: false, track_running_stats: false, ..Default::default() };
    let norm = BatchNorm::<N>::with_options(shape[1], options, device);
    assert!(norm.running.is_none() && norm.weight.is_none() && norm.bias.is_none());
    let x = normal(shape, device) * 2.0 + 3.0;
    let trained = norm.forward(&x);
    norm.eval();
    same(&norm.forward(&x), &trained);
    assert!(number(&trained.mean(..)).abs() < 1e-5);
    assert!(norm.try_forward(&ramp([2, shape[1] + 1, 2, 2, 2, 2], device)).is_err());
}

/// Instance norm, with running statistics and without.
fn instance_norm_stateful<const N: usize>(shape: &[usize], device: &Device) {
    let options = InstanceNormOptions { affine: true, track_running_stats: true, ..Default::default() };
    let norm = InstanceNorm::<N>::with_options(shape[1], options, device);
    let running = norm.running.as_ref().unwrap();
    let x = normal(shape, device) + 3.0;
    norm.forward(&x);
    let dims: Vec<isize> = (0..shape.len() as isize).filter(|&dim| dim != 1).collect();
    same(&running.running_mean.get(), &(x.mean(&dims[..]) * 0.1));
    assert!(norm.weight.is_some() && norm.bias.is_some());
}

fn instance_norm_stateless<const N: usize>(shape: &[usize], device: &Device) {
    let norm = InstanceNorm::<N>::new(shape[1], device);
    assert!(norm.running.is_none() && norm.weight.is_none() && norm.bias.is_none());
    let y = norm.forward(&(normal(shape, device) * 2.0 + 3.0));
    let dims: Vec<isize> = (2..shape.len() as isize).collect();
    assert!(values(&y.mean(&dims[..])).iter().all(|mean| mean.abs() < 1e-5));
}

/// Tests of one helper: `test: helper, shape;`.
macro_rules! norms {
    ($($test:ident: $helper:ident<$n:literal>, $shape:expr;)*) => {$(
        #[test]
        fn $test() {
            each(|device| $helper::<$n>(&$shape, device));
        }
    )*};
}

norms! {
    batch_norm1d_stateful: batch_norm_stateful<1>, [4, 5, 3];
    batch_norm2d_stateful: batch_norm_stateful<2>, [4, 5, 3, 2];
    batch_norm3d_stateful: batch_norm_stateful<3>, [4, 5, 3, 2, 2];
    batch_norm1d_stateless: batch_norm_stateless<1>, [4, 5, 3];
    batch_norm2d_stateless: batch_norm_stateless<2>, [4, 5, 3, 2];
    batch_norm3d_stateless: batch_norm_stateless<3>, [4, 5, 3, 2, 2];
    instance_norm1d_stateful: instance_norm_stateful<1>, [4, 5, 3];
    instance_norm2d_stateful: instance_norm_stateful<2>, [4, 5, 3, 2];
    instance_norm3d_stateful: instance_norm_stateful<3>, [4, 5, 3, 2, 2];
    instance_norm1d_stateless: instance_norm_stateless<1>, [4, 5, 3];
    instance_norm2d_stateless: instance_norm_stateless<2>, [4, 5, 3, 2];
    instance_norm3d_stateless: instance_norm_stateless<3>, [4, 5, 3, 2, 2];
}

/// A layer moved to a device computes there.
#[test]
fn linear_cuda() {
    each(|device| {
        let model = Linear::new(5, 2, &Device::cpu());
        block_on(model.to(device)).unwrap();
        let x = normal([10, 5], device).requires_grad();
        let y = model.forward(&x);
        y.sum(..).backward().unwrap();
        assert_eq!((y.shape().dims(), y.device()), (&[10, 2][..], device));
        assert_eq!(model.weight.grad().unwrap().numel(), 10);
    });
}

/// There and back again.
#[test]
fn linear2_cuda() {
    each(|device| {
        let model = Linear::new(5, 2, &Device::cpu());
        let before = values(&model.weight.value());
        block_on(model.to(device)).unwrap();
        block_on(model.to(&Device::cpu())).unwrap();
        assert_eq!(values(&model.weight.value()), before);
        model.forward(&normal([10, 5], &Device::cpu())).sum(..).backward().unwrap();
        assert!(model.weight.grad().is_some());
    });
}

#[test]
fn hardtanh_min_val_ge_max_val() {
    each(|device| {
        let layer = Hardtanh { min_val: 0.42, max_val: -0.42 };
        assert!(message(layer.try_forward(&ramp([3], device))).contains("0.42"));
    });
}

/// The log-probabilities of all classes are those of the head and of the clusters, and sum to 1.
#[test]
fn adaptive_log_softmax_with_loss() {
    each(|device| {
        let options = AdaptiveSoftmaxOptions { div_value: 2.0, head_bias: true };
        let layer = AdaptiveLogSoftmaxWithLoss::with_options(8, 10, &[4, 8], options, device);
        let x = normal([4, 8], device);
        let all = layer.log_prob(&x);
        is(&all.detach().exp().sum(1), [4], &[1.0; 4]);
        let head = layer.head.forward(&x).log_softmax(1);
        let cluster = layer.tail[1].forward(&x).log_softmax(1);
        same(&all.narrow(1, 0, 4).detach(), &head.narrow(1, 0, 4).detach());
        same(&all.narrow(1, 8, 2).detach(), &(cluster + head.narrow(1, 5, 1)).detach());
        let targets = Tensor::new([0, 5, 9, 3], device);
        let (chosen, loss) = layer.forward(&x, &targets);
        same(&chosen.detach(), &all.gather(1, &targets.unsqueeze(1)).squeeze(1).detach());
        assert!((number(&loss) + number(&chosen.mean(..))).abs() < 1e-5);
        same(&layer.predict(&x), &all.argmax(1));
        loss.backward().unwrap();
        assert!(layer.parameters().iter().all(|parameter| parameter.grad().is_some()));
        assert!(AdaptiveLogSoftmaxWithLoss::try_with_options(8, 10, &[5, 4], options, device).is_err());
        assert!(AdaptiveLogSoftmaxWithLoss::try_with_options(8, 10, &[4, 10], options, device).is_err());
    });
}

#[test]
fn zero_pad1d() {
    each(|device| {
        is(
            &ZeroPad1d::new([1, 2]).forward(&Tensor::new([[[1.0, 2.0]]], device)),
            [1, 1, 5],
            &[0.0, 1.0, 2.0, 0.0, 0.0],
        )
    });
}

#[test]
fn zero_pad2d() {
    each(|device| {
        let y = ZeroPad2d::new([1, 0, 0, 1]).forward(&Tensor::new([[[1.0, 2.0]]], device));
        is(&y, [1, 2, 3], &[0.0, 1.0, 2.0, 0.0, 0.0, 0.0]);
    });
}

#[test]
fn zero_pad3d() {
    each(|device| {
        let y = ZeroPad3d::new(1).forward(&Tensor::ones([1, 1, 2, 2, 2], device));
        assert_eq!((y.shape().dims(), number(&y.sum(..))), (&[1, 1, 4, 4, 4][..], 8.0));
        same(&y.i((.., .., 1..3, 1..3, 1..3)), &Tensor::ones([1, 1, 2, 2, 2], device));
    });
}

/// Cells step as the layers do.
#[test]
fn rnn_cell() {
    each(|device| {
        for nonlinearity in [RnnNonlinearity::Tanh, RnnNonlinearity::Relu] {
            let cell =
                RnnCell::with_options(2, 3, RnnCellOptions { nonlinearity, ..Default::default() }, device);
            let layer = Rnn::with_options(2, 3, RnnOptions { nonlinearity, ..Default::default() }, device);
            share(&cell, &layer);
            let x = normal([2, 4, 2], device);
            let first = cell.forward(&x.select(0, 0), None);
            let second = cell.forward(&x.select(0, 1), Some(&first));
            same(&second.detach(), &layer.forward(&x, None).0.select(0, 1).detach());
        }
    });
}

#[test]
fn lstm_cell() {
    each(|device| {
        let (cell, layer) = (LstmCell::new(2, 3, device), Lstm::new(2, 3, device));
        share(&cell, &layer);
        let x = normal([2, 4, 2], device);
        let (h, c) = cell.forward(&x.select(0, 0), None);
        let (h, c) = cell.forward(&x.select(0, 1), Some((&h, &c)));
        let (outputs, (_, last)) = layer.forward(&x, None);
        same(&h.detach(), &outputs.select(0, 1).detach());
        same(&c.detach(), &last.squeeze(0).detach());
    });
}

#[test]
fn gru_cell() {
    each(|device| {
        let (cell, layer) = (GruCell::new(2, 3, device), Gru::new(2, 3, device));
        share(&cell, &layer);
        let x = normal([2, 4, 2], device);
        let h = cell.forward(&x.select(0, 1), Some(&cell.forward(&x.select(0, 0), None)));
        same(&h.detach(), &layer.forward(&x, None).0.select(0, 1).detach());
    });
}

/// A cell's parameters for a layer, whose names end in the number of the layer.
fn share(cell: &dyn Module, layer: &dyn Module) {
    let given = cell.named_parameters();
    for (name, parameter) in layer.named_parameters() {
        let plain = name.strip_suffix("_l0").expect("layer 0");
        parameter.set(&given.iter().find(|(own, _)| own == plain).expect("the same name").1.value());
    }
}
