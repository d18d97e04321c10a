//! Sets: distinct elements and slices, and what two vectors have in common. Where the number of results depends on the values, it
//! is read: those functions are async.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::shape::Shape;
use crate::tensor::{Tensor, twins};

/// What [`Tensor::unique_all`] and [`Tensor::unique_consecutive`] find.
#[derive(Debug, Clone)]
pub struct UniqueAll {
    /// The distinct elements or slices.
    pub values: Tensor,
    /// Where each of them comes first (I32).
    pub indices: Tensor,
    /// For each element or slice the number of its value in `values` (I32).
    pub inverse: Tensor,
    /// How often each of them comes (I32).
    pub counts: Tensor,
}

/// Rows (n, k) in an order in which equal ones are neighbours; `order` says where they come from.
struct Ordered {
    rows: Tensor,
    order: Tensor,
}

impl Ordered {
    /// What the runs of equal rows say: places of their firsts in `order`, numbers of runs for each row, and lengths.
    async fn runs(&self) -> Result<(Tensor, Tensor, Tensor)> {
        let n = self.rows.size(0);
        let ints = |condition: &Tensor| condition.try_to_dtype(DType::I32);
        let (before, after) = (self.rows.try_narrow(0, 0, n - 1)?, self.rows.try_narrow(0, 1, n - 1)?);
        let mut same = before.try_eq(&after)?;
        if self.rows.dtype().is_float() {
            same = same.try_bitor(&before.try_isnan()?.try_bitand(&after.try_isnan()?)?)?;
        }
        let new = ints(&same.try_all(1)?.try_logical_not()?)?;
        let starts = Tensor::try_cat(&[Tensor::try_full([1], 1, self.rows.device())?, new], 0)?;
        let number = starts.try_cumsum(0)?.try_sub(1)?;
        crate::tensor::eval(&[&starts, &number])?;
        let count = number.try_select(0, -1)?.item().await? as usize + 1;
        // A stable sort of flags puts those that are set in front, in order.
        let first = starts.try_argsort(0, true)?.try_narrow(0, 0, count)?;
        let end = Tensor::try_full([1], n as i64, self.rows.device())?;
        let counts = Tensor::try_cat(&[first.clone(), end], 0)?.try_diff(1, 0)?;
        Ok((first, number, counts))
    }
}

impl Tensor {
    /// The tensor as rows to compare: slices along `dim`, or elements.
    #[track_caller]
    fn as_compared(&self, op: &'static str, dim: Option<isize>) -> Result<(Tensor, usize)> {
        let x = self.detach();
        match dim {
            None => Ok((x.try_reshape([self.numel(), 1])?, 0)),
            Some(dim) => {
                let axis = self.shape().dim(op, dim)?;
                let n = self.shape()[axis];
                let width = self.numel().checked_div(n).unwrap_or(0);
                Ok((x.try_movedim(axis as isize, 0)?.try_reshape([n, width])?, axis))
            }
        }
    }

    async fn distinct(&self, op: &'static str, dim: Option<isize>, sorted: bool) -> Result<UniqueAll> {
        let (rows, axis) = self.as_compared(op, dim)?;
        let (n, width) = (rows.size(0), rows.size(1));
        let places = Tensor::try_arange(0, n as i64, 1, self.device())?;
        if n == 0 {
            let inverse = if dim.is_none() { places.try_reshape(self.shape())? } else { places.clone() };
            return Ok(UniqueAll { values: self.detach(), indices: places.clone(), inverse, counts: places });
        }
        let order = match sorted {
            true if width > 0 => {
                let keys: Vec<Tensor> = rows.try_unbind(1)?.into_iter().rev().collect();
                Tensor::try_lexsort(&keys)?
            }
            _ => places,
        };
        let ordered = Ordered { rows: rows.try_index_select(0, &order)?, order };
        let (first, number, counts) = ordered.runs().await?;
        let indices = ordered.order.try_gather(0, &first)?;
        let inverse = number.try_gather(0, &ordered.order.try_argsort(0, false)?)?;
        let values = match dim {
            None => ordered.rows.try_index_select(0, &first)?.try_squeeze(1)?,
            Some(_) => self.detach().try_index_select(axis as isize, &indices)?,
        };
        let inverse = if dim.is_none() { inverse.try_reshape(self.shape())? } else { inverse };
        Ok(UniqueAll { values, indices, inverse, counts })
    }

    /// The distinct elements in increasing order, or with a dimension the distinct slices along it; NaN is taken as equal to NaN, as
    /// in NumPy. The number of values depends on the data, so this reads it.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// # flambeau::block_on(async {
    /// let x = Tensor::new([[3, 1], [2, 2], [3, 1]], &Device::cpu());
    /// let rows = x.unique_all(Some(0)).await?;
    /// assert_eq!(rows.values.to_string(), "tensor([[2, 2],\n        [3, 1]], dtype=i32)");
    /// assert_eq!(rows.indices.to_string(), "tensor([1, 0], dtype=i32)");
    /// assert_eq!(rows.inverse.to_string(), "tensor([1, 0, 1], dtype=i32)");
    /// assert_eq!(rows.counts.to_string(), "tensor([1, 2], dtype=i32)");
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    pub async fn unique_all(&self, dim: Option<isize>) -> Result<UniqueAll> {
        self.distinct("unique_all", dim, true).await
    }

    /// The elements, or slices along a dimension, without those that are equal to the one before. The number of values depends on the
    /// data, so this reads it.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// # flambeau::block_on(async {
    /// let runs = Tensor::new([1, 1, 2, 2, 2, 1], &Device::cpu()).unique_consecutive(None).await?;
    /// assert_eq!(runs.values.to_string(), "tensor([1, 2, 1], dtype=i32)");
    /// assert_eq!(runs.counts.to_string(), "tensor([2, 3, 1], dtype=i32)");
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    pub async fn unique_consecutive(&self, dim: Option<isize>) -> Result<UniqueAll> {
        self.distinct("unique_consecutive", dim, false).await
    }

    twins! {
        /// Which elements are among those of `others`? NaN is in no set.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[0, 2], [4, 6]], &Device::cpu());
        /// let others = Tensor::new([6, 2, 9], &Device::cpu());
        /// assert_eq!(x.isin(&others).to_string(), "tensor([[False,  True],\n        [False,  True]])");
        /// ```
        isin / try_isin(&self, others: &Tensor) -> Tensor {
            let n = others.numel();
            if n == 0 || self.numel() == 0 {
                return Tensor::try_full(self.shape(), false, (DType::Bool, self.device()));
            }
            let dtype = self.dtype().promote(others.dtype());
            let numbers = |x: &Tensor| x.detach().try_to_dtype(if dtype == DType::Bool { DType::I32 } else { dtype });
            let (x, others) = (numbers(self)?.try_reshape(self.numel())?, numbers(others)?.try_reshape(n)?);
            let sorted = others.try_sort(0, false)?.0;
            let place = sorted.try_searchsorted(&x, false)?.try_clamp_max(n as i64 - 1)?;
            sorted.try_gather(0, &place)?.try_eq(&x)?.try_reshape(self.shape())
        }
    }

    /// The sorted distinct elements that both have. This reads.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// # flambeau::block_on(async {
    /// let (x, y) = (Tensor::new([1, 3, 4, 3], &Device::cpu()), Tensor::new([3, 1, 2, 1], &Device::cpu()));
    /// assert_eq!(x.intersect1d(&y).await?.to_string(), "tensor([1, 3], dtype=i32)");
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    pub async fn intersect1d(&self, other: &Tensor) -> Result<Tensor> {
        let own = self.unique_all(None).await?.values;
        own.masked_select(&own.try_isin(other)?).await
    }

    /// The sorted distinct elements that one of both has. This reads.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// # flambeau::block_on(async {
    /// let (x, y) = (Tensor::new([1, 3], &Device::cpu()), Tensor::new([3, 2], &Device::cpu()));
    /// assert_eq!(x.union1d(&y).await?.to_string(), "tensor([1, 2, 3], dtype=i32)");
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    pub async fn union1d(&self, other: &Tensor) -> Result<Tensor> {
        let flat = |x: &Tensor| x.try_reshape(Shape::from(x.numel()));
        let both = Tensor::try_cat(&[flat(self)?, flat(other)?], 0)?;
        Ok(both.unique_all(None).await?.values)
    }

    /// The sorted distinct elements of this tensor that the other does not have. This reads.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// # flambeau::block_on(async {
    /// let (x, y) = (Tensor::new([4, 1, 3], &Device::cpu()), Tensor::new([3, 2], &Device::cpu()));
    /// assert_eq!(x.setdiff1d(&y).await?.to_string(), "tensor([1, 4], dtype=i32)");
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    pub async fn setdiff1d(&self, other: &Tensor) -> Result<Tensor> {
        let own = self.unique_all(None).await?.values;
        own.masked_select(&own.try_isin(other)?.try_logical_not()?).await
    }

    /// The sorted distinct elements that exactly one of both has. This reads.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// # flambeau::block_on(async {
    /// let (x, y) = (Tensor::new([4, 1, 3], &Device::cpu()), Tensor::new([3, 2], &Device::cpu()));
    /// assert_eq!(x.setxor1d(&y).await?.to_string(), "tensor([1, 2, 4], dtype=i32)");
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    pub async fn setxor1d(&self, other: &Tensor) -> Result<Tensor> {
        let parts = [self.setdiff1d(other).await?, other.setdiff1d(self).await?];
        Ok(Tensor::try_cat(&parts, 0)?.try_sort(0, false)?.0)
    }

    /// A vector without its zeros in front and behind. This reads.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// # flambeau::block_on(async {
    /// let x = Tensor::new([0, 0, 1, 0, 2, 0], &Device::cpu());
    /// assert_eq!(x.trim_zeros().await?.to_string(), "tensor([1, 0, 2], dtype=i32)");
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    pub async fn trim_zeros(&self) -> Result<Tensor> {
        if self.rank() != 1 {
            return Err(Error::shape("trim_zeros", format!("shape {} is not a vector's", self.shape())));
        }
        let places = self.flatnonzero().await?.to_vec::<i32>().await?;
        let (first, last) = (places.first().copied().unwrap_or(0), places.last().map_or(0, |last| last + 1));
        self.try_narrow(0, first as usize, (last - first) as usize)
    }
}

/// The same, blocking.
#[cfg(not(target_arch = "wasm32"))]
impl Tensor {
    /// [`unique_all`](Tensor::unique_all), blocking.
    pub fn unique_all_blocking(&self, dim: Option<isize>) -> Result<UniqueAll> {
        pollster::block_on(self.unique_all(dim))
    }

    /// [`unique_consecutive`](Tensor::unique_consecutive), blocking.
    pub fn unique_consecutive_blocking(&self, dim: Option<isize>) -> Result<UniqueAll> {
        pollster::block_on(self.unique_consecutive(dim))
    }

    /// [`intersect1d`](Tensor::intersect1d), blocking.
    pub fn intersect1d_blocking(&self, other: &Tensor) -> Result<Tensor> {
        pollster::block_on(self.intersect1d(other))
    }

    /// [`union1d`](Tensor::union1d), blocking.
    pub fn union1d_blocking(&self, other: &Tensor) -> Result<Tensor> {
        pollster::block_on(self.union1d(other))
    }

    /// [`setdiff1d`](Tensor::setdiff1d), blocking.
    pub fn setdiff1d_blocking(&self, other: &Tensor) -> Result<Tensor> {
        pollster::block_on(self.setdiff1d(other))
    }

    /// [`setxor1d`](Tensor::setxor1d), blocking.
    pub fn setxor1d_blocking(&self, other: &Tensor) -> Result<Tensor> {
        pollster::block_on(self.setxor1d(other))
    }

    /// [`trim_zeros`](Tensor::trim_zeros), blocking.
    pub fn trim_zeros_blocking(&self) -> Result<Tensor> {
        pollster::block_on(self.trim_zeros())
    }
}
