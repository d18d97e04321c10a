//! `vmap`: a function of one sample, made one of a batch.

use super::tensors::{Outcome, Tensors};
use super::trace::{Trace, Wanted};
use crate::autograd::record_draws;
use crate::error::{Error, Result, expect};
use crate::shape::{Dims, Shape};
use crate::tensor::Tensor;

/// What random numbers a batched function draws.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Randomness {
    /// Drawing any is an error.
    #[default]
    Error,
    /// Every sample draws its own.
    Different,
    /// All samples have the same ones.
    Same,
}

/// How [`vmap_with`] batches a function.
#[derive(Debug, Clone, Default)]
pub struct VmapOptions {
    /// For each part of the input (each element of a tuple or a list; a tensor is one part), the dimension that has the samples;
    /// `None` for a part that is the same for all. Empty: the first dimension of everything.
    pub in_dims: Vec<Option<isize>>,
    /// For each part of the output, the dimension that gets the samples. Empty: the first one of everything.
    pub out_dims: Vec<isize>,
    /// What random numbers are drawn.
    pub randomness: Randomness,
}

/// `f` for every sample of a batch at once: the function runs once, for one sample, and what it did is done for all of them along a
/// new dimension.
///
/// The samples lie along the first dimension of every input, and of every output; [`vmap_with`] has other dimensions, inputs
/// that are the same for all samples, and random numbers. What `f` captures is the same for all samples, too. Derivatives flow
/// through the results, to inputs and to what was captured, and may be taken inside of `f`.
///
/// `f` sees tensors without numbers: reading one (`item`, printing, `if` on a value) is an error that says so.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::func::{grad, vmap};
/// let device = Device::cpu();
/// let dot = vmap(|(a, b): &(Tensor, Tensor)| (a * b).sum(..));
/// let rows = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &device);
/// assert_eq!(dot(&(rows.clone(), rows.clone())).to_string(), "tensor([ 5., 25.])");
///
/// // The gradient of every sample.
/// let slopes = vmap(grad(|x: &Tensor| x.pow(3.0).sum(..)))(&rows);
/// assert_eq!(slopes.to_string(), "tensor([[ 3., 12.],\n        [27., 48.]])");
/// ```
pub fn vmap<X, R>(f: impl Fn(&X) -> R) -> impl Fn(&X) -> R::Tensors
where
    X: Tensors,
    R: Outcome,
{
    vmap_with(f, VmapOptions::default())
}

/// [`vmap`], or the error instead of a panic.
pub fn try_vmap<X, R>(f: impl Fn(&X) -> R) -> impl Fn(&X) -> Result<R::Tensors>
where
    X: Tensors,
    R: Outcome,
{
    try_vmap_with(f, VmapOptions::default())
}

/// A function of vectors, applied to every line along a dimension: in its place are the dimensions of the results.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::func::apply_along_axis;
/// let x = Tensor::new([[3.0, 1.0], [4.0, 2.0]], &Device::cpu());
/// let spread = |line: &Tensor| line.max(..) - line.min(..);
/// assert_eq!(apply_along_axis(spread, 0, &x).to_string(), "tensor([1., 1.])");
/// assert_eq!(apply_along_axis(spread, 1, &x).to_string(), "tensor([2., 2.])");
/// ```
#[track_caller]
pub fn apply_along_axis<R>(f: impl Fn(&Tensor) -> R, dim: isize, x: &Tensor) -> Tensor
where
    R: Outcome<Tensors = Tensor>,
{
    expect(try_apply_along_axis(f, dim, x))
}

/// [`apply_along_axis`], or the error instead of a panic.
#[track_caller]
pub fn try_apply_along_axis<R>(f: impl Fn(&Tensor) -> R, dim: isize, x: &Tensor) -> Result<Tensor>
where
    R: Outcome<Tensors = Tensor>,
{
    let lines = x.try_movedim(dim, -1)?;
    let (leading, length) = (&lines.shape().dims()[..x.rank() - 1], lines.size(-1));
    let results = try_vmap(f)(&lines.try_reshape([lines.numel() / length.max(1), length])?)?;
    let of_line = &results.shape().dims()[1..];
    let results = results.try_reshape(leading.iter().chain(of_line).copied().collect::<Shape>())?;
    let dim = if dim < 0 { dim + x.rank() as isize } else { dim };
    let from = (0..of_line.len()).map(|k| (leading.len() + k) as isize).collect();
    let to = (0..of_line.len()).map(|k| dim + k as isize).collect();
    results.try_movedim(Dims::Some(from), Dims::Some(to))
}

/// [`vmap`] along chosen dimensions, with inputs that are the same for all samples, or with random numbers.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::func::{Randomness, VmapOptions, vmap_with};
/// let device = Device::cpu();
/// let (matrix, columns) = (Tensor::new([[0.0, 1.0], [2.0, 0.0]], &device), Tensor::eye(2, &device));
/// let options = VmapOptions { in_dims: vec![None, Some(1)], out_dims: vec![1], ..Default::default() };
/// let product = vmap_with(|(m, column): &(Tensor, Tensor)| m.matmul(column), options);
/// assert_eq!(product(&(matrix, columns)).to_string(), "tensor([[0., 1.],\n        [2., 0.]])");
///
/// let noise = |x: &Tensor| x + Tensor::rand((), &Generator::new(1), &device);
/// let options = VmapOptions { randomness: Randomness::Same, ..Default::default() };
/// let same = vmap_with(noise, options)(&Tensor::zeros([3], &device)).to_vec_blocking::<f32>()?;
/// assert!(same[0] == same[1] && same[1] == same[2]);
/// # Ok::<(), Error>(())
/// ```
pub fn vmap_with<X, R>(f: impl Fn(&X) -> R, options: VmapOptions) -> impl Fn(&X) -> R::Tensors
where
    X: Tensors,
    R: Outcome,
{
    let batched = try_vmap_with(f, options);
    move |x| expect(batched(x))
}

/// [`vmap_with`], or the error instead of a panic.
pub fn try_vmap_with<X, R>(f: impl Fn(&X) -> R, options: VmapOptions) -> impl Fn(&X) -> Result<R::Tensors>
where
    X: Tensors,
    R: Outcome,
{
    move |x| {
        let mut made = None;
        let mut call = |samples: &[Tensor]| {
            let y = f(&x.with_list(samples)?).into_result()?;
            let (list, parts) = (y.to_list(), y.parts());
            made = Some(y);
            Ok((list, parts))
        };
        let results = run(&x.to_list(), &x.parts(), &options, &mut call)?;
        let y = made.ok_or_else(|| Error::argument("vmap", "the function was not called"))?;
        y.with_list(&results)
    }
}

/// Tensors in order, and how many of them each part has.
type Listed = (Vec<Tensor>, Vec<usize>);

/// Batches a function of listed tensors.
fn run(
    inputs: &[Tensor],
    parts: &[usize],
    options: &VmapOptions,
    f: &mut dyn FnMut(&[Tensor]) -> Result<Listed>,
) -> Result<Vec<Tensor>> {
    let dims = per_tensor("in_dims", &options.in_dims, Some(0), parts)?;
    let mut batches = Vec::new();
    for (input, dim) in inputs.iter().zip(&dims) {
        if let Some(dim) = dim {
            batches.push(input.try_movedim(input.shape().dim("vmap", *dim)? as isize, 0)?);
        }
    }
    let Some(size) = batches.first().map(|batch| batch.shape()[0]) else {
        return Err(Error::argument("vmap", "no input has a dimension with samples"));
    };
    if let Some(other) = batches.iter().find(|batch| batch.shape()[0] != size) {
        let message = format!("inputs have {size} and {} samples", other.shape()[0]);
        return Err(Error::shape("vmap", message));
    }
    let differ = options.randomness == Randomness::Different;
    let record = || {
        Trace::record(size, differ, &batches, |placeholders| {
            let mut placeholders = placeholders.iter();
            let samples = inputs.iter().zip(&dims).map(|(input, dim)| match dim {
                Some(_) => placeholders.next().cloned().expect("one placeholder for each batch"),
                None => input.clone(),
            });
            f(&samples.collect::<Vec<_>>())
        })
    };
    let (recorded, draws) = record_draws(record);
    let (trace, entries, (outputs, parts)) = recorded?;
    if options.randomness == Randomness::Error && !draws.is_empty() {
        let message = "random numbers were drawn; `VmapOptions::randomness` says whether samples get different ones or the same";
        return Err(Error::argument("vmap", message));
    }
    let out_dims = per_tensor("out_dims", &options.out_dims, 0, &parts)?;
    let values: Vec<(Tensor, Wanted)> = outputs.into_iter().map(|output| (output, Wanted::Each)).collect();
    let results = trace.batch(&values, entries, &[])?;
    let placed = results.iter().zip(out_dims).map(|(result, dim)| match dim {
        0 => Ok(result.clone()),
        dim => result.try_movedim(0, result.shape().dim("vmap", dim)? as isize),
    });
    placed.collect()
}

/// What an option says of each tensor, where it says one thing for each part, or nothing.
fn per_tensor<T: Copy>(option: &str, given: &[T], default: T, parts: &[usize]) -> Result<Vec<T>> {
    if !given.is_empty() && given.len() != parts.len() {
        let message = format!("{option} has {} entries for {} parts", given.len(), parts.len());
        return Err(Error::argument("vmap", message));
    }
    let of_part = |part: usize| given.get(part).copied().unwrap_or(default);
    Ok(parts.iter().enumerate().flat_map(|(part, &count)| vec![of_part(part); count]).collect())
}
