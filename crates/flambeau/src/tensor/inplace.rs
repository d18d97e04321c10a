//! In-place methods. Values are immutable: these rebind the handle they are called on, and other handles and views
//! keep what they had (a departure from PyTorch, where they would change too).

use super::Tensor;
use crate::autograd::function::Edge;
use crate::autograd::is_grad_enabled;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result, expect};
use crate::op::elementwise::Operand;

impl Tensor {
    /// Gives this handle another value; shape and dtype stay. Without recording, its place in the graph stays too.
    #[track_caller]
    pub(super) fn rebind(
        &mut self,
        op: &'static str,
        new: impl FnOnce(&Tensor) -> Result<Tensor>,
    ) -> Result<()> {
        if is_grad_enabled() && matches!(self.edge, Some(Edge::Leaf(_))) {
            return Err(Error::Autograd(format!(
                "{op}: a leaf that requires a gradient cannot be changed in place; do it under no_grad"
            )));
        }
        let result = new(self)?;
        if result.shape() != self.shape() {
            let message = format!("the result has shape {}, the tensor {}", result.shape(), self.shape());
            return Err(Error::shape(op, message));
        }
        if kind(result.dtype()) > kind(self.dtype()) {
            let message = format!("the result is {}, which {} cannot hold", result.dtype(), self.dtype());
            return Err(Error::dtype(op, message));
        }
        let result = result.try_to_dtype(self.dtype())?;
        *self = match is_grad_enabled() {
            true => result,
            false => Tensor::from_parts(result.value.clone(), self.edge.clone()),
        };
        Ok(())
    }
}

/// Bool, integer, float: a value fits in its own kind and those after it.
fn kind(dtype: DType) -> u8 {
    match dtype {
        DType::Bool => 0,
        dtype if dtype.is_int() => 1,
        _ => 2,
    }
}

macro_rules! inplace {
    ($($(#[$doc:meta])* $name:ident / $try_name:ident ($x:ident $(, $arg:ident : $type:ty)?) $body:block)*) => {
        impl Tensor {
            $(
                $(#[$doc])*
                ///
                /// On a leaf that requires a gradient it is an error, except under `no_grad`.
                #[track_caller]
                pub fn $name(&mut self $(, $arg: $type)?) {
                    expect(self.$try_name($($arg)?))
                }

                #[doc = concat!("[`", stringify!($name), "`](Tensor::", stringify!($name), "), or the error instead of a panic.")]
                #[track_caller]
                pub fn $try_name(&mut self $(, $arg: $type)?) -> Result<()> {
                    self.rebind(stringify!($name), |$x| $body)
                }
            )*
        }
    };
}

inplace! {
    /// `self = self + other`.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let mut x = Tensor::new([1.0, 2.0], &Device::cpu());
    /// let before = x.clone();
    /// x.add_(1.0);
    /// assert_eq!(x.to_string(), "tensor([2., 3.])");
    /// assert_eq!(before.to_string(), "tensor([1., 2.])");
    /// ```
    add_ / try_add_ (x, other: impl Into<Operand>) { x.try_add(other) }

    /// `self = self − other`.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let mut x = Tensor::new([1.0, 2.0], &Device::cpu());
    /// x.sub_(1.0);
    /// assert_eq!(x.to_string(), "tensor([0., 1.])");
    /// ```
    sub_ / try_sub_ (x, other: impl Into<Operand>) { x.try_sub(other) }

    /// `self = self · other`.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let mut x = Tensor::new([1.0, 2.0], &Device::cpu());
    /// x.mul_(3.0);
    /// assert_eq!(x.to_string(), "tensor([3., 6.])");
    /// ```
    mul_ / try_mul_ (x, other: impl Into<Operand>) { x.try_mul(other) }

    /// `self = self / other`.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let mut x = Tensor::new([1.0, 2.0], &Device::cpu());
    /// x.div_(2.0);
    /// assert_eq!(x.to_string(), "tensor([0.5000, 1.0000])");
    /// ```
    div_ / try_div_ (x, other: impl Into<Operand>) { x.try_div(other) }

    /// One number everywhere.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let mut x = Tensor::new([1.0, 2.0], &Device::cpu());
    /// x.fill_(7);
    /// assert_eq!(x.to_string(), "tensor([7., 7.])");
    /// ```
    fill_ / try_fill_ (x, value: impl Into<Scalar>) { Ok(x.full_like(value)) }

    /// Zeros.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let mut x = Tensor::new([1.0, 2.0], &Device::cpu());
    /// x.zero_();
    /// assert_eq!(x.to_string(), "tensor([0., 0.])");
    /// ```
    zero_ / try_zero_ (x) { Ok(x.zeros_like()) }

    /// The values of another tensor, repeated to fill this one and converted to its dtype.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let mut x = Tensor::new([1.0, 2.0], &Device::cpu());
    /// x.copy_(&Tensor::new([5], &Device::cpu()));
    /// assert_eq!(x.to_string(), "tensor([5., 5.])");
    /// ```
    copy_ / try_copy_ (x, source: &Tensor) { source.broadcast_as("copy_", x.shape())?.try_to_dtype(x.dtype()) }
}
