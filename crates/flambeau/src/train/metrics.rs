//! Metrics, counted on the device and read once.

use crate::autograd::no_grad;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::tensor::{Tensor, read_many};

/// How many rows of logits (N, C) have their largest value at the label (N): a single number.
///
/// ```
/// # use flambeau::prelude::*;
/// let logits = Tensor::new([[2.0, 0.0], [2.0, 0.0]], &Device::cpu());
/// let correct = flambeau::train::metrics::correct(&logits, &Tensor::new([0, 1], &Device::cpu()))?;
/// assert_eq!(correct.item_blocking()?, 1.0);
/// # Ok::<(), Error>(())
/// ```
pub fn correct(logits: &Tensor, labels: &Tensor) -> Result<Tensor> {
    no_grad(|| {
        let predicted = logits.detach().try_argmax(1)?;
        predicted.try_eq(labels)?.try_to_dtype(DType::F32)?.try_sum(..)
    })
}

/// How many rows of logits (N, C) have the label (N) among their `k` largest values: a single number.
///
/// ```
/// # use flambeau::prelude::*;
/// let logits = Tensor::new([[3.0, 2.0, 1.0], [3.0, 2.0, 1.0]], &Device::cpu());
/// let found = flambeau::train::metrics::correct_in_top(2, &logits, &Tensor::new([1, 2], &Device::cpu()))?;
/// assert_eq!(found.item_blocking()?, 1.0);
/// # Ok::<(), Error>(())
/// ```
pub fn correct_in_top(k: usize, logits: &Tensor, labels: &Tensor) -> Result<Tensor> {
    no_grad(|| {
        // The label's place is the number of values above its own, and equal ones before it.
        let logits = logits.detach();
        let labels = labels.try_unsqueeze(1)?;
        let own = logits.try_gather(1, &labels)?;
        let classes = Tensor::try_arange(0, logits.shape()[1] as i64, 1, (labels.dtype(), labels.device()))?;
        let before = logits.try_eq(&own)?.try_logical_and(&classes.try_lt(&labels)?)?;
        let above = logits.try_gt(&own)?.try_logical_or(&before)?;
        let place = above.try_to_dtype(DType::F32)?.try_sum(1)?;
        place.try_lt(k as f64)?.try_to_dtype(DType::F32)?.try_sum(..)
    })
}

/// e to the mean cross entropy: among how many tokens a language model hesitates.
///
/// ```
/// assert_eq!(flambeau::train::metrics::perplexity(4f64.ln()).round(), 4.0);
/// ```
pub fn perplexity(mean_cross_entropy: f64) -> f64 {
    mean_cross_entropy.exp()
}

/// How often each class was taken for each other one; gathered on the device, batch by batch.
///
/// ```
/// # use flambeau::prelude::*;
/// # flambeau::block_on(async {
/// use flambeau::train::metrics::ConfusionMatrix;
/// let device = Device::cpu();
/// let mut matrix = ConfusionMatrix::new(2, &device);
/// let logits = Tensor::new([[2.0, 0.0], [2.0, 0.0], [0.0, 2.0]], &device);
/// matrix.add(&logits, &Tensor::new([0, 1, 1], &device))?;
/// let confusion = matrix.read().await?;
/// assert_eq!(confusion.counts, [[1, 0], [1, 1]]);
/// assert_eq!((confusion.precision(0), confusion.recall(1)), (0.5, 0.5));
/// # Ok::<(), Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct ConfusionMatrix {
    /// (classes, classes): row = label, column = prediction. Whole numbers, exact up to 2²⁴.
    counts: Tensor,
}

impl ConfusionMatrix {
    /// All zeros.
    pub fn new(classes: usize, device: &crate::Device) -> ConfusionMatrix {
        ConfusionMatrix { counts: Tensor::zeros([classes, classes], device) }
    }

    /// Counts a batch of logits (N, C) and labels (N).
    pub fn add(&mut self, logits: &Tensor, labels: &Tensor) -> Result<()> {
        let classes = self.counts.shape()[0];
        if logits.rank() != 2 || logits.shape()[1] != classes {
            let message = format!("logits {} are not (N, {classes})", logits.shape());
            return Err(Error::shape("ConfusionMatrix::add", message));
        }
        self.counts = no_grad(|| {
            let one_hot = |numbers: &Tensor| {
                let classes = Tensor::try_arange(0, classes as i64, 1, (numbers.dtype(), numbers.device()))?;
                numbers.try_unsqueeze(1)?.try_eq(&classes)?.try_to_dtype(DType::F32)
            };
            let (labels, predicted) = (one_hot(labels)?, one_hot(&logits.detach().try_argmax(1)?)?);
            self.counts.try_add(&labels.try_t()?.try_matmul(&predicted)?)
        })?;
        self.counts.try_eval()
    }

    /// The counts so far.
    pub async fn read(&self) -> Result<Confusion> {
        let classes = self.counts.shape()[0];
        let counts = self.counts.to_f64_vec().await?;
        let row = |row: &[f64]| row.iter().map(|&count| count as u64).collect();
        Ok(Confusion { counts: counts.chunks(classes.max(1)).map(row).collect() })
    }
}

/// A confusion matrix on the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confusion {
    /// counts\[label\]\[prediction\].
    pub counts: Vec<Vec<u64>>,
}

impl Confusion {
    /// Of those predicted as the class, how many are; 0 if none was.
    pub fn precision(&self, class: usize) -> f64 {
        ratio(self.counts[class][class], self.counts.iter().map(|row| row[class]).sum())
    }

    /// Of those of the class, how many were found; 0 if there are none.
    pub fn recall(&self, class: usize) -> f64 {
        ratio(self.counts[class][class], self.counts[class].iter().sum())
    }

    /// The harmonic mean of precision and recall; 0 if both are.
    pub fn f1(&self, class: usize) -> f64 {
        let (precision, recall) = (self.precision(class), self.recall(class));
        if precision + recall == 0.0 { 0.0 } else { 2.0 * precision * recall / (precision + recall) }
    }

    /// The mean of the classes' F1.
    pub fn macro_f1(&self) -> f64 {
        let classes = self.counts.len();
        (0..classes).map(|class| self.f1(class)).sum::<f64>() / classes.max(1) as f64
    }

    /// The part of all that were right.
    pub fn accuracy(&self) -> f64 {
        let right = self.counts.iter().enumerate().map(|(class, row)| row[class]).sum();
        ratio(right, self.counts.iter().flatten().sum())
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Mean absolute error and R², gathered on the device, batch by batch.
///
/// ```
/// # use flambeau::prelude::*;
/// # flambeau::block_on(async {
/// use flambeau::train::metrics::Regression;
/// let device = Device::cpu();
/// let mut fit = Regression::new(&device);
/// fit.add(&Tensor::new([1.0, 2.0, 4.0], &device), &Tensor::new([1.0, 2.0, 3.0], &device))?;
/// let (mean_absolute_error, r2) = fit.read().await?;
/// assert!((mean_absolute_error - 1.0 / 3.0).abs() < 1e-6 && (r2 - 0.5).abs() < 1e-6);
/// # Ok::<(), Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct Regression {
    count: f64,
    /// Σ|e|, Σe², Σy, Σy² with e = prediction − target y.
    sums: [Tensor; 4],
}

impl Regression {
    /// Nothing yet.
    pub fn new(device: &crate::Device) -> Regression {
        Regression { count: 0.0, sums: [(); 4].map(|()| Tensor::zeros([], device)) }
    }

    /// Takes predictions and targets of one shape.
    pub fn add(&mut self, predictions: &Tensor, targets: &Tensor) -> Result<()> {
        if predictions.shape() != targets.shape() {
            let message = format!("predictions {} and targets {}", predictions.shape(), targets.shape());
            return Err(Error::shape("Regression::add", message));
        }
        let sums = no_grad(|| {
            let (y, error) = (targets.detach(), predictions.detach().try_sub(targets.detach())?);
            let parts = [error.try_abs()?, error.try_square()?, y.clone(), y.try_square()?];
            let mut sums = Vec::with_capacity(4);
            for (sum, part) in self.sums.iter().zip(parts) {
                sums.push(sum.try_add(&part.try_sum(..)?)?);
            }
            Ok::<_, Error>(sums)
        })?;
        self.sums = sums.try_into().expect("four sums");
        self.count += targets.numel() as f64;
        crate::eval(&self.sums.each_ref())
    }

    /// The mean absolute error, and R² = 1 − Σe² / Σ(y − ȳ)².
    pub async fn read(&self) -> Result<(f64, f64)> {
        let sums = read_many(&self.sums.each_ref()).await?;
        let [absolute, squared, total, total_squared] = [0, 1, 2, 3].map(|k| sums[k][0]);
        let spread = total_squared - total * total / self.count;
        Ok((absolute / self.count, 1.0 - squared / spread))
    }
}
