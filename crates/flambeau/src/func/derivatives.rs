//! Derivatives of functions: gradients, products with Jacobians from either side, linear approximations.
//!
//! Reverse mode is autograd's backward pass from a recorded call. Forward mode is two of them: with u in place of the gradient of
//! f(x), backward gives Jᵀu, which is linear in u; the derivative of ⟨Jᵀu, v⟩ with respect to u is J v. No op needs a second
//! rule for that, every op that has a second derivative has it, and what only Jᵀu would need is never computed: nodes that no
//! result needs are no part of a plan.

use super::marks::{captured, marked};
use super::tensors::{Outcome, Tensors};
use crate::autograd::function::next_id;
use crate::autograd::{self, BackwardOptions, is_grad_enabled, set_grad_enabled};
use crate::error::{Error, Result, expect};
use crate::tensor::Tensor;

/// A call of a function, recorded.
pub(super) struct Recorded<X, Y> {
    /// The input, marked.
    pub x: X,
    /// The output, with its history.
    pub y: Y,
    /// Does its history lead further back than the input, to something that derivatives may be taken with respect to?
    pub is_open: bool,
}

impl<X: Tensors, Y: Tensors> Recorded<X, Y> {
    pub fn new<R: Outcome<Tensors = Y>>(op: &'static str, f: impl FnOnce(&X) -> R, x: &X) -> Result<Self> {
        let first = next_id();
        let x = x.map(&mut |tensor| match tensor.dtype().is_float() {
            true => Ok(marked(tensor)),
            false => {
                let message = format!("{} has no derivatives; let the function capture it", tensor.dtype());
                Err(Error::dtype(op, message))
            }
        })?;
        let y = {
            let _recording = set_grad_enabled(true);
            f(&x).into_result()?
        };
        let outputs = y.to_list();
        let is_open = !captured(&outputs.iter().collect::<Vec<_>>(), first, || ())?.is_empty();
        Ok(Recorded { x, y, is_open })
    }

    /// Is the computation of derivatives to be recorded, given what they are multiplied by?
    fn is_differentiated_again(&self, with: &[Tensor]) -> bool {
        is_grad_enabled() && (self.is_open || with.iter().any(Tensor::is_tracked))
    }

    /// The output, with the history that the input had before.
    pub fn value(&self) -> Result<Y> {
        let is_tracked = self.is_differentiated_again(&[]);
        self.y.map(&mut |y| Ok(if is_tracked { y.clone() } else { y.detach() }))
    }

    /// Jᵀ g.
    pub fn pull_back(&self, op: &'static str, g: &Y) -> Result<X> {
        let (outputs, g) = (self.y.to_list(), g.to_list());
        same_shapes(op, &outputs, &g)?;
        let create_graph = self.is_differentiated_again(&g);
        let found = gradients(&outputs, &g, &self.x.to_list(), create_graph)?;
        self.x.with_list(&found)
    }

    /// How J is multiplied from the right.
    pub fn linearized(self) -> Result<Linear<X, Y>> {
        let u = self
            .y
            .map(&mut |y| Ok(if y.dtype().is_float() { marked(&y.zeros_like()) } else { y.clone() }))?;
        let transposed = gradients(&self.y.to_list(), &u.to_list(), &self.x.to_list(), true)?;
        Ok(Linear { recorded: self, u: u.to_list(), transposed })
    }
}

/// The derivative of a function at a place, as a linear function.
pub(super) struct Linear<X, Y> {
    recorded: Recorded<X, Y>,
    u: Vec<Tensor>,
    /// Jᵀu.
    transposed: Vec<Tensor>,
}

impl<X: Tensors, Y: Tensors> Linear<X, Y> {
    pub fn value(&self) -> Result<Y> {
        self.recorded.value()
    }

    /// J v.
    pub fn push_forward(&self, op: &'static str, v: &X) -> Result<Y> {
        let v = v.to_list();
        same_shapes(op, &self.transposed, &v)?;
        let create_graph = self.recorded.is_differentiated_again(&v);
        // An output of integers has no derivative: zeros stand for it.
        let targets: Vec<Tensor> = self.u.iter().filter(|u| u.is_tracked()).cloned().collect();
        let mut found = gradients(&self.transposed, &v, &targets, create_graph)?.into_iter();
        self.recorded.y.map(&mut |y| match y.dtype().is_float() {
            true => found.next().ok_or_else(|| Error::argument(op, "an output is missing")),
            false => Ok(y.zeros_like()),
        })
    }
}

/// The gradients of Σ ⟨outputs, g⟩; zeros where an input plays no part.
fn gradients(outputs: &[Tensor], g: &[Tensor], inputs: &[Tensor], create_graph: bool) -> Result<Vec<Tensor>> {
    let tracked = outputs.iter().zip(g).filter(|(output, _)| output.is_tracked());
    let (outputs, g): (Vec<Tensor>, Vec<Option<Tensor>>) =
        tracked.map(|(output, g)| (output.clone(), Some(g.clone()))).unzip();
    let options = BackwardOptions { retain_graph: true, create_graph };
    let found = match outputs.is_empty() {
        true => vec![None; inputs.len()],
        false => autograd::grad_with(&outputs, &g, inputs, options)?,
    };
    Ok(found
        .into_iter()
        .zip(inputs)
        .map(|(found, input)| found.unwrap_or_else(|| input.zeros_like()))
        .collect())
}

fn same_shapes(op: &'static str, wanted: &[Tensor], given: &[Tensor]) -> Result<()> {
    if wanted.len() != given.len() {
        let message = format!("{} tensors were given for {}", given.len(), wanted.len());
        return Err(Error::argument(op, message));
    }
    match wanted.iter().zip(given).find(|(wanted, given)| wanted.shape() != given.shape()) {
        Some((wanted, given)) => {
            Err(Error::shape(op, format!("shape {} was given for {}", given.shape(), wanted.shape())))
        }
        None => Ok(()),
    }
}

/// The gradient of a function that returns a number.
///
/// It has the input's structure. Arguments that no gradient is wanted of are captured. The result can be differentiated
/// again, with respect to the input and to what was captured.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::func::grad;
/// let x = Tensor::new([1.0, 2.0], &Device::cpu());
/// let slope = grad(|x: &Tensor| (x * x * x).sum(..));
/// assert_eq!(slope(&x).to_string(), "tensor([ 3., 12.])");
/// let curvature = grad(|x: &Tensor| slope(x).sum(..));
/// assert_eq!(curvature(&x).to_string(), "tensor([ 6., 12.])");
/// ```
pub fn grad<X, R>(f: impl Fn(&X) -> R) -> impl Fn(&X) -> X
where
    X: Tensors,
    R: Outcome<Tensors = Tensor>,
{
    let gradient = try_grad(f);
    move |x| expect(gradient(x))
}

/// [`grad`], or the error instead of a panic.
pub fn try_grad<X, R>(f: impl Fn(&X) -> R) -> impl Fn(&X) -> Result<X>
where
    X: Tensors,
    R: Outcome<Tensors = Tensor>,
{
    let both = try_grad_and_value(f);
    move |x| Ok(both(x)?.0)
}

/// The gradient of a function that returns a number, and the number.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::func::grad_and_value;
/// let x = Tensor::new([1.0, 2.0], &Device::cpu());
/// let (gradient, value) = grad_and_value(|x: &Tensor| (x * x).sum(..))(&x);
/// assert_eq!((gradient.to_string(), value.item_blocking()?), ("tensor([2., 4.])".into(), 5.0));
/// # Ok::<(), Error>(())
/// ```
pub fn grad_and_value<X, R>(f: impl Fn(&X) -> R) -> impl Fn(&X) -> (X, Tensor)
where
    X: Tensors,
    R: Outcome<Tensors = Tensor>,
{
    let both = try_grad_and_value(f);
    move |x| expect(both(x))
}

/// [`grad_and_value`], or the error instead of a panic.
pub fn try_grad_and_value<X, R>(f: impl Fn(&X) -> R) -> impl Fn(&X) -> Result<(X, Tensor)>
where
    X: Tensors,
    R: Outcome<Tensors = Tensor>,
{
    move |x| {
        let recorded = Recorded::new("grad", &f, x)?;
        let y = &recorded.y;
        if y.numel() != 1 || !y.dtype().is_float() {
            let message = format!("the function must return one float, not {} {}", y.dtype(), y.shape());
            return Err(Error::shape("grad", message));
        }
        Ok((recorded.pull_back("grad", &y.ones_like())?, recorded.value()?))
    }
}

/// The value of a function, and the function that multiplies the transpose of its Jacobian J by a vector: g ↦ Jᵀ g.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::func::vjp;
/// let x = Tensor::new([1.0, 2.0], &Device::cpu());
/// let (y, pull_back) = vjp(|x: &Tensor| x * x, &x);
/// assert_eq!(y.to_string(), "tensor([1., 4.])");
/// assert_eq!(pull_back(&Tensor::new([1.0, 10.0], &Device::cpu())).to_string(), "tensor([ 2., 40.])");
/// ```
#[track_caller]
pub fn vjp<X, R, F>(f: F, x: &X) -> (R::Tensors, impl Fn(&R::Tensors) -> X + use<X, R, F>)
where
    X: Tensors,
    R: Outcome,
    F: Fn(&X) -> R,
{
    let (y, pull_back) = expect(try_vjp(f, x));
    (y, move |g: &R::Tensors| expect(pull_back(g)))
}

/// [`vjp`], or the error instead of a panic.
#[expect(clippy::type_complexity, reason = "the type of a closure has no name")]
pub fn try_vjp<X, R, F>(f: F, x: &X) -> Result<(R::Tensors, impl Fn(&R::Tensors) -> Result<X> + use<X, R, F>)>
where
    X: Tensors,
    R: Outcome,
    F: Fn(&X) -> R,
{
    let recorded = Recorded::new("vjp", f, x)?;
    let y = recorded.value()?;
    Ok((y, move |g: &R::Tensors| recorded.pull_back("vjp", g)))
}

/// The value of a function, and its Jacobian J times a vector: how f(x) changes when x moves along `v`.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::func::jvp;
/// let device = Device::cpu();
/// let (x, v) = (Tensor::new([1.0, 2.0], &device), Tensor::new([1.0, 10.0], &device));
/// let (y, along) = jvp(|x: &Tensor| x * x, &x, &v);
/// assert_eq!((y.to_string(), along.to_string()), ("tensor([1., 4.])".into(), "tensor([ 2., 40.])".into()));
/// ```
#[track_caller]
pub fn jvp<X, R>(f: impl Fn(&X) -> R, x: &X, v: &X) -> (R::Tensors, R::Tensors)
where
    X: Tensors,
    R: Outcome,
{
    expect(try_jvp(f, x, v))
}

/// [`jvp`], or the error instead of a panic.
pub fn try_jvp<X, R>(f: impl Fn(&X) -> R, x: &X, v: &X) -> Result<(R::Tensors, R::Tensors)>
where
    X: Tensors,
    R: Outcome,
{
    let linear = Recorded::new("jvp", f, x)?.linearized()?;
    Ok((linear.value()?, linear.push_forward("jvp", v)?))
}

/// The value of a function, and its linear approximation: v ↦ J v. The function runs once, however often its approximation is asked.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::func::linearize;
/// let x = Tensor::new([1.0, 2.0], &Device::cpu());
/// let (y, along) = linearize(|x: &Tensor| x * x, &x);
/// assert_eq!(y.to_string(), "tensor([1., 4.])");
/// assert_eq!(along(&x).to_string(), "tensor([2., 8.])");
/// assert_eq!(along(&x.ones_like()).to_string(), "tensor([2., 4.])");
/// ```
#[track_caller]
pub fn linearize<X, R, F>(f: F, x: &X) -> (R::Tensors, impl Fn(&X) -> R::Tensors + use<X, R, F>)
where
    X: Tensors,
    R: Outcome,
    F: Fn(&X) -> R,
{
    let (y, along) = expect(try_linearize(f, x));
    (y, move |v: &X| expect(along(v)))
}

/// [`linearize`], or the error instead of a panic.
#[expect(clippy::type_complexity, reason = "the type of a closure has no name")]
pub fn try_linearize<X, R, F>(
    f: F,
    x: &X,
) -> Result<(R::Tensors, impl Fn(&X) -> Result<R::Tensors> + use<X, R, F>)>
where
    X: Tensors,
    R: Outcome,
    F: Fn(&X) -> R,
{
    let linear = Recorded::new("linearize", f, x)?.linearized()?;
    Ok((linear.value()?, move |v: &X| linear.push_forward("linearize", v)))
}
