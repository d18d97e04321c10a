//! Kernels written by the user, as ops: a WGSL shader, and if given, a form for the CPU and a derivative rule.

use super::case::Case;
use super::structured::{Exact, Listed, Structured};
use super::{Grads, Meta, Saves, Tensor, Vjp};
use crate::calls::Methods;
use crate::dtype::{DType, Element, Lane, Scalar};
use crate::error::{Error, Result};
use crate::host::{Block, HostBuffer, cast};
use crate::ir::call::{CpuOperand, Kernels, Layout, StructuredCall};
use crate::ir::program::{Bound, Param, Program, Trust};
use crate::shape::Shape;
use half::f16;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What a kernel does on the CPU: reads the inputs and the uniform numbers, fills the outputs.
pub(crate) type CpuForm = dyn Fn(&[KernelInput], &mut [KernelOutput], &[u32]) -> Result<()> + Send + Sync;
/// The gradients of the inputs, from the gradients of the outputs, the inputs and the outputs.
pub(crate) type CustomVjp = dyn Fn(&[Option<Tensor>], &[Tensor], &[Tensor]) -> Result<Grads> + Send + Sync;

/// A function that is equal only to itself.
pub(crate) struct Identity<F: ?Sized>(pub Arc<F>);

impl<F: ?Sized> Identity<F> {
    fn address(&self) -> *const () {
        Arc::as_ptr(&self.0).cast()
    }
}
impl<F: ?Sized> Clone for Identity<F> {
    fn clone(&self) -> Self {
        Identity(self.0.clone())
    }
}
impl<F: ?Sized> PartialEq for Identity<F> {
    fn eq(&self, other: &Self) -> bool {
        self.address() == other.address()
    }
}
impl<F: ?Sized> Eq for Identity<F> {}
impl<F: ?Sized> Hash for Identity<F> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.address().hash(state);
    }
}
impl<F: ?Sized> std::fmt::Debug for Identity<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:p}", self.address())
    }
}

/// A user's kernel. Its uniform numbers are the node's data.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Custom {
    pub name: &'static str,
    pub source: Arc<str>,
    pub entry: Arc<str>,
    pub outputs: Vec<Meta>,
    pub workgroups: [u32; 3],
    /// How many uniform numbers it takes.
    pub uniforms: usize,
    pub cpu: Option<Identity<CpuForm>>,
    pub vjp: Option<Identity<CustomVjp>>,
}

/// An input of a custom kernel on the CPU.
#[derive(Debug, Clone, Copy)]
pub struct KernelInput<'a> {
    buffer: &'a HostBuffer,
    shape: &'a Shape,
}

impl<'a> KernelInput<'a> {
    /// The input's shape.
    pub fn shape(&self) -> &'a Shape {
        self.shape
    }

    /// The values in row-major order. `T` must be the input's element type.
    pub fn values<T: Element>(&self) -> Result<&'a [T]> {
        self.buffer.slice().ok_or_else(|| wrong_element::<T>(self.buffer.dtype()))
    }
}

/// An output of a custom kernel on the CPU; zeros before it is filled.
#[derive(Debug)]
pub struct KernelOutput<'a> {
    buffer: &'a mut HostBuffer,
    shape: &'a Shape,
}

impl KernelOutput<'_> {
    /// The output's shape.
    pub fn shape(&self) -> &Shape {
        self.shape
    }

    /// The values to be filled, in row-major order. `T` must be the output's element type.
    pub fn values<T: Element>(&mut self) -> Result<&mut [T]> {
        let dtype = self.buffer.dtype();
        self.buffer.slice_mut().ok_or_else(|| wrong_element::<T>(dtype))
    }
}

fn wrong_element<T: Element>(dtype: DType) -> Error {
    Error::dtype("custom kernel", format!("the values are {dtype}, not {}", T::DTYPE))
}

impl Custom {
    /// What is said where there is no CPU form.
    pub fn no_cpu_form(&self) -> Error {
        let message = format!("the custom kernel {:?} has no CPU form; give it one with `cpu`", self.name);
        Error::Unsupported { device: "cpu".into(), message }
    }

    fn run(&self, inputs: &[KernelInput], outputs: &mut [HostBuffer], data: &[Scalar]) -> Result<()> {
        let Some(Identity(form)) = &self.cpu else { return Err(self.no_cpu_form()) };
        let uniforms: Vec<u32> = data[..self.uniforms].iter().map(|word| word.to_i64() as u32).collect();
        let shapes = self.outputs.iter().map(|meta| &meta.shape);
        let mut outputs: Vec<_> =
            outputs.iter_mut().zip(shapes).map(|(buffer, shape)| KernelOutput { buffer, shape }).collect();
        form(inputs, &mut outputs, &uniforms)
    }
}

impl Kernels for Custom {
    fn name(&self) -> &'static str {
        self.name
    }

    fn layout(&self, _: usize) -> Layout {
        Layout::Contiguous
    }

    fn cpu(&self, inputs: &[CpuOperand], outputs: &mut [HostBuffer], data: &[Scalar]) -> Result<()> {
        let views = inputs.iter().map(|input| KernelInput { buffer: input.buffer, shape: &input.meta.shape });
        self.run(&views.collect::<Vec<_>>(), outputs, data)
    }

    fn wgsl(&self, call: &StructuredCall) -> Result<Vec<Program>> {
        let inputs = (0..call.inputs.len()).map(Bound::Input);
        let outputs = (0..call.outputs.len()).map(Bound::Output);
        let word = |index: usize| Param::Data(call.data_start + index as u32, Lane::U32);
        Ok(vec![Program {
            label: self.name,
            source: self.source.clone(),
            entry: self.entry.to_string(),
            bindings: inputs.chain(outputs).collect(),
            params: (0..self.uniforms).map(word).collect(),
            groups: self.workgroups,
            scratch: Vec::new(),
            in_turn: false,
            trust: Trust::CHECKED,
            checks: None,
            specialise: false,
            completes: false,
            finds_numbers: false,
        }])
    }
}

impl Structured for Custom {
    fn saves(&self) -> Saves {
        match self.vjp {
            Some(_) => Saves { inputs: u32::MAX, outputs: true },
            None => Saves::NOTHING,
        }
    }

    fn vjp(&self, v: &Vjp) -> Result<Grads> {
        let Some(Identity(rule)) = &self.vjp else {
            let message =
                format!("the custom kernel {:?} has no derivative rule; give it one with `vjp`", self.name);
            return Err(Error::Autograd(message));
        };
        let grads = rule(v.grads, v.inputs, v.outputs)?;
        if grads.len() != v.inputs.len() {
            let (found, wanted) = (grads.len(), v.inputs.len());
            let message = format!("the rule of {:?} gave {found} gradients for {wanted} inputs", self.name);
            return Err(Error::Autograd(message));
        }
        for (index, (grad, input)) in grads.iter().zip(v.inputs).enumerate() {
            if let Some(grad) = grad
                && grad.shape() != input.shape()
            {
                let message = format!(
                    "the rule of {:?} gave a gradient of shape {} for input {index} of shape {}",
                    self.name,
                    grad.shape(),
                    input.shape()
                );
                return Err(Error::Autograd(message));
            }
        }
        Ok(grads)
    }

    /// The CPU form, on values rounded to the dtypes it expects.
    fn exact(&self, inputs: &[Exact], outputs: &[Meta], data: &[Scalar]) -> Result<Vec<Exact>> {
        let buffers: Vec<HostBuffer> = inputs.iter().map(rounded).collect();
        let views =
            buffers.iter().zip(inputs).map(|(buffer, input)| KernelInput { buffer, shape: &input.shape });
        let mut results: Vec<HostBuffer> =
            outputs.iter().map(|meta| HostBuffer::zeros(meta.dtype, meta.numel())).collect();
        self.run(&views.collect::<Vec<_>>(), &mut results, data)?;
        let widen = |(meta, result): (&Meta, &HostBuffer)| {
            let lane = match meta.dtype {
                DType::Bool => Lane::Bool,
                dtype if dtype.is_float() => Lane::F64,
                _ => Lane::I64,
            };
            let mut values = Block::new(lane, meta.numel());
            let floats = crate::tensor::widen(meta.dtype, &result.to_bytes());
            cast(Block::F64(floats.into()).view(), DType::F64, &mut values);
            Exact { shape: meta.shape.clone(), dtype: meta.dtype, values }
        };
        Ok(outputs.iter().zip(&results).map(widen).collect())
    }
}

/// A value of the interpreter in its own dtype.
fn rounded(exact: &Exact) -> HostBuffer {
    match (&exact.values, exact.dtype) {
        (Block::Bool(values), _) => HostBuffer::Bool(values.clone()),
        (Block::I64(values), DType::U8) => HostBuffer::U8(values.iter().map(|&x| x as u8).collect()),
        (Block::I64(values), DType::I32) => HostBuffer::I32(values.iter().map(|&x| x as i32).collect()),
        (Block::I64(values), DType::U32) => HostBuffer::U32(values.iter().map(|&x| x as u32).collect()),
        (Block::I64(values), _) => HostBuffer::I64(values.clone()),
        (Block::F64(values), DType::F16) => {
            HostBuffer::F16(values.iter().map(|&x| f16::from_f64(x)).collect())
        }
        (Block::F64(values), DType::F32) => HostBuffer::F32(values.iter().map(|&x| x as f32).collect()),
        (Block::F64(values), _) => HostBuffer::F64(values.clone()),
        other => unreachable!("the interpreter has no {other:?}"),
    }
}

impl Listed for Custom {
    /// Its user has named it.
    const NAMES: &'static [&'static str] = &[];

    fn samples() -> Vec<Case> {
        Vec::new()
    }
}

impl Methods for Custom {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::StructuredOp;
    use crate::op::testing::{call, validate};

    #[test]
    fn bindings_are_inputs_outputs_uniform() {
        let source = "@group(0) @binding(0) var<storage, read> a: array<f32>;
            @group(0) @binding(1) var<storage, read> b: array<u32>;
            @group(0) @binding(2) var<storage, read_write> c: array<f32>;
            @group(0) @binding(3) var<uniform> offset: vec4<u32>;
            @compute @workgroup_size(1) fn go() { c[0] = a[offset.x] + f32(b[0]); }";
        let custom = Custom {
            name: "pick",
            source: source.into(),
            entry: "go".into(),
            outputs: vec![Meta::new(1, DType::F32)],
            workgroups: [1, 1, 1],
            uniforms: 1,
            cpu: None,
            vjp: None,
        };
        let op = StructuredOp::Custom(Arc::new(custom));
        let (inputs, outputs) = ([(&[4][..], DType::F32), (&[1], DType::U8)], [(&[1][..], DType::F32)]);
        let programs = validate(&call(op, &inputs, &outputs));
        assert_eq!(programs[0].bindings, [Bound::Input(0), Bound::Input(1), Bound::Output(0)]);
        assert_eq!(programs[0].params, [Param::Data(0, Lane::U32)]);
        assert_eq!(programs[0].trust, Trust::CHECKED);
    }
}
