//! What the ported tests share.

use crate::common::{assert_close, block_on, devices, values};
use flambeau::autograd::{GradcheckOptions, Outputs, gradcheck};
use flambeau::prelude::*;

/// Runs a test's body on every device.
pub fn each(body: impl Fn(&Device)) {
    devices().iter().for_each(body);
}

/// The same for a body that reads a value thousands of times, or computes much. In WebAssembly the CPU alone runs it: a software
/// GPU is waited for some milliseconds each time, and takes minutes for what the CPU has in seconds.
pub fn each_that_takes_long(body: impl Fn(&Device)) {
    match cfg!(target_arch = "wasm32") {
        true => body(&Device::cpu()),
        false => each(body),
    }
}

/// 0, 1, 2, … as floats in this shape.
pub fn ramp(shape: impl Into<Shape>, device: &Device) -> Tensor {
    let shape = shape.into();
    Tensor::arange(0.0, shape.numel() as f64, 1.0, device).reshape(&shape)
}

/// Normal numbers of a fixed seed.
pub fn normal(shape: impl Into<Shape>, device: &Device) -> Tensor {
    Tensor::randn(shape, &Generator::new(7), device)
}

/// Panics unless shape and values are these, within PyTorch's own tolerance.
#[track_caller]
pub fn is<const N: usize>(tensor: &Tensor, shape: [usize; N], wanted: &[f64]) {
    assert_eq!(tensor.shape().dims(), shape, "shape");
    assert_close(&values(tensor), wanted, 1e-5, 1e-5);
}

/// Panics unless two tensors have the same shape and values.
#[track_caller]
pub fn same(a: &Tensor, b: &Tensor) {
    assert_eq!(a.shape(), b.shape(), "shapes");
    assert_close(&values(a), &values(b), 1e-5, 1e-5);
}

/// Compares derivatives with finite differences, at normal numbers of these shapes.
#[track_caller]
pub fn differentiable<T: Outputs>(shapes: &[&[usize]], function: impl Fn(&[Tensor]) -> T) {
    let generator = Generator::new(3);
    let random = |shape: &&[usize]| {
        Tensor::randn(*shape, &generator, &Device::cpu()).to_dtype(DType::F64).requires_grad()
    };
    let inputs: Vec<Tensor> = shapes.iter().map(random).collect();
    block_on(gradcheck(function, &inputs, GradcheckOptions::default())).unwrap();
}

/// The text of the error that was expected.
#[track_caller]
pub fn message<T>(result: Result<T>) -> String {
    match result {
        Ok(_) => panic!("an error was expected"),
        Err(error) => error.to_string(),
    }
}

/// The number in a tensor of one element.
#[track_caller]
pub fn number(tensor: &Tensor) -> f64 {
    block_on(tensor.item()).unwrap()
}

/// A module as text, without the line that counts parameters.
pub fn printed(module: &dyn Module) -> String {
    let text = module.summary();
    text.rsplit_once('\n').map(|(text, _)| text.to_owned()).unwrap_or(text)
}
