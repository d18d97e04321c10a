//! Normalisation. One rule serves all: with x̂ the normalised values, r the reciprocal of their standard deviation and
//! means over the normalised dimensions, the derivative with respect to x is r (h − mean h − x̂ · mean(h x̂)), where h
//! is the gradient g times the weight w. Where all that is normalised together has one weight, as a channel of batch norm has,
//! the means of h are those of g times w, and these are the bias's and the weight's gradients, too: with c = x − mean it is
//! r w (g − mean g) − c · r³ w · mean(g c), for which the gradient is gone over twice, and nothing of x's size is kept but x.

use crate::autograd::{Autocast, Saves, is_grad_enabled, no_grad};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::shape::{Shape, product};
use crate::tensor::{Tensor, twins};

/// The result of [`Tensor::batch_norm_training`], with the statistics of the batch, of shape (C) and without history.
#[derive(Debug, Clone)]
pub struct BatchNormed {
    /// The normalised values.
    pub output: Tensor,
    /// The mean of each channel.
    pub mean: Tensor,
    /// The variance of each channel, divided by the number of values: what the values were normalised with.
    pub var: Tensor,
    /// The variance of each channel, divided by one less: what running statistics keep.
    pub unbiased_var: Tensor,
}

/// What is normalised over which dimensions.
#[derive(Clone)]
struct Normalization {
    name: &'static str,
    dims: Vec<isize>,
    eps: f64,
    /// Is the mean taken out first?
    centered: bool,
}

impl Normalization {
    /// The mean (if it is taken out) and the variance or mean square; the dimensions stay with size 1.
    #[track_caller]
    fn moments(&self, x: &Tensor) -> Result<(Option<Tensor>, Tensor)> {
        if !self.centered {
            return Ok((None, x.try_square()?.try_mean_keepdim(&self.dims[..])?));
        }
        let mean = x.try_mean_keepdim(&self.dims[..])?;
        let var = x.try_sub(&mean)?.try_square()?.try_mean_keepdim(&self.dims[..])?;
        Ok((Some(mean), var))
    }

    /// x̂, from the moments.
    #[track_caller]
    fn apply(&self, x: &Tensor, mean: Option<&Tensor>, scale: &Tensor) -> Result<Tensor> {
        match mean {
            Some(mean) => x.try_sub(mean)?.try_mul(scale),
            None => x.try_mul(scale),
        }
    }

    /// The normalised values times the weight plus the bias, which have x's rank, and the variance and mean.
    #[track_caller]
    fn forward(
        self,
        x: &Tensor,
        weight: Option<&Tensor>,
        bias: Option<&Tensor>,
    ) -> Result<(Tensor, Option<Tensor>, Tensor)> {
        let (mean, var) = no_grad(|| self.moments(&wide(x)?))?;
        let scale = no_grad(|| var.try_add(self.eps)?.try_rsqrt())?;
        let is_one = |given: Option<&Tensor>| {
            given.is_none_or(|given| self.dims.iter().all(|&d| given.shape()[d as usize] == 1))
        };
        let one_weight = is_one(weight) && is_one(bias);
        let forward = || {
            let mut y = match weight {
                Some(weight) if one_weight => {
                    self.apply(&wide(x)?, mean.as_ref(), &scale.try_mul(weight)?)?
                }
                Some(weight) => self.apply(&wide(x)?, mean.as_ref(), &scale)?.try_mul(weight)?,
                None => self.apply(&wide(x)?, mean.as_ref(), &scale)?,
            };
            if let Some(bias) = bias {
                y = y.try_add(bias)?;
            }
            as_given(y, x.dtype())
        };
        let name = self.name;
        // Absent operands are stood for by one that needs no gradient.
        let (w, b, m) = (weight.unwrap_or(&scale), bias.unwrap_or(&scale), mean.as_ref().unwrap_or(&scale));
        let inputs = [x, &scale, m, w, b];
        let mask = 0b11 | if mean.is_some() { 0b100 } else { 0 } | if weight.is_some() { 0b1000 } else { 0 };
        let (weighted, centered) = (weight.is_some(), self.centered);
        let this = self.clone();
        let rule = move |v: &crate::autograd::Vjp| {
            let (g, x) = (&wide(v.grad())?, &wide(v.input(0))?);
            // Second derivatives need the moments as functions of x.
            let (mean, scale) = match is_grad_enabled() {
                true => {
                    let (mean, var) = this.moments(x)?;
                    (mean, var.try_add(this.eps)?.try_rsqrt()?)
                }
                false => (centered.then(|| v.input(2).clone()), v.input(1).clone()),
            };
            let mut grads = vec![None; 5];
            let to_x = |gradient: Tensor| as_given(gradient, v.input(0).dtype()).map(Some);
            let to = |input: usize, gradient: &Tensor| {
                as_given(summed_to(gradient, v.input(input).shape())?, v.input(input).dtype()).map(Some)
            };
            if let (true, Some(mean)) = (one_weight, &mean) {
                let centered = x.try_sub(mean)?;
                let sum = |x: &Tensor| x.try_sum_keepdim(&this.dims[..]);
                let (of_g, along) = (sum(g)?, sum(&g.try_mul(&centered)?)?.try_mul(&scale)?);
                if v.needs[0] {
                    let share = of_g.numel() as f64 / x.numel() as f64;
                    let slope = if weighted { scale.try_mul(v.input(3))? } else { scale.clone() };
                    let rest = g.try_sub(&of_g.try_mul(share)?)?.try_mul(&slope)?;
                    let bend = along.try_mul(share)?.try_mul(&scale)?.try_mul(&slope)?;
                    grads[0] = to_x(rest.try_sub(&centered.try_mul(&bend)?)?)?;
                }
                if v.needs[3] {
                    grads[3] = to(3, &along)?;
                }
                if v.needs[4] {
                    grads[4] = to(4, &of_g)?;
                }
                return Ok(grads);
            }
            let normalized = this.apply(x, mean.as_ref(), &scale)?;
            if v.needs[0] {
                let h = if weighted { g.try_mul(v.input(3))? } else { g.clone() };
                let along = h.try_mul(&normalized)?.try_mean_keepdim(&this.dims[..])?;
                let mut rest = h.clone();
                if centered {
                    rest = rest.try_sub(&h.try_mean_keepdim(&this.dims[..])?)?;
                }
                grads[0] = to_x(rest.try_sub(&normalized.try_mul(&along)?)?.try_mul(&scale)?)?;
            }
            if v.needs[3] {
                grads[3] = to(3, &g.try_mul(&normalized)?)?;
            }
            if v.needs[4] {
                grads[4] = to(4, g)?;
            }
            Ok(grads)
        };
        let output = Tensor::with_rule(name, Saves::inputs(mask), &inputs, forward, rule)?;
        Ok((output, mean, var))
    }
}

/// f16 as f32: moments of f16 are not precise, and may be too large for one.
#[track_caller]
fn wide(x: &Tensor) -> Result<Tensor> {
    if x.dtype() == DType::F16 { x.try_to_dtype(DType::F32) } else { Ok(x.clone()) }
}

/// What was computed from f16, or for it, as f16 again.
#[track_caller]
fn as_given(y: Tensor, given: DType) -> Result<Tensor> {
    if given == DType::F16 { y.try_to_dtype(given) } else { Ok(y) }
}

/// The sum over the dimensions in which a shape of the same rank is 1.
#[track_caller]
fn summed_to(x: &Tensor, shape: &Shape) -> Result<Tensor> {
    let repeated = (0..x.rank()).filter(|&d| shape[d] != x.shape()[d]).map(|d| d as isize);
    x.try_sum_keepdim(repeated.collect::<Vec<_>>())
}

/// Refuses what cannot be normalised.
fn check_floats(op: &'static str, x: &Tensor) -> Result<()> {
    match x.dtype().is_float() {
        true => Ok(()),
        false => Err(Error::dtype_not_accepted(op, x.dtype(), "a float dtype")),
    }
}

/// (N, C, …): the number of channels.
fn channels(op: &'static str, x: &Tensor) -> Result<usize> {
    check_floats(op, x)?;
    match x.rank() {
        0 | 1 => Err(Error::shape(op, format!("an input of shape {}; (N, C, …) is expected", x.shape()))),
        _ => Ok(x.shape()[1]),
    }
}

/// One number for each channel, along dimension 1 of a tensor of this rank.
#[track_caller]
fn per_channel(
    op: &'static str,
    given: Option<&Tensor>,
    channels: usize,
    rank: usize,
) -> Result<Option<Tensor>> {
    let Some(given) = given else { return Ok(None) };
    if given.shape().dims() != [channels] {
        let message =
            format!("one number for each of {channels} channels is expected, not {}", given.shape());
        return Err(Error::shape(op, message));
    }
    let aligned: Shape = (0..rank).map(|d| if d == 1 { channels } else { 1 }).collect();
    given.try_reshape(aligned).map(Some)
}

/// Parameters shaped as the last dimensions, with x's rank.
#[track_caller]
fn trailing(
    op: &'static str,
    given: Option<&Tensor>,
    shape: &[usize],
    rank: usize,
) -> Result<Option<Tensor>> {
    let Some(given) = given else { return Ok(None) };
    if given.shape().dims() != shape {
        let message = format!("parameters of shape {} for a normalized shape of {shape:?}", given.shape());
        return Err(Error::shape(op, message));
    }
    let leading = std::iter::repeat_n(1, rank - shape.len());
    given.try_reshape(leading.chain(shape.iter().copied()).collect::<Shape>()).map(Some)
}

/// The last dimensions of x, which must have these sizes.
fn trailing_dims(op: &'static str, x: &Tensor, shape: &[usize]) -> Result<Vec<isize>> {
    check_floats(op, x)?;
    if shape.is_empty() || !x.shape().ends_with(shape) {
        let message = format!("a normalized shape of {shape:?} for an input of shape {}", x.shape());
        return Err(Error::shape(op, message));
    }
    Ok((x.rank() - shape.len()..x.rank()).map(|d| d as isize).collect())
}

/// y · weight + bias.
#[track_caller]
fn affine(y: Tensor, weight: Option<&Tensor>, bias: Option<&Tensor>) -> Result<Tensor> {
    let y = if let Some(weight) = weight { y.try_mul(weight)? } else { y };
    if let Some(bias) = bias { y.try_add(bias) } else { Ok(y) }
}

impl Tensor {
    twins! {
        /// (x − mean) / √(var + ε) · weight + bias over the last dimensions, whose sizes are given; weight and bias
        /// have that shape. PyTorch's ε is 1e-5.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[1.0, 3.0], [0.0, 8.0]], &Device::cpu());
        /// let y = x.layer_norm(&[2], None, None, 1e-5);
        /// assert_eq!(y.to_string(), "tensor([[-1.0000,  1.0000],\n        [-1.0000,  1.0000]])");
        /// ```
        layer_norm / try_layer_norm(
            &self, normalized_shape: &[usize], weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64,
        ) -> Tensor {
            let name = "layer_norm";
            let entered = Autocast::Full.enter([self])?;
            let [x] = entered.inputs([self]);
            let (weight, bias) = (entered.optional(weight)?, entered.optional(bias)?);
            let dims = trailing_dims(name, x, normalized_shape)?;
            let weight = trailing(name, weight.as_ref(), normalized_shape, x.rank())?;
            let bias = trailing(name, bias.as_ref(), normalized_shape, x.rank())?;
            let over = Normalization { name, dims, eps, centered: true };
            Ok(over.forward(x, weight.as_ref(), bias.as_ref())?.0)
        }

        /// x / √(mean(x²) + ε) · weight over the last dimensions, whose sizes are given; the weight has that shape.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([3.0, 4.0], &Device::cpu());
        /// assert_eq!(x.rms_norm(&[2], None, 0.0).to_string(), "tensor([0.8485, 1.1314])");
        /// ```
        rms_norm / try_rms_norm(
            &self, normalized_shape: &[usize], weight: Option<&Tensor>, eps: f64,
        ) -> Tensor {
            let name = "rms_norm";
            let entered = Autocast::Full.enter([self])?;
            let [x] = entered.inputs([self]);
            let weight = entered.optional(weight)?;
            let dims = trailing_dims(name, x, normalized_shape)?;
            let weight = trailing(name, weight.as_ref(), normalized_shape, x.rank())?;
            let over = Normalization { name, dims, eps, centered: false };
            Ok(over.forward(x, weight.as_ref(), None)?.0)
        }

        /// (x − mean) / √(var + ε) · weight + bias over groups of channels of (N, C, …) and what follows them; weight
        /// and bias have shape (C). PyTorch's ε is 1e-5.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[1.0, 3.0, 0.0, 8.0]], &Device::cpu());
        /// let y = x.group_norm(2, None, None, 1e-5);
        /// assert_eq!(y.to_string(), "tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])");
        /// ```
        group_norm / try_group_norm(
            &self, groups: usize, weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64,
        ) -> Tensor {
            let name = "group_norm";
            let entered = Autocast::Full.enter([self])?;
            let [x] = entered.inputs([self]);
            let (weight, bias) = (entered.optional(weight)?, entered.optional(bias)?);
            let channels = channels(name, self)?;
            if groups == 0 || !channels.is_multiple_of(groups) {
                let message = format!("{channels} channels cannot be put into {groups} equal groups");
                return Err(Error::argument(name, message));
            }
            // No channels divide into any number of groups.
            let groups = if channels == 0 { 1 } else { groups };
            // (N, groups, channels of a group, places), and a weight for each channel of each group.
            let (each, places) = (channels / groups, product(&self.shape()[2..]));
            let grouped = x.try_reshape([self.shape()[0], groups, each, places])?;
            let of_groups = |given: Option<Tensor>| -> Result<Option<Tensor>> {
                let Some(given) = per_channel(name, given.as_ref(), channels, self.rank())? else { return Ok(None) };
                given.try_reshape([1, groups, each, 1]).map(Some)
            };
            let (weight, bias) = (of_groups(weight)?, of_groups(bias)?);
            let over = Normalization { name, dims: vec![2, 3], eps, centered: true };
            over.forward(&grouped, weight.as_ref(), bias.as_ref())?.0.try_reshape(self.shape())
        }

        /// (x − mean) / √(var + ε) · weight + bias over what follows the channels of (N, C, …), for each channel of
        /// each example; weight and bias have shape (C). PyTorch's ε is 1e-5.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[[1.0, 3.0], [0.0, 8.0]]], &Device::cpu());
        /// let y = x.instance_norm(None, None, 1e-5);
        /// assert_eq!(y.to_string(), "tensor([[[-1.0000,  1.0000],\n         [-1.0000,  1.0000]]])");
        /// ```
        instance_norm / try_instance_norm(
            &self, weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64,
        ) -> Tensor {
            let name = "instance_norm";
            let _entered = Autocast::Widest.enter([self])?;
            let channels = channels(name, self)?;
            if self.rank() < 3 || product(&self.shape()[2..]) <= 1 {
                let message = format!("more than one value per channel is needed; the input has shape {}", self.shape());
                return Err(Error::shape(name, message));
            }
            let weight = per_channel(name, weight, channels, self.rank())?;
            let bias = per_channel(name, bias, channels, self.rank())?;
            let dims = (2..self.rank() as isize).collect();
            let over = Normalization { name, dims, eps, centered: true };
            Ok(over.forward(self, weight.as_ref(), bias.as_ref())?.0)
        }

        /// (x − mean) / √(var + ε) · weight + bias for each channel of (N, C, …), with the mean and variance of the
        /// batch, which are returned too: as in training. Weight and bias have shape (C). PyTorch's ε is 1e-5.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[1.0, 0.0], [3.0, 8.0]], &Device::cpu());
        /// let normed = x.batch_norm_training(None, None, 1e-5);
        /// assert_eq!(normed.output.to_string(), "tensor([[-1.0000, -1.0000],\n        [ 1.0000,  1.0000]])");
        /// assert_eq!(normed.mean.to_string(), "tensor([2., 4.])");
        /// assert_eq!(normed.unbiased_var.to_string(), "tensor([ 2., 32.])");
        /// ```
        batch_norm_training / try_batch_norm_training(
            &self, weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64,
        ) -> BatchNormed {
            let name = "batch_norm";
            let _entered = Autocast::Widest.enter([self])?;
            let channels = channels(name, self)?;
            let count = self.numel() / channels.max(1);
            if count <= 1 {
                let message = format!("more than one value per channel is needed; the input has shape {}", self.shape());
                return Err(Error::shape(name, message));
            }
            let weight = per_channel(name, weight, channels, self.rank())?;
            let bias = per_channel(name, bias, channels, self.rank())?;
            let dims = (0..self.rank() as isize).filter(|&d| d != 1).collect();
            let over = Normalization { name, dims, eps, centered: true };
            let (output, mean, var) = over.forward(self, weight.as_ref(), bias.as_ref())?;
            let mean = mean.ok_or_else(|| Error::argument(name, "the mean was not taken"))?.try_reshape(channels)?;
            let var = var.try_reshape(channels)?;
            let unbiased_var = var.try_mul(count as f64 / (count - 1) as f64)?;
            Ok(BatchNormed { output, mean, var, unbiased_var })
        }

        /// (x − mean) / √(var + ε) · weight + bias for each channel of (N, C, …), with a mean and variance that are
        /// given, such as running statistics: as in evaluation. All four have shape (C).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let x = Tensor::new([[1.0, 0.0], [3.0, 8.0]], &device);
        /// let (mean, var) = (Tensor::new([1.0, 0.0], &device), Tensor::new([4.0, 1.0], &device));
        /// let y = x.batch_norm(&mean, &var, None, None, 0.0);
        /// assert_eq!(y.to_string(), "tensor([[0., 0.],\n        [1., 8.]])");
        /// ```
        batch_norm / try_batch_norm(
            &self, mean: &Tensor, var: &Tensor, weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64,
        ) -> Tensor {
            let name = "batch_norm";
            let _entered = Autocast::Widest.enter([self])?;
            let channels = channels(name, self)?;
            let along = |given: &Tensor| {
                per_channel(name, Some(given), channels, self.rank())?
                    .ok_or_else(|| Error::argument(name, "statistics are needed"))
            };
            let (weight, bias) =
                (weight.map(along).transpose()?, bias.map(along).transpose()?);
            let scale = along(var)?.try_add(eps)?.try_rsqrt()?;
            let scale = if let Some(weight) = &weight { scale.try_mul(weight)? } else { scale };
            let normalized = affine(self.try_sub(&along(mean)?)?.try_mul(&scale)?, None, bias.as_ref())?;
            as_given(normalized, self.dtype())
        }

        /// x / (k + α · mean of x² over `size` neighbouring channels)^β for (N, C, …); the mean counts channels beyond
        /// the ends as 0. PyTorch's α is 1e-4, β ¾, k 1.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[1.0, 2.0, 3.0]], &Device::cpu());
        /// assert_eq!(x.local_response_norm(2, 2.0, 1.0, 1.0).to_string(), "tensor([[0.5000, 0.3333, 0.2143]])");
        /// ```
        local_response_norm / try_local_response_norm(&self, size: usize, alpha: f64, beta: f64, k: f64) -> Tensor {
            let name = "local_response_norm";
            let channels = channels(name, self)?;
            if size == 0 {
                return Err(Error::argument(name, "the size must be positive"));
            }
            // Farther neighbours than there are channels are zeros.
            let (before, after) = ((size / 2).min(channels), ((size - 1) / 2).min(channels));
            let rest = std::iter::repeat_n(0, 2 * (self.rank() - 2));
            let pads: Vec<isize> = rest.chain([before as isize, after as isize]).collect();
            let padded = self.try_square()?.try_pad(&pads, 0.0)?;
            let neighbours = padded.try_unfold(1, before + after + 1, 1)?.try_sum(-1)?;
            let divisor = neighbours.try_mul(alpha / size as f64)?.try_add(k)?.try_pow(beta)?;
            self.try_div(&divisor)
        }
    }
}
