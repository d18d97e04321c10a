//! Random orders and choices.

use super::discrete::thresholds;
use super::{Draw, draws};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::rng::Generator;
use crate::shape::Shape;
use crate::tensor::{Tensor, TensorOptions};

/// Probabilities as they are drawn by.
fn checked(draw: &Draw, probabilities: &[f64]) -> Result<()> {
    let total: f64 = probabilities.iter().sum();
    let is_fine = probabilities.iter().all(|p| *p >= 0.0) && (total - 1.0).abs() < 1e-4;
    match is_fine {
        true => Ok(()),
        false => {
            draw.refuse(format!("{} probabilities that add up to {total}, not to 1", probabilities.len()))
        }
    }
}

/// The numbers of categories, with these probabilities (I32).
#[track_caller]
fn categories(draw: &Draw, probabilities: &[f64]) -> Result<Tensor> {
    let sums = thresholds(probabilities);
    let table = Tensor::try_from_slice(&sums, sums.len(), draw.options.device())?;
    table.try_searchsorted(&draw.bits(), true)
}

draws! {
    /// The slices along a dimension in random order, every order as likely as any other.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Tensor::new([1, 2, 3], &Device::cpu());
    /// let y = Generator::new(1).permutation(&x, 0);
    /// assert_eq!(y.sort(0, false).0.to_string(), x.to_string());
    /// ```
    permutation / try_permutation(&self, x: &Tensor, dim: isize) {
        let axis = x.shape().dim("permutation", dim)?;
        x.try_index_select(dim, &Tensor::try_randperm(x.shape()[axis], self, x.device())?)
    }

    /// The elements along a dimension in random order, each line by itself.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Tensor::new([[1, 2, 3], [4, 5, 6]], &Device::cpu());
    /// let y = Generator::new(1).permuted(&x, 1);
    /// assert_eq!(y.sort(1, false).0.to_string(), x.to_string());
    /// ```
    permuted / try_permuted(&self, x: &Tensor, dim: isize) {
        x.shape().dim("permuted", dim)?;
        let keys = Tensor::bits(x.shape(), self, x.device());
        x.try_gather(dim, &keys.try_argsort(dim, false)?)
    }

    /// Numbers from 0 to n − 1 (I32), each as likely as any other; without replacement no number comes twice.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Generator::new(1).choice(5, [5], false, &Device::cpu());
    /// assert_eq!(x.sort(0, false).0.to_string(), "tensor([0, 1, 2, 3, 4], dtype=i32)");
    /// ```
    choice / try_choice(&self, n: usize, shape: impl Into<Shape>, replace: bool, options: impl Into<TensorOptions>) {
        let draw = Draw::new("choice", self, shape, options)?;
        let count = draw.shape.numel();
        if n == 0 || (!replace && count > n) {
            return draw.refuse(format!("{count} of {n} numbers"));
        }
        if replace {
            return Tensor::try_randint(0, n as i64, &draw.shape, self, &draw.options);
        }
        let order = Tensor::try_randperm(n, self, draw.options.device())?;
        order.try_narrow(0, 0, count)?.try_reshape(&draw.shape)?.try_to_dtype(draw.options.dtype_or(DType::I32))
    }

    /// Numbers from 0 to n − 1 (I32) with n probabilities; without replacement no number comes twice, and what is left keeps its proportions.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Generator::new(1).choice_with(&[0.0, 0.25, 0.75], [10000], true, &Device::cpu());
    /// assert!((x.mean(..).item_blocking()? - 1.75).abs() < 0.02);
    /// # Ok::<(), Error>(())
    /// ```
    choice_with / try_choice_with(&self,
        probabilities: &[f64], shape: impl Into<Shape>, replace: bool, options: impl Into<TensorOptions>,
    ) {
        let draw = Draw::new("choice_with", self, shape, options)?;
        checked(&draw, probabilities)?;
        let (count, dtype) = (draw.shape.numel(), draw.options.dtype_or(DType::I32));
        if replace {
            return categories(&draw, probabilities)?.try_to_dtype(dtype);
        }
        let possible = probabilities.iter().filter(|p| **p > 0.0).count();
        if count > possible {
            return draw.refuse(format!("{count} of {possible} numbers"));
        }
        // Who waits the shortest, each with its own rate, comes first: exponential numbers, here as −ln u / p.
        let whole = Draw::new("choice_with", self, probabilities.len(), draw.options.device())?;
        let rates: Vec<f32> = probabilities.iter().map(|p| *p as f32).collect();
        let rates = Tensor::try_from_slice(&rates, rates.len(), draw.options.device())?;
        let waits = whole.uniform()?.try_log()?.try_neg()?.try_div(&rates)?;
        let never = rates.try_eq(0.0)?.try_where_cond(f64::INFINITY, waits)?;
        never.try_argsort(0, false)?.try_narrow(0, 0, count)?.try_reshape(&draw.shape)?.try_to_dtype(dtype)
    }

    /// How often each of K outcomes comes in n trials (I32), with K probabilities: (…shape, K). It takes n numbers for each result.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Generator::new(1).multinomial(20, &[0.5, 0.5, 0.0], [2], &Device::cpu());
    /// assert_eq!(x.sum(-1).to_string(), "tensor([20, 20], dtype=i32)");
    /// ```
    multinomial / try_multinomial(&self,
        n: usize, probabilities: &[f64], shape: impl Into<Shape>, options: impl Into<TensorOptions>,
    ) {
        let (shape, options) = (shape.into(), options.into());
        let trials = Draw::new("multinomial", self, [shape.numel(), n], &options)?;
        checked(&trials, probabilities)?;
        let results = shape.iter().copied().chain([probabilities.len()]).collect::<Shape>();
        counted(&categories(&trials, probabilities)?, probabilities.len())?.try_reshape(results)?
            .try_to_dtype(options.dtype_or(DType::I32))
    }

    /// How many things of each kind there are among `sample` that are drawn without being put back (I32); `kinds` says how many there are of
    /// each: (…shape, K).
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Generator::new(1).multivariate_hypergeometric(&[3, 2, 5], 10, [2], &Device::cpu());
    /// assert_eq!(x.to_string(), "tensor([[3, 2, 5],\n        [3, 2, 5]], dtype=i32)");
    /// ```
    multivariate_hypergeometric / try_multivariate_hypergeometric(&self,
        kinds: &[usize], sample: usize, shape: impl Into<Shape>, options: impl Into<TensorOptions>,
    ) {
        let (shape, options) = (shape.into(), options.into());
        let things: Vec<i32> =
            kinds.iter().enumerate().flat_map(|(kind, &count)| std::iter::repeat_n(kind as i32, count)).collect();
        let total = things.len();
        if sample > total || total == 0 {
            return Err(Error::argument("multivariate_hypergeometric", format!("{sample} of {total} things")));
        }
        let draw = Draw::new("multivariate_hypergeometric", self, [shape.numel(), total], &options)?;
        let drawn = draw.bits().try_argsort(1, false)?.try_narrow(1, 0, sample)?;
        let things = Tensor::try_from_slice(&things, total, options.device())?;
        let drawn = things.try_take(&drawn, Default::default())?;
        let results = shape.iter().copied().chain([kinds.len()]).collect::<Shape>();
        counted(&drawn, kinds.len())?.try_reshape(results)?.try_to_dtype(options.dtype_or(DType::I32))
    }
}

/// How often each number comes in each row: (rows, n) → (rows, count).
#[track_caller]
fn counted(numbers: &Tensor, count: usize) -> Result<Tensor> {
    let zeros = Tensor::try_full([numbers.size(0), count], 0, numbers.device())?;
    zeros.try_scatter_add(1, numbers, 1)
}
