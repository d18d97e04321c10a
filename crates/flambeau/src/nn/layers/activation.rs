//! Activations: functions of every element, and softmax and its kin. One entry of a table each; those with a weight or
//! a mode follow after.

use super::constructors;
use super::text::float;
use crate::error::{Error, Result};
use crate::nn::{Forward, Mode, Module, Parameter, Part, init};
use crate::rng::Generator;
use crate::settings::{Settings, Word, words};
use crate::tensor::Tensor;

/// How [`Gelu`] computes the normal distribution function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GeluApproximation {
    /// By the error function.
    #[default]
    None,
    /// By a hyperbolic tangent.
    Tanh,
}

words!(GeluApproximation { "none" => None, "tanh" => Tanh });

/// A layer of the table: no parts, PyTorch's name, the settings as text, and what it computes.
macro_rules! activation {
    ($name:ident $python:literal |$this:ident, $input:ident| $forward:expr, $describe:expr) => {
        impl Module for $name {
            fn parts<'a>(&'a self, _: &mut dyn FnMut(&str, Part<'a>)) {}

            fn type_name(&self) -> Option<&str> {
                Some($python)
            }

            fn describe(&$this) -> String {
                $describe
            }
        }

        impl Forward for $name {
            #[track_caller]
            fn try_forward(&$this, $input: &Tensor) -> Result<Tensor> {
                $forward
            }
        }
    };
}

/// Activations without settings: `Name "PyTorch's name" method, result for [-1, 2]`.
macro_rules! plain_activations {
    ($($(#[$doc:meta])* $name:ident $python:literal $method:ident, $result:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// ```
        #[doc = concat!("use flambeau::{nn::", stringify!($name), ", prelude::*};")]
        #[doc = concat!("let y = ", stringify!($name), ".forward(&Tensor::new([-1.0, 2.0], &Device::cpu()));")]
        #[doc = concat!("assert_eq!(y.to_string(), \"tensor(", $result, ")\");")]
        /// ```
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct $name;

        activation!($name $python |self, input| input.$method(), String::new());
    )*};
}

plain_activations! {
    /// max(x, 0).
    Relu "ReLU" try_relu, "[0., 2.]";
    /// min(max(x, 0), 6).
    Relu6 "ReLU6" try_relu6, "[0., 2.]";
    /// The exponential linear unit, scaled so that mean 0 and variance 1 are kept through layers.
    Selu "SELU" try_selu, "[-1.1113,  2.1014]";
    /// x σ(x), also called swish.
    Silu "SiLU" try_silu, "[-0.2689,  1.7616]";
    /// x tanh(softplus(x)).
    Mish "Mish" try_mish, "[-0.3034,  1.9440]";
    /// 1 / (1 + e⁻ˣ).
    Sigmoid "Sigmoid" try_sigmoid, "[0.2689, 0.8808]";
    /// log σ(x).
    LogSigmoid "LogSigmoid" try_log_sigmoid, "[-1.3133, -0.1269]";
    /// The hyperbolic tangent.
    Tanh "Tanh" try_tanh, "[-0.7616,  0.9640]";
    /// x − tanh x.
    Tanhshrink "Tanhshrink" try_tanhshrink, "[-0.2384,  1.0360]";
    /// x / (1 + |x|).
    Softsign "Softsign" try_softsign, "[-0.5000,  0.6667]";
    /// x / 6 + ½, brought into [0, 1].
    Hardsigmoid "Hardsigmoid" try_hardsigmoid, "[0.3333, 0.8333]";
    /// x times its [`Hardsigmoid`].
    Hardswish "Hardswish" try_hardswish, "[-0.3333,  1.6667]";
}

/// Activations with settings: `Name "PyTorch's name" { settings = defaults } |self, input| result, settings as text;`
/// and an example with its result for [-1, 2].
macro_rules! activations {
    ($(
        $(#[$doc:meta])*
        $name:ident $python:literal { $($(#[$field_doc:meta])* $field:ident: $type:ty $(= $default:expr)?),+ }
            |$this:ident, $input:ident| $forward:expr, $describe:expr,
            $example:literal => $result:literal;
    )*) => {$(
        $(#[$doc])*
        ///
        /// ```
        #[doc = concat!("use flambeau::{nn::", stringify!($name), ", prelude::*};")]
        #[doc = concat!("let y = ", $example, ".forward(&Tensor::new([-1.0, 2.0], &Device::cpu()));")]
        #[doc = concat!("assert_eq!(y.to_string(), \"tensor(", $result, ")\");")]
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Settings)]
        pub struct $name { $($(#[$field_doc])* pub $field: $type),+ }

        activations!(@default $name { $($field $(= $default)?),+ });
        activation!($name $python |$this, $input| $forward, $describe);
    )*};
    (@default $name:ident { $($field:ident = $default:expr),+ }) => {
        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $default),+ }
            }
        }
    };
    (@default $name:ident { $($field:ident),+ }) => {};
}

activations! {
    /// x Φ(x), with the distribution function Φ of N(0, 1).
    Gelu "GELU" {
        /// How Φ is computed.
        approximate: GeluApproximation = GeluApproximation::None
    }
        |self, input| match self.approximate {
            GeluApproximation::None => input.try_gelu(),
            GeluApproximation::Tanh => input.try_gelu_tanh(),
        },
        format!("approximate='{}'", self.approximate.word()),
        "Gelu::default()" => "[-0.1587,  1.9545]";

    /// x, and below 0 a small slope times x.
    LeakyRelu "LeakyReLU" {
        /// The slope below 0.
        #[setting(name = "slope")]
        negative_slope: f64 = 0.01
    }
        |self, input| input.try_leaky_relu(self.negative_slope),
        format!("negative_slope={}", float(self.negative_slope)),
        "LeakyRelu::default()" => "[-0.0100,  2.0000]";

    /// x where x > 0, else α (eˣ − 1).
    Elu "ELU" {
        /// Minus the limit at −∞.
        alpha: f64 = 1.0
    }
        |self, input| input.try_elu(self.alpha),
        format!("alpha={}", float(self.alpha)),
        "Elu::default()" => "[-0.6321,  2.0000]";

    /// x where x > 0, else α (e^(x/α) − 1).
    Celu "CELU" {
        /// Minus the limit at −∞.
        alpha: f64 = 1.0
    }
        |self, input| input.try_celu(self.alpha),
        format!("alpha={}", float(self.alpha)),
        "Celu::default()" => "[-0.6321,  2.0000]";

    /// log(1 + e^(βx)) / β, and x where βx is above a threshold.
    Softplus "Softplus" {
        /// β: how sharp the bend is.
        beta: f64 = 1.0,
        /// Above it, the function is x.
        threshold: f64 = 20.0
    }
        |self, input| input.try_softplus_with(self.beta, self.threshold),
        format!("beta={}, threshold={}", self.beta, self.threshold),
        "Softplus::default()" => "[0.3133, 2.1269]";

    /// x brought into an interval.
    Hardtanh "Hardtanh" {
        /// The lower end.
        #[setting(name = "min")]
        min_val: f64 = -1.0,
        /// The upper end.
        #[setting(name = "max")]
        max_val: f64 = 1.0
    }
        |self, input| input.try_hardtanh(self.min_val, self.max_val),
        format!("min_val={}, max_val={}", float(self.min_val), float(self.max_val)),
        "Hardtanh::default()" => "[-1.,  1.]";

    /// x where |x| > λ, else 0.
    Hardshrink "Hardshrink" {
        /// λ.
        lambda: f64 = 0.5
    }
        |self, input| input.try_hardshrink(self.lambda),
        float(self.lambda),
        "Hardshrink::default()" => "[-1.,  2.]";

    /// x moved by λ towards 0, and 0 where |x| ≤ λ.
    Softshrink "Softshrink" {
        /// λ.
        lambda: f64 = 0.5
    }
        |self, input| input.try_softshrink(self.lambda),
        float(self.lambda),
        "Softshrink::default()" => "[-0.5000,  1.5000]";

    /// x where x > threshold, else a number.
    Threshold "Threshold" {
        /// What x is compared with.
        threshold: f64,
        /// What takes x's place.
        value: f64
    }
        |self, input| input.try_threshold(self.threshold, self.value),
        format!("threshold={}, value={}", self.threshold, self.value),
        "Threshold { threshold: 0.1, value: 20.0 }" => "[20.,  2.]";

    /// exp(x) / Σ exp(x) along a dimension.
    Softmax "Softmax" {
        /// The dimension that sums to 1.
        dim: isize
    }
        |self, input| input.try_softmax(self.dim),
        format!("dim={}", self.dim),
        "Softmax { dim: 0 }" => "[0.0474, 0.9526]";

    /// The logarithm of [`Softmax`], without overflow.
    LogSoftmax "LogSoftmax" {
        /// The dimension.
        dim: isize
    }
        |self, input| input.try_log_softmax(self.dim),
        format!("dim={}", self.dim),
        "LogSoftmax { dim: 0 }" => "[-3.0486, -0.0486]";

    /// [`Softmax`] of −x.
    Softmin "Softmin" {
        /// The dimension that sums to 1.
        dim: isize
    }
        |self, input| input.try_softmin(self.dim),
        format!("dim={}", self.dim),
        "Softmin { dim: 0 }" => "[0.9526, 0.0474]";

    /// The gated linear unit: a σ(b), with the halves a and b of the input.
    Glu "GLU" {
        /// The dimension that is halved.
        dim: isize = -1
    }
        |self, input| input.try_glu(self.dim),
        format!("dim={}", self.dim),
        "Glu::default()" => "[-0.8808]";
}

/// [`Softmax`] over the channels of images (N, C, H, W) or (C, H, W).
///
/// ```
/// use flambeau::{nn::Softmax2d, prelude::*};
/// let y = Softmax2d.forward(&Tensor::zeros([4, 2, 2], &Device::cpu()));
/// assert_eq!(y.i((0, 0)).to_string(), "tensor([0.2500, 0.2500])");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Softmax2d;

activation!(
    Softmax2d "Softmax2d" |self, input| match input.rank() {
        3 | 4 => input.try_softmax(-3),
        _ => Err(Error::shape("Softmax2d", format!("input {} must be (N, C, H, W) or (C, H, W)", input.shape()))),
    },
    String::new()
);

/// The settings of [`PRelu`].
#[derive(Debug, Clone, Copy, PartialEq, Settings)]
pub struct PReluOptions {
    /// The number of slopes: 1, or one for each channel.
    #[setting(name = "parameters")]
    pub num_parameters: usize,
    /// The first value of the slopes.
    pub init: f64,
}

impl Default for PReluOptions {
    fn default() -> Self {
        PReluOptions { num_parameters: 1, init: 0.25 }
    }
}

/// x, and below 0 a slope that is learned times x: one slope, or one for each channel (dimension 1).
///
/// ```
/// use flambeau::{nn::PRelu, prelude::*};
/// let layer = PRelu::new(&Device::cpu());
/// let y = layer.forward(&Tensor::new([-1.0, 2.0], &Device::cpu()));
/// assert_eq!(y.detach().to_string(), "tensor([-0.2500,  2.0000])");
/// ```
#[derive(Module, Debug)]
#[module(describe = PRelu::describe, type_name = "PReLU")]
pub struct PRelu {
    /// The slopes.
    pub weight: Parameter,
}

impl PRelu {
    constructors! {
        (; layer: PReluOptions; options)
        Ok(PRelu { weight: init::constant_parameter([layer.num_parameters], layer.init, &options)? })
    }

    fn describe(&self) -> String {
        format!("num_parameters={}", self.weight.numel())
    }
}

impl Forward for PRelu {
    #[track_caller]
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        input.try_prelu(&self.weight.get())
    }
}

/// x, and below 0 a slope times x: random for each element in training, the mean of the bounds in evaluation.
///
/// ```
/// use flambeau::{nn::RRelu, prelude::*};
/// let layer = RRelu::new(0.25, 0.75);
/// layer.eval();
/// let y = layer.forward(&Tensor::new([-1.0, 2.0], &Device::cpu()));
/// assert_eq!(y.to_string(), "tensor([-0.5000,  2.0000])");
/// ```
#[derive(Module, Debug, Settings)]
#[module(describe = RRelu::describe, type_name = "RReLU")]
pub struct RRelu {
    /// The smallest slope.
    pub lower: f64,
    /// The largest slope.
    pub upper: f64,
    /// Training or evaluation.
    #[setting(skip)]
    pub mode: Mode,
}

impl Default for RRelu {
    fn default() -> Self {
        RRelu::new(1.0 / 8.0, 1.0 / 3.0)
    }
}

impl RRelu {
    /// Slopes between two bounds.
    pub fn new(lower: f64, upper: f64) -> RRelu {
        RRelu { lower, upper, mode: Mode::default() }
    }

    fn describe(&self) -> String {
        format!("lower={}, upper={}", float(self.lower), float(self.upper))
    }
}

impl Forward for RRelu {
    #[track_caller]
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        match self.mode.is_training() {
            true => input.try_rrelu(self.lower, self.upper, &Generator::default_generator()),
            false => input.try_leaky_relu((self.lower + self.upper) / 2.0),
        }
    }
}
