//! `+ - * / % & | ^ ! << >>` between tensors and numbers, owned or borrowed; `+=` and its kin, which rebind.

use super::Tensor;
use crate::autograd::is_grad_enabled;
use crate::dtype::Scalar;
use crate::error::{Error, Result, expect};
use crate::op::elementwise::{Operand, RECIPROCAL};
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub};
use std::ops::{
    AddAssign, BitAndAssign, BitOrAssign, BitXorAssign, DivAssign, MulAssign, RemAssign, ShlAssign,
    ShrAssign, SubAssign,
};

macro_rules! binary {
    ($($trait:ident $method:ident, $assign:ident $assign_method:ident => $op:ident;)*) => { $(
        impl<T: Into<Operand>> $trait<T> for &Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: T) -> Tensor {
                Tensor::$op(self, other)
            }
        }
        impl<T: Into<Operand>> $trait<T> for Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: T) -> Tensor {
                Tensor::$op(&self, other)
            }
        }
        /// Rebinds this handle; others keep the value they had. Panics for a leaf that requires a gradient, except
        /// in `no_grad`.
        impl<T: Into<Operand>> $assign<T> for Tensor {
            #[track_caller]
            fn $assign_method(&mut self, other: T) {
                expect(self.may_rebind(stringify!($assign_method)));
                *self = Tensor::$op(self, other);
            }
        }
    )* };
}
binary! {
    Add add, AddAssign add_assign => add;
    Sub sub, SubAssign sub_assign => sub;
    Mul mul, MulAssign mul_assign => mul;
    Div div, DivAssign div_assign => div;
    Rem rem, RemAssign rem_assign => remainder;
    BitAnd bitand, BitAndAssign bitand_assign => bitand;
    BitOr bitor, BitOrAssign bitor_assign => bitor;
    BitXor bitxor, BitXorAssign bitxor_assign => bitxor;
    Shl shl, ShlAssign shl_assign => shift_left;
    Shr shr, ShrAssign shr_assign => shift_right;
}

impl Tensor {
    /// An error for a leaf whose gradient would be lost with the handle.
    fn may_rebind(&self, op: &str) -> Result<()> {
        if self.is_tracked() && self.is_leaf() && is_grad_enabled() {
            let message = format!("{op} on a leaf that requires a gradient; do it in no_grad");
            return Err(Error::Autograd(message));
        }
        Ok(())
    }
}

impl Tensor {
    /// A number, at every place, by another tensor: the reciprocal in mixed precision, as in PyTorch.
    #[track_caller]
    fn quotient(&self, other: &Tensor) -> Tensor {
        let entered = expect(RECIPROCAL.autocast.enter([self, other]));
        let [number, other] = entered.inputs([self, other]);
        number.div(other)
    }
}

/// A number on the left: it takes the dtype it would take on the right.
macro_rules! scalar_left {
    ($($t:ty),*) => { $(
        scalar_left!(@ops $t, Add add add, Sub sub sub, Mul mul mul, Div div quotient, Rem rem remainder);
    )* };
    (@ops $t:ty, $($trait:ident $method:ident $op:ident),*) => { $(
        impl $trait<&Tensor> for $t {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: &Tensor) -> Tensor {
                Operand::from(Scalar::from(self)).beside(other).$op(other)
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

macro_rules! unary {
    ($($trait:ident $method:ident => $op:ident;)*) => { $(
        impl $trait for &Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self) -> Tensor {
                Tensor::$op(self)
            }
        }
        impl $trait for Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self) -> Tensor {
                Tensor::$op(&self)
            }
        }
    )* };
}
unary! {
    Neg neg => neg;
    Not not => bitnot;
}
