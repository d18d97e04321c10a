//! `+ - * / % & | ^ !` between tensors and numbers, owned or borrowed.

use super::Tensor;
use crate::dtype::Scalar;
use crate::op::elementwise::Operand;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Sub};

macro_rules! binary {
    ($($trait:ident $method:ident),*) => { $(
        impl<T: Into<Operand>> $trait<T> for &Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: T) -> Tensor {
                Tensor::$method(self, other)
            }
        }
        impl<T: Into<Operand>> $trait<T> for Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: T) -> Tensor {
                Tensor::$method(&self, other)
            }
        }
    )* };
}
binary!(Add add, Sub sub, Mul mul, Div div, BitAnd bitand, BitOr bitor, BitXor bitxor);

/// A number on the left: it takes the dtype it would take on the right.
macro_rules! scalar_left {
    ($($t:ty),*) => { $(
        scalar_left!(@ops $t, Add add, Sub sub, Mul mul, Div div);
    )* };
    (@ops $t:ty, $($trait:ident $method:ident),*) => { $(
        impl $trait<&Tensor> for $t {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: &Tensor) -> Tensor {
                Operand::from(Scalar::from(self)).beside(other).$method(other)
            }
        }
        impl $trait<Tensor> for $t {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: Tensor) -> Tensor {
                self.$method(&other)
            }
        }
    )* };
}
scalar_left!(f32, f64, i32, i64);

impl Neg for &Tensor {
    type Output = Tensor;
    #[track_caller]
    fn neg(self) -> Tensor {
        Tensor::neg(self)
    }
}
impl Neg for Tensor {
    type Output = Tensor;
    #[track_caller]
    fn neg(self) -> Tensor {
        Tensor::neg(&self)
    }
}
