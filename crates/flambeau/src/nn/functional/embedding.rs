//! Embeddings: rows of a table, and sums of rows.

use crate::autograd::Saves;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::settings::words;
use crate::tensor::{Tensor, twins};

/// How [`Tensor::embedding_bag`] joins the rows of a bag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BagMode {
    /// Their sum.
    Sum,
    /// Their mean, PyTorch's default.
    #[default]
    Mean,
    /// The largest value in each column; the gradient goes to the first row that has it.
    Max,
}

words!(BagMode { "sum" => Sum, "mean" => Mean, "max" => Max });

/// Options of [`Tensor::embedding_bag`].
#[derive(Debug, Clone, Default)]
pub struct EmbeddingBagOptions {
    /// How the rows of a bag are joined.
    pub mode: BagMode,
    /// Where each bag starts in a vector of indexes, as host numbers; absent for indexes (B, L), a bag a row.
    pub offsets: Option<Vec<usize>>,
    /// A factor for each index, of the indexes' shape; for sums only.
    pub per_sample_weights: Option<Tensor>,
    /// The row that counts in no bag and gets no gradient.
    pub padding_index: Option<usize>,
}

/// Refuses a table that is not a matrix of floats, and indexes that are not integers.
fn check(op: &'static str, table: &Tensor, indices: &Tensor) -> Result<()> {
    if table.rank() != 2 || !table.dtype().is_float() {
        let message = format!(
            "the table has shape {} and dtype {}; a float matrix is expected",
            table.shape(),
            table.dtype()
        );
        return Err(Error::shape(op, message));
    }
    if !indices.dtype().is_int() {
        return Err(Error::dtype_not_accepted(op, indices.dtype(), "an integer dtype for the indices"));
    }
    Ok(())
}

impl Tensor {
    /// The rows that a vector of indexes names, (N, D); the padding row gets no gradient.
    #[track_caller]
    fn embedded_rows(&self, indices: &Tensor, padding_index: Option<usize>) -> Result<Tensor> {
        let Some(padding) = padding_index else { return self.try_index_select(0, indices) };
        if padding >= self.shape()[0] {
            let message =
                format!("the padding index {padding} is not a row of a table of shape {}", self.shape());
            return Err(Error::argument("embedding", message));
        }
        let table = self.shape().clone();
        let forward = || self.try_index_select(0, indices);
        Tensor::with_rule("embedding", Saves::inputs(0b10), &[self, indices], forward, move |v| {
            let (g, indices) = (v.grad(), v.input(1));
            let counted = indices.try_ne(padding as i64)?.try_unsqueeze(1)?.try_where_cond(g, 0.0)?;
            Ok(vec![Some(g.full_of(&table, 0.0)?.try_index_add(0, indices, &counted)?), None])
        })
    }

    /// The same table, whose rows get the gradient divided by how often the indexes name them.
    #[track_caller]
    pub(in crate::nn) fn with_gradient_by_frequency(&self, indices: &Tensor) -> Result<Tensor> {
        let share = self.times_named(indices)?.try_clamp_min(1.0)?.try_reciprocal()?.try_unsqueeze(1)?;
        let flowing = self.try_mul(&share)?;
        self.detach().try_sub(flowing.detach())?.try_add(&flowing)
    }

    /// How often indexes name each row, in the table's dtype: (V).
    #[track_caller]
    fn times_named(&self, indices: &Tensor) -> Result<Tensor> {
        let flat = indices.try_reshape(indices.numel())?;
        self.full_of(&self.shape()[..1].into(), 0.0)?.try_scatter_add(0, &flat, 1.0)
    }

    twins! {
        /// The rows of this table (V, D) that indexes of any shape name: (…) to (…, D). A row named twice gets both
        /// gradients; the padding row gets none. An index outside is an error when the result is computed.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let table = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &device);
        /// let rows = table.embedding(&Tensor::new([1, 0], &device), None);
        /// assert_eq!(rows.to_string(), "tensor([[3., 4.],\n        [1., 2.]])");
        /// ```
        embedding / try_embedding(&self, indices: &Tensor, padding_index: Option<usize>) -> Tensor {
            check("embedding", self, indices)?;
            let rows = self.embedded_rows(&indices.try_reshape(indices.numel())?, padding_index)?;
            rows.try_reshape(indices.shape().inserted(indices.rank(), self.shape()[1]))
        }

        /// The table with those rows that the indexes name made no longer than `max_norm`, by the p-norm.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let table = Tensor::new([[3.0, 4.0], [3.0, 4.0]], &device);
        /// let short = table.embedding_renorm(&Tensor::new([1], &device), 1.0, 2.0);
        /// assert_eq!(short.to_string(), "tensor([[3.0000, 4.0000],\n        [0.6000, 0.8000]])");
        /// ```
        embedding_renorm / try_embedding_renorm(&self, indices: &Tensor, max_norm: f64, p: f64) -> Tensor {
            check("embedding_renorm", self, indices)?;
            let norms = self.try_norm_keepdim(p, 1)?;
            let named = self.times_named(indices)?.try_gt(0.0)?.try_unsqueeze(1)?;
            let too_long = norms.try_gt(max_norm)?.try_logical_and(&named)?;
            let shorter = norms.try_add(1e-7)?.try_reciprocal()?.try_mul(max_norm)?;
            self.try_mul(&too_long.try_where_cond(&shorter, 1.0)?)
        }

        /// The sum, mean or maximum of the rows of this table (V, D) that each bag of indexes names: (B, D). Bags are
        /// the rows of indexes (B, L), or parts of a vector of indexes that start at the offsets. An empty bag is 0.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::nn::functional::EmbeddingBagOptions;
        /// let device = Device::cpu();
        /// let table = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &device);
        /// let options = EmbeddingBagOptions { offsets: Some(vec![0, 2]), ..Default::default() };
        /// let means = table.embedding_bag(&Tensor::new([0, 1, 1], &device), &options);
        /// assert_eq!(means.to_string(), "tensor([[2., 3.],\n        [3., 4.]])");
        /// ```
        embedding_bag / try_embedding_bag(&self, indices: &Tensor, options: &EmbeddingBagOptions) -> Tensor {
            const OP: &str = "embedding_bag";
            check(OP, self, indices)?;
            let bags = Bags::new(indices, options.offsets.as_deref())?;
            let flat = indices.try_reshape(indices.numel())?;
            let mut rows = self.embedded_rows(&flat, options.padding_index)?;
            if let Some(weights) = &options.per_sample_weights {
                if options.mode != BagMode::Sum {
                    return Err(Error::argument(OP, "per_sample_weights are for sums only"));
                }
                if weights.shape() != indices.shape() {
                    let message = format!("weights of shape {} for indices of shape {}", weights.shape(), indices.shape());
                    return Err(Error::shape(OP, message));
                }
                rows = rows.try_mul(&weights.try_reshape([weights.numel(), 1])?)?;
            }
            let counted = match options.padding_index {
                Some(padding) => Some(flat.try_ne(padding as i64)?.try_unsqueeze(1)?),
                None => None,
            };
            if options.mode == BagMode::Max {
                return bags.largest(&rows, counted.as_ref());
            }
            if let Some(counted) = &counted {
                rows = counted.try_where_cond(&rows, 0.0)?;
            }
            let sums = bags.sums(&rows)?;
            if options.mode == BagMode::Sum {
                return Ok(sums);
            }
            match &counted {
                Some(counted) => {
                    let sizes = bags.sums(&counted.try_to_dtype(sums.dtype())?)?;
                    sums.try_div(&sizes.try_clamp_min(1.0)?)
                }
                None => bags.averaged(&sums),
            }
        }
    }
}

/// Which rows of a list belong together.
enum Bags {
    /// (B, L): so many bags of so many rows.
    Even(usize, usize),
    /// Where each begins, and how many rows there are.
    Starts(Vec<usize>, usize),
}

impl Bags {
    fn new(indices: &Tensor, offsets: Option<&[usize]>) -> Result<Bags> {
        const OP: &str = "embedding_bag";
        match (offsets, indices.shape().dims()) {
            (None, &[bags, length]) => Ok(Bags::Even(bags, length)),
            (Some(offsets), &[count]) => {
                let ordered = offsets.windows(2).all(|pair| pair[0] <= pair[1]);
                let fits = offsets.first() == Some(&0) && offsets.last().is_some_and(|&last| last <= count);
                if !ordered || !fits {
                    let message = format!("offsets {offsets:?} do not divide {count} indices from 0 upwards");
                    return Err(Error::argument(OP, message));
                }
                Ok(Bags::Starts(offsets.to_vec(), count))
            }
            (_, shape) => {
                let message = format!(
                    "indices of shape {shape:?}; (B, L) without offsets, or a vector with offsets is expected"
                );
                Err(Error::shape(OP, message))
            }
        }
    }

    /// How many rows each bag of a list with offsets has.
    fn sizes(starts: &[usize], count: usize) -> Vec<usize> {
        let ends = starts[1..].iter().copied().chain([count]);
        starts.iter().zip(ends).map(|(start, end)| end - start).collect()
    }

    /// The sums of the rows (N, D) of each bag.
    #[track_caller]
    fn sums(&self, rows: &Tensor) -> Result<Tensor> {
        let width = rows.shape()[1];
        match self {
            Bags::Even(bags, length) => rows.try_reshape([*bags, *length, width])?.try_sum(1),
            Bags::Starts(starts, count) => {
                let sizes = Bags::sizes(starts, *count).into_iter().enumerate();
                let owners: Vec<i32> =
                    sizes.flat_map(|(bag, size)| std::iter::repeat_n(bag as i32, size)).collect();
                let owners = Tensor::try_from_slice(&owners, owners.len(), rows.device())?;
                let zeros = rows.full_of(&[starts.len(), width].into(), 0.0)?;
                zeros.try_index_add(0, &owners, rows)
            }
        }
    }

    /// Sums divided by the numbers of rows.
    #[track_caller]
    fn averaged(&self, sums: &Tensor) -> Result<Tensor> {
        match self {
            Bags::Even(_, length) => sums.try_mul(1.0 / (*length).max(1) as f64),
            Bags::Starts(starts, count) => {
                let sizes = Bags::sizes(starts, *count);
                let shares: Vec<f32> = sizes.iter().map(|&size| 1.0 / size.max(1) as f32).collect();
                sums.try_mul(
                    &Tensor::try_from_slice(&shares, [shares.len(), 1], sums.device())?
                        .try_to_dtype(sums.dtype())?,
                )
            }
        }
    }

    /// The largest of the counted rows of each bag, column by column; 0 if there are none.
    #[track_caller]
    fn largest(&self, rows: &Tensor, counted: Option<&Tensor>) -> Result<Tensor> {
        let width = rows.shape()[1];
        let (bags, length) = match self {
            Bags::Even(bags, length) => (*bags, *length),
            Bags::Starts(starts, count) => {
                (starts.len(), Bags::sizes(starts, *count).into_iter().max().unwrap_or(0))
            }
        };
        if length == 0 || bags == 0 {
            return rows.full_of(&[bags, width].into(), 0.0);
        }
        // (B, L, ·): each bag's rows, then any others, which do not count.
        let (grouped, inside) = match self {
            Bags::Even(..) => {
                let counted = counted.map(|counted| counted.try_reshape([bags, length, 1])).transpose()?;
                (rows.try_reshape([bags, length, width])?, counted)
            }
            Bags::Starts(starts, count) => {
                let sizes = Bags::sizes(starts, *count);
                let places = starts.iter().zip(&sizes).flat_map(|(&start, &size)| {
                    (0..length).map(move |k| if k < size { (start + k) as i32 } else { 0 })
                });
                let places: Vec<i32> = places.collect();
                let within: Vec<bool> =
                    sizes.iter().flat_map(|&size| (0..length).map(move |k| k < size)).collect();
                let places = Tensor::try_from_slice(&places, places.len(), rows.device())?;
                let mut inside = Tensor::try_from_slice(&within, [bags, length, 1], rows.device())?;
                if let Some(counted) = counted {
                    let counted = counted.try_to_dtype(DType::I32)?.try_index_select(0, &places)?;
                    inside = inside.try_logical_and(&counted.try_reshape([bags, length, 1])?)?;
                }
                (rows.try_index_select(0, &places)?.try_reshape([bags, length, width])?, Some(inside))
            }
        };
        let Some(inside) = inside else { return Ok(grouped.try_max_dim(1)?.0) };
        let (largest, _) = inside.try_where_cond(&grouped, f64::NEG_INFINITY)?.try_max_dim(1)?;
        inside.try_any(1)?.try_where_cond(&largest, 0.0)
    }
}
