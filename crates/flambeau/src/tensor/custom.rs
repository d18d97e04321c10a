//! The builder of custom kernels: WGSL written by the user, run in plans like every other op.

use super::Tensor;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::op::custom::{Custom, CustomVjp, Identity, KernelInput, KernelOutput};
use crate::op::{Meta, Op, StructuredOp};
use crate::shape::Shape;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// WebGPU's default limits, which hold on every device.
const MAX_STORAGE_BUFFERS: usize = 8;
const MAX_WORKGROUPS: u32 = 65_535;
const MAX_UNIFORM_BYTES: usize = 65_536;

/// A kernel in WGSL that takes part in plans, and in autograd if it is given a rule.
///
/// The shader binds, in group 0 and in this order: the inputs, `var<storage, read>`, contiguous; the outputs,
/// `var<storage, read_write>`, every element of which it must write; and, if there are uniform numbers,
/// `var<uniform>`, a block of whole `vec4<u32>`s. In GPU memory F32, I32 and U32 are what they are in WGSL, F16 is
/// `f16` (with `enable f16;`), booleans and U8 are `u32`.
///
/// Build a kernel once and keep it: clones share its functions, so that a training loop finds its plan again. The
/// uniform numbers may change from call to call at no cost.
///
/// ```
/// # use flambeau::prelude::*;
/// # use flambeau::CustomKernel;
/// let source = "
///     @group(0) @binding(0) var<storage, read> x: array<f32>;
///     @group(0) @binding(1) var<storage, read_write> y: array<f32>;
///     @group(0) @binding(2) var<uniform> params: vec4<u32>;
///     @compute @workgroup_size(64)
///     fn main(@builtin(global_invocation_id) id: vec3<u32>) {
///         if (id.x < arrayLength(&y)) { y[id.x] = x[id.x] * bitcast<f32>(params.x); }
///     }";
/// let scale = CustomKernel::new("scale", source)
///     .output([3], DType::F32)
///     .workgroups([1, 1, 1])
///     .uniform(&[2.5f32.to_bits()])
///     .cpu(|inputs, outputs, uniform| {
///         let factor = f32::from_bits(uniform[0]);
///         let x = inputs[0].values::<f32>()?;
///         outputs[0].values::<f32>()?.iter_mut().zip(x).for_each(|(y, x)| *y = x * factor);
///         Ok(())
///     })
///     .vjp(|grads, _, _| Ok(vec![grads[0].as_ref().map(|g| g * 2.5)]));
/// let x = Tensor::new([1.0, 2.0, 3.0], &Device::cpu()).requires_grad();
/// let y = scale.call(&[&x])?.remove(0);
/// y.sum(..).backward()?;
/// assert_eq!(y.detach().to_string(), "tensor([2.5000, 5.0000, 7.5000])");
/// assert_eq!(x.grad().unwrap().to_string(), "tensor([2.5000, 2.5000, 2.5000])");
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct CustomKernel {
    op: Custom,
    uniform: Vec<u32>,
}

impl CustomKernel {
    /// A kernel with this name, for errors and profiles, and this WGSL. Its entry point is `main`.
    pub fn new(name: &str, source: &str) -> CustomKernel {
        let op = Custom {
            name: interned(name),
            source: source.into(),
            entry: "main".into(),
            outputs: Vec::new(),
            workgroups: [1, 1, 1],
            uniforms: 0,
            cpu: None,
            vjp: None,
        };
        CustomKernel { op, uniform: Vec::new() }
    }

    /// A kernel whose WGSL is in a file; a missing or unreadable file is an error that names it.
    ///
    /// ```
    /// # use flambeau::CustomKernel;
    /// let error = CustomKernel::from_file("blur", "shaders/blur.wgsl").unwrap_err();
    /// assert!(error.to_string().starts_with("shaders/blur.wgsl: "));
    /// ```
    pub fn from_file(name: &str, path: impl AsRef<std::path::Path>) -> Result<CustomKernel> {
        let path = path.as_ref();
        let source = std::fs::read_to_string(path)
            .map_err(|error| Error::Io { path: path.display().to_string(), message: error.to_string() })?;
        Ok(CustomKernel::new(name, &source))
    }

    /// Another entry point.
    pub fn entry(mut self, entry: &str) -> CustomKernel {
        self.op.entry = entry.into();
        self
    }

    /// Adds an output.
    pub fn output(mut self, shape: impl Into<Shape>, dtype: DType) -> CustomKernel {
        self.op.outputs.push(Meta::new(shape, dtype));
        self
    }

    /// How many workgroups run, along x, y and z.
    pub fn workgroups(mut self, workgroups: [u32; 3]) -> CustomKernel {
        self.op.workgroups = workgroups;
        self
    }

    /// The numbers of the uniform block; floats go in by their bits.
    pub fn uniform(mut self, words: &[u32]) -> CustomKernel {
        self.op.uniforms = words.len();
        self.uniform = words.to_vec();
        self
    }

    /// What the kernel does on the CPU: it is given the inputs, the outputs to fill, and the uniform numbers.
    pub fn cpu(
        mut self,
        form: impl Fn(&[KernelInput], &mut [KernelOutput], &[u32]) -> Result<()> + Send + Sync + 'static,
    ) -> CustomKernel {
        self.op.cpu = Some(Identity(Arc::new(form)));
        self
    }

    /// The derivative rule: from the gradients of the outputs (`None` where nothing flowed into one), the inputs and
    /// the outputs, the gradient of each input (`None` where it has none). Written with tensor methods, it gives
    /// gradients of any order.
    pub fn vjp(
        mut self,
        rule: impl Fn(&[Option<Tensor>], &[Tensor], &[Tensor]) -> Result<Vec<Option<Tensor>>>
        + Send
        + Sync
        + 'static,
    ) -> CustomKernel {
        let rule: Arc<CustomVjp> = Arc::new(rule);
        self.op.vjp = Some(Identity(rule));
        self
    }

    /// The outputs for these inputs, of which there must be at least one. Like every op it is computed when a value
    /// is asked for; that is also when a shader that does not compile is found.
    #[track_caller]
    pub fn call(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
        let op = &self.op;
        let (Some(first), false) = (inputs.first(), op.outputs.is_empty()) else {
            let (given, made) = (inputs.len(), op.outputs.len());
            let message = format!("{given} inputs and {made} outputs; a kernel needs one of each at least");
            return Err(Error::argument(op.name, message));
        };
        let limit = |what: &str, requested: usize, limit_name: &'static str, limit: usize| {
            let what = format!("{what} of the custom kernel {:?}", op.name);
            let (requested, limit) = (requested as u64, limit as u64);
            if requested > limit { Err(Error::Limit { what, requested, limit_name, limit }) } else { Ok(()) }
        };
        let buffers = inputs.len() + op.outputs.len();
        limit(
            "the number of inputs and outputs",
            buffers,
            "maxStorageBuffersPerShaderStage",
            MAX_STORAGE_BUFFERS,
        )?;
        limit("the uniform block", 4 * op.uniforms, "maxUniformBufferBindingSize", MAX_UNIFORM_BYTES)?;
        for &groups in &op.workgroups {
            let name = "maxComputeWorkgroupsPerDimension";
            limit("the number of workgroups", groups as usize, name, MAX_WORKGROUPS as usize)?;
            if groups == 0 {
                let message = format!("{:?} workgroups run nothing", op.workgroups);
                return Err(Error::argument(op.name, message));
            }
        }
        if first.device().is_cpu() && op.cpu.is_none() {
            return Err(op.no_cpu_form());
        }
        let words: Vec<Scalar> = self.uniform.iter().map(|&word| Scalar::from(word)).collect();
        let outputs = op.outputs.iter().cloned().collect();
        let op = Op::Structured(StructuredOp::Custom(Arc::new(op.clone())));
        Tensor::from_op_multi(op, inputs, outputs, &words).map(smallvec::SmallVec::into_vec)
    }
}

/// The name as one that lives as long as the program; each is kept once.
fn interned(name: &str) -> &'static str {
    static NAMES: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let names = names.get_or_insert_with(HashSet::new);
    if let Some(known) = names.get(name) {
        return known;
    }
    let kept: &'static str = Box::leak(name.into());
    names.insert(kept);
    kept
}
