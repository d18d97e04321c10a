//! First values of parameters.

use super::Parameter;
use crate::error::Result;
use crate::rng::Generator;
use crate::shape::Shape;
use crate::tensor::{Tensor, TensorOptions};

/// A parameter of numbers from U(−bound, bound), drawn from the default generator.
pub(crate) fn uniform_parameter(
    shape: impl Into<Shape>,
    bound: f64,
    options: &TensorOptions,
) -> Result<Parameter> {
    let unit = Tensor::try_rand(shape, &Generator::default_generator(), options)?;
    Parameter::try_new(&unit.try_mul(2.0 * bound)?.try_sub(bound)?)
}
