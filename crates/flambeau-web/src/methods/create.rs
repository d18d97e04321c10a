//! New tensors, and tensors made of several.

use crate::device::current;
use flambeau::calls::{methods, scalar};
use flambeau::{DType, Generator, Result, Scalar, Tensor};

/// A number in the dtype it will have: 1 is an integer unless a float is asked for.
fn value(number: f64, dtype: Option<DType>) -> Scalar {
    match dtype {
        Some(dtype) if dtype.is_float() => Scalar::Float(number),
        Some(_) => scalar(number),
        None => Scalar::Float(number),
    }
}

fn in_dtype(tensor: Tensor, dtype: Option<DType>) -> Result<Tensor> {
    dtype.map_or(Ok(tensor.clone()), |dtype| tensor.try_to_dtype(dtype))
}

pub(super) struct Create;

methods! { Create:
    full(shape: Vec<usize>, fill: f64, dtype: Option<DType> = "?") -> Tensor {
        let options = (dtype.unwrap_or(DType::F32), &current()?);
        Tensor::try_full(shape, value(fill, dtype), options)
    }
    zeros(shape: Vec<usize>, dtype: Option<DType> = "?") -> Tensor {
        Tensor::try_full(shape, 0, (dtype.unwrap_or(DType::F32), &current()?))
    }
    ones(shape: Vec<usize>, dtype: Option<DType> = "?") -> Tensor {
        Tensor::try_full(shape, 1, (dtype.unwrap_or(DType::F32), &current()?))
    }
    zeros_like(x: Tensor) -> Tensor { Ok(x.zeros_like()) }
    ones_like(x: Tensor) -> Tensor { Ok(x.ones_like()) }
    full_like(x: Tensor, fill: f64) -> Tensor { Ok(x.full_like(scalar(fill))) }
    arange(start: f64, end: f64, step: f64 = "1", dtype: Option<DType> = "?") -> Tensor {
        let of = |number| if dtype.is_some_and(DType::is_float) { Scalar::Float(number) } else { scalar(number) };
        in_dtype(Tensor::try_arange(of(start), of(end), of(step), &current()?)?, dtype)
    }
    linspace(start: f64, end: f64, steps: usize, dtype: Option<DType> = "?") -> Tensor {
        in_dtype(Tensor::try_linspace(start, end, steps, &current()?)?, dtype)
    }
    eye(n: usize, columns: Option<usize> = "?", dtype: Option<DType> = "?") -> Tensor {
        let options = (dtype.unwrap_or(DType::F32), &current()?);
        Tensor::try_eye_rectangular(n, columns.unwrap_or(n), options)
    }
    rand(shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        Tensor::try_rand(shape, &generator, (dtype.unwrap_or(DType::F32), &current()?))
    }
    randn(shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        Tensor::try_randn(shape, &generator, (dtype.unwrap_or(DType::F32), &current()?))
    }
    randint(low: i64, high: i64, shape: Vec<usize>, generator: Generator = "?") -> Tensor {
        Tensor::try_randint(low, high, shape, &generator, &current()?)
    }
    randperm(n: usize, generator: Generator = "?") -> Tensor { Tensor::try_randperm(n, &generator, &current()?) }
    rand_like(x: Tensor, generator: Generator = "?") -> Tensor { x.try_rand_like(&generator) }
    randn_like(x: Tensor, generator: Generator = "?") -> Tensor { x.try_randn_like(&generator) }
    bernoulli(x: Tensor, generator: Generator = "?") -> Tensor { x.try_bernoulli(&generator) }
    bernoulli_p(x: Tensor, p: f64, generator: Generator = "?") -> Tensor { x.try_bernoulli_p(p, &generator) }
    cat(tensors: Vec<Tensor>, dim: isize = "0") -> Tensor { Tensor::try_cat(&tensors, dim) }
    stack(tensors: Vec<Tensor>, dim: isize = "0") -> Tensor { Tensor::try_stack(&tensors, dim) }
    hstack(tensors: Vec<Tensor>) -> Tensor { Tensor::try_hstack(&tensors) }
    vstack(tensors: Vec<Tensor>) -> Tensor { Tensor::try_vstack(&tensors) }
    meshgrid(vectors: Vec<Tensor>) -> Vec<Tensor> { Tensor::try_meshgrid(&vectors) }
    meshgrid_xy(vectors: Vec<Tensor>) -> Vec<Tensor> { Tensor::try_meshgrid_xy(&vectors) }
    einsum(equation: String, operands: Vec<Tensor>) -> Tensor { Tensor::try_einsum(&equation, &operands) }
}
