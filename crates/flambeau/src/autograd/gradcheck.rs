//! Comparing gradients with finite differences: the test of a derivative rule.

use super::{BackwardOptions, grad_with};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::rng::Generator;
use crate::tensor::Tensor;

/// How [`gradcheck`] compares. The defaults are PyTorch's.
#[derive(Debug, Clone, Copy)]
pub struct GradcheckOptions {
    /// Half the distance between the points of a central difference.
    pub eps: f64,
    /// The absolute difference allowed.
    pub atol: f64,
    /// The relative difference allowed.
    pub rtol: f64,
    /// The seed of the random gradients given to the outputs.
    pub seed: u64,
}

impl Default for GradcheckOptions {
    fn default() -> Self {
        GradcheckOptions { eps: 1e-6, atol: 1e-5, rtol: 1e-3, seed: 0 }
    }
}

/// What a checked function may return: a tensor, several, or a result of these.
pub trait Outputs {
    /// The tensors, or the error.
    fn outputs(self) -> Result<Vec<Tensor>>;
}

impl Outputs for Tensor {
    fn outputs(self) -> Result<Vec<Tensor>> {
        Ok(vec![self])
    }
}

impl Outputs for Vec<Tensor> {
    fn outputs(self) -> Result<Vec<Tensor>> {
        Ok(self)
    }
}

impl<T: Outputs> Outputs for Result<T> {
    fn outputs(self) -> Result<Vec<Tensor>> {
        self?.outputs()
    }
}

/// Compares the gradients of `f` with central differences, (L(x + eps) − L(x − eps)) / 2 eps for every element, where
/// L = Σ cᵢ · f(x)ᵢ with random c. The inputs that require a gradient are checked; they must be F64, on the CPU.
///
/// The error names the input and element, with the analytic and the numeric value.
pub async fn gradcheck<T: Outputs>(
    f: impl Fn(&[Tensor]) -> T,
    inputs: &[Tensor],
    options: GradcheckOptions,
) -> Result<()> {
    let checked = checked_inputs(inputs)?;
    let outputs = float_outputs(f(inputs))?;
    let cotangents = cotangents(&outputs, options.seed)?;
    let analytic = analytic(&outputs, &cotangents, inputs, &checked)?;
    let points: Vec<Tensor> = inputs.iter().map(Tensor::detach).collect();
    let loss = async |points: &[Tensor]| -> Result<f64> {
        let outputs = super::no_grad(|| float_outputs(f(points)))?;
        let mut sum: Option<Tensor> = None;
        for (output, cotangent) in outputs.iter().zip(&cotangents) {
            let part = output.try_mul(cotangent)?.try_sum(..)?;
            sum = Some(match sum {
                Some(sum) => sum.try_add(&part)?,
                None => part,
            });
        }
        match sum {
            Some(sum) => sum.item().await,
            None => Ok(0.0),
        }
    };
    for (&index, analytic) in checked.iter().zip(analytic) {
        let analytic = analytic.to_vec::<f64>().await?;
        let values = points[index].to_vec::<f64>().await?;
        for (element, analytic) in analytic.into_iter().enumerate() {
            let mut moved = points.clone();
            let mut at = async |offset: f64| -> Result<f64> {
                let mut values = values.clone();
                values[element] += offset;
                moved[index] =
                    Tensor::try_from_slice(&values, points[index].shape(), points[index].device())?;
                loss(&moved).await
            };
            let numeric = (at(options.eps).await? - at(-options.eps).await?) / (2.0 * options.eps);
            // Written so that a NaN fails.
            let is_close = (analytic - numeric).abs() <= options.atol + options.rtol * numeric.abs();
            if !is_close {
                return Err(Error::Autograd(format!(
                    "the gradient of input {index} of shape {} is wrong at element {element}: analytic {analytic:e}, \
                     numeric {numeric:e}",
                    points[index].shape()
                )));
            }
        }
    }
    Ok(())
}

/// [`gradcheck`] of the gradients of `f`: compares second derivatives with central differences of first ones.
pub async fn gradgradcheck<T: Outputs>(
    f: impl Fn(&[Tensor]) -> T,
    inputs: &[Tensor],
    options: GradcheckOptions,
) -> Result<()> {
    let checked = checked_inputs(inputs)?;
    let outputs = float_outputs(f(inputs))?;
    let mut all = inputs.to_vec();
    for cotangent in cotangents(&outputs, options.seed.wrapping_add(1))? {
        all.push(cotangent.try_requires_grad()?);
    }
    let first = |all: &[Tensor]| -> Result<Vec<Tensor>> {
        let _record = super::set_grad_enabled(true);
        let (inputs, cotangents) = all.split_at(inputs.len());
        let marked = |(index, input): (usize, &Tensor)| match checked.contains(&index) && !input.is_tracked()
        {
            true => input.try_requires_grad(),
            false => Ok(input.clone()),
        };
        let inputs = inputs.iter().enumerate().map(marked).collect::<Result<Vec<_>>>()?;
        analytic(&float_outputs(f(&inputs))?, cotangents, &inputs, &checked)
    };
    gradcheck(first, &all, options).await
}

/// Which inputs to check.
fn checked_inputs(inputs: &[Tensor]) -> Result<Vec<usize>> {
    let checked: Vec<usize> = (0..inputs.len()).filter(|&index| inputs[index].is_tracked()).collect();
    if checked.is_empty() {
        return Err(Error::Autograd("gradcheck: no input requires a gradient".into()));
    }
    match checked.iter().find(|&&index| inputs[index].dtype() != DType::F64) {
        Some(&index) => {
            let message = format!("gradcheck: input {index} is {}; use f64", inputs[index].dtype());
            Err(Error::Autograd(message))
        }
        None => Ok(checked),
    }
}

/// The outputs a gradient can flow into.
fn float_outputs(outputs: impl Outputs) -> Result<Vec<Tensor>> {
    Ok(outputs.outputs()?.into_iter().filter(|output| output.dtype().is_float()).collect())
}

/// Random gradients for the outputs.
fn cotangents(outputs: &[Tensor], seed: u64) -> Result<Vec<Tensor>> {
    let generator = Generator::new(seed);
    let random = |output: &Tensor| {
        Tensor::randn(output.shape(), &generator, output.device()).try_to_dtype(output.dtype())
    };
    outputs.iter().map(random).collect()
}

/// The gradients of the checked inputs; zeros where none flows.
fn analytic(
    outputs: &[Tensor],
    cotangents: &[Tensor],
    inputs: &[Tensor],
    checked: &[usize],
) -> Result<Vec<Tensor>> {
    let tracked = outputs.iter().zip(cotangents).filter(|(output, _)| output.is_tracked());
    let (outputs, cotangents): (Vec<Tensor>, Vec<Option<Tensor>>) =
        tracked.map(|(output, cotangent)| (output.clone(), Some(cotangent.clone()))).unzip();
    let wanted: Vec<Tensor> = checked.iter().map(|&index| inputs[index].clone()).collect();
    let options = BackwardOptions { create_graph: true, ..Default::default() };
    let found = grad_with(&outputs, &cotangents, &wanted, options)?;
    Ok(found
        .into_iter()
        .zip(&wanted)
        .map(|(grad, input)| grad.unwrap_or_else(|| input.zeros_like()))
        .collect())
}

/// [`gradcheck`], blocking.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::autograd::gradcheck_blocking;
/// let x = Tensor::from_slice(&[0.5f64, 2.0], [2], &Device::cpu()).requires_grad();
/// gradcheck_blocking(|x| x[0].exp() * &x[0], &[x], Default::default())?;
/// # Ok::<(), Error>(())
/// ```
#[cfg(not(target_arch = "wasm32"))]
pub fn gradcheck_blocking<T: Outputs>(
    f: impl Fn(&[Tensor]) -> T,
    inputs: &[Tensor],
    options: GradcheckOptions,
) -> Result<()> {
    pollster::block_on(gradcheck(f, inputs, options))
}

/// [`gradgradcheck`], blocking.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::autograd::gradgradcheck_blocking;
/// let x = Tensor::from_slice(&[0.5f64, 2.0], [2], &Device::cpu()).requires_grad();
/// gradgradcheck_blocking(|x| &x[0] * &x[0] * &x[0], &[x], Default::default())?;
/// # Ok::<(), Error>(())
/// ```
#[cfg(not(target_arch = "wasm32"))]
pub fn gradgradcheck_blocking<T: Outputs>(
    f: impl Fn(&[Tensor]) -> T,
    inputs: &[Tensor],
    options: GradcheckOptions,
) -> Result<()> {
    pollster::block_on(gradgradcheck(f, inputs, options))
}
