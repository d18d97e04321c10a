//! `autograd.cpp`, the fallback of operations: results, lists, views and what is written in place.

use super::custom::WrongShape;
use super::*;

/// Functions of one's own: with numbers among the arguments, with options, with lists, in place.
#[test]
fn opt_op() {
    each(|device| {
        let (x, w) = (leaf(&[2.0, 3.0], device), leaf(&[5.0, 7.0], device));
        let sum = |y: Option<&Tensor>| y.map_or_else(|| x.clone(), |y| &x + y);
        (sum(None) * &w).sum(..).backward().unwrap();
        (sum(Some(&w)) * &w).sum(..).backward().unwrap();
        is(&x.grad().unwrap(), [2], &[10.0, 14.0]);
        is(&w.grad().unwrap(), [2], &[2.0 + 2.0 + 10.0, 3.0 + 3.0 + 14.0]);
    });
}

#[test]
fn out_of_place_addition() {
    each(|device| {
        let (a, b) = (leaf(&[1.0], device), leaf(&[2.0], device));
        let c = &a + &b;
        assert!(c.is_tracked());
        c.sum(..).backward().unwrap();
        assert_eq!((values(&a.grad().unwrap()), values(&b.grad().unwrap())), (vec![1.0], vec![1.0]));
    });
}

/// In place: the handle has a new value whose history has the old one in it.
#[test]
fn inplace_op() {
    each(|device| {
        let (a, b) = (leaf(&[1.0, 2.0], device), leaf(&[3.0, 4.0], device));
        let mut c = &a * &b;
        c.add_(&b);
        c.sum(..).backward().unwrap();
        is(&a.grad().unwrap(), [2], &[3.0, 4.0]);
        is(&b.grad().unwrap(), [2], &[2.0, 3.0]);
        let mut leaf = a.clone();
        assert!(message(leaf.try_add_(1.0)).contains("no_grad"));
    });
}

#[test]
fn double_inplace_op() {
    each(|device| {
        let (a, b) = (leaf(&[2.0], device), leaf(&[5.0], device));
        let (mut c, mut d) = (&a * 3.0, &b * 1.0);
        c.add_(&b);
        d.mul_(&c);
        d.sum(..).backward().unwrap();
        // d = b (3a + b)
        is(&a.grad().unwrap(), [1], &[15.0]);
        is(&b.grad().unwrap(), [1], &[16.0]);
    });
}

/// A view passes its gradient on to what it is of.
#[test]
fn view_op() {
    each(|device| {
        let x = ramp([2, 3], device).requires_grad();
        x.reshape([3, 2]).select(0, 1).sum(..).backward().unwrap();
        is(&x.grad().unwrap(), [2, 3], &[0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
    });
}

#[test]
fn double_view_op() {
    each(|device| {
        let (x, y) = (ramp([4], device).requires_grad(), ramp([4], device).requires_grad());
        (x.narrow(0, 1, 2) * y.reshape([2, 2]).select(0, 1)).sum(..).backward().unwrap();
        is(&x.grad().unwrap(), [4], &[0.0, 2.0, 3.0, 0.0]);
        is(&y.grad().unwrap(), [4], &[0.0, 0.0, 1.0, 2.0]);
    });
}

/// A function's second argument may be what is viewed.
#[test]
fn non_first_view_op() {
    struct ViewSecond;
    impl CustomFunction for ViewSecond {
        fn forward(&self, _: &mut Context, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
            inputs[1].try_t().map(|view| vec![view])
        }
        fn backward(&self, _: &Context, grads: &[Tensor]) -> Result<Vec<Option<Tensor>>> {
            Ok(vec![None, Some(grads[0].try_t()?)])
        }
    }
    each(|device| {
        let (a, b) = (leaf(&[1.0], device), ramp([2, 3], device).requires_grad());
        let view = ViewSecond.apply(&[&a, &b]).unwrap().remove(0);
        (&view * ramp([3, 2], device)).sum(..).backward().unwrap();
        assert!(a.grad().is_none());
        is(&b.grad().unwrap(), [2, 3], &[0.0, 2.0, 4.0, 1.0, 3.0, 5.0]);
    });
}

/// A list of results; each passes on its part.
struct Parts;
impl CustomFunction for Parts {
    fn forward(&self, _: &mut Context, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        (0..inputs[0].size(0)).map(|row| inputs[0].try_select(0, row as isize)).collect()
    }
    fn backward(&self, _: &Context, grads: &[Tensor]) -> Result<Vec<Option<Tensor>>> {
        Tensor::try_stack(grads, 0).map(|grad| vec![Some(grad)])
    }
}

#[test]
fn ret_tensor_vector_view() {
    each(|device| {
        let x = ramp([3, 2], device).requires_grad();
        let rows = Parts.apply(&[&x]).unwrap();
        (&rows[0] * 2.0 + &rows[2] * 3.0).sum(..).backward().unwrap();
        is(&x.grad().unwrap(), [3, 2], &[2.0, 2.0, 0.0, 0.0, 3.0, 3.0]);
    });
}

#[test]
fn ret_tensor_vector() {
    each(|device| {
        let x = ramp([3, 2], device).requires_grad();
        let rows = Parts.apply(&[&x]).unwrap();
        assert_eq!(rows.len(), 3);
        assert!(rows.iter().all(Tensor::is_tracked));
        let total = rows.iter().skip(1).fold(rows[0].clone(), |sum, row| sum + row);
        (&total * &total).sum(..).backward().unwrap();
        is(&x.grad().unwrap(), [3, 2], &[12.0, 18.0, 12.0, 18.0, 12.0, 18.0]);
    });
}

#[test]
fn tensorlist_op() {
    each(|device| {
        let (x, a, b) = (leaf(&[1.0], device), leaf(&[2.0], device), leaf(&[3.0], device));
        let joined = Tensor::cat(&[&a, &b], 0);
        (&x * joined.sum(..)).sum(..).backward().unwrap();
        assert_eq!(values(&x.grad().unwrap()), [5.0]);
        assert_eq!((values(&a.grad().unwrap()), values(&b.grad().unwrap())), (vec![1.0], vec![1.0]));
    });
}

/// A gradient that was spread over more than its input is an error; rules of the library sum it themselves.
#[test]
fn validate_outputs_reduce() {
    each(|device| {
        let (x, y) = (leaf(&[2.0], device), leaf(&[1.0, 2.0, 3.0], device));
        (&x * &y).sum(..).backward().unwrap();
        is(&x.grad().unwrap(), [1], &[6.0]);
    });
}

#[test]
fn validate_outputs_basic() {
    each(|device| {
        let x = leaf(&[1.0, 2.0], device);
        let error = message(WrongShape.apply(&[&x]).unwrap()[0].sum(..).backward());
        assert!(error.contains("gradient of shape"), "{error}");
        assert!(message((&x * 2.0).backward_with(&Tensor::ones([3], device))).contains("[3]"));
    });
}
