use crate::common::{assert_close, assert_values, devices, values};
use flambeau::autograd::{Context, CustomFunction, checkpoint, gradcheck_blocking, gradgradcheck_blocking};
use flambeau::func::{
    Randomness, VmapOptions, grad, hessian, jacfwd, jvp, linearize, try_vmap, vjp, vmap, vmap_with,
};
use flambeau::prelude::*;

fn random(shape: &[usize], seed: u64, device: &Device) -> Tensor {
    Tensor::randn(shape, &Generator::new(seed), device)
}

/// x³ with a derivative that is not its own: 10 g.
struct Wrong;

impl CustomFunction for Wrong {
    fn forward(&self, _: &mut Context, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        Ok(vec![inputs[0].pow(3.0)])
    }

    fn backward(&self, _: &Context, grads: &[Tensor]) -> Result<Vec<Option<Tensor>>> {
        Ok(vec![Some(&grads[0] * 10.0)])
    }
}

/// Rules that users bring hold inside of batches and through them.
#[test]
fn custom_functions_keep_their_derivatives() {
    for device in devices() {
        let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &device).requires_grad();
        let f = |x: &Tensor| Wrong.apply(&[x]).unwrap()[0].sum(..);
        assert_values(&vmap(grad(f))(&x), &[10.0; 4]);
        vmap(f)(&x).sum(..).backward().unwrap();
        assert_values(&x.grad().unwrap(), &[10.0; 4]);
        assert_values(&jvp(f, &x.detach(), &x.ones_like()).1, &[40.0]);
    }
}

/// What a checkpointed region captures gets its gradient, though it is recorded only when backward comes to it.
#[test]
fn checkpoints_inside_of_batches() {
    for device in devices() {
        let (x, w) = (random(&[4, 3], 1, &device), random(&[3, 2], 2, &device));
        let gradients = |is_checkpointed: bool| {
            let (x, w) = (x.requires_grad(), w.requires_grad());
            let captured = w.clone();
            let y = vmap(|x: &Tensor| match is_checkpointed {
                true => {
                    let w = captured.clone();
                    checkpoint(move |inputs| inputs[0].try_matmul(&w)?.try_tanh(), &[x])
                }
                false => x.try_matmul(&captured)?.try_tanh(),
            })(&x);
            (y.pow(2.0)).sum(..).backward().unwrap();
            [values(&x.grad().unwrap()), values(&w.grad().unwrap())].concat()
        };
        assert_close(&gradients(true), &gradients(false), 1e-6, 1e-5);
    }
}

/// First and second derivatives through a batch against finite differences, with respect to what is batched and what is captured.
#[test]
fn finite_differences_agree() {
    let device = Device::cpu();
    let double = |x: Tensor| x.to_dtype(DType::F64).requires_grad();
    let (x, w) = (double(random(&[3, 2], 1, &device)), double(random(&[2, 2], 2, &device)));
    let layers = |inputs: &[Tensor]| {
        let (x, w) = (&inputs[0], &inputs[1]);
        try_vmap(|x: &Tensor| {
            let hidden = x.matmul(w).tanh();
            (&hidden * grad(|h: &Tensor| (h.exp() * w.sum(0)).sum(..))(&hidden)).softmax(-1)
        })(x)
    };
    gradcheck_blocking(layers, &[x.clone(), w.clone()], Default::default()).unwrap();
    gradgradcheck_blocking(layers, &[x.clone(), w.clone()], Default::default()).unwrap();
    let forward =
        |inputs: &[Tensor]| Ok(jvp(|x: &Tensor| x.matmul(&inputs[1]).tanh(), &inputs[0], &inputs[0]).1);
    gradcheck_blocking(forward, &[x.clone(), w.clone()], Default::default()).unwrap();
    gradgradcheck_blocking(forward, &[x, w], Default::default()).unwrap();
}

/// The derivative at x, with x also captured: only the argument moves.
#[test]
fn a_captured_tensor_is_a_constant() {
    let x = Tensor::new([3.0], &Device::cpu()).requires_grad();
    let slope = grad(|y: &Tensor| (y * &x).sum(..))(&x);
    assert_values(&slope, &[3.0]);
    slope.sum(..).backward().unwrap();
    assert_values(&x.grad().unwrap(), &[1.0]);
    // d/dx (x · d/dy (x + y)) = 1: no confusion of the two derivatives.
    let outer = grad(|x: &Tensor| (x * grad(|y: &Tensor| (x + y).sum(..))(x)).sum(..))(&x.detach());
    assert_values(&outer, &[1.0]);
}

#[test]
fn results_carry_history_only_where_something_has_one() {
    let x = Tensor::new([1.0, 2.0], &Device::cpu());
    let w = Tensor::new([3.0, 4.0], &Device::cpu()).requires_grad();
    let f = |x: &Tensor| (x * x * x).sum(..);
    assert!(!grad(f)(&x).is_tracked() && !vmap(grad(f))(&x).is_tracked() && !hessian(f)(&x).is_tracked());
    assert!(!vjp(f, &x).0.is_tracked() && !jvp(f, &x, &x).1.is_tracked());
    let weighted = |x: &Tensor| (x * x * &w).sum(..);
    assert!(grad(weighted)(&x).is_tracked() && vmap(|x: &Tensor| x * w.sum(..))(&x).is_tracked());
    no_grad(|| {
        assert_values(&grad(weighted)(&x), &[6.0, 16.0]);
        assert!(!grad(weighted)(&x).is_tracked() && !vmap(grad(weighted))(&x).is_tracked());
    });
}

#[test]
fn a_linear_approximation_is_asked_again_and_again() {
    for device in devices() {
        let (x, w) = (random(&[3], 1, &device), random(&[3, 2], 2, &device));
        let mut calls = std::cell::Cell::new(0);
        let f = |x: &Tensor| {
            calls.set(calls.get() + 1);
            x.matmul(&w).exp()
        };
        let (y, along) = linearize(f, &x);
        for seed in 5..8 {
            let v = random(&[3], seed, &device);
            let want = &y * v.matmul(&w);
            assert_close(&values(&along(&v)), &values(&want), 1e-6, 1e-5);
        }
        drop(along);
        assert_eq!(*calls.get_mut(), 1);
    }
}

#[test]
fn batches_of_batches_of_second_derivatives() {
    for device in devices() {
        let x = random(&[2, 3, 2], 1, &device);
        let f = |x: &Tensor| x.prod(0) * x.exp().sum(..);
        let nested = vmap(vmap(hessian(f)))(&x);
        let rows: Vec<Tensor> = (0..6).map(|k| hessian(f)(&x.reshape([6, 2]).select(0, k))).collect();
        let want = Tensor::stack(&rows, 0).reshape([2, 3, 2, 2]);
        assert_eq!(nested.shape(), want.shape());
        assert_close(&values(&nested), &values(&want), 1e-5, 1e-5);
        let jacobians = jacfwd(vmap(grad(f)))(&x.select(0, 0));
        assert_eq!(jacobians.shape().dims(), [3, 2, 3, 2]);
        for k in 0..3 {
            let block = jacobians.select(0, k).select(1, k);
            assert_close(&values(&block), &values(&want.select(0, 0).select(0, k)), 1e-5, 1e-5);
        }
    }
}

#[test]
fn random_numbers_are_different_or_the_same() {
    for device in devices() {
        let x = Tensor::zeros([4, 1000], &device);
        let draw = |randomness: Randomness, seed: u64| {
            let generator = Generator::new(seed);
            let noise = |x: &Tensor| x + Tensor::rand([1000], &generator, &device);
            let options = VmapOptions { randomness, ..Default::default() };
            let rows = values(&vmap_with(noise, options)(&x));
            rows.chunks(1000).map(<[f64]>::to_vec).collect::<Vec<_>>()
        };
        let same = draw(Randomness::Same, 1);
        assert_eq!(same[0], values(&Tensor::rand([1000], &Generator::new(1), &device)));
        assert!(same.iter().all(|row| *row == same[0]));
        let different = draw(Randomness::Different, 1);
        for (k, row) in different.iter().enumerate() {
            assert!(different[..k].iter().all(|other| other != row) && *row != same[0]);
            let mean = row.iter().sum::<f64>() / 1000.0;
            assert!((mean - 0.5).abs() < 0.04 && row.iter().all(|x| (0.0..1.0).contains(x)), "{mean}");
        }
        assert_eq!(different, draw(Randomness::Different, 1));
        assert_ne!(different, draw(Randomness::Different, 2));
    }
}

/// The mask that backward makes again is that of the forward pass, for every sample its own.
#[test]
fn dropout_in_batches_has_one_mask_a_sample() {
    for device in devices() {
        let x = Tensor::ones([4, 200], &device).requires_grad();
        let dropout = flambeau::nn::Dropout::new(0.5);
        let options = VmapOptions { randomness: Randomness::Different, ..Default::default() };
        let y = vmap_with(|x: &Tensor| dropout.forward(x), options)(&x);
        y.sum(..).backward().unwrap();
        let (y, slope) = (values(&y), values(&x.grad().unwrap()));
        assert_eq!(y, slope);
        let kept = y.iter().filter(|&&y| y == 2.0).count();
        assert!((300..500).contains(&kept) && y[..200] != y[200..400], "{kept} of 800");
    }
}

/// A batch with one product a sample is one plan with few kernels, however many samples there are.
#[test]
fn the_number_of_samples_does_not_show_in_the_plan() {
    let device = Device::cpu();
    let w = random(&[8, 4], 1, &device);
    let kernels = |samples: usize| {
        let x = random(&[samples, 8], 2, &device);
        flambeau::eval(&[&x, &w]).unwrap();
        let plan = vmap(grad(|x: &Tensor| x.matmul(&w).tanh().sum(..)))(&x).explain();
        plan.split(' ').next().and_then(|count| count.parse::<usize>().ok()).expect("a number of kernels")
    };
    assert_eq!(kernels(3), kernels(50));
    assert!(kernels(3) <= 4, "{} kernels", kernels(3));
}

/// Nothing here recurses along a chain of batches, neither backward nor when it is let go of.
#[test]
fn a_long_chain_of_batches() {
    let device = Device::cpu();
    let w = Tensor::new([1.0], &device).requires_grad();
    let x = Tensor::ones([2, 1], &device);
    let mut y = x;
    for _ in 0..3000 {
        y = vmap(|y: &Tensor| y * &w)(&y);
    }
    y.sum(..).backward().unwrap();
    assert_values(&w.grad().unwrap(), &[6000.0]);
}

#[test]
fn batches_without_samples() {
    let device = Device::cpu();
    let w = random(&[3, 2], 1, &device).requires_grad();
    let y = vmap(|x: &Tensor| x.matmul(&w).tanh())(&Tensor::zeros([0, 4, 3], &device));
    assert_eq!(y.shape().dims(), [0, 4, 2]);
    y.sum(..).backward().unwrap();
    assert_values(&w.grad().unwrap(), &[0.0; 6]);
}
