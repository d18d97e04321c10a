//! Prepares a plan for the queue: a pipeline per kernel, its buffers, and one uniform block for all of them.

use super::runtime::{Binding, KernelWork, Pipeline, Runtime};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::kernel::{Kernel, Place};
use crate::ir::program::{Bound, Checked, Param, Program};
use crate::plan::{Cost, Plan};
use crate::shader::codegen;
use std::ops::Range;
use std::sync::Arc;

/// Where a kernel's buffer comes from at run time.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source {
    Place(Place),
    Scratch(usize),
    Status,
}

/// One dispatch.
pub(super) struct CompiledKernel {
    pub pipeline: Arc<Pipeline>,
    pub sources: Vec<Source>,
    pub uniform: Range<u64>,
    pub groups: [u32; 3],
    pub label: String,
    pub work: KernelWork,
}

/// A node whose kernel may report a fault.
#[derive(Debug, Clone)]
pub(super) struct Check {
    pub node: u32,
    pub checked: Checked,
}

/// Everything about a plan that is the same in every run.
pub(super) struct CompiledPlan {
    pub kernels: Vec<CompiledKernel>,
    /// The uniform block, with zeros where `patches` go.
    pub uniforms: Vec<u8>,
    /// Byte offsets of the words that differ from run to run.
    pub patches: Vec<(usize, Param)>,
    /// Bytes of scratch buffers.
    pub scratch: Vec<u64>,
    pub checks: Vec<Check>,
    /// Are updates in it that a fault stops?
    pub is_guard: bool,
}

impl CompiledPlan {
    pub fn new(plan: &Plan, runtime: &Arc<Runtime>) -> Result<CompiledPlan> {
        let mut compiled = CompiledPlan {
            kernels: Vec::new(),
            uniforms: Vec::new(),
            patches: Vec::new(),
            scratch: Vec::new(),
            checks: Vec::new(),
            is_guard: false,
        };
        for (kernel, cost) in plan.kernels.iter().zip(&plan.costs) {
            if kernel.outputs().iter().all(|&place| is_empty(plan, place)) {
                continue;
            }
            let name = kernel.describe().join("+");
            check_size(kernel, cost.elements, &name)?;
            let first = compiled.kernels.len();
            match kernel {
                Kernel::Fused(fused) => {
                    let inputs: Vec<Place> = fused.inputs.iter().map(|&(place, _)| place).collect();
                    let outputs: Vec<Place> = fused.outputs.iter().map(|output| output.place).collect();
                    let programs = programs_of(kernel, runtime)?;
                    let first_scratch = compiled.scratch.len();
                    compiled.scratch.extend(&programs[0].scratch);
                    let nodes = fused.insts.iter().filter_map(|inst| match &inst.kind {
                        crate::ir::kernel::InstKind::Gather { size, .. } => {
                            let checked = Checked::Index { op: "gather", size: *size };
                            Some(Check { node: inst.node, checked })
                        }
                        _ => None,
                    });
                    compiled.checks.extend(nodes);
                    for program in &programs {
                        compiled.add(runtime, program, &name, &inputs, &outputs, first_scratch)?;
                    }
                    if runtime.config().debug {
                        compiled.check_results(plan, runtime, &outputs, fused_node(fused), &name)?;
                    }
                }
                Kernel::Structured(call) => {
                    let (inputs, outputs) = (call.input_places(), call.output_places());
                    let programs = programs_of(kernel, runtime)?;
                    let first_scratch = compiled.scratch.len();
                    if let Some(program) = programs.first() {
                        compiled.scratch.extend(&program.scratch);
                    }
                    for program in &programs {
                        if let Some(checked) = program.checks.clone() {
                            compiled.checks.push(Check { node: call.node, checked });
                        }
                        let writes = program.bindings.contains(&Bound::Output(0));
                        let label = if writes && call.epilogue.is_some() { &name } else { program.label };
                        compiled.add(runtime, program, label, &inputs, &outputs, first_scratch)?;
                    }
                    if runtime.config().debug {
                        compiled.check_results(plan, runtime, &outputs, call.node, &name)?;
                    }
                }
            }
            if let Some(kernel) = compiled.kernels.get_mut(first) {
                let Cost { elements, flops, bytes } = *cost;
                kernel.work = KernelWork { elements, flops, bytes };
            }
        }
        Ok(compiled)
    }

    fn add(
        &mut self,
        runtime: &Arc<Runtime>,
        program: &Program,
        label: &str,
        inputs: &[Place],
        outputs: &[Place],
        first_scratch: usize,
    ) -> Result<()> {
        let mut bindings: Vec<Binding> = Vec::with_capacity(program.bindings.len() + 1);
        let mut sources = Vec::with_capacity(program.bindings.len());
        for bound in &program.bindings {
            let (binding, source) = match *bound {
                Bound::Input(input) => (Binding::Read, Source::Place(inputs[input])),
                Bound::Output(output) => (Binding::ReadWrite, Source::Place(outputs[output])),
                Bound::Scratch(number) => (Binding::ReadWrite, Source::Scratch(first_scratch + number)),
                Bound::Status => (Binding::ReadWrite, Source::Status),
            };
            bindings.push(binding);
            sources.push(source);
        }
        if !program.params.is_empty() {
            bindings.push(Binding::Uniform);
        }
        let pipeline = runtime.pipeline(label, &program.source, &program.entry, &bindings, program.trust)?;
        self.is_guard |= program.params.contains(&Param::Status(1));
        let uniform = self.block(&program.params);
        let (label, groups) = (label.to_string(), program.groups);
        let work = KernelWork::default();
        self.kernels.push(CompiledKernel { pipeline, sources, uniform, groups, label, work });
        Ok(())
    }

    /// Adds a kernel's numbers to the uniform block, aligned as uniform bindings must be.
    fn block(&mut self, params: &[Param]) -> Range<u64> {
        let start = self.uniforms.len().next_multiple_of(256);
        self.uniforms.resize(start, 0);
        for param in params {
            let word = match param {
                Param::Fixed(word) => *word,
                Param::Offset(linear) if linear.terms.is_empty() => linear.constant as u32,
                Param::Offset(_) | Param::Data(..) | Param::Run | Param::Status(_) => {
                    self.patches.push((self.uniforms.len(), param.clone()));
                    0
                }
            };
            self.uniforms.extend(word.to_le_bytes());
        }
        let end = self.uniforms.len().next_multiple_of(16);
        self.uniforms.resize(end, 0);
        start as u64..end as u64
    }

    /// A kernel that looks for NaNs in the results of the one before: debug mode.
    #[inline(never)] // A page fetches it only when it is asked for.
    fn check_results(
        &mut self,
        plan: &Plan,
        runtime: &Arc<Runtime>,
        outputs: &[Place],
        node: u32,
        name: &str,
    ) -> Result<()> {
        for &place in outputs {
            let Place::Buffer(buffer) = place else { continue };
            let buffer = &plan.buffers[buffer as usize];
            if matches!(buffer.dtype, DType::F32 | DType::F16) && buffer.numel > 0 {
                let program = super::fault::nan_check(buffer.dtype, buffer.numel, node);
                self.checks.push(Check { node: node | super::fault::NAN_FLAG, checked: Checked::Nan });
                self.add(runtime, &program, &format!("NaN check of {name}"), &[place], &[], 0)?;
            }
        }
        Ok(())
    }
}

/// The shaders of a kernel, to be dispatched in this order.
fn programs_of(kernel: &Kernel, runtime: &Runtime) -> Result<Vec<Program>> {
    let config = runtime.config();
    match kernel {
        Kernel::Fused(fused) => Ok(codegen::programs(fused, config.workgroup_size as usize)),
        Kernel::Structured(call) if config.avoid_barriers => call.op.wgsl_without_barriers(call),
        Kernel::Structured(call) => call.op.wgsl(call),
    }
}

/// The shaders of a plan with their numbers, for people.
#[cfg(not(target_arch = "wasm32"))]
pub(super) fn shaders(plan: &Plan, runtime: &Runtime) -> Result<String> {
    let mut text = String::new();
    for (number, kernel) in plan.kernels.iter().enumerate() {
        for Program { label, source, params, groups, .. } in programs_of(kernel, runtime)? {
            text += &format!(
                "// kernel {number}: {label}, workgroups {groups:?}, numbers {params:?}\n{source}\n"
            );
        }
    }
    Ok(text)
}

/// Refuses a kernel with more elements, or along a dimension of an operand, than 32 bits count: its shader would go over
/// some of them only.
fn check_size(kernel: &Kernel, elements: u64, name: &str) -> Result<()> {
    let sizes = match kernel {
        Kernel::Fused(_) => None,
        Kernel::Structured(call) => call.inputs.iter().flat_map(|input| input.meta.shape.iter()).max(),
    };
    let (requested, limit) = (elements.max(sizes.map_or(0, |&size| size as u64)), u64::from(u32::MAX));
    if requested <= limit {
        return Ok(());
    }
    Err(Error::Limit { what: format!("the size of {name}"), requested, limit_name: "u32 of WGSL", limit })
}

fn fused_node(fused: &crate::ir::kernel::Fused) -> u32 {
    fused.outputs.first().map_or(0, |output| fused.insts[output.inst].node)
}

fn is_empty(plan: &Plan, place: Place) -> bool {
    match place {
        Place::Buffer(buffer) => plan.buffers[buffer as usize].numel == 0,
        Place::Input(_) => false,
    }
}
