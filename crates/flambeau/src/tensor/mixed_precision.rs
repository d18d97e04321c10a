//! Mixed precision: in a scope, ops take their inputs in the dtype that suits them, as PyTorch's autocast does.
//!
//! Three lists, PyTorch's for CUDA. Each op says where it is defined which one it is on; most are on none:
//!
//! - [`Autocast::Lower`]: products, convolutions, attention and recurrent layers take f32 as f16;
//! - [`Autocast::Full`]: exponentials, logarithms, powers, sums, norms, softmax and losses take f16 as f32;
//! - [`Autocast::Widest`]: everything else takes what it is given, and the wider dtype where inputs differ.
//!
//! It acts when a node is built. An op that is made of others is cast as a whole: inside of it nothing is cast again. So are
//! derivative rules, whatever the mode: a gradient has the dtype of the value it is of, and a backward pass runs in the dtypes
//! of its forward pass. The cast of a parameter is an op with a derivative, so f32 parameters get f32 gradients.

use super::Tensor;
use crate::dtype::DType;
use crate::error::{Error, Result};
use std::cell::Cell;
use std::marker::PhantomData;

thread_local! {
    static CASTING: Cell<bool> = const { Cell::new(false) };
}

/// The dtype of the lower precision: WebGPU has no other.
pub(crate) const LOWER: DType = DType::F16;

/// Is this thread in a scope of [`autocast`]?
pub fn is_autocast_enabled() -> bool {
    CASTING.get()
}

/// Restores the mode it replaced when it is dropped. It belongs to its thread and cannot be held across an await.
#[must_use = "the mode ends when the guard is dropped"]
#[derive(Debug)]
pub struct AutocastGuard {
    before: bool,
    _not_send: PhantomData<*const ()>,
}

impl Drop for AutocastGuard {
    fn drop(&mut self) {
        CASTING.set(self.before);
    }
}

/// Turns mixed precision on or off until the guard is dropped. See [`autocast`].
pub fn set_autocast_enabled(enabled: bool) -> AutocastGuard {
    AutocastGuard { before: CASTING.replace(enabled), _not_send: PhantomData }
}

/// Runs a closure in mixed precision: PyTorch's `torch.autocast(enabled=…)` with float16.
///
/// In it, products, convolutions, attention and recurrent layers take f32 as f16, and give f16; exponentials, logarithms,
/// powers, sums, norms, softmax and losses take f16 as f32; other ops take what they are given, and the wider dtype where
/// inputs differ. So activations that are kept for the backward pass take half the memory, and products run where a device
/// multiplies f16 faster. Parameters stay f32, and so do their gradients. Scopes nest: `autocast(false, …)` is full precision
/// inside of one.
///
/// Only the forward pass belongs into the scope; `backward` runs in the dtypes of the forward pass wherever it is called. Small
/// gradients vanish in f16: scale the loss by a [`GradScaler`](crate::optim::GradScaler).
///
/// A device must have f16 (on GPUs the feature `shader-f16`); the first op that takes it is an error where it has not.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::{autograd::autocast, nn::Linear};
/// let device = Device::cpu();
/// let (layer, x) = (Linear::new(3, 2, &device), Tensor::ones([5, 3], &device));
/// let (y, p, z) = autocast(true, || {
///     let y = layer.forward(&x);
///     let p = y.softmax(1);
///     let z = autocast(false, || layer.forward(&x));
///     (y, p, z)
/// });
/// assert_eq!([y.dtype(), p.dtype(), z.dtype()], [DType::F16, DType::F32, DType::F32]);
/// p.sum(..).backward()?;
/// assert_eq!(layer.weight.grad().unwrap().dtype(), DType::F32);
/// # Ok::<(), Error>(())
/// ```
pub fn autocast<T>(enabled: bool, body: impl FnOnce() -> T) -> T {
    let _guard = set_autocast_enabled(enabled);
    body()
}

/// Which dtypes an op takes in a scope of [`autocast`]: PyTorch's three lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Autocast {
    /// f32 is taken as f16.
    Lower,
    /// f16 is taken as f32.
    Full,
    /// What is given; the widest where floats differ.
    #[default]
    Widest,
}

impl Autocast {
    /// What inputs of these dtypes are taken as; F64 and what is no float stay as they are.
    fn wanted(self, given: &[&Tensor]) -> Option<DType> {
        match self {
            Autocast::Lower => Some(LOWER),
            Autocast::Full => Some(DType::F32),
            Autocast::Widest => {
                let floats = given.iter().map(|input| input.dtype()).filter(|dtype| dtype.is_float());
                floats.max()
            }
        }
    }

    /// The inputs of an op as it takes them, and a scope without casts for what the op is made of. Outside of a scope the
    /// inputs are what they are, at the cost of a look.
    #[track_caller]
    pub fn enter<const N: usize>(self, inputs: [&Tensor; N]) -> Result<Entered<N>> {
        Ok(Entered(if is_autocast_enabled() { Some(self.cast_inputs(&inputs)?) } else { None }))
    }

    #[track_caller]
    #[inline(never)] // A page fetches it only when it is asked for (packages/flambeau/parts/later.txt).
    fn cast_inputs(self, inputs: &[&Tensor]) -> Result<Box<Inside>> {
        let dtype = self.wanted(inputs);
        let mut cast = vec![None; inputs.len()];
        cast_all(dtype, inputs, &mut cast)?;
        Ok(Box::new(Inside { cast, dtype, _plain: set_autocast_enabled(false) }))
    }
}

/// An op's inputs while it is built. (It is small where there is no scope: nearly every op of a page has one.)
pub(crate) struct Entered<const N: usize>(Option<Box<Inside>>);

/// The inside of an op that is built in a scope.
struct Inside {
    /// The inputs that are taken in another dtype.
    cast: Vec<Option<Tensor>>,
    /// What inputs are taken as, if there is a float among them.
    dtype: Option<DType>,
    _plain: AutocastGuard,
}

impl<const N: usize> Drop for Entered<N> {
    fn drop(&mut self) {
        if let Some(inside) = self.0.take() {
            leave(inside);
        }
    }
}

#[inline(never)] // As `cast_inputs`.
fn leave(inside: Box<Inside>) {
    drop(inside);
}

impl<const N: usize> Entered<N> {
    /// The inputs as they are taken.
    pub fn inputs<'a>(&'a self, mut given: [&'a Tensor; N]) -> [&'a Tensor; N] {
        if let Some(inside) = &self.0 {
            inside.put(&mut given);
        }
        given
    }

    /// One more input, which may be absent.
    #[track_caller]
    pub fn optional(&self, given: Option<&Tensor>) -> Result<Option<Tensor>> {
        optional(self.0.as_deref(), given)
    }

    /// One more input.
    #[track_caller]
    pub fn input(&self, given: Tensor) -> Result<Tensor> {
        match &self.0 {
            Some(inside) => inside.input(given),
            None => Ok(given),
        }
    }

    /// Is the op built in a scope?
    pub fn is_casting(&self) -> bool {
        self.0.is_some()
    }
}

#[track_caller]
#[inline(never)] // Once for all numbers of inputs.
fn optional(inside: Option<&Inside>, given: Option<&Tensor>) -> Result<Option<Tensor>> {
    match (inside, given) {
        (Some(inside), Some(given)) => inside.input(given.clone()).map(Some),
        _ => Ok(given.cloned()),
    }
}

impl Inside {
    /// Puts those that were cast in the places of what was given.
    #[inline(never)] // As `cast_inputs`.
    fn put<'a>(&'a self, given: &mut [&'a Tensor]) {
        for (given, cast) in given.iter_mut().zip(&self.cast) {
            *given = cast.as_ref().unwrap_or(given);
        }
    }

    #[track_caller]
    #[inline(never)] // As `cast_inputs`.
    fn input(&self, given: Tensor) -> Result<Tensor> {
        match self.dtype {
            Some(dtype) => Ok(cast(&given, dtype)?.unwrap_or(given)),
            None => Ok(given),
        }
    }
}

/// Casts those of the inputs that are taken in another dtype.
#[track_caller]
#[inline(never)] // A page fetches it only when it is asked for (packages/flambeau/parts/later.txt).
pub(crate) fn cast_all(dtype: Option<DType>, inputs: &[&Tensor], into: &mut [Option<Tensor>]) -> Result<()> {
    let Some(dtype) = dtype else { return Ok(()) };
    for (input, into) in inputs.iter().zip(into) {
        *into = cast(input, dtype)?;
    }
    Ok(())
}

/// A float of 16 or 32 bits in another dtype; none if it stays as it is.
#[track_caller]
#[inline(never)]
fn cast(input: &Tensor, dtype: DType) -> Result<Option<Tensor>> {
    if !matches!(input.dtype(), DType::F16 | DType::F32) || input.dtype() == dtype {
        return Ok(None);
    }
    let refused = |error: Error| match error {
        Error::Unsupported { device, message } => {
            Error::Unsupported { device, message: format!("mixed precision (autocast): {message}") }
        }
        other => other,
    };
    // A number takes the dtype it would have been given there, and loses nothing on the way.
    if let Some(number) = input.number() {
        return Tensor::try_full(input.shape(), number, (dtype, input.device())).map_err(refused).map(Some);
    }
    if dtype == LOWER
        && let Some(copy) = input.lower_copy()
    {
        return Ok(Some(copy));
    }
    input.try_to_dtype(dtype).map_err(refused).map(Some)
}

/// An error in a scope, for what is not safe in f16.
pub(crate) fn refuse(op: &'static str, instead: &'static str) -> Result<()> {
    match is_autocast_enabled() {
        true => {
            let message = format!("it is not safe in mixed precision; use {instead}, or autocast(false, …)");
            Err(Error::argument(op, message))
        }
        false => Ok(()),
    }
}
