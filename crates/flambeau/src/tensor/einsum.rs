//! Einsum: sums of products written as labels, contracted two operands at a time by matrix products.

use super::{Autocast, Tensor, twins};
use crate::error::{Error, Result};
use crate::shape::{Shape, product};
use std::borrow::Borrow;
use std::collections::HashMap;

/// A letter by its code, or above [`ELLIPSIS`] a dimension of the ellipsis, counted from the back.
type Label = u32;
const ELLIPSIS: Label = 1 << 16;

/// A tensor whose dimensions have labels, each once.
pub(super) struct Labelled {
    tensor: Tensor,
    labels: Vec<Label>,
}

impl Labelled {
    pub(super) fn new(tensor: &Tensor, labels: Vec<Label>) -> Labelled {
        Labelled { tensor: tensor.clone(), labels }
    }

    fn size(&self, label: Label) -> Option<usize> {
        self.labels.iter().position(|&known| known == label).map(|dim| self.tensor.shape()[dim])
    }

    /// The dimensions in the order of these labels.
    #[track_caller]
    pub(super) fn arranged(&self, labels: &[Label]) -> Result<Tensor> {
        let place = |label: &Label| self.labels.iter().position(|known| known == label);
        let order: Vec<isize> = labels.iter().filter_map(place).map(|dim| dim as isize).collect();
        self.tensor.try_permute(&order)
    }

    /// Dimensions with labels that are not among these are summed over.
    #[track_caller]
    fn keeping(self, kept: impl Fn(Label) -> bool) -> Result<Labelled> {
        let summed = (0..self.labels.len()).filter(|&dim| !kept(self.labels[dim])).map(|dim| dim as isize);
        let summed: Vec<isize> = summed.collect();
        if summed.is_empty() {
            return Ok(self);
        }
        let tensor = self.tensor.try_sum(summed)?;
        Ok(Labelled { tensor, labels: self.labels.into_iter().filter(|&label| kept(label)).collect() })
    }

    /// Repeated labels become one: the diagonal of their dimensions.
    #[track_caller]
    fn without_repeats(mut self, op: &'static str) -> Result<Labelled> {
        while let Some((first, second)) = repeated(&self.labels) {
            let (rows, columns) = (self.tensor.shape()[first], self.tensor.shape()[second]);
            if rows != columns {
                let message = format!(
                    "a label is repeated for dimensions of sizes {rows} and {columns} of {}",
                    self.tensor.shape()
                );
                return Err(Error::shape(op, message));
            }
            let label = self.labels[first];
            self.tensor = self.tensor.try_diagonal(0, first as isize, second as isize)?;
            self.labels.remove(second);
            self.labels.remove(first);
            self.labels.push(label);
        }
        Ok(self)
    }

    /// Dimensions of size 1 whose label has another size elsewhere are taken out: they broadcast.
    #[track_caller]
    fn without_ones(self, sizes: &HashMap<Label, usize>) -> Result<Labelled> {
        let stays = |dim: &usize| self.tensor.shape()[*dim] == sizes[&self.labels[*dim]];
        let kept: Vec<usize> = (0..self.labels.len()).filter(stays).collect();
        let shape: Shape = kept.iter().map(|&dim| self.tensor.shape()[dim]).collect();
        let labels = kept.iter().map(|&dim| self.labels[dim]).collect();
        Ok(Labelled { tensor: self.tensor.try_reshape(shape)?, labels })
    }
}

fn repeated(labels: &[Label]) -> Option<(usize, usize)> {
    (1..labels.len()).find_map(|second| {
        labels[..second].iter().position(|&label| label == labels[second]).map(|first| (first, second))
    })
}

/// The product of two operands, summed over every label that is not kept.
#[track_caller]
pub(super) fn contract(op: &'static str, a: Labelled, b: Labelled, kept: &[Label]) -> Result<Labelled> {
    let (a_labels, b_labels) = (a.labels.clone(), b.labels.clone());
    let a = a.keeping(|label| kept.contains(&label) || b_labels.contains(&label))?;
    let b = b.keeping(|label| kept.contains(&label) || a_labels.contains(&label))?;
    let both = |label: &&Label| b.labels.contains(label);
    let batch: Vec<Label> =
        a.labels.iter().filter(both).filter(|label| kept.contains(label)).copied().collect();
    let summed: Vec<Label> =
        a.labels.iter().filter(both).filter(|label| !kept.contains(label)).copied().collect();
    let left: Vec<Label> = a.labels.iter().filter(|label| !b.labels.contains(label)).copied().collect();
    let right: Vec<Label> = b.labels.iter().filter(|label| !a.labels.contains(label)).copied().collect();
    let sizes = |labels: &[Label]| -> Vec<usize> {
        labels.iter().filter_map(|&label| a.size(label).or_else(|| b.size(label))).collect()
    };
    let numel = |labels: &[Label]| product(sizes(labels));
    let joined = |parts: &[&[Label]]| parts.concat();
    if summed.is_empty() || (left.is_empty() && right.is_empty()) {
        // No matrix product in it: one elementwise product, summed.
        let labels = joined(&[&batch, &left, &right, &summed]);
        let spread = |operand: &Labelled| {
            let shape: Shape = labels.iter().map(|&label| operand.size(label).unwrap_or(1)).collect();
            operand.arranged(&labels)?.try_reshape(shape)
        };
        let product = Labelled { tensor: spread(&a)?.try_mul(&spread(&b)?)?, labels: labels.clone() };
        return product.keeping(|label| !summed.contains(&label));
    }
    let (batches, k) = (numel(&batch), numel(&summed));
    let a_matrix = a.arranged(&joined(&[&batch, &left, &summed]))?.try_reshape([batches, numel(&left), k])?;
    let b_matrix =
        b.arranged(&joined(&[&batch, &summed, &right]))?.try_reshape([batches, k, numel(&right)])?;
    let product = a_matrix.try_bmm(&b_matrix).map_err(|error| match error {
        Error::DType { message, .. } => Error::dtype(op, message),
        other => other,
    })?;
    let labels = joined(&[&batch, &left, &right]);
    Ok(Labelled { tensor: product.try_reshape(sizes(&labels))?, labels })
}

/// The labels of one operand or of the result: letters, with the ellipsis as a placeholder.
fn parse(equation: &str, term: &str) -> Result<(Vec<Label>, Option<usize>)> {
    let (mut labels, mut ellipsis) = (Vec::new(), None);
    let compact: String = term.chars().filter(|letter| !letter.is_whitespace()).collect();
    let mut rest = compact.as_str();
    while let Some(letter) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("...") {
            if ellipsis.replace(labels.len()).is_some() {
                return Err(Error::argument("einsum", format!("{equation:?} has two ellipses in {term:?}")));
            }
            rest = after;
        } else if letter.is_ascii_alphabetic() {
            labels.push(letter as Label);
            rest = &rest[1..];
        } else {
            let message = format!("{equation:?} has {letter:?}, which is neither a letter nor an ellipsis");
            return Err(Error::argument("einsum", message));
        }
    }
    Ok((labels, ellipsis))
}

/// Puts the dimensions of the ellipsis where it stands.
fn with_ellipsis(mut labels: Vec<Label>, at: Option<usize>, count: usize) -> Vec<Label> {
    if let Some(at) = at {
        labels.splice(at..at, (0..count as Label).rev().map(|back| ELLIPSIS + back));
    }
    labels
}

impl Tensor {
    twins! {
        /// Sums of products in Einstein's notation: every operand's dimensions are named by letters, separated by
        /// commas; dimensions of one name are multiplied along each other, and names that are not in the result
        /// (after `->`) are summed over. Without `->` the result has the names that occur once, in alphabetical
        /// order. `...` stands for further dimensions, which are broadcast; a name twice in one operand means its
        /// diagonal.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let a = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &device);
        /// assert_eq!(Tensor::einsum("ij,jk->ik", &[&a, &a]).to_string(), a.matmul(&a).to_string());
        /// assert_eq!(Tensor::einsum("ii", &[&a]).to_string(), "tensor(5.)");
        /// assert_eq!(Tensor::einsum("...ij->...ji", &[&a]).to_string(), a.t().to_string());
        /// ```
        einsum / try_einsum[T: Borrow<Tensor>](equation: &str, operands: &[T]) -> Tensor {
            let (inputs, output) = match equation.split_once("->") {
                Some((inputs, output)) => (inputs, Some(output)),
                None => (equation, None),
            };
            let terms = inputs.split(',').map(|term| parse(equation, term)).collect::<Result<Vec<_>>>()?;
            if terms.len() != operands.len() {
                let message = format!("{equation:?} names {} operands, {} were given", terms.len(), operands.len());
                return Err(Error::argument("einsum", message));
            }
            let entered = Autocast::Lower.enter([])?;
            let mut labelled = Vec::with_capacity(operands.len());
            let mut hidden = 0;
            for ((labels, ellipsis), operand) in terms.into_iter().zip(operands) {
                let tensor = &entered.input(operand.borrow().clone())?;
                let fits = if ellipsis.is_some() { labels.len() <= tensor.rank() } else { labels.len() == tensor.rank() };
                if !fits {
                    let message = format!("{equation:?} has {} names for shape {}", labels.len(), tensor.shape());
                    return Err(Error::shape("einsum", message));
                }
                let count = tensor.rank() - labels.len();
                hidden = hidden.max(count);
                let labels = with_ellipsis(labels, ellipsis, count);
                labelled.push(Labelled::new(tensor, labels).without_repeats("einsum")?);
            }
            let result = result_labels(equation, output, &labelled, hidden, inputs)?;
            let sizes = label_sizes(equation, &labelled)?;
            let mut waiting = labelled.into_iter().map(|operand| operand.without_ones(&sizes)).collect::<Result<Vec<_>>>()?;
            waiting.reverse();
            let mut total = waiting.pop().ok_or_else(|| Error::argument("einsum", "at least one operand is needed"))?;
            while let Some(next) = waiting.pop() {
                let mut kept = result.clone();
                kept.extend(waiting.iter().flat_map(|operand| operand.labels.iter().copied()));
                total = contract("einsum", total, next, &kept)?;
            }
            total.keeping(|label| result.contains(&label))?.arranged(&result)
        }
    }
}

/// The size of every label; sizes of 1 give way to others.
fn label_sizes(equation: &str, operands: &[Labelled]) -> Result<HashMap<Label, usize>> {
    let mut sizes: HashMap<Label, usize> = HashMap::new();
    for operand in operands {
        for (&label, &size) in operand.labels.iter().zip(operand.tensor.shape().iter()) {
            let known = sizes.entry(label).or_insert(size);
            if *known != size && *known != 1 && size != 1 {
                let message =
                    format!("{equation:?} gives one name to dimensions of sizes {known} and {size}");
                return Err(Error::shape("einsum", message));
            }
            if *known == 1 {
                *known = size;
            }
        }
    }
    Ok(sizes)
}

/// The labels of the result: those after the arrow, or the ellipsis and the letters that occur once.
fn result_labels(
    equation: &str,
    output: Option<&str>,
    operands: &[Labelled],
    hidden: usize,
    inputs: &str,
) -> Result<Vec<Label>> {
    let Some(output) = output else {
        let mut once: Vec<Label> = inputs
            .chars()
            .filter(|letter| letter.is_ascii_alphabetic() && inputs.matches(*letter).count() == 1)
            .map(|letter| letter as Label)
            .collect();
        once.sort_unstable();
        return Ok(with_ellipsis(once, Some(0), hidden));
    };
    let (labels, ellipsis) = parse(equation, output)?;
    let result = with_ellipsis(labels, ellipsis, hidden);
    let unknown = result.iter().any(|label| !operands.iter().any(|operand| operand.labels.contains(label)));
    if unknown || repeated(&result).is_some() {
        let message = format!("{equation:?}: the result must have names of the operands, each once");
        return Err(Error::argument("einsum", message));
    }
    Ok(result)
}
