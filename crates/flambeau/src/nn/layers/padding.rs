//! Padding layers: elements added around the last dimensions, or taken away where a number is negative.

use super::text::{float, tuple};
use crate::error::Result;
use crate::nn::{Forward, Module};
use crate::settings::{Argument, Setting, SettingKind, each};
use crate::tensor::{PadMode, Tensor};
use serde_json::Value;

/// Numbers of elements before and after each of the padded dimensions, the last dimension first
/// (`[left, right, top, bottom, …]`): one for all, or all of them.
///
/// ```
/// use flambeau::nn::Sides;
/// assert_eq!(Sides::<4>::from(1), Sides::from([1, 1, 1, 1]));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sides<const N: usize>(pub [isize; N]);

impl<const N: usize> From<isize> for Sides<N> {
    fn from(size: isize) -> Self {
        Sides([size; N])
    }
}

impl<const N: usize> From<[isize; N]> for Sides<N> {
    fn from(sizes: [isize; N]) -> Self {
        Sides(sizes)
    }
}

impl<const N: usize> Setting for Sides<N> {
    fn set(&mut self, given: &Value) -> std::result::Result<(), &'static str> {
        self.0 = each(given)?;
        Ok(())
    }

    fn kind() -> SettingKind {
        SettingKind::Numbers
    }

    fn value(&self) -> Value {
        Value::from(&self.0[..])
    }
}

impl<const N: usize> Argument for Sides<N> {
    fn blank() -> Self {
        Sides([0; N])
    }
}

/// Layers that fill with the tensor's own elements, or with zeros: name, number of sides, mode.
macro_rules! padding_layers {
    ($($(#[$doc:meta])* $name:ident, $sides:literal, $mode:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// ```
        #[doc = concat!("use flambeau::{nn::", stringify!($name), ", prelude::*};")]
        #[doc = concat!("let layer = ", stringify!($name), "::new(1);")]
        /// let x = Tensor::ones([1, 1, 3, 3, 3], &Device::cpu());
        /// assert_eq!(layer.forward(&x).shape()[4], 5);
        /// ```
        #[derive(Module, Debug, Clone, Copy, PartialEq, Eq)]
        #[module(describe = $name::describe)]
        pub struct $name {
            /// Elements before and after each dimension, the last one first.
            #[module(skip)]
            pub padding: Sides<$sides>,
        }

        impl $name {
            /// So many elements on every side, or on each: `[left, right, top, bottom, …]`.
            pub fn new(padding: impl Into<Sides<$sides>>) -> $name {
                $name { padding: padding.into() }
            }

            fn describe(&self) -> String {
                tuple(&self.padding.0)
            }
        }

        impl Forward for $name {
            #[track_caller]
            fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
                input.try_pad(&self.padding.0, $mode)
            }
        }
    )*};
}

padding_layers! {
    /// Zeros around the last dimension.
    ZeroPad1d, 2, 0.0;
    /// Zeros around the last two dimensions.
    ZeroPad2d, 4, 0.0;
    /// Zeros around the last three dimensions.
    ZeroPad3d, 6, 0.0;
    /// The last dimension mirrored at its ends, which are not repeated.
    ReflectionPad1d, 2, PadMode::Reflect;
    /// The last two dimensions mirrored at their ends, which are not repeated.
    ReflectionPad2d, 4, PadMode::Reflect;
    /// The last three dimensions mirrored at their ends, which are not repeated.
    ReflectionPad3d, 6, PadMode::Reflect;
    /// The ends of the last dimension again and again.
    ReplicationPad1d, 2, PadMode::Replicate;
    /// The ends of the last two dimensions again and again.
    ReplicationPad2d, 4, PadMode::Replicate;
    /// The ends of the last three dimensions again and again.
    ReplicationPad3d, 6, PadMode::Replicate;
    /// The last dimension as on a ring.
    CircularPad1d, 2, PadMode::Circular;
    /// The last two dimensions as on rings.
    CircularPad2d, 4, PadMode::Circular;
    /// The last three dimensions as on rings.
    CircularPad3d, 6, PadMode::Circular;
}

/// Layers that fill with a number.
macro_rules! constant_padding_layers {
    ($($(#[$doc:meta])* $name:ident, $sides:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// ```
        #[doc = concat!("use flambeau::{nn::", stringify!($name), ", prelude::*};")]
        #[doc = concat!("let layer = ", stringify!($name), "::new(1, 3.5);")]
        /// let x = Tensor::ones([1, 3, 3, 3], &Device::cpu());
        /// assert_eq!(layer.forward(&x).amax(..).to_string(), "tensor(3.5000)");
        /// ```
        #[derive(Module, Debug, Clone, Copy, PartialEq)]
        #[module(describe = $name::describe)]
        pub struct $name {
            /// Elements before and after each dimension, the last one first.
            #[module(skip)]
            pub padding: Sides<$sides>,
            /// The number outside.
            pub value: f64,
        }

        impl $name {
            /// So many elements on every side, or on each (`[left, right, top, bottom, …]`), filled with a number.
            pub fn new(padding: impl Into<Sides<$sides>>, value: f64) -> $name {
                $name { padding: padding.into(), value }
            }

            fn describe(&self) -> String {
                format!("padding={}, value={}", tuple(&self.padding.0), float(self.value))
            }
        }

        impl Forward for $name {
            #[track_caller]
            fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
                input.try_pad(&self.padding.0, self.value)
            }
        }
    )*};
}

constant_padding_layers! {
    /// A number around the last dimension.
    ConstantPad1d, 2;
    /// A number around the last two dimensions.
    ConstantPad2d, 4;
    /// A number around the last three dimensions.
    ConstantPad3d, 6;
}
