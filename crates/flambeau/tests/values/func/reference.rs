use crate::common::recorded::{Inputs, Recorded};
use flambeau::func::{
    VmapOptions, functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, parameters, vjp, vmap,
    vmap_with,
};
use flambeau::io::StateDict;
use flambeau::nn::{Identity, Linear};
use flambeau::prelude::*;
use std::sync::OnceLock;

fn recorded() -> &'static Recorded {
    static FILE: OnceLock<Recorded> = OnceLock::new();
    FILE.get_or_init(|| Recorded::open(include_bytes!("../../data/func.safetensors")))
}

/// Compares values, and gradients through them, on every device.
#[track_caller]
fn check(name: &str, call: impl Fn(&Inputs) -> Vec<Tensor>) {
    recorded().case(name).check(|_| Identity, |_, inputs| call(inputs));
}

/// The same for functions of x and w.
#[track_caller]
fn check_xw(name: &str, call: impl Fn(&Tensor, &Tensor) -> Tensor) {
    check(name, |inputs| vec![call(inputs.get("x"), inputs.get("w"))]);
}

type Pair = (Tensor, Tensor);

fn wave(x: &Tensor) -> Tensor {
    (x.sin() * x * x).sum(..)
}

fn layer(x: &Tensor, w: &Tensor) -> Tensor {
    x.matmul(w).tanh()
}

fn peak(x: &Tensor, w: &Tensor) -> Tensor {
    x.matmul(w).logsumexp(-1)
}

fn pair(inputs: &Inputs, first: &str, second: &str) -> Pair {
    (inputs.get(first).clone(), inputs.get(second).clone())
}

fn dims(in_dims: &[Option<isize>]) -> VmapOptions {
    VmapOptions { in_dims: in_dims.to_vec(), ..Default::default() }
}

#[test]
fn gradients() {
    check("grad", |x| vec![grad(wave)(x.get("x"))]);
    check("grad_of_two", |x| {
        let (a, b) = grad(|(a, b): &Pair| (a.exp() * b.cos()).sum(..))(&pair(x, "a", "b"));
        vec![a, b]
    });
    check("grad_and_value", |x| {
        let (gradient, value) = grad_and_value(wave)(x.get("x"));
        vec![gradient, value]
    });
    check("grad_grad", |x| vec![grad(|x: &Tensor| grad(wave)(x).pow(2.0).sum(..))(x.get("x"))]);
}

#[test]
fn products_with_jacobians() {
    check("vjp", |x| {
        let (_, pull_back) = vjp(|(x, w): &Pair| layer(x, w), &pair(x, "x", "w"));
        let (x, w) = pull_back(x.get("g"));
        vec![x, w]
    });
    check("jvp", |inputs| {
        let (y, along) = jvp(|x: &Tensor| layer(x, inputs.get("w")), inputs.get("x"), inputs.get("v"));
        vec![y, along]
    });
}

#[test]
fn jacobians() {
    let of_both = |(x, w): &Pair| layer(x, w);
    check("jacrev", |x| {
        let (x, w) = jacrev(of_both)(&pair(x, "x", "w"));
        vec![x, w]
    });
    check("jacfwd", |x| {
        let (x, w) = jacfwd(of_both)(&pair(x, "x", "w"));
        vec![x, w]
    });
    check_xw("jacobian_of_matrices", |x, w| jacrev(|x: &Tensor| layer(x, w))(x));
    check_xw("jacobian_of_matrices", |x, w| jacfwd(|x: &Tensor| layer(x, w))(x));
}

#[test]
fn second_derivatives() {
    check_xw("hessian", |x, w| hessian(|x: &Tensor| peak(x, w))(x));
    check_xw("hessian", |x, w| jacfwd(jacrev(|x: &Tensor| peak(x, w)))(x));
    check_xw("hessian", |x, w| jacrev(jacrev(|x: &Tensor| peak(x, w)))(x));
    check_xw("hessian", |x, w| jacfwd(jacfwd(|x: &Tensor| peak(x, w)))(x));
    check_xw("jacfwd_jacrev", |x, w| jacfwd(jacrev(|x: &Tensor| layer(x, w)))(x));
    check_xw("jacrev_jacfwd", |x, w| jacrev(jacfwd(|x: &Tensor| layer(x, w)))(x));
}

#[test]
fn batches() {
    check("vmap_dims", |x| {
        let options = VmapOptions { out_dims: vec![1], ..dims(&[Some(1), None]) };
        vec![vmap_with(|(x, w): &Pair| layer(x, w) + w.sum(..), options)(&pair(x, "x", "w"))]
    });
    check("vmap_vmap", |x| {
        let distance = |(a, b): &Pair| (a - b).pow(2.0).sum(..).sqrt();
        let to_all = vmap_with(distance, dims(&[None, Some(0)]));
        vec![vmap_with(to_all, dims(&[Some(0), None]))(&pair(x, "a", "b"))]
    });
}

#[test]
fn batches_of_derivatives_and_derivatives_of_batches() {
    check_xw("vmap_grad", |x, w| vmap(grad(|x: &Tensor| peak(x, w)))(x));
    check_xw("grad_vmap", |x, w| grad(|w: &Tensor| vmap(|x: &Tensor| layer(x, w))(x).pow(3.0).sum(..))(w));
    check_xw("vmap_hessian", |x, w| vmap(hessian(|x: &Tensor| peak(x, w)))(x));
    check("vmap_jvp", |inputs| {
        let along = |(x, v): &Pair| jvp(|x: &Tensor| layer(x, inputs.get("w")), x, v).1;
        vec![vmap(along)(&pair(inputs, "x", "v"))]
    });
    check("jvp_vmap", |inputs| {
        let batched = |x: &Tensor| vmap(|x: &Tensor| layer(x, inputs.get("w")))(x);
        vec![jvp(batched, inputs.get("x"), inputs.get("v")).1]
    });
    check("vmap_jacrev", |x| {
        let jacobian = |(x, w): &Pair| jacrev(|w: &Tensor| layer(x, w))(w);
        vec![vmap_with(jacobian, dims(&[Some(0), None]))(&pair(x, "x", "w"))]
    });
}

#[test]
fn ops_with_rules_of_their_own() {
    check("vmap_grad_conv", |x| {
        let options = Conv2dOptions { padding: Padding::from([1, 1]), stride: [2, 2], ..Default::default() };
        let loss = |(x, k): &Pair| x.unsqueeze(0).conv2d(k, None, &options).pow(3.0).sum(..);
        let (x, k) = vmap_with(grad(loss), dims(&[Some(0), None]))(&pair(x, "x", "k"));
        vec![x, k]
    });
    check("vmap_conv_of_kernels", |x| {
        let options = Conv2dOptions { groups: 2, ..Default::default() };
        vec![vmap(|(x, k): &Pair| x.conv2d(k, None, &options))(&pair(x, "x", "k"))]
    });
    check("vmap_grad_pool", |x| {
        let loss = |x: &Tensor| {
            let x = x.unsqueeze(0);
            (x.max_pool2d(2, &Default::default()) * x.avg_pool2d(2, &Default::default())).sum(..)
        };
        vec![vmap(grad(loss))(x.get("x"))]
    });
    check("vmap_grad_norm", |x| {
        let loss = |(x, w): &Pair| x.layer_norm(&[5], Some(w), None, 1e-5).pow(3.0).sum(..);
        let (x, w) = vmap_with(grad(loss), dims(&[Some(0), None]))(&pair(x, "x", "w"));
        vec![x, w]
    });
    check("vmap_grad_attention", |x| {
        let attend = |(q, k, v): &(Tensor, Tensor, Tensor)| {
            (q.matmul(&k.transpose(-2, -1)) / 2.0).softmax(-1).matmul(v).pow(2.0).sum(..)
        };
        let inputs = (x.get("q").clone(), x.get("k").clone(), x.get("v").clone());
        let (q, k, v) = vmap_with(grad(attend), dims(&[Some(0), None, Some(0)]))(&inputs);
        vec![q, k, v]
    });
    check("vmap_grad_sort", |x| {
        let loss = |x: &Tensor| (x.sort(0, false).0 * x.cumsum(0)).sum(..);
        vec![vmap(grad(loss))(x.get("x"))]
    });
}

#[derive(Module)]
struct Net {
    first: Linear,
    last: Linear,
}

impl Net {
    fn new(inputs: usize, outputs: usize, device: &Device) -> Net {
        Net { first: Linear::new(inputs, 5, device), last: Linear::new(5, outputs, device) }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        self.last.forward(&self.first.forward(x).tanh())
    }
}

/// The parameters with the history of leaves, so that gradients flow into them.
fn leaves(net: &Net) -> StateDict {
    let mut state = StateDict::new();
    net.named_parameters().iter().for_each(|(name, parameter)| state.insert(name, parameter.get()));
    state
}

#[test]
fn gradients_of_every_sample() {
    let of_samples = |net: &Net, inputs: &Inputs| {
        let loss = |(state, x, y): &(StateDict, Tensor, Tensor)| {
            let scores = |state: &StateDict| {
                functional_call(net, state, |net| net.forward(&x.unsqueeze(0))).cross_entropy(&y.unsqueeze(0))
            };
            grad(scores)(state)
        };
        let given = (leaves(net), inputs.get("x").clone(), inputs.get("y").clone());
        let found = vmap_with(loss, dims(&[None, Some(0), Some(0)]))(&given);
        assert!(found.names().eq(parameters(net).names()));
        found.iter().map(|(_, tensor)| tensor.clone()).collect()
    };
    recorded().case("per_sample_gradients").check(|device| Net::new(4, 3, device), of_samples);
}

#[test]
fn derivatives_of_a_network() {
    let call = |net: &Net, inputs: &Inputs| {
        let x = inputs.get("x");
        let u = |x: &Tensor| net.forward(&x.unsqueeze(0)).squeeze(0);
        vec![vmap(u)(x), vmap(grad(u))(x), vmap(grad(grad(u)))(x)]
    };
    recorded().case("second_derivatives_of_a_network").check(|device| Net::new(1, 1, device), call);
}
