//! First values of parameters: `torch.nn.init`.
//!
//! Each function puts a new value into a parameter. Nothing is computed before the value is needed; random numbers come
//! from the generator given, or from the default one for `None`, and are the same on every device.

use super::Parameter;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::op::elementwise::{NORMAL, apply};
use crate::rng::Generator;
use crate::shape::{Shape, product};
use crate::tensor::{Tensor, TensorOptions};
use std::f64::consts::SQRT_2;

/// What follows a layer, for the [gain](calculate_gain) that keeps the size of signals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Nonlinearity {
    /// Nothing, or a linear layer or convolution.
    Linear,
    /// The logistic function.
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
    /// max(x, 0).
    Relu,
    /// x, and this slope times x below 0.
    LeakyRelu(f64),
    /// The scaled exponential linear unit.
    Selu,
}

/// The factor by which weights should be larger because of what follows them.
///
/// ```
/// use flambeau::nn::init::{Nonlinearity, calculate_gain};
/// assert_eq!(calculate_gain(Nonlinearity::Tanh), 5.0 / 3.0);
/// assert_eq!(calculate_gain(Nonlinearity::LeakyRelu(0.0)), 2f64.sqrt());
/// ```
pub fn calculate_gain(nonlinearity: Nonlinearity) -> f64 {
    match nonlinearity {
        Nonlinearity::Linear | Nonlinearity::Sigmoid => 1.0,
        Nonlinearity::Tanh => 5.0 / 3.0,
        Nonlinearity::Relu => SQRT_2,
        Nonlinearity::LeakyRelu(slope) => (2.0 / (1.0 + slope * slope)).sqrt(),
        Nonlinearity::Selu => 0.75,
    }
}

/// Which signals keep their size: those forward (inputs are counted) or those backward (outputs are).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FanMode {
    /// Forward.
    #[default]
    FanIn,
    /// Backward.
    FanOut,
}

/// The settings of [`kaiming_uniform`] and [`kaiming_normal`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KaimingOptions {
    /// Forward or backward.
    pub mode: FanMode,
    /// What follows the layer.
    pub nonlinearity: Nonlinearity,
}

impl Default for KaimingOptions {
    fn default() -> Self {
        KaimingOptions { mode: FanMode::FanIn, nonlinearity: Nonlinearity::LeakyRelu(0.0) }
    }
}

impl KaimingOptions {
    /// gain / √fan.
    fn std(&self, op: &'static str, parameter: &Parameter) -> Result<f64> {
        let (fan_in, fan_out) = fans(op, parameter.shape())?;
        let fan = if self.mode == FanMode::FanIn { fan_in } else { fan_out };
        Ok(calculate_gain(self.nonlinearity) / (fan.max(1) as f64).sqrt())
    }
}

/// The numbers of inputs and outputs that each element of a weight (out, in, …) meets.
fn fans(op: &'static str, shape: &Shape) -> Result<(usize, usize)> {
    match shape.dims() {
        [outputs, inputs, kernel @ ..] => {
            let taps = product(kernel);
            Ok((product([*inputs, taps]), product([*outputs, taps])))
        }
        _ => Err(Error::shape(op, format!("a weight of shape {shape} must have at least two dimensions"))),
    }
}

fn options(parameter: &Parameter) -> TensorOptions {
    TensorOptions::from((parameter.dtype(), &parameter.device()))
}

/// The generator given, or the default one.
fn generator_or_default<'g>(given: impl Into<Option<&'g Generator>>) -> Generator {
    given.into().cloned().unwrap_or_else(Generator::default_generator)
}

/// Numbers from U(low, high).
///
/// ```
/// use flambeau::{nn::{Parameter, init}, prelude::*};
/// let w = Parameter::new(&Tensor::zeros([100], &Device::cpu()));
/// init::uniform(&w, 2.0, 3.0, &Generator::new(1))?;
/// assert!(w.value().amin(..).item_blocking()? >= 2.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn uniform<'g>(
    parameter: &Parameter,
    low: f64,
    high: f64,
    generator: impl Into<Option<&'g Generator>>,
) -> Result<()> {
    let generator = generator_or_default(generator);
    parameter.try_set(&uniform_values(parameter.shape(), low, high, &generator, &options(parameter))?)
}

/// Numbers from N(mean, std²).
///
/// ```
/// use flambeau::{nn::{Parameter, init}, prelude::*};
/// let w = Parameter::new(&Tensor::zeros([1000], &Device::cpu()));
/// init::normal(&w, 1.0, 0.1, None)?;
/// assert!((w.value().mean(..).item_blocking()? - 1.0).abs() < 0.02);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn normal<'g>(
    parameter: &Parameter,
    mean: f64,
    std: f64,
    generator: impl Into<Option<&'g Generator>>,
) -> Result<()> {
    let unit = Tensor::try_randn(parameter.shape(), &generator_or_default(generator), options(parameter))?;
    parameter.try_set(&unit.try_mul(std)?.try_add(mean)?)
}

/// Numbers from N(mean, std²), and only those in [low, high].
///
/// ```
/// use flambeau::{nn::{Parameter, init}, prelude::*};
/// let w = Parameter::new(&Tensor::zeros([1000], &Device::cpu()));
/// init::trunc_normal(&w, 0.0, 1.0, -2.0, 2.0, None)?;
/// assert!(w.value().abs().amax(..).item_blocking()? <= 2.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn trunc_normal<'g>(
    parameter: &Parameter,
    mean: f64,
    std: f64,
    low: f64,
    high: f64,
    generator: impl Into<Option<&'g Generator>>,
) -> Result<()> {
    if !(std > 0.0 && low < high) {
        let message = format!("std {std} must be above 0, and [{low}, {high}] must not be empty");
        return Err(Error::argument("trunc_normal", message));
    }
    let probability = |x: f64| 0.5 + 0.5 * libm::erf((x - mean) / std / SQRT_2);
    let device = parameter.device();
    let generator = generator_or_default(generator);
    let probabilities = uniform_values(
        parameter.shape(),
        probability(low),
        probability(high),
        &generator,
        &(&device).into(),
    )?;
    // A normal number is the inverse distribution function at a probability, which `NORMAL` takes as the upper 23 of
    // 32 bits.
    const STEPS: i64 = 1 << 23;
    let bits = probabilities.try_mul(STEPS)?.try_clamp(0, STEPS - 1)?.try_to_dtype(DType::U32)?;
    let unit = apply(&NORMAL, &[&bits.try_shift_left(9)?])?.try_to_dtype(parameter.dtype())?;
    parameter.try_set(&unit.try_mul(std)?.try_add(mean)?.try_clamp(low, high)?)
}

/// One number everywhere.
///
/// ```
/// use flambeau::{nn::{Parameter, init}, prelude::*};
/// let w = Parameter::new(&Tensor::zeros([2], &Device::cpu()));
/// init::constant(&w, 0.5)?;
/// assert_eq!(w.value().to_string(), "tensor([0.5000, 0.5000])");
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn constant(parameter: &Parameter, value: impl Into<Scalar>) -> Result<()> {
    parameter.try_set(&Tensor::try_full(parameter.shape(), value, options(parameter))?)
}

/// Ones.
///
/// ```
/// use flambeau::{nn::{Parameter, init}, prelude::*};
/// let w = Parameter::new(&Tensor::zeros([2], &Device::cpu()));
/// init::ones(&w)?;
/// assert_eq!(w.value().to_string(), "tensor([1., 1.])");
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn ones(parameter: &Parameter) -> Result<()> {
    constant(parameter, 1.0)
}

/// Zeros.
///
/// ```
/// use flambeau::{nn::{Parameter, init}, prelude::*};
/// let w = Parameter::new(&Tensor::ones([2], &Device::cpu()));
/// init::zeros(&w)?;
/// assert_eq!(w.value().to_string(), "tensor([0., 0.])");
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn zeros(parameter: &Parameter) -> Result<()> {
    constant(parameter, 0.0)
}

/// The identity matrix: ones on the diagonal of a matrix, which need not be square.
///
/// ```
/// use flambeau::{nn::{Parameter, init}, prelude::*};
/// let w = Parameter::new(&Tensor::zeros([2, 3], &Device::cpu()));
/// init::eye(&w)?;
/// assert_eq!(w.value().to_string(), "tensor([[1., 0., 0.],\n        [0., 1., 0.]])");
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn eye(parameter: &Parameter) -> Result<()> {
    let [rows, columns] = *parameter.shape().dims() else {
        let message = format!("shape {} must have two dimensions", parameter.shape());
        return Err(Error::shape("eye", message));
    };
    parameter.try_set(&Tensor::try_eye_rectangular(rows, columns, options(parameter))?)
}

/// The kernel of a convolution that passes its input on: in every group, output i is input i, for as many as there are.
///
/// ```
/// use flambeau::{nn::{Parameter, init}, prelude::*};
/// let w = Parameter::new(&Tensor::zeros([2, 2, 3], &Device::cpu()));
/// init::dirac(&w, 1)?;
/// assert_eq!(w.value().select(2, 1).to_string(), "tensor([[1., 0.],\n        [0., 1.]])");
/// assert_eq!(w.value().sum(..).to_string(), "tensor(2.)");
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn dirac(parameter: &Parameter, groups: usize) -> Result<()> {
    let shape = parameter.shape();
    let fits = (3..=5).contains(&shape.rank()) && groups > 0 && shape[0].is_multiple_of(groups);
    if !fits {
        let message = format!(
            "a kernel of shape {shape} must have three to five dimensions, and {groups} groups of outputs"
        );
        return Err(Error::shape("dirac", message));
    }
    let options = options(parameter);
    let mut kernel =
        Tensor::try_eye_rectangular(shape[0] / groups, shape[1], &options)?.try_tile([groups, 1])?;
    for (dim, &size) in shape.iter().enumerate().skip(2) {
        kernel = kernel.try_unsqueeze(-1)?.embed(dim, size, (size / 2) as i64, 1)?;
    }
    parameter.try_set(&kernel)
}

/// Numbers from U(−a, a), a = gain √(6 / (fan_in + fan_out)), for a weight (out, in, …): Glorot and Bengio, 2010.
///
/// ```
/// use flambeau::{nn::{Parameter, init}, prelude::*};
/// let w = Parameter::new(&Tensor::zeros([2, 4], &Device::cpu()));
/// init::xavier_uniform(&w, 1.0, None)?;
/// assert!(w.value().abs().amax(..).item_blocking()? <= 1.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn xavier_uniform<'g>(
    parameter: &Parameter,
    gain: f64,
    generator: impl Into<Option<&'g Generator>>,
) -> Result<()> {
    let bound = 3f64.sqrt() * xavier_std("xavier_uniform", parameter, gain)?;
    uniform(parameter, -bound, bound, generator)
}

/// Numbers from N(0, std²), std = gain √(2 / (fan_in + fan_out)), for a weight (out, in, …).
///
/// ```
/// use flambeau::{nn::{Parameter, init}, prelude::*};
/// let w = Parameter::new(&Tensor::zeros([100, 100], &Device::cpu()));
/// init::xavier_normal(&w, 1.0, None)?;
/// assert!((w.value().std(.., 1.0).item_blocking()? - 0.1).abs() < 0.01);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn xavier_normal<'g>(
    parameter: &Parameter,
    gain: f64,
    generator: impl Into<Option<&'g Generator>>,
) -> Result<()> {
    normal(parameter, 0.0, xavier_std("xavier_normal", parameter, gain)?, generator)
}

fn xavier_std(op: &'static str, parameter: &Parameter, gain: f64) -> Result<f64> {
    let (fan_in, fan_out) = fans(op, parameter.shape())?;
    Ok(gain * (2.0 / ((fan_in + fan_out).max(1) as f64)).sqrt())
}

/// Numbers from U(−a, a), a = gain √(3 / fan), for a weight (out, in, …): He et al., 2015.
///
/// ```
/// use flambeau::{nn::{Parameter, init}, prelude::*};
/// use init::{KaimingOptions, Nonlinearity};
/// let w = Parameter::new(&Tensor::zeros([2, 6], &Device::cpu()));
/// init::kaiming_uniform(&w, KaimingOptions { nonlinearity: Nonlinearity::Relu, ..Default::default() }, None)?;
/// assert!(w.value().abs().amax(..).item_blocking()? <= 1.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn kaiming_uniform<'g>(
    parameter: &Parameter,
    options: KaimingOptions,
    generator: impl Into<Option<&'g Generator>>,
) -> Result<()> {
    let bound = 3f64.sqrt() * options.std("kaiming_uniform", parameter)?;
    uniform(parameter, -bound, bound, generator)
}

/// Numbers from N(0, std²), std = gain / √fan, for a weight (out, in, …).
///
/// ```
/// use flambeau::{nn::{Parameter, init}, prelude::*};
/// let w = Parameter::new(&Tensor::zeros([50, 200], &Device::cpu()));
/// init::kaiming_normal(&w, Default::default(), None)?;
/// assert!((w.value().std(.., 1.0).item_blocking()? - 0.1).abs() < 0.01);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn kaiming_normal<'g>(
    parameter: &Parameter,
    options: KaimingOptions,
    generator: impl Into<Option<&'g Generator>>,
) -> Result<()> {
    normal(parameter, 0.0, options.std("kaiming_normal", parameter)?, generator)
}

/// A random matrix with orthonormal rows or columns, whichever are fewer, times `gain`; dimensions after the first count
/// as columns. Every orthogonal matrix is as likely as any other.
///
/// It is the orthogonal factor of the polar decomposition of a matrix of normal numbers, found with products of
/// matrices alone; orthogonal to about 1e-6.
///
/// ```
/// use flambeau::{nn::{Parameter, init}, prelude::*};
/// let w = Parameter::new(&Tensor::zeros([2, 5], &Device::cpu()));
/// init::orthogonal(&w, 1.0, None)?;
/// let product = w.value().matmul(&w.value().t());
/// assert!((product - Tensor::eye(2, &Device::cpu())).abs().amax(..).item_blocking()? < 1e-5);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn orthogonal<'g>(
    parameter: &Parameter,
    gain: f64,
    generator: impl Into<Option<&'g Generator>>,
) -> Result<()> {
    let shape = parameter.shape();
    if shape.rank() < 2 {
        let message = format!("shape {shape} must have at least two dimensions");
        return Err(Error::shape("orthogonal", message));
    }
    if shape.numel() == 0 {
        return Ok(());
    }
    let (rows, columns) = (shape[0], shape.numel() / shape[0]);
    let sizes = [rows.min(columns), rows.max(columns)];
    let dtype = if parameter.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
    let random = Tensor::try_randn(sizes, &generator_or_default(generator), (dtype, &parameter.device()))?;
    let matrix = polar_factor(&random)?.try_mul(gain)?;
    let matrix = if rows > columns { matrix.try_t()? } else { matrix };
    parameter.try_set(&matrix.try_reshape(shape)?.try_to_dtype(parameter.dtype())?)
}

/// U Vᵀ of a wide matrix U S Vᵀ: every singular value is brought to 1 by odd polynomials of the matrix.
fn polar_factor(matrix: &Tensor) -> Result<Tensor> {
    // a s − (a − c) s³ maps [c, 1] into itself and multiplies what is far below by a: eighteen times are enough for a
    // singular value of 1e-7 of the norm. From there, (3 s − s³) / 2 tends to 1, doubling the digits each time.
    const LIFT: (f64, f64) = (2.43, 2.13);
    const SETTLE: (f64, f64) = (1.5, 0.5);
    let mut x = matrix.try_div(&matrix.try_norm(2.0, ..)?)?;
    for (a, b) in std::iter::repeat_n(LIFT, 18).chain(std::iter::repeat_n(SETTLE, 9)) {
        let cube = x.try_matmul(&x.try_t()?)?.try_matmul(&x)?;
        x = x.try_mul(a)?.try_sub(cube.try_mul(b)?)?;
    }
    Ok(x)
}

/// Numbers from N(0, std²) in a matrix, where a share of every column, chosen at random, is 0: Martens, 2010.
///
/// ```
/// use flambeau::{nn::{Parameter, init}, prelude::*};
/// let w = Parameter::new(&Tensor::zeros([10, 3], &Device::cpu()));
/// init::sparse(&w, 0.25, 0.01, None)?;
/// assert_eq!(w.value().count_nonzero(0).to_string(), "tensor([7, 7, 7], dtype=i32)");
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sparse<'g>(
    parameter: &Parameter,
    sparsity: f64,
    std: f64,
    generator: impl Into<Option<&'g Generator>>,
) -> Result<()> {
    let shape = parameter.shape();
    if shape.rank() != 2 || !(0.0..=1.0).contains(&sparsity) {
        let message = format!("shape {shape} must have two dimensions, and sparsity {sparsity} be in 0..=1");
        return Err(Error::argument("sparse", message));
    }
    let generator = generator_or_default(generator);
    let options = options(parameter);
    let zeros = (sparsity * shape[0] as f64).ceil();
    let places =
        Tensor::try_rand(shape, &generator, &options)?.try_argsort(0, false)?.try_argsort(0, false)?;
    let values = Tensor::try_randn(shape, &generator, &options)?.try_mul(std)?;
    parameter.try_set(&values.try_masked_fill(&places.try_lt(zeros)?, 0.0)?)
}

fn uniform_values(
    shape: &Shape,
    low: f64,
    high: f64,
    generator: &Generator,
    options: &TensorOptions,
) -> Result<Tensor> {
    Tensor::try_rand(shape, generator, options)?.try_mul(high - low)?.try_add(low)
}

/// A parameter of numbers from U(−bound, bound), drawn from the default generator.
pub(crate) fn uniform_parameter(
    shape: impl Into<Shape>,
    bound: f64,
    options: &TensorOptions,
) -> Result<Parameter> {
    let values = uniform_values(&shape.into(), -bound, bound, &Generator::default_generator(), options)?;
    Parameter::try_new(&values)
}

/// A parameter filled with one number.
pub(crate) fn constant_parameter(
    shape: impl Into<Shape>,
    value: f64,
    options: &TensorOptions,
) -> Result<Parameter> {
    Parameter::try_new(&Tensor::try_full(shape, value, options)?)
}
