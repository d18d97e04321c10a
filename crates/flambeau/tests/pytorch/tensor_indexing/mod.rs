//! `tensor_indexing.cpp`: reading and writing parts of tensors by numbers, ranges, tensors and masks.

use crate::common::{block_on, values};
use crate::tools::{each, is, message, number, ramp, same};
use flambeau::prelude::*;
use flambeau::{IndexSpec, Span};

mod numpy;

/// With masks read first.
fn at(x: &Tensor, spec: impl IndexSpec) -> Tensor {
    x.i(block_on(Index::located(spec)).unwrap())
}

fn try_at(x: &Tensor, spec: impl IndexSpec) -> Result<Tensor> {
    x.try_i(block_on(Index::located(spec))?)
}

fn ints(numbers: &[i32], device: &Device) -> Tensor {
    Tensor::from_slice(numbers, [numbers.len()], device)
}

/// 0..n in a shape, as integers.
fn counted(shape: impl Into<Shape>, device: &Device) -> Tensor {
    let shape = shape.into();
    Tensor::arange(0, shape.numel() as i64, 1, device).reshape(&shape)
}

#[test]
fn slice() {
    let span = |index: Index| match index {
        Index::Range(span) => span,
        other => panic!("{other:?} is no range"),
    };
    let step = |range: std::ops::Range<isize>, step| span(Index::step(range, step));
    assert_eq!(span(Index::from(1..3)), step(1..3, 1));
    assert_ne!(step(1..3, 2), step(1..3, 1));
    assert_eq!(span(Index::from(..)), span(Index::step(.., 1)));
    let copied: Span = step(0..4, 2);
    assert_eq!(copied, step(0..4, 2));
}

#[test]
fn tensor_index() {
    each(|device| {
        let forms: Vec<Index> = vec![
            NewAxis.into(),
            Ellipsis.into(),
            1.into(),
            (1..).into(),
            ints(&[0], device).into(),
            true.into(),
        ];
        assert!(matches!(
            &forms[..],
            [
                Index::NewAxis,
                Index::Ellipsis,
                Index::At(1),
                Index::Range(_),
                Index::Tensor(_),
                Index::Flag(true)
            ]
        ));
    });
}

#[test]
fn no_indices() {
    each(|device| {
        let x = counted([2, 3], device);
        same(&x.i(Vec::new()), &x);
        let mut y = x.clone();
        y.i_assign(Vec::new(), 5);
        assert_eq!(values(&y), [5.0; 6]);
    });
}

#[test]
fn advanced_indexing_with_list_of_tensor() {
    each(|device| {
        let x = counted([3, 4], device);
        let list: Vec<Index> = vec![ints(&[0, 2], device).into(), ints(&[1, 3], device).into()];
        is(&x.i(list.clone()), [2], &[1.0, 11.0]);
        let y = x.index_put(list.clone(), ints(&[100, 200], device), false);
        assert_eq!((number(&y.i((0, 1))), number(&y.i((2, 3)))), (100.0, 200.0));
        let z = x.index_put(list, 1, true);
        assert_eq!((number(&z.i((0, 1))), number(&z.sum(..))), (2.0, 68.0));
    });
}

#[test]
fn single_int() {
    each(|device| assert_eq!(counted([5, 7, 3], device).i(4).shape().dims(), [7, 3]));
}

#[test]
fn multiple_int() {
    each(|device| {
        let x = counted([5, 7, 3], device);
        assert_eq!(x.i(4).shape().dims(), [7, 3]);
        assert_eq!(x.i((4, .., 2)).shape().dims(), [7]);
        assert_eq!(number(&x.i((4, 6, 2))), 104.0);
    });
}

#[test]
fn none() {
    each(|device| {
        let x = counted([5, 7, 3], device);
        assert_eq!(x.i(NewAxis).shape().dims(), [1, 5, 7, 3]);
        assert_eq!(x.i((.., NewAxis)).shape().dims(), [5, 1, 7, 3]);
        assert_eq!(x.i((.., NewAxis, NewAxis)).shape().dims(), [5, 1, 1, 7, 3]);
        assert_eq!(x.i((Ellipsis, NewAxis)).shape().dims(), [5, 7, 3, 1]);
    });
}

#[test]
fn step() {
    each(|device| {
        let x = counted([10], device);
        same(&x.i(Index::step(.., 1)), &x);
        assert_eq!(values(&x.i(Index::step(.., 2))), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(values(&x.i(Index::step(.., 3))), [0.0, 3.0, 6.0, 9.0]);
        assert_eq!(values(&x.i(Index::step(.., 11))), [0.0]);
        assert_eq!(values(&x.i(Index::step(1..6, 2))), [1.0, 3.0, 5.0]);
        assert!(message(x.try_i(Index::step(.., 0))).contains("step"));
    });
}

#[test]
fn step_assignment() {
    each(|device| {
        let mut x = Tensor::zeros([4, 4], device);
        x.i_assign((0, Index::step(1.., 2)), Tensor::new([3.0, 4.0], device));
        assert_eq!(values(&x.i(0)), [0.0, 3.0, 0.0, 4.0]);
        assert_eq!(number(&x.i(1..).sum(..)), 0.0);
    });
}

/// A mask picks; a single boolean puts in a dimension of size 1 or 0.
#[test]
fn bool_indices() {
    each(|device| {
        let x = ramp([5, 7, 3], device);
        let mask = Tensor::new([true, false, true, true, false], device);
        let picked = at(&x, &mask);
        assert_eq!(picked.shape().dims(), [3, 7, 3]);
        same(&picked, &Tensor::stack(&[x.i(0), x.i(2), x.i(3)], 0));
        same(&at(&x, x.gt(50.0)), &x.flatten(0, -1).i(51..));
        assert_eq!(at(&x, Tensor::new(true, device)).shape().dims(), [1, 5, 7, 3]);
        let empty = Tensor::new([false, false], device);
        assert_eq!(at(&ramp([2, 3], device), &empty).shape().dims(), [0, 3]);
    });
}

#[test]
fn bool_indices_accumulate() {
    each(|device| {
        let mask = Tensor::new([false, true, false, true], device);
        let spec = block_on(Index::located(&mask)).unwrap();
        let y = Tensor::ones([4, 2], device);
        let added = y.index_put(spec, y.i(..2), true);
        is(&added, [4, 2], &[1.0, 1.0, 2.0, 2.0, 1.0, 1.0, 2.0, 2.0]);
    });
}

#[test]
fn multiple_bool_indices() {
    each(|device| {
        let x = ramp([5, 7, 3], device);
        // Two masks name pairs of places.
        let rows = Tensor::new([true, false, true, true, false], device);
        let columns = Tensor::new([true, true, true], device);
        let picked = at(&x, (&rows, .., &columns));
        assert_eq!(picked.shape().dims(), [3, 7]);
        same(&picked.i(1), &x.i((2, .., 1)));
    });
}

/// Bytes are masks once they are booleans.
#[test]
fn byte_mask() {
    each(|device| {
        let x = ramp([5, 7, 3], device);
        let mask = Tensor::new([1u8, 0, 1, 1, 0], device).to_dtype(DType::Bool);
        same(&at(&x, &mask), &Tensor::stack(&[x.i(0), x.i(2), x.i(3)], 0));
        let y = Tensor::new([1.0], device);
        is(&at(&y, y.eq(0.0)), [0], &[]);
    });
}

#[test]
fn byte_mask_accumulate() {
    each(|device| {
        let mask = Tensor::zeros([10], device).to_dtype(DType::Bool);
        let y = Tensor::ones([10, 10], device);
        let spec = block_on(Index::located(&mask)).unwrap();
        same(&y.index_put(spec.clone(), y.i(..0), true), &y);
        same(&y.index_put(spec, 3.0, true), &y);
    });
}

#[test]
fn multiple_byte_mask() {
    each(|device| {
        let x = ramp([5, 7, 3], device);
        let rows = Tensor::new([1u8, 0, 1, 1, 0], device).to_dtype(DType::Bool);
        let columns = Tensor::new([1u8, 1, 1], device).to_dtype(DType::Bool);
        assert_eq!(at(&x, (&rows, .., &columns)).shape().dims(), [3, 7]);
    });
}

#[test]
fn byte_mask2d() {
    each(|device| {
        let x = ramp([3, 4], device);
        let mask = x.gt(5.0);
        assert_eq!(values(&at(&x, &mask)), [6.0, 7.0, 8.0, 9.0, 10.0, 11.0]);
        same(&at(&x, &mask), &block_on(x.masked_select(&mask)).unwrap());
    });
}

#[test]
fn int_indices() {
    each(|device| {
        let x = ramp([5, 7, 3], device);
        assert_eq!(x.i(ints(&[0, 4, 2], device)).shape().dims(), [3, 7, 3]);
        assert_eq!(x.i((.., ints(&[0, 4, 2], device))).shape().dims(), [5, 3, 3]);
        let square = Tensor::new([[0, 1], [4, 3]], device);
        let picked = x.i((.., &square));
        assert_eq!(picked.shape().dims(), [5, 2, 2, 3]);
        same(&picked.i((.., 1, 0)), &x.i((.., 4)));
        // From the back.
        same(&x.i(ints(&[-1], device)), &x.i(4..));
    });
}

#[test]
fn int_indices2d() {
    each(|device| {
        let x = counted([4, 3], device);
        let rows = Tensor::new([[0, 0], [3, 3]], device);
        let columns = Tensor::new([[0, 2], [0, 2]], device);
        is(&x.i((&rows, &columns)), [2, 2], &[0.0, 2.0, 9.0, 11.0]);
    });
}

#[test]
fn int_indices_broadcast() {
    each(|device| {
        let x = counted([4, 3], device);
        let (rows, columns) = (ints(&[0, 3], device), ints(&[0, 2], device));
        is(&x.i((rows.unsqueeze(1), &columns)), [2, 2], &[0.0, 2.0, 9.0, 11.0]);
    });
}

#[test]
fn empty_index() {
    each(|device| {
        let x = counted([4, 3], device);
        let none = Tensor::zeros([0], (DType::I32, device));
        assert_eq!(x.i(&none).shape().dims(), [0, 3]);
        let mut y = x.clone();
        y.i_assign(&none, -1);
        same(&y, &x);
        let mut z = x.clone();
        let nowhere = Tensor::zeros([4, 3], device).to_dtype(DType::Bool);
        z.i_assign(block_on(Index::located(&nowhere)).unwrap(), -1);
        same(&z, &x);
    });
}

#[test]
fn empty_ndim_index() {
    each(|device| {
        let x = ramp([5], device);
        let none = Tensor::zeros([0, 2], (DType::I32, device));
        assert_eq!(x.i(&none).shape().dims(), [0, 2]);
        let pairs = ramp([2, 3, 4, 5], device);
        let index = Tensor::zeros([3, 0], (DType::I32, device));
        assert_eq!(pairs.i((.., .., &index)).shape().dims(), [2, 3, 3, 0, 5]);
    });
}

#[test]
fn empty_ndim_index_bool() {
    each(|device| {
        let x = ramp([5], device);
        let mask = Tensor::zeros([0, 2], (DType::Bool, device));
        assert!(try_at(&x, &mask).is_err());
    });
}

#[test]
fn empty_slice() {
    each(|device| {
        let x = ramp([2, 3, 4, 5], device);
        assert_eq!(x.i((.., .., .., 1..1)).shape().dims(), [2, 3, 4, 0]);
        let y = x.i((.., .., .., 1..1));
        assert_eq!(y.i((.., 1)).shape().dims(), [2, 4, 0]);
        let (from, to) = (3, 1);
        assert_eq!(x.i((.., from..to)).shape().dims(), [2, 0, 4, 5]);
    });
}

#[test]
fn index_getitem_copy_bools_slices() {
    each(|device| {
        for x in [Tensor::new([[3.0, 1.0]], device), Tensor::new(2.0, device)] {
            same(&x.i(true).squeeze(0), &x);
            assert_eq!(x.i(false).numel(), 0);
            same(&x.i(NewAxis).squeeze(0), &x);
            same(&x.i(Ellipsis), &x);
        }
    });
}

#[test]
fn index_setitem_bools_slices() {
    each(|device| {
        for start in [Tensor::new([[3.0, 1.0]], device), Tensor::new(2.0, device)] {
            let mut x = start.clone();
            x.i_assign(true, 5.0);
            same(&x, &start.full_like(5.0));
            x.i_assign(false, 9.0);
            same(&x, &start.full_like(5.0));
            x.i_assign(NewAxis, 2.0);
            same(&x, &start.full_like(2.0));
            x.i_assign(Ellipsis, 1.0);
            same(&x, &start.full_like(1.0));
        }
    });
}

#[test]
fn index_scalar_with_bool_mask() {
    each(|device| {
        let x = Tensor::new(5.0, device);
        is(&at(&x, Tensor::new(true, device)), [1], &[5.0]);
        is(&at(&x, Tensor::new(false, device)), [0], &[]);
        is(&at(&x, x.gt(0.0)), [1], &[5.0]);
    });
}

#[test]
fn setitem_expansion_error() {
    each(|device| {
        let mut x = Tensor::zeros([2, 3], device);
        x.i_assign((.., ..), Tensor::new([[[1.0, 2.0, 3.0]]], device).i(0));
        is(&x, [2, 3], &[1.0, 2.0, 3.0, 1.0, 2.0, 3.0]);
        assert!(x.try_i_assign((.., ..), Tensor::zeros([2, 2, 3], device)).is_err());
        assert!(x.try_i_assign(0, Tensor::zeros([2], device)).is_err());
    });
}

/// Places given by tensors of one number.
#[test]
fn getitem_scalars() {
    each(|device| {
        let (zero, one) = (Tensor::new(0, device), Tensor::new(1, device));
        let x = counted([2, 3], device);
        same(&x.i(&zero), &x.i(0));
        same(&x.i((&zero, &one)), &x.i((0, 1)));
        assert_eq!(x.i((&zero, &one)).rank(), 0);
        assert!(Tensor::new(5, device).try_i(0).is_err());
    });
}

#[test]
fn setitem_scalars() {
    each(|device| {
        let (zero, one) = (Tensor::new(0, device), Tensor::new(1, device));
        let mut x = counted([2, 3], device);
        x.i_assign((&zero, &one), 10);
        x.i_assign((1, 1), Tensor::new([20], device).i(0));
        is(&x, [2, 3], &[0.0, 10.0, 2.0, 3.0, 20.0, 5.0]);
        let mut y = Tensor::new(5, device);
        assert!(y.try_i_assign(0, 1).is_err());
    });
}

/// Ranges and tensors in one index.
#[test]
fn basic_advanced_combined() {
    each(|device| {
        let x = counted([4, 3], device);
        same(&x.i((1..3, ints(&[1, 2], device))), &x.i((1..3, 1..3)));
        is(&x.i((1..3, ints(&[1, 2], device))), [2, 2], &[4.0, 5.0, 7.0, 8.0]);
        let mut y = x.clone();
        y.i_assign((1..3, ints(&[1, 2], device)), 0);
        same(&y.i((1..3, 1..)), &Tensor::zeros([2, 2], (DType::I32, device)));
        assert_eq!(number(&y.i((3, 2))), 11.0);
        let picked = x.i((ints(&[0, 2], device), 1..3));
        is(&picked, [2, 2], &[1.0, 2.0, 7.0, 8.0]);
    });
}

#[test]
fn int_assignment() {
    each(|device| {
        let mut x = counted([2, 2], device);
        x.i_assign(1, 5);
        is(&x, [2, 2], &[0.0, 1.0, 5.0, 5.0]);
        x.i_assign(0, counted([2], device) + 5);
        is(&x, [2, 2], &[5.0, 6.0, 5.0, 5.0]);
    });
}

#[test]
fn byte_tensor_assignment() {
    each(|device| {
        let mut x = ramp([4, 4], device);
        let rows = block_on(Index::located(Tensor::new([true, false, true, false], device))).unwrap();
        let value = Tensor::new([3.0, 4.0, 5.0, 6.0], device);
        x.i_assign(rows, &value);
        same(&x.i(0), &value);
        same(&x.i(2), &value);
        assert_eq!(values(&x.i(1)), [4.0, 5.0, 6.0, 7.0]);
    });
}

#[test]
fn variable_slicing() {
    each(|device| {
        let x = counted([4, 4], device);
        let (i, j) = (0, 1);
        same(&x.i((i..j, ..)), &x.i((0..1, ..)));
    });
}

#[test]
fn ellipsis_tensor() {
    each(|device| {
        let x = counted([3, 3], device);
        let index = ints(&[0, 2], device);
        is(&x.i((Ellipsis, &index)), [3, 2], &[0.0, 2.0, 3.0, 5.0, 6.0, 8.0]);
        is(&x.i((&index, Ellipsis)), [2, 3], &[0.0, 1.0, 2.0, 6.0, 7.0, 8.0]);
    });
}

#[test]
fn out_of_bound_index() {
    each(|device| {
        let x = counted([2, 5, 10], device);
        for spec in [(0, 5, 0), (4, 0, 0), (0, 1, -12)] {
            let error = message(x.try_i(spec));
            assert!(error.contains("out of range"), "{error}");
        }
        assert!(message(x.try_i((.., 6))).contains("dimension 1"));
        // Positions in a tensor are known when the result is computed.
        assert!(block_on(x.i((.., ints(&[6], device))).to_vec::<i32>()).is_err());
    });
}

#[test]
fn zero_dim_index() {
    each(|device| {
        let x = Tensor::new(10, device);
        assert!(message(x.try_i(0)).contains("1 indexes"));
        assert_eq!(number(&x), 10.0);
    });
}
