//! `autograd.cpp`, functions with a derivative of one's own.

use super::*;

/// x as it is, saved; backward doubles.
struct SavesInput;
impl CustomFunction for SavesInput {
    fn forward(&self, context: &mut Context, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        context.save(&inputs[0]);
        Ok(vec![inputs[0].clone()])
    }
    fn backward(&self, context: &Context, grads: &[Tensor]) -> Result<Vec<Option<Tensor>>> {
        Ok(vec![Some(&grads[0] * &context.saved()[0] * 2.0)])
    }
}

#[test]
fn custom_function_return_input_as_is_and_saves_it() {
    each(|device| {
        let x = leaf(&[3.0, 5.0], device);
        let y = SavesInput.apply(&[&x]).unwrap().remove(0);
        y.sum(..).backward().unwrap();
        is(&x.grad().unwrap(), [2], &[6.0, 10.0]);
    });
}

/// x + c · y + x · y, with the derivatives written down.
struct Mixed(f64);
impl CustomFunction for Mixed {
    fn forward(&self, context: &mut Context, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        inputs.iter().for_each(|input| context.save(input));
        Ok(vec![&inputs[0] + &inputs[1] * self.0 + &inputs[0] * &inputs[1]])
    }
    fn backward(&self, context: &Context, grads: &[Tensor]) -> Result<Vec<Option<Tensor>>> {
        let ([x, y], g) = (context.saved(), &grads[0]) else { unreachable!("two were saved") };
        Ok(vec![Some(g + g * y), Some(g * self.0 + g * x)])
    }
}

#[test]
fn custom_function() {
    each(|device| {
        let (x, y) = (normal([5, 5], device).requires_grad(), ramp([5, 5], device).requires_grad());
        let z = Mixed(2.0).apply(&[&x, &y]).unwrap().remove(0);
        let ones = Tensor::ones([5, 5], device);
        z.backward_options(Some(&ones), CREATE).unwrap();
        is(&x.grad().unwrap().detach(), [5, 5], &values(&(y.detach() + 1.0)));
        is(&y.grad().unwrap().detach(), [5, 5], &values(&(x.detach() + 2.0)));
    });
}

#[test]
fn custom_function_with_tensor_list() {
    each(|device| {
        let (x, y) = (leaf(&[1.0, 2.0], device), leaf(&[3.0, 4.0], device));
        let inputs = [&x, &y];
        Mixed(1.0).apply(&inputs).unwrap()[0].sum(..).backward().unwrap();
        is(&x.grad().unwrap(), [2], &[4.0, 5.0]);
        is(&y.grad().unwrap(), [2], &[2.0, 3.0]);
    });
}

/// Only the derivatives that are needed are asked for, and they are those that were asked for.
struct Needs(Arc<AtomicUsize>);
impl CustomFunction for Needs {
    fn forward(&self, _: &mut Context, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        Ok(vec![&inputs[0] * &inputs[1]])
    }
    fn backward(&self, context: &Context, grads: &[Tensor]) -> Result<Vec<Option<Tensor>>> {
        let needs = [0, 1].map(|index| context.needs_grad(index));
        self.0.store(usize::from(needs[0]) + 2 * usize::from(needs[1]), Relaxed);
        Ok(needs.map(|needed| needed.then(|| grads[0].clone())).to_vec())
    }
}

#[test]
fn graph_task_trim_edges() {
    each(|device| {
        let seen = Arc::new(AtomicUsize::new(0));
        let (x, y) = (leaf(&[1.0], device), leaf(&[2.0], device));
        for (asked, wanted) in [(vec![&x], 1), (vec![&y], 2), (vec![&x, &y], 3)] {
            let z = Needs(seen.clone()).apply(&[&x, &y]).unwrap().remove(0).sum(..);
            let found = grads(&z, &asked, BackwardOptions::default());
            assert_eq!(seen.load(Relaxed), wanted);
            assert!(found.iter().all(Option::is_some));
        }
        // One that requires none is not asked for, whatever is.
        let plain = Tensor::new([2.0], device);
        Needs(seen.clone()).apply(&[&x, &plain]).unwrap()[0].sum(..).backward().unwrap();
        assert_eq!(seen.load(Relaxed), 1);
    });
}

#[test]
fn function_returns_input() {
    each(|device| {
        for shape in [vec![], vec![1]] {
            let x = Tensor::ones(&shape[..], device).requires_grad();
            let y = SavesInput.apply(&[&x]).unwrap().remove(0);
            y.sum(..).backward().unwrap();
            assert_eq!(values(&x.grad().unwrap()), [2.0]);
        }
    });
}

/// A backward that gives nothing.
pub(super) struct Nothing;
impl CustomFunction for Nothing {
    fn forward(&self, _: &mut Context, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        Ok(vec![&inputs[0] * 2.0])
    }
    fn backward(&self, _: &Context, _: &[Tensor]) -> Result<Vec<Option<Tensor>>> {
        Ok(vec![None])
    }
}

#[test]
fn function_returns_undefined() {
    each(|device| {
        let x = leaf(&[1.0], device);
        let y = Nothing.apply(&[&x]).unwrap().remove(0);
        y.sum(..).backward_options(None, RETAIN).unwrap();
        assert!(x.grad().is_none());
        let found = grads(&(y.sum(..) + x.sum(..)), &[&x], BackwardOptions::default());
        is(found[0].as_ref().unwrap(), [1], &[1.0]);
    });
}

/// Two results, of which one is used: backward sees zeros for the other.
#[test]
fn materialize_grads() {
    struct Two;
    impl CustomFunction for Two {
        fn forward(&self, _: &mut Context, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
            Ok(vec![inputs[0].clone(), &inputs[0] * 3.0])
        }
        fn backward(&self, _: &Context, grads: &[Tensor]) -> Result<Vec<Option<Tensor>>> {
            assert_eq!(grads.len(), 2);
            assert_eq!(number(&grads[1].abs().sum(..)), 0.0);
            Ok(vec![Some(&grads[0] + &grads[1] * 3.0)])
        }
    }
    each(|device| {
        let x = leaf(&[1.0, 2.0], device);
        Two.apply(&[&x]).unwrap()[0].sum(..).backward().unwrap();
        is(&x.grad().unwrap(), [2], &[1.0, 1.0]);
    });
}

/// Inside a function nothing is recorded, and under no_grad its result is a constant.
#[test]
fn no_grad_custom_function() {
    struct Inside;
    impl CustomFunction for Inside {
        fn forward(&self, _: &mut Context, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
            let y = &inputs[0] * 2.0;
            assert!(!y.is_tracked());
            Ok(vec![y])
        }
        fn backward(&self, _: &Context, grads: &[Tensor]) -> Result<Vec<Option<Tensor>>> {
            Ok(vec![Some(grads[0].clone())])
        }
    }
    each(|device| {
        let x = leaf(&[1.0], device);
        assert!(!no_grad(|| Inside.apply(&[&x]).unwrap().remove(0)).is_tracked());
        assert!(Inside.apply(&[&x]).unwrap()[0].is_tracked());
    });
}

/// Integer results have no derivative; a float beside them has.
struct Indices;
impl CustomFunction for Indices {
    fn forward(&self, _: &mut Context, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        Ok(vec![&inputs[0] * 2.0, inputs[0].gt(0.0)])
    }
    fn backward(&self, _: &Context, grads: &[Tensor]) -> Result<Vec<Option<Tensor>>> {
        Ok(vec![Some(&grads[0] * 2.0)])
    }
}

#[test]
fn mark_non_differentiable() {
    each(|device| {
        let x = leaf(&[-1.0, 2.0], device);
        let mask = Indices.apply(&[&x]).unwrap().remove(1);
        assert!(!mask.is_tracked());
        assert_eq!(values(&mask), [0.0, 1.0]);
    });
}

#[test]
fn mark_non_differentiable_mixed() {
    each(|device| {
        let x = leaf(&[-1.0, 2.0], device);
        let both = Indices.apply(&[&x]).unwrap();
        assert!(both[0].is_tracked() && !both[1].is_tracked());
        both[0].sum(..).backward().unwrap();
        is(&x.grad().unwrap(), [2], &[2.0, 2.0]);
    });
}

/// Beside what is not differentiated, a backward that gives nothing.
#[test]
fn mark_non_differentiable_none() {
    each(|device| {
        let x = leaf(&[3.0, 4.0], device);
        let y = Nothing.apply(&[&(&x * &x)]).unwrap().remove(0);
        (x.sum(..) + y.sum(..)).backward().unwrap();
        is(&x.grad().unwrap(), [2], &[1.0, 1.0]);
    });
}

/// A result twice: each handle may be used.
#[test]
fn return_duplicate() {
    struct Double;
    impl CustomFunction for Double {
        fn forward(&self, _: &mut Context, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
            let y = &inputs[0] * 2.0;
            Ok(vec![y.clone(), y])
        }
        fn backward(&self, _: &Context, grads: &[Tensor]) -> Result<Vec<Option<Tensor>>> {
            Ok(vec![Some(&grads[0] * 2.0 + &grads[1] * 2.0)])
        }
    }
    each(|device| {
        let x = leaf(&[1.0, 2.0], device);
        let both = Double.apply(&[&x]).unwrap();
        (&both[0] + &both[1]).sum(..).backward().unwrap();
        is(&x.grad().unwrap(), [2], &[4.0, 4.0]);
    });
}

/// Nothing needs to be saved.
#[test]
fn save_empty_for_backward() {
    struct Saves;
    impl CustomFunction for Saves {
        fn forward(&self, _: &mut Context, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
            Ok(vec![&inputs[0] * &inputs[0]])
        }
        fn backward(&self, context: &Context, grads: &[Tensor]) -> Result<Vec<Option<Tensor>>> {
            assert!(context.saved().is_empty());
            Ok(vec![Some(&grads[0] * 5.0)])
        }
    }
    each(|device| {
        let x = leaf(&[2.0], device);
        Saves.apply(&[&x]).unwrap()[0].sum(..).backward().unwrap();
        is(&x.grad().unwrap(), [1], &[5.0]);
    });
}

/// A backward that gives a gradient of another shape.
pub(super) struct WrongShape;
impl CustomFunction for WrongShape {
    fn forward(&self, _: &mut Context, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        Ok(vec![inputs[0].clone()])
    }
    fn backward(&self, _: &Context, grads: &[Tensor]) -> Result<Vec<Option<Tensor>>> {
        Ok(vec![Some(grads[0].reshape([1, -1]))])
    }
}

#[test]
fn invalid_gradients() {
    each(|device| {
        let x = leaf(&[1.0, 2.0], device);
        let error = message(WrongShape.apply(&[&x]).unwrap()[0].sum(..).backward());
        assert!(error.contains("[1, 2]") && error.contains("[2]"), "{error}");
        assert!(x.grad().is_none());
    });
}

/// One of two inputs requires a gradient.
#[test]
fn no_grad_input() {
    each(|device| {
        let (x, y) = (Tensor::new([1.0], device), leaf(&[2.0], device));
        Mixed(3.0).apply(&[&x, &y]).unwrap()[0].sum(..).backward().unwrap();
        assert!(x.grad().is_none());
        is(&y.grad().unwrap(), [1], &[4.0]);
        assert!(!Mixed(3.0).apply(&[&x, &y.detach()]).unwrap()[0].is_tracked());
    });
}

/// As many gradients as inputs, no more.
#[test]
fn too_many_grads() {
    struct TooMany;
    impl CustomFunction for TooMany {
        fn forward(&self, _: &mut Context, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
            Ok(vec![inputs[0].clone()])
        }
        fn backward(&self, _: &Context, grads: &[Tensor]) -> Result<Vec<Option<Tensor>>> {
            Ok(vec![Some(grads[0].clone()), None])
        }
    }
    each(|device| {
        let x = leaf(&[1.0], device);
        let error = message(TooMany.apply(&[&x]).unwrap()[0].sum(..).backward());
        assert!(error.contains("2 gradients for 1 input"), "{error}");
    });
}

/// A result that has no derivative beside one that has, both used.
#[test]
fn dep_no_grad() {
    each(|device| {
        let x = leaf(&[1.0, -2.0], device);
        let both = Indices.apply(&[&x]).unwrap();
        let y = (&both[0] * both[1].to_dtype(DType::F32)).sum(..);
        y.backward().unwrap();
        is(&x.grad().unwrap(), [2], &[2.0, 0.0]);
    });
}

/// A backward pass within a backward pass.
struct Inner;
impl CustomFunction for Inner {
    fn forward(&self, context: &mut Context, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        context.save(&inputs[0]);
        Ok(vec![&inputs[0] * 3.0])
    }
    fn backward(&self, context: &Context, grads: &[Tensor]) -> Result<Vec<Option<Tensor>>> {
        let _recording = set_grad_enabled(true);
        let x = context.saved()[0].detach().requires_grad();
        let inner = grad(&[(&x * &x).sum(..)], std::slice::from_ref(&x), BackwardOptions::default())?;
        Ok(vec![inner[0].as_ref().map(|inner| inner * &grads[0])])
    }
}

#[test]
fn reentrant() {
    each(|device| {
        let x = leaf(&[1.0, 2.5], device);
        Inner.apply(&[&x]).unwrap()[0].sum(..).backward().unwrap();
        is(&x.grad().unwrap(), [2], &[2.0, 5.0]);
    });
}

/// A backward pass within one within one, many deep: on its own stack each, but the depth is bounded only by that.
struct Deep(usize);
impl CustomFunction for Deep {
    fn forward(&self, context: &mut Context, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        context.save(&inputs[0]);
        Ok(vec![inputs[0].clone()])
    }
    fn backward(&self, context: &Context, grads: &[Tensor]) -> Result<Vec<Option<Tensor>>> {
        if self.0 == 0 {
            return Ok(vec![Some(grads[0].clone())]);
        }
        let _recording = set_grad_enabled(true);
        let x = context.saved()[0].detach().requires_grad();
        let next = Deep(self.0 - 1).apply(&[&x])?.remove(0);
        grad(&[next.sum(..)], std::slice::from_ref(&x), BackwardOptions::default())
    }
}

#[test]
fn deep_reentrant() {
    each(|device| {
        let x = leaf(&[1.0], device);
        Deep(100).apply(&[&x]).unwrap()[0].sum(..).backward().unwrap();
        is(&x.grad().unwrap(), [1], &[1.0]);
    });
}

/// Inner passes end before the outer one goes on, so that all of it is there at the end.
#[test]
fn reentrant_priority() {
    each(|device| {
        let (x, y) = (leaf(&[2.0], device), leaf(&[3.0], device));
        let inner = Inner.apply(&[&x]).unwrap().remove(0);
        let outer = Mixed(1.0).apply(&[&y, &inner]).unwrap().remove(0);
        outer.sum(..).backward().unwrap();
        // d/dy = 1 + 3x; d/d(inner) = 1 + y, times 2x.
        is(&y.grad().unwrap(), [1], &[7.0]);
        is(&x.grad().unwrap(), [1], &[16.0]);
    });
}
