//! Embeddings: rows of a table that is learned.

use super::constructors;
use crate::error::{Error, Result, expect};
use crate::nn::functional::{BagMode, EmbeddingBagOptions};
use crate::nn::{Forward, Module, Parameter};
use crate::rng::Generator;
use crate::settings::{Settings, Word};
use crate::tensor::{Tensor, TensorOptions};

/// The settings of [`Embedding`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Settings)]
pub struct EmbeddingOptions {
    /// The row that is 0 at first and gets no gradient.
    #[setting(name = "padding_index")]
    pub padding_idx: Option<usize>,
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

impl Embedding {
    constructors! {
        (rows: usize, width: usize; layer: EmbeddingOptions; options)
        {
            let weight = table(rows, width, layer.padding_idx, &options)?;
            Ok(Embedding { weight, padding_idx: layer.padding_idx })
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
        if table.rank() != 2 {
            let message = format!("a table of shape {} must have two dimensions", table.shape());
            return Err(Error::shape("Embedding", message));
        }
        let weight = Parameter::try_new(table)?;
        weight.set_requires_grad(false);
        Ok(Embedding { weight, padding_idx: None })
    }

    fn describe(&self) -> String {
        let [rows, width] = *self.weight.shape().dims() else { return String::new() };
        let padding = self.padding_idx.map(|index| format!(", padding_idx={index}"));
        format!("{rows}, {width}{}", padding.unwrap_or_default())
    }
}

impl Forward for Embedding {
    #[track_caller]
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        self.weight.get().try_embedding(input, self.padding_idx)
    }
}

/// The settings of [`EmbeddingBag`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Settings)]
pub struct EmbeddingBagLayerOptions {
    /// How the rows of a bag are joined.
    pub mode: BagMode,
    /// The row that counts in no bag, is 0 at first and gets no gradient.
    #[setting(name = "padding_index")]
    pub padding_idx: Option<usize>,
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
        let EmbeddingBagLayerOptions { mode, padding_idx: padding_index } = self.options;
        let per_sample_weights = per_sample_weights.cloned();
        let options = EmbeddingBagOptions { mode, offsets, per_sample_weights, padding_index };
        self.weight.get().try_embedding_bag(input, &options)
    }

    fn describe(&self) -> String {
        let [rows, width] = *self.weight.shape().dims() else { return String::new() };
        let mode = self.options.mode.word();
        let padding = self.options.padding_idx.map(|index| format!(", padding_idx={index}"));
        format!("{rows}, {width}, mode={mode}{}", padding.unwrap_or_default())
    }
}

impl Forward for EmbeddingBag {
    #[track_caller]
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        self.bags(input, None, None)
    }
}
