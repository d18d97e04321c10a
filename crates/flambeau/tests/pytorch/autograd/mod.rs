//! `autograd.cpp`: backward passes, functions of one's own, hooks, and what is written in place.

use crate::common::values;
use crate::tools::{each, is, message, normal, number, ramp};
use flambeau::autograd::{Context, CustomFunction, grad_with};
use flambeau::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

mod custom;
mod hooks;
mod operations;

const CREATE: BackwardOptions = BackwardOptions { retain_graph: false, create_graph: true };
const RETAIN: BackwardOptions = BackwardOptions { retain_graph: true, create_graph: false };

fn leaf(values: &[f32], device: &Device) -> Tensor {
    Tensor::from_slice(values, [values.len()], device).requires_grad()
}

fn grads(output: &Tensor, inputs: &[&Tensor], options: BackwardOptions) -> Vec<Option<Tensor>> {
    let inputs: Vec<Tensor> = inputs.iter().map(|&input| input.clone()).collect();
    grad(std::slice::from_ref(output), &inputs, options).unwrap()
}

/// x · y + x², as loss, and the derivatives y + 2x and x.
fn simple(x: &Tensor, y: &Tensor) -> Tensor {
    x * y + x * x
}

#[test]
fn backward_simple_test() {
    each(|device| {
        let (x, y) = (normal([2, 2], device).requires_grad(), ramp([2, 2], device).requires_grad());
        simple(&x, &y).backward_with(&Tensor::ones([2, 2], device)).unwrap();
        is(&x.grad().unwrap(), [2, 2], &values(&(y.detach() + x.detach() * 2.0)));
        is(&y.grad().unwrap(), [2, 2], &values(&x.detach()));
    });
}

/// Twice, with a graph of the gradients: they add up.
#[test]
fn backward_test() {
    each(|device| {
        let (x, y) = (normal([2, 2], device).requires_grad(), ramp([2, 2], device).requires_grad());
        let ones = Tensor::ones([2, 2], device);
        let z = simple(&x, &y);
        z.backward_options(Some(&ones), RETAIN).unwrap();
        z.backward_options(Some(&ones), CREATE).unwrap();
        is(&x.grad().unwrap().detach(), [2, 2], &values(&((y.detach() + x.detach() * 2.0) * 2.0)));
        is(&y.grad().unwrap().detach(), [2, 2], &values(&(x.detach() * 2.0)));
    });
}

#[test]
fn grad_simple_test() {
    each(|device| {
        let (x, y) = (normal([2, 2], device).requires_grad(), ramp([2, 2], device).requires_grad());
        let z = simple(&x, &y);
        let ones = Some(Tensor::ones([2, 2], device));
        let found = grad_with(&[z], &[ones], &[x.clone(), y.clone()], BackwardOptions::default()).unwrap();
        is(found[0].as_ref().unwrap(), [2, 2], &values(&(y.detach() + x.detach() * 2.0)));
        is(found[1].as_ref().unwrap(), [2, 2], &values(&x.detach()));
        assert!(x.grad().is_none() && y.grad().is_none());
    });
}

/// A gradient of a gradient, beside gradients that were there.
#[test]
fn grad_test() {
    each(|device| {
        let (x, y) = (leaf(&[1.0, -2.0], device), leaf(&[3.0, 0.5], device));
        simple(&x, &y).sum(..).backward_options(None, CREATE).unwrap();
        let (x_grad, y_grad) = (x.grad().unwrap(), y.grad().unwrap());
        let sum = (&x_grad * 2.0 + &y_grad).sum(..);
        let second = grads(&sum, &[&x], BackwardOptions::default());
        // d/dx of 2 (y + 2x) + x.
        is(second[0].as_ref().unwrap(), [2], &[5.0, 5.0]);
        is(&x.grad().unwrap().detach(), [2], &values(&x_grad.detach()));
        is(&y.grad().unwrap().detach(), [2], &values(&y_grad.detach()));
    });
}

/// A gradient descent through the graph: derivatives with respect to results, again and again.
#[test]
fn grad_non_leaf_test() {
    each(|device| {
        let mut x = leaf(&[1.0, -1.5, 0.3], device);
        let target = leaf(&[0.5, 2.0, 1.0], device);
        let loss = |x: &Tensor| (x - &target).square().sum(..);
        let first = number(&loss(&x));
        for _ in 0..5 {
            let gradient = grads(&loss(&x), &[&x], CREATE).remove(0).unwrap();
            let next = &x - gradient * 0.1;
            assert!(number(&loss(&next)) < number(&loss(&x)));
            x = next;
        }
        assert!(number(&loss(&x)) < first);
        assert!(target.grad().is_none());
    });
}

#[test]
fn grad_unreachable_test() {
    each(|device| {
        let (x, y) = (leaf(&[1.0], device), leaf(&[2.0], device));
        let found = grads(&(&x * 2.0).sum(..), &[&x, &y], BackwardOptions::default());
        is(found[0].as_ref().unwrap(), [1], &[2.0]);
        assert!(found[1].is_none());
        // What does not require a gradient cannot have one.
        let plain = Tensor::new([1.0], device);
        let asked = grad(&[(&x * 2.0).sum(..)], &[plain], BackwardOptions::default());
        assert!(message(asked).contains("does not require"));
    });
}

/// What lies apart is not gone through.
#[test]
fn grad_unreachable_discovery_test() {
    each(|device| {
        let (x, y) = (leaf(&[2.0], device), leaf(&[3.0], device));
        let apart = Refuses.apply(&[&y]).unwrap().remove(0);
        let z = (&x * &x + apart).sum(..);
        let found = grads(&z, &[&x], BackwardOptions::default());
        is(found[0].as_ref().unwrap(), [1], &[4.0]);
    });
}

/// x, with a backward that fails.
struct Refuses;
impl CustomFunction for Refuses {
    fn forward(&self, _: &mut Context, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        Ok(vec![inputs[0].clone()])
    }
    fn backward(&self, _: &Context, _: &[Tensor]) -> Result<Vec<Option<Tensor>>> {
        Err(Error::Autograd("this must not run".into()))
    }
}

#[test]
fn empty_input() {
    each(|device| {
        let x = Tensor::zeros([0], device).requires_grad();
        let y = leaf(&[1.0], device);
        let found = grads(&((&x * 2.0).sum(..) + y.sum(..)), &[&x, &y], BackwardOptions::default());
        assert_eq!(found[0].as_ref().unwrap().shape().dims(), [0]);
        is(found[1].as_ref().unwrap(), [1], &[1.0]);
        assert!(grads(&y.sum(..), &[], BackwardOptions::default()).is_empty());
    });
}

#[test]
fn retain_grad() {
    each(|device| {
        let input = leaf(&[1.0, 2.0, 3.0], device);
        let h1 = &input * 3.0;
        let out = (&h1 * &h1).sum(..);
        // Twice, and on the way: the gradient of a result is what flowed to it.
        h1.retain_grad();
        h1.retain_grad();
        out.backward_options(None, RETAIN).unwrap();
        is(&h1.grad().unwrap(), [3], &[6.0, 12.0, 18.0]);
        out.backward_options(None, RETAIN).unwrap();
        is(&h1.grad().unwrap(), [3], &[12.0, 24.0, 36.0]);
        // On a leaf it changes nothing.
        input.zero_grad();
        input.retain_grad();
        out.backward().unwrap();
        is(&input.grad().unwrap(), [3], &[18.0, 36.0, 54.0]);
    });
}

/// A step that looks for NaN says which parameter has it.
#[test]
fn anomaly_mode() {
    use flambeau::{nn::Parameter, optim::Sgd};
    let device = Device::cpu();
    let w = Parameter::new(&Tensor::new([1.0, -1.0], &device));
    let mut optimizer = Sgd::new([w.clone()], 0.1);
    optimizer.require_finite(true);
    w.get().sqrt().sum(..).backward().unwrap();
    let error = optimizer.step().unwrap_err();
    assert!(matches!(error, Error::NotFinite { parameter: 0, element: 1, .. }), "{error}");
    assert_eq!(values(&w.value()), [1.0, -1.0]);
}

/// Gradients of chosen leaves only.
#[test]
fn backward_with_inputs() {
    each(|device| {
        let (x, y) = (leaf(&[1.0, 2.0], device), leaf(&[3.0, 4.0], device));
        let z = simple(&x, &y).sum(..);
        let found = grads(&z, &[&x], RETAIN);
        is(found[0].as_ref().unwrap(), [2], &[5.0, 8.0]);
        assert!(y.grad().is_none());
        z.backward_options(None, CREATE).unwrap();
        is(&y.grad().unwrap().detach(), [2], &[1.0, 2.0]);
    });
}

#[test]
fn backward_with_empty_inputs() {
    each(|device| {
        let x = leaf(&[1.0], device);
        let found = grad(&[(&x * 2.0).sum(..)], &[], BackwardOptions::default()).unwrap();
        assert!(found.is_empty() && x.grad().is_none());
    });
}

/// The gradient of a result on the way.
#[test]
fn backward_with_non_leaf_inputs() {
    each(|device| {
        let (x, y) = (leaf(&[1.0, 2.0], device), leaf(&[3.0, 4.0], device));
        let middle = &x * &x;
        let z = simple(&middle, &y).sum(..);
        let found = grads(&z, &[&middle, &x], BackwardOptions::default());
        is(found[0].as_ref().unwrap(), [2], &[5.0, 12.0]);
        is(found[1].as_ref().unwrap(), [2], &[10.0, 48.0]);
    });
}

/// Gradients kept with their graph are dropped with `zero_grad`: nothing holds itself.
#[test]
fn backward_with_create_graph_warns() {
    each(|device| {
        let x = leaf(&[3.0], device);
        (&x * &x * &x).sum(..).backward_options(None, CREATE).unwrap();
        let first = x.grad().unwrap();
        assert!(first.is_tracked());
        x.zero_grad();
        first.sum(..).backward().unwrap();
        is(&x.grad().unwrap(), [1], &[18.0]);
    });
}
