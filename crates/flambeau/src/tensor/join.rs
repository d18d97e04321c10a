//! Putting tensors together: cat, stack and their kin.
//!
//! A few neighbours at a time are read, masked, by one kernel that chooses among them by its coordinate; many inputs
//! are joined in compact groups first, so that each value is copied a logarithmic number of times, not once per group.

use super::{Tensor, twins};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::op::Saves;
use crate::shape::Shape;
use std::borrow::Borrow;

/// Inputs one kernel joins: it binds seven buffers, one of them its result.
const GROUP: usize = 6;

impl Tensor {
    twins! {
        /// The tensors one after the other along `dim`; the other dimensions must agree. Dtypes are promoted. As in
        /// PyTorch, tensors of shape `[0]` are left out beside tensors of another rank.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let (a, b) = (Tensor::new([[1.0], [2.0]], &device), Tensor::new([[3.0, 4.0], [5.0, 6.0]], &device));
        /// assert_eq!(Tensor::cat(&[&a, &b], 1).to_string(), "tensor([[1., 3., 4.],\n        [2., 5., 6.]])");
        /// ```
        cat / try_cat[T: Borrow<Tensor>](tensors: &[T], dim: isize) -> Tensor {
            let all: Vec<&Tensor> = tensors.iter().map(Borrow::borrow).collect();
            let legacy = |tensor: &Tensor| tensor.shape().dims() == [0];
            let first = all.iter().find(|tensor| !legacy(tensor)).or(all.first());
            let first = first.ok_or_else(|| Error::argument("cat", "at least one tensor is needed"))?;
            if first.rank() == 0 {
                return Err(Error::shape("cat", "tensors of shape [] have no dimension to join; use stack"));
            }
            let dim = first.shape().dim("cat", dim)?;
            let dtype = all.iter().map(|tensor| tensor.dtype()).reduce(DType::promote).unwrap_or(DType::F32);
            let mut parts = Vec::with_capacity(all.len());
            for tensor in &all {
                if legacy(tensor) && first.rank() != 1 {
                    continue;
                }
                if tensor.rank() != first.rank() || tensor.shape().with(dim, 0) != first.shape().with(dim, 0) {
                    let message = format!(
                        "shapes {} and {} differ outside dimension {dim}", first.shape(), tensor.shape());
                    return Err(Error::shape("cat", message));
                }
                parts.push(tensor.try_to_dtype(dtype)?);
            }
            join(parts, dim)
        }

        /// The tensors, all of one shape, along a new dimension.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let (a, b) = (Tensor::new([1.0, 2.0], &device), Tensor::new([3.0, 4.0], &device));
        /// assert_eq!(Tensor::stack(&[&a, &b], 0).to_string(), "tensor([[1., 2.],\n        [3., 4.]])");
        /// assert_eq!(Tensor::stack(&[a, b], -1).to_string(), "tensor([[1., 3.],\n        [2., 4.]])");
        /// ```
        stack / try_stack[T: Borrow<Tensor>](tensors: &[T], dim: isize) -> Tensor {
            let all: Vec<&Tensor> = tensors.iter().map(Borrow::borrow).collect();
            let first = *all.first().ok_or_else(|| Error::argument("stack", "at least one tensor is needed"))?;
            if let Some(other) = all.iter().find(|tensor| tensor.shape() != first.shape()) {
                let message = format!("shapes {} and {} differ", first.shape(), other.shape());
                return Err(Error::shape("stack", message));
            }
            let dim = first.shape().inserted(0, 1).dim("stack", dim)? as isize;
            let raised = all.iter().map(|tensor| tensor.try_unsqueeze(dim)).collect::<Result<Vec<_>>>()?;
            Tensor::try_cat(&raised, dim)
        }

        /// The tensors side by side: joined along dimension 1, or 0 for vectors and numbers.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let (a, b) = (Tensor::new([1.0, 2.0], &device), Tensor::new([3.0], &device));
        /// assert_eq!(Tensor::hstack(&[a, b]).to_string(), "tensor([1., 2., 3.])");
        /// ```
        hstack / try_hstack[T: Borrow<Tensor>](tensors: &[T]) -> Tensor {
            let raise = |tensor: &Tensor| if tensor.rank() == 0 { tensor.try_unsqueeze(0) } else { Ok(tensor.clone()) };
            let raised = tensors.iter().map(|tensor| raise(tensor.borrow())).collect::<Result<Vec<_>>>()?;
            let vectors = raised.first().is_none_or(|first| first.rank() == 1);
            Tensor::try_cat(&raised, if vectors { 0 } else { 1 })
        }

        /// The tensors below each other: joined along dimension 0, vectors counting as rows.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let (a, b) = (Tensor::new([1.0, 2.0], &device), Tensor::new([3.0, 4.0], &device));
        /// assert_eq!(Tensor::vstack(&[a, b]).shape().dims(), [2, 2]);
        /// ```
        vstack / try_vstack[T: Borrow<Tensor>](tensors: &[T]) -> Tensor {
            let raise = |tensor: &Tensor| match tensor.rank() {
                0 => tensor.try_reshape([1, 1]),
                1 => tensor.try_unsqueeze(0),
                _ => Ok(tensor.clone()),
            };
            let raised = tensors.iter().map(|tensor| raise(tensor.borrow())).collect::<Result<Vec<_>>>()?;
            Tensor::try_cat(&raised, 0)
        }
    }
}

/// Joins tensors that agree in all but `dim`, in groups, then the groups.
#[track_caller]
fn join(mut parts: Vec<Tensor>, dim: usize) -> Result<Tensor> {
    while parts.len() > 1 {
        parts = parts.chunks(GROUP).map(|group| join_group(group, dim)).collect::<Result<Vec<_>>>()?;
    }
    parts.pop().ok_or_else(|| Error::argument("cat", "at least one tensor is needed"))
}

/// Joins a few tensors in one kernel. Derivative: each gets its slice of the gradient.
#[track_caller]
fn join_group(parts: &[Tensor], dim: usize) -> Result<Tensor> {
    let [first, ..] = parts else { return Err(Error::argument("cat", "at least one tensor is needed")) };
    if parts.len() == 1 {
        return Ok(first.clone());
    }
    let lengths: Vec<usize> = parts.iter().map(|part| part.shape()[dim]).collect();
    let starts: Vec<usize> = lengths
        .iter()
        .scan(0, |end, &length| {
            *end += length;
            Some(*end - length)
        })
        .collect();
    let total = lengths.iter().fold(0, |sum: usize, &length| sum.saturating_add(length));
    let shape: Shape = first.shape().with(dim, total);
    shape.check("cat")?;
    let forward = || {
        let place = first.iota_of(&shape, dim)?;
        let mut joined: Option<Tensor> = None;
        for (part, &start) in parts.iter().zip(&starts) {
            let placed = part.embed(dim, shape[dim], start as i64, 1)?;
            joined = Some(match joined {
                None => placed,
                Some(before) => place.try_gt(start as i64 - 1)?.try_where_cond(&placed, &before)?,
            });
        }
        joined.ok_or_else(|| Error::argument("cat", "at least one tensor is needed"))
    };
    let inputs: Vec<&Tensor> = parts.iter().collect();
    let slices: Vec<(usize, usize)> = starts.iter().copied().zip(lengths.iter().copied()).collect();
    Tensor::with_rule("cat", Saves::NOTHING, &inputs, forward, move |v| {
        let slice =
            |&(start, length): &(usize, usize)| v.grad().try_narrow(dim as isize, start, length).map(Some);
        slices.iter().map(slice).collect()
    })
}
