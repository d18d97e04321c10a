//! Kernels that scripts write themselves, in WGSL.

use crate::handles;
use crate::tensor::hold_all;
use flambeau::calls::dtype;
use flambeau::{CustomKernel, Result as Fallible, Tensor};
use wasm_bindgen::prelude::*;

/// A kernel under construction or ready to be called.
#[wasm_bindgen]
pub struct Kernel(Option<CustomKernel>);

#[wasm_bindgen]
impl Kernel {
    /// A kernel of this WGSL. `call` of the package's class documents the bindings.
    #[wasm_bindgen(constructor)]
    pub fn new(name: &str, source: &str, entry: &str) -> Kernel {
        Kernel(Some(CustomKernel::new(name, source).entry(entry)))
    }

    /// Adds an output.
    pub fn output(&mut self, shape: &[u32], code: u8) -> Result<(), JsError> {
        let shape: Vec<usize> = shape.iter().map(|&size| size as usize).collect();
        let dtype = dtype(code)?;
        self.0 = self.0.take().map(|kernel| kernel.output(shape, dtype));
        Ok(())
    }

    /// Sets the number of workgroups.
    pub fn workgroups(&mut self, x: u32, y: u32, z: u32) {
        self.0 = self.0.take().map(|kernel| kernel.workgroups([x, y, z]));
    }

    /// Sets the words of the uniform buffer.
    pub fn uniform(&mut self, words: &[u32]) {
        self.0 = self.0.take().map(|kernel| kernel.uniform(words));
    }

    /// Adds the kernel to the graph; returns its outputs.
    pub fn call(&self, inputs: &[u32]) -> Result<Vec<u32>, JsError> {
        let inputs =
            inputs.iter().map(|&handle| handles::operand(handle)).collect::<Fallible<Vec<Tensor>>>()?;
        let inputs: Vec<&Tensor> = inputs.iter().collect();
        let kernel = self.0.as_ref().ok_or_else(|| JsError::new("the kernel is gone"))?;
        Ok(hold_all(kernel.call(&inputs)?))
    }
}
