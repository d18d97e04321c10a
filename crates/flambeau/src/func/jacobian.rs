//! Jacobians and Hessians: products with all unit vectors at once, by `vmap`.

use super::derivatives::Recorded;
use super::tensors::{Outcome, Tensors};
use super::vmap::try_vmap;
use crate::error::{Error, Result, expect};
use crate::shape::Shape;
use crate::tensor::Tensor;

/// A structure with the structure `X` in place of each tensor.
type Each<Y, X> = <Y as Tensors>::Each<X>;

/// The Jacobian of a function by reverse mode: one backward pass for all elements of the output, batched. Right where outputs
/// have fewer elements than inputs.
///
/// For a tensor y of a tensor x it is a tensor of y's shape followed by x's; else it has the output's structure, and the
/// input's structure in place of each of its tensors.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::func::jacrev;
/// let x = Tensor::new([1.0, 2.0], &Device::cpu());
/// let jacobian = jacrev(|x: &Tensor| x * x.sum(..))(&x);
/// assert_eq!(jacobian.to_string(), "tensor([[4., 1.],\n        [2., 5.]])");
/// ```
pub fn jacrev<X, R>(f: impl Fn(&X) -> R) -> impl Fn(&X) -> Each<R::Tensors, X>
where
    X: Tensors,
    R: Outcome,
{
    let jacobian = try_jacrev(f);
    move |x| expect(jacobian(x))
}

/// [`jacrev`], or the error instead of a panic.
pub fn try_jacrev<X, R>(f: impl Fn(&X) -> R) -> impl Fn(&X) -> Result<Each<R::Tensors, X>>
where
    X: Tensors,
    R: Outcome,
{
    move |x| {
        let recorded = Recorded::new("jacrev", &f, x)?;
        let (outputs, mut place) = (recorded.y.to_list(), 0);
        recorded.y.each(&mut |y| {
            let at = place;
            place += 1;
            // One row for each element of y: (elements of y, …x).
            let rows = try_vmap(|unit: &Tensor| {
                let others = outputs.iter().enumerate();
                let g: Vec<Tensor> = others
                    .map(|(k, other)| if k == at { unit.clone() } else { other.zeros_like() })
                    .collect();
                recorded.pull_back("jacrev", &recorded.y.with_list(&g)?)
            })(&units("jacrev", y)?)?;
            rows.map(&mut |rows| rows.try_reshape(joined(y.shape(), &rows.shape()[1..])))
        })
    }
}

/// The Jacobian of a function by forward mode: one product with it for all elements of the input, batched. Right where inputs
/// have fewer elements than outputs. It looks as [`jacrev`]'s does.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::func::jacfwd;
/// let x = Tensor::new([1.0, 2.0], &Device::cpu());
/// let jacobian = jacfwd(|x: &Tensor| x * x.sum(..))(&x);
/// assert_eq!(jacobian.to_string(), "tensor([[4., 1.],\n        [2., 5.]])");
/// ```
pub fn jacfwd<X, R>(f: impl Fn(&X) -> R) -> impl Fn(&X) -> Each<R::Tensors, X>
where
    X: Tensors,
    R: Outcome,
{
    let jacobian = try_jacfwd(f);
    move |x| expect(jacobian(x))
}

/// [`jacfwd`], or the error instead of a panic.
pub fn try_jacfwd<X, R>(f: impl Fn(&X) -> R) -> impl Fn(&X) -> Result<Each<R::Tensors, X>>
where
    X: Tensors,
    R: Outcome,
{
    move |x| {
        let linear = Recorded::new("jacfwd", &f, x)?.linearized()?;
        let y = linear.value()?;
        let inputs = x.to_list();
        let mut columns: Vec<Vec<Tensor>> = Vec::new();
        for (at, input) in inputs.iter().enumerate() {
            // One column for each element of the input: (elements of the input, …y).
            let pushed = try_vmap(|unit: &Tensor| {
                let others = inputs.iter().enumerate();
                let v: Vec<Tensor> = others
                    .map(|(k, other)| if k == at { unit.clone() } else { other.zeros_like() })
                    .collect();
                linear.push_forward("jacfwd", &x.with_list(&v)?)
            })(&units("jacfwd", input)?)?;
            columns.push(pushed.to_list());
        }
        let mut place = 0;
        y.each(&mut |y| {
            let of_y = columns.iter().zip(&inputs).map(|(columns, input)| {
                columns[place].try_movedim(0, -1)?.try_reshape(joined(y.shape(), input.shape()))
            });
            let of_y = of_y.collect::<Result<Vec<_>>>()?;
            place += 1;
            x.with_list(&of_y)
        })
    }
}

/// The Hessian of a function that returns a number: the second derivatives, forward over reverse.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::func::hessian;
/// let x = Tensor::new([1.0, 2.0], &Device::cpu());
/// let second = hessian(|x: &Tensor| x.prod(0) * x.sum(..))(&x);
/// assert_eq!(second.to_string(), "tensor([[4., 6.],\n        [6., 2.]])");
/// ```
pub fn hessian<X, R>(f: impl Fn(&X) -> R) -> impl Fn(&X) -> Each<X, X>
where
    X: Tensors,
    R: Outcome<Tensors = Tensor>,
{
    let second = try_hessian(f);
    move |x| expect(second(x))
}

/// [`hessian`], or the error instead of a panic.
pub fn try_hessian<X, R>(f: impl Fn(&X) -> R) -> impl Fn(&X) -> Result<Each<X, X>>
where
    X: Tensors,
    R: Outcome<Tensors = Tensor>,
{
    let gradient = super::try_grad(f);
    try_jacfwd(gradient)
}

/// All unit vectors of a tensor's space: (elements, …shape).
fn units(op: &'static str, like: &Tensor) -> Result<Tensor> {
    if !like.dtype().is_float() {
        return Err(Error::dtype(op, format!("{} has no derivatives", like.dtype())));
    }
    let count = like.numel();
    Tensor::try_eye(count, (like.dtype(), like.device()))?.try_reshape(like.shape().inserted(0, count))
}

fn joined(first: &[usize], last: &[usize]) -> Shape {
    first.iter().chain(last).copied().collect()
}
