//! `tensor_indexing.cpp`, the cases that come from NumPy.

use super::*;

#[test]
fn none_index() {
    each(|device| {
        let x = counted([3], device);
        assert_eq!(
            (x.i(NewAxis).shape().dims(), x.i((.., NewAxis)).shape().dims()),
            (&[1, 3][..], &[3, 1][..])
        );
    });
}

#[test]
fn empty_fancy_index() {
    each(|device| {
        let x = counted([3], device);
        is(&x.i(Tensor::zeros([0], (DType::I32, device))), [0], &[]);
        // An empty list of floats is no index.
        assert!(x.try_i(Tensor::zeros([0], device)).is_err());
    });
}

#[test]
fn ellipsis_index() {
    each(|device| {
        let x = counted([3, 3], device);
        same(&x.i(Ellipsis), &x);
        same(&x.i((0, Ellipsis)), &x.i(0));
        same(&x.i((Ellipsis, 0)), &x.i((.., 0)));
        assert_eq!(number(&x.i((Ellipsis, 0, 1))), 1.0);
        let mut y = Tensor::new(1, device);
        y.i_assign(Ellipsis, 10);
        assert_eq!(number(&y), 10.0);
        assert!(x.try_i((Ellipsis, Ellipsis)).is_err());
    });
}

#[test]
fn single_int_index() {
    each(|device| {
        let x = counted([3, 3], device);
        assert_eq!((values(&x.i(0)), values(&x.i(-1))), (vec![0.0, 1.0, 2.0], vec![6.0, 7.0, 8.0]));
        assert!(x.try_i(1 << 30).is_err() && x.try_i(-4).is_err());
    });
}

#[test]
fn single_bool_index() {
    each(|device| {
        let x = counted([3, 3], device);
        same(&x.i(true), &x.unsqueeze(0));
        assert_eq!(x.i(false).shape().dims(), [0, 3, 3]);
    });
}

#[test]
fn boolean_shape_mismatch() {
    each(|device| {
        let x = ramp([5, 4, 3], device);
        for wrong in [Tensor::new([true; 6], device), Tensor::new([true; 4], device)] {
            assert!(message(try_at(&x, &wrong)).contains("mask"));
        }
        let square = Tensor::ones([4, 4], device).to_dtype(DType::Bool);
        assert!(try_at(&x, &square).is_err());
        assert!(try_at(&x, (1, &square)).is_err());
    });
}

#[test]
fn boolean_indexing_onedim() {
    each(|device| {
        let x = ramp([1, 3], device);
        let mask = Tensor::new([true], device);
        same(&at(&x, &mask), &x);
        let mut y = x.clone();
        y.i_assign(block_on(Index::located(&mask)).unwrap(), 1.0);
        is(&y, [1, 3], &[1.0; 3]);
    });
}

#[test]
fn boolean_assignment_value_mismatch() {
    each(|device| {
        let x = counted([4], device);
        let below = |n: i32| block_on(Index::located(x.lt(n))).unwrap();
        assert!(x.clone().try_i_assign(below(4), ints(&[1, 2], device)).is_err());
        assert!(x.clone().try_i_assign(below(3), ints(&[1, 2, 3, 4], device)).is_err());
        x.clone().try_i_assign(below(2), ints(&[5, 6], device)).unwrap();
    });
}

#[test]
fn boolean_indexing_twodim() {
    each(|device| {
        let x = counted([3, 3], device) + 1;
        let (t, f) = (true, false);
        let mask = Tensor::new([[t, f, t], [f, t, f], [t, f, t]], device);
        assert_eq!(values(&at(&x, &mask)), [1.0, 3.0, 5.0, 7.0, 9.0]);
        same(&at(&x, mask.i(1)), &x.i(1..2));
        let mut y = x.clone();
        y.i_assign(block_on(Index::located(&mask)).unwrap(), 0);
        is(&y, [3, 3], &[0.0, 2.0, 0.0, 4.0, 0.0, 6.0, 0.0, 8.0, 0.0]);
    });
}

/// Single booleans beside other indexes.
#[test]
fn boolean_indexing_weirdness() {
    each(|device| {
        let x = ramp([2, 3, 4], device);
        assert_eq!(x.i((false, true)).shape().dims(), [0, 1, 2, 3, 4]);
        assert_eq!(x.i((true, ints(&[0, 1], device))).shape().dims(), [1, 2, 3, 4]);
        assert_eq!(x.i((false, 0)).shape().dims(), [0, 3, 4]);
    });
}

#[test]
fn boolean_indexing_weirdness_tensors() {
    each(|device| {
        let x = ramp([2, 3, 4], device);
        let (no, yes) = (Tensor::new(false, device), Tensor::new(true, device));
        assert_eq!(at(&x, (&no, &yes)).shape().dims(), [0, 1, 2, 3, 4]);
        assert_eq!(at(&x, (&yes, ints(&[0, 1], device))).shape().dims(), [1, 2, 3, 4]);
    });
}

#[test]
fn boolean_indexing_alldims() {
    each(|device| {
        let x = ramp([2, 3], device);
        let all = Tensor::ones([2, 3], device).to_dtype(DType::Bool);
        same(&at(&x, &all), &x.flatten(0, -1));
        assert_eq!(at(&Tensor::new(5.0, device), Tensor::new(true, device)).shape().dims(), [1]);
    });
}

#[test]
fn boolean_list_indexing() {
    each(|device| {
        let x = Tensor::new([[1, 2, 3], [4, 5, 6]], device);
        let list = |flags: &[bool]| Tensor::from_slice(flags, [flags.len()], device);
        same(&at(&x, list(&[true, false])), &x.i(..1));
        same(&at(&x, list(&[true, true])), &x);
        is(&at(&x, (list(&[false, true]), list(&[true, false, true]))), [2], &[4.0, 6.0]);
    });
}

/// Parts are values of their own: writing to one leaves the whole as it was.
#[test]
fn everything_returns_views() {
    each(|device| {
        let x = ramp([3], device);
        let mut part = x.i(..2);
        part.i_assign(0, 100.0);
        assert_eq!((values(&x), values(&part)), (vec![0.0, 1.0, 2.0], vec![100.0, 1.0]));
        same(&x.i(Ellipsis), &x);
        same(&x.i(..), &x);
    });
}

#[test]
fn broaderrors_indexing() {
    each(|device| {
        let x = Tensor::zeros([5, 5], device);
        let (two, three) = (ints(&[0, 1], device), ints(&[0, 1, 2], device));
        assert!(message(x.try_i((&two, &three))).contains("[2]"));
        assert!(x.try_index_put((&two, &three), 0.0, false).is_err());
    });
}

#[test]
fn trivial_fancy_out_of_bounds() {
    each(|device| {
        let x = Tensor::zeros([5], device);
        let far = ints(&[0, 0, 0, 20], device);
        assert!(block_on(x.i(&far).to_vec::<f32>()).is_err());
        assert!(block_on(x.index_put(&far, 0.0, false).to_vec::<f32>()).is_err());
        assert!(block_on(x.i(ints(&[-6], device)).to_vec::<f32>()).is_err());
    });
}

/// A value is repeated over more places than it has.
#[test]
fn index_is_larger() {
    each(|device| {
        let x = Tensor::zeros([5, 5], device);
        let (rows, columns) = (Tensor::new([[0], [1], [2]], device), ints(&[0, 1, 2], device));
        let y = x.index_put((&rows, &columns), Tensor::new([2.0, 3.0, 4.0], device), false);
        same(&y.i((..3, ..3)), &Tensor::new([2.0, 3.0, 4.0], device).expand([3, 3]));
        assert_eq!(number(&y.sum(..)), 27.0);
    });
}

#[test]
fn broadcast_subspace() {
    each(|device| {
        let x = Tensor::zeros([4, 5], device);
        let value = ramp([4], device).unsqueeze(1);
        let order = ints(&[3, 2, 1, 0], device);
        let y = x.index_put(&order, &value, false);
        same(&y, &Tensor::new([[3.0], [2.0], [1.0], [0.0]], device).expand([4, 5]));
    });
}
