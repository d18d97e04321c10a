//! `autograd.cpp`, hooks: what sees, and may change, gradients on their way.

use super::custom::Nothing;
use super::*;

#[test]
fn register_hook_void_return_accepts_undefined_tensor() {
    each(|device| hook_sees_only_gradients_that_flow(device, false));
}

#[test]
fn register_hook_tensor_return_accepts_undefined_tensor() {
    each(|device| hook_sees_only_gradients_that_flow(device, true));
}

/// A tensor to which nothing flows has no gradient, and its hook is not called: there is no undefined tensor to give it.
fn hook_sees_only_gradients_that_flow(device: &Device, replaces: bool) {
    let (x, y) = (leaf(&[1.0], device), leaf(&[2.0], device));
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    let _hook = y.register_hook(move |grad| {
        counter.fetch_add(1, Relaxed);
        replaces.then(|| grad * 2.0)
    });
    let both = Swap.apply(&[&x, &y]).unwrap();
    both[1].sum(..).backward().unwrap();
    assert_eq!(calls.load(Relaxed), 0);
    assert!(y.grad().is_none());
    let both = Swap.apply(&[&x, &y]).unwrap();
    both[0].sum(..).backward().unwrap();
    assert_eq!(calls.load(Relaxed), 1);
    is(&y.grad().unwrap(), [1], &[if replaces { 2.0 } else { 1.0 }]);
}

/// (x, y) to (y, x); backward says that nothing flows where the gradient is zero.
struct Swap;
impl CustomFunction for Swap {
    fn forward(&self, _: &mut Context, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        Ok(vec![inputs[1].clone(), inputs[0].clone()])
    }
    fn backward(&self, _: &Context, grads: &[Tensor]) -> Result<Vec<Option<Tensor>>> {
        let some = |grad: &Tensor| (number(&grad.abs().sum(..)) > 0.0).then(|| grad.clone());
        Ok(vec![some(&grads[1]), some(&grads[0])])
    }
}

#[test]
fn hooks() {
    each(|device| {
        let (x, y) =
            (Tensor::ones([2], device).requires_grad(), (Tensor::ones([2], device) * 4.0).requires_grad());
        let counts = Arc::new(AtomicUsize::new(0));
        let counting = |by: usize| {
            let counts = counts.clone();
            move |grad: &Tensor| {
                assert_eq!(grad.shape().dims(), [2]);
                counts.fetch_add(by, Relaxed);
                None
            }
        };
        let z = (&x * &x + &x * 2.0) * &y;
        let first = z.register_hook(counting(1));
        z.sum(..).backward_options(None, RETAIN).unwrap();
        assert_eq!(counts.load(Relaxed), 1);
        let second = z.register_hook(counting(2));
        z.sum(..).backward_options(None, RETAIN).unwrap();
        assert_eq!(counts.load(Relaxed), 4);
        second.remove();
        z.sum(..).backward_options(None, RETAIN).unwrap();
        assert_eq!(counts.load(Relaxed), 5);
        first.remove();
        x.zero_grad();
        let doubling = z.register_hook(|grad| Some(grad * 2.0));
        z.sum(..).backward().unwrap();
        // 2 · (2x + 2) · y at 1 and 4.
        is(&x.grad().unwrap(), [2], &[32.0, 32.0]);
        doubling.remove();
    });
}

/// A hook belongs to the value it was put on: what a handle is rebound to afterwards has its own.
#[test]
fn hooks_inplace() {
    each(|device| {
        let x = leaf(&[1.0, 1.0, 1.0], device);
        let mut y = &x * 1.0;
        let (before, after) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let count = |counter: &Arc<AtomicUsize>, factor: f64| {
            let counter = counter.clone();
            move |grad: &Tensor| {
                counter.fetch_add(1, Relaxed);
                Some(grad * factor)
            }
        };
        let _first = y.register_hook(count(&before, 2.0));
        y.mul_(3.0);
        let _second = y.register_hook(count(&after, 5.0));
        y.sum(..).backward().unwrap();
        assert_eq!((before.load(Relaxed), after.load(Relaxed)), (1, 1));
        // 1 · 5 · 3 · 2
        is(&x.grad().unwrap(), [3], &[30.0; 3]);
    });
}

/// What a handle keeps is the gradient of the value it had when asked to.
#[test]
fn hooks_inplace_with_retains_grad() {
    each(|device| {
        let x = leaf(&[1.0, 2.0], device);
        let mut y = &x * 2.0;
        let old = y.clone();
        old.retain_grad();
        y.mul_(3.0);
        y.retain_grad();
        y.sum(..).backward().unwrap();
        is(&y.grad().unwrap(), [2], &[1.0, 1.0]);
        is(&old.grad().unwrap(), [2], &[3.0, 3.0]);
    });
}

#[test]
fn hooks_inplace_twice_with_retains_grad() {
    each(|device| {
        let x = leaf(&[1.0, 2.0], device);
        let mut y = &x * 2.0;
        y.retain_grad();
        let first = y.clone();
        y.mul_(3.0);
        y.retain_grad();
        let second = y.clone();
        y.mul_(5.0);
        y.retain_grad();
        y.sum(..).backward().unwrap();
        let kept = |tensor: &Tensor| values(&tensor.grad().unwrap())[0];
        assert_eq!((kept(&y), kept(&second), kept(&first)), (1.0, 5.0, 15.0));
    });
}

/// A gradient that nothing flows to runs no hook.
#[test]
fn hook_none() {
    each(|device| {
        let (x, y) = (leaf(&[1.0], device), leaf(&[2.0], device));
        let called = Arc::new(AtomicUsize::new(0));
        let counter = called.clone();
        let _hook = x.register_hook(move |_| {
            counter.fetch_add(1, Relaxed);
            None
        });
        let middle = Nothing.apply(&[&x]).unwrap().remove(0);
        (middle.sum(..) + y.sum(..)).backward().unwrap();
        assert_eq!(called.load(Relaxed), 0);
    });
}
