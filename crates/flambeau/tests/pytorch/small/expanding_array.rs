//! `expanding-array.cpp`: sizes, one for each dimension or one for all.

use flambeau::Spatial;

#[test]
fn can_construct_from_array() {
    assert_eq!(Spatial::<3>::from([1, 2, 3]).0, [1, 2, 3]);
}

#[test]
fn can_construct_from_initializer_list() {
    assert_eq!(Spatial::<2>::from([5, 7]).0, [5, 7]);
}

#[test]
fn can_construct_from_single_value() {
    assert_eq!(Spatial::<5>::from(5).0, [5; 5]);
}
