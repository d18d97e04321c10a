//! Embeddings: rows of a table that is learned.

use super::constructors;
use crate::autograd::no_grad;
use crate::error::{Error, Result, expect};
use crate::nn::functional::{BagMode, EmbeddingBagOptions};
use crate::nn::{Forward, Module, Parameter};
use crate::rng::Generator;
use crate::settings::{Settings, Word};
use crate::tensor::{Tensor, TensorOptions};

/// The settings of [`Embedding`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Settings)]
pub struct EmbeddingOptions {
    /// The row that is 0 at first and gets no gradient.
    #[setting(name = "padding_index")]
    pub padding_idx: Option<usize>,
    /// What is done with rows that are used.
    #[setting(skip)]
    pub rows: RowOptions,
}

/// What embeddings do with the rows that a call uses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowOptions {
    /// The largest norm a row may have: larger ones are made shorter, in the table itself, before they are used.
    pub max_norm: Option<f64>,
    /// Which norm that is (2).
    pub norm_type: f64,
    /// Is the gradient of a row divided by how often the call names it?
    pub scale_grad_by_freq: bool,
}

impl Default for RowOptions {
    fn default() -> Self {
        RowOptions { max_norm: None, norm_type: 2.0, scale_grad_by_freq: false }
    }
}

impl RowOptions {
    /// The table as a call with these indexes sees it.
    #[track_caller]
    fn table(&self, weight: &Parameter, indices: &Tensor) -> Result<Tensor> {
        if let Some(max_norm) = self.max_norm {
            weight.try_set(&no_grad(|| {
                weight.value().try_embedding_renorm(indices, max_norm, self.norm_type)
            })?)?;
        }
        match self.scale_grad_by_freq {
            true => weight.get().with_gradient_by_frequency(indices),
            false => Ok(weight.get()),
        }
    }

    fn describe(&self) -> String {
        let norm = self.max_norm.map(|norm| format!(", max_norm={norm}")).unwrap_or_default();
        let kind =
            if self.norm_type == 2.0 { String::new() } else { format!(", norm_type={}", self.norm_type) };
        format!("{norm}{kind}{}", if self.scale_grad_by_freq { ", scale_grad_by_freq=True" } else { "" })
    }
}

/// The rows of a table (V, D) that integers name: (…) to (…, D). The table begins in N(0, 1).
///
/// ```
/// use flambeau::{nn::Embedding, prelude::*};
/// let device = Device::cpu();
/// let layer = Embedding::new(10, 3, &device);
/// assert_eq!(layer.forward(&Tensor::new([[1, 2], [4, 4]], &device)).shape().dims(), [2, 2, 3]);
/// ```
#[derive(Module, Debug)]
#[module(describe = Embedding::describe)]
pub struct Embedding {
    /// The table, of shape (V, D).
    pub weight: Parameter,
    padding_idx: Option<usize>,
    #[module(skip)]
    rows: RowOptions,
}

/// A table of numbers from N(0, 1), with zeros in the padding row.
fn table(
    rows: usize,
    width: usize,
    padding_idx: Option<usize>,
    options: &TensorOptions,
) -> Result<Parameter> {
    let mut table = Tensor::try_randn([rows, width], &Generator::default_generator(), options)?;
    if let Some(padding) = padding_idx {
        if padding >= rows {
            let message = format!("the padding index {padding} is not a row of a table of {rows} rows");
            return Err(Error::argument("Embedding", message));
        }
        table.try_i_assign(padding, 0.0)?;
    }
    Parameter::try_new(&table)
}

/// A table that is given, and not trained.
fn frozen(table: &Tensor) -> Result<Parameter> {
    if table.rank() != 2 {
        let message = format!("a table of shape {} must have two dimensions", table.shape());
        return Err(Error::shape("Embedding", message));
    }
    let weight = Parameter::try_new(table)?;
    weight.set_requires_grad(false);
    Ok(weight)
}

impl Embedding {
    constructors! {
        (rows: usize, width: usize; layer: EmbeddingOptions; options)
        {
            let weight = table(rows, width, layer.padding_idx, &options)?;
            Ok(Embedding { weight, padding_idx: layer.padding_idx, rows: layer.rows })
        }
    }

    /// With a table that is given, and frozen.
    ///
    /// ```
    /// use flambeau::{nn::Embedding, prelude::*};
    /// let device = Device::cpu();
    /// let layer = Embedding::from_pretrained(&Tensor::new([[1.0, 2.0], [3.0, 4.0]], &device))?;
    /// assert_eq!(layer.forward(&Tensor::new([1], &device)).to_string(), "tensor([[3., 4.]])");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn from_pretrained(table: &Tensor) -> Result<Embedding> {
        Ok(Embedding { weight: frozen(table)?, padding_idx: None, rows: RowOptions::default() })
    }

    fn describe(&self) -> String {
        let [rows, width] = *self.weight.shape().dims() else { return String::new() };
        let padding = self.padding_idx.map(|index| format!(", padding_idx={index}"));
        format!("{rows}, {width}{}{}", padding.unwrap_or_default(), self.rows.describe())
    }
}

impl Forward for Embedding {
    #[track_caller]
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        self.rows.table(&self.weight, input)?.try_embedding(input, self.padding_idx)
    }
}

/// The settings of [`EmbeddingBag`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Settings)]
pub struct EmbeddingBagLayerOptions {
    /// How the rows of a bag are joined.
    pub mode: BagMode,
    /// The row that counts in no bag, is 0 at first and gets no gradient.
    #[setting(name = "padding_index")]
    pub padding_idx: Option<usize>,
    /// What is done with rows that are used.
    #[setting(skip)]
    pub rows: RowOptions,
}

/// The mean, sum or maximum of the rows of a table (V, D) that each bag of integers names: (B, L) to (B, D). The table
/// begins in N(0, 1).
///
/// ```
/// use flambeau::{nn::EmbeddingBag, prelude::*};
/// let device = Device::cpu();
/// let layer = EmbeddingBag::new(10, 3, &device);
/// assert_eq!(layer.forward(&Tensor::new([[1, 2], [4, 4]], &device)).shape().dims(), [2, 3]);
/// ```
#[derive(Module, Debug)]
#[module(describe = EmbeddingBag::describe)]
pub struct EmbeddingBag {
    /// The table, of shape (V, D).
    pub weight: Parameter,
    #[module(skip)]
    options: EmbeddingBagLayerOptions,
}

impl EmbeddingBag {
    constructors! {
        (rows: usize, width: usize; layer: EmbeddingBagLayerOptions; options)
        Ok(EmbeddingBag { weight: table(rows, width, layer.padding_idx, &options)?, options: layer })
    }

    /// With a table that is given, and frozen.
    ///
    /// ```
    /// use flambeau::{nn::EmbeddingBag, prelude::*};
    /// let device = Device::cpu();
    /// let layer = EmbeddingBag::from_pretrained(&Tensor::new([[1.0, 2.0], [3.0, 4.0]], &device), Default::default())?;
    /// assert_eq!(layer.forward(&Tensor::new([[0, 1]], &device)).to_string(), "tensor([[2., 3.]])");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn from_pretrained(table: &Tensor, layer: EmbeddingBagLayerOptions) -> Result<EmbeddingBag> {
        Ok(EmbeddingBag { weight: frozen(table)?, options: layer })
    }

    /// Bags of different sizes: parts of a vector of integers, which start at the offsets. Sums may be weighted.
    ///
    /// ```
    /// use flambeau::{nn::EmbeddingBag, prelude::*};
    /// let device = Device::cpu();
    /// let layer = EmbeddingBag::new(10, 3, &device);
    /// let y = layer.forward_with_offsets(&Tensor::new([1, 2, 4], &device), &[0, 2], None);
    /// assert_eq!(y.shape().dims(), [2, 3]);
    /// ```
    #[track_caller]
    pub fn forward_with_offsets(
        &self,
        input: &Tensor,
        offsets: &[usize],
        per_sample_weights: Option<&Tensor>,
    ) -> Tensor {
        expect(self.try_forward_with_offsets(input, offsets, per_sample_weights))
    }

    /// [`forward_with_offsets`](EmbeddingBag::forward_with_offsets), or the error instead of a panic.
    #[track_caller]
    pub fn try_forward_with_offsets(
        &self,
        input: &Tensor,
        offsets: &[usize],
        per_sample_weights: Option<&Tensor>,
    ) -> Result<Tensor> {
        self.bags(input, Some(offsets.to_vec()), per_sample_weights)
    }

    #[track_caller]
    fn bags(
        &self,
        input: &Tensor,
        offsets: Option<Vec<usize>>,
        per_sample_weights: Option<&Tensor>,
    ) -> Result<Tensor> {
        let EmbeddingBagLayerOptions { mode, padding_idx: padding_index, rows } = self.options;
        let per_sample_weights = per_sample_weights.cloned();
        let options = EmbeddingBagOptions { mode, offsets, per_sample_weights, padding_index };
        rows.table(&self.weight, input)?.try_embedding_bag(input, &options)
    }

    fn describe(&self) -> String {
        let [rows, width] = *self.weight.shape().dims() else { return String::new() };
        let mode = self.options.mode.word();
        let padding = self.options.padding_idx.map(|index| format!(", padding_idx={index}"));
        format!(
            "{rows}, {width}{}, mode='{mode}'{}",
            self.options.rows.describe(),
            padding.unwrap_or_default()
        )
    }
}

impl Forward for EmbeddingBag {
    #[track_caller]
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        self.bags(input, None, None)
    }
}
