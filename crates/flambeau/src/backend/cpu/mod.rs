//! The CPU backend: runs plans in cache-sized blocks, on all cores where there are threads.

#[cfg(not(target_arch = "wasm32"))]
mod by_rows;
mod fused;
mod gather;
#[cfg(not(target_arch = "wasm32"))]
mod marks;
#[cfg(not(target_arch = "wasm32"))]
mod moves;
#[cfg(not(target_arch = "wasm32"))]
mod norm;
#[cfg(not(target_arch = "wasm32"))]
mod pairs;
mod reduce;
mod rows;
mod spare;
mod strip;
#[cfg(not(target_arch = "wasm32"))]
mod take;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
mod totals;
#[cfg(not(target_arch = "wasm32"))]
mod transpose;

use super::{Buffer, Run};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::host::{HostBuffer, threads};
use crate::ir::call::CpuOperand;
use crate::ir::kernel::{Kernel, Place};
use crate::plan::{Plan, PlanOptions};
use std::any::Any;
use std::sync::Arc;

/// The CPU of this machine.
#[derive(Debug, Default)]
pub(crate) struct Cpu {
    spare: spare::Spare,
}

impl Cpu {
    pub fn name(&self) -> String {
        let threads = threads();
        format!("CPU with {threads} thread{}", if threads == 1 { "" } else { "s" })
    }

    pub fn plan_options(&self) -> PlanOptions {
        PlanOptions { element_bytes: |dtype| dtype.size() as u64, fuse: true, pack_in_place: false }
    }

    /// The CPU takes every dtype.
    pub fn accepts(&self, _: DType) -> Result<()> {
        Ok(())
    }

    pub fn compile(&self, _: &Plan) -> Result<Box<dyn Any + Send + Sync>> {
        Ok(Box::new(()))
    }

    pub fn run(&self, run: &Run) -> Result<Vec<Buffer>> {
        let mut memory: Vec<Option<Arc<HostBuffer>>> = vec![None; run.plan.buffers.len()];
        for (kernel, ends) in run.plan.kernels.iter().zip(last_uses(run.plan)) {
            let outputs: Vec<u32> = kernel.outputs().into_iter().filter_map(buffer_of).collect();
            let take = |dtype: DType, numel: usize, zeroed: bool| {
                self.spare.take(dtype, numel, zeroed).map_err(|error| match error {
                    Error::OutOfMemory { requested, limit, .. } => {
                        let held = run.inputs.iter().map(Buffer::host).chain(memory.iter().flatten());
                        Error::OutOfMemory { requested, in_use: held.map(|host| host.bytes()).sum(), limit }
                    }
                    other => other,
                })
            };
            // A fused kernel writes every element, and so does an epilogue.
            let zeroed = matches!(kernel, Kernel::Structured(call) if call.epilogue.is_none() && !call.op.fills_outputs());
            let buffers = outputs.iter().map(|&buffer| &run.plan.buffers[buffer as usize]);
            let results = buffers.map(|buffer| take(buffer.dtype, buffer.numel, zeroed));
            let mut results = results.collect::<Result<Vec<HostBuffer>>>()?;
            let operand = |place: Place| match place {
                Place::Input(input) => run.inputs[input as usize].host().clone(),
                Place::Buffer(buffer) => {
                    memory[buffer as usize].clone().expect("kernels run in dependency order")
                }
            };
            match kernel {
                Kernel::Fused(kernel) => {
                    let inputs: Vec<_> = kernel.inputs.iter().map(|&(place, _)| operand(place)).collect();
                    fused::run(kernel, &inputs, &mut results, run)?;
                }
                Kernel::Structured(call) => {
                    let inputs: Vec<_> = call.inputs.iter().map(|input| operand(input.place)).collect();
                    let operands = call.inputs.iter().zip(&inputs).map(|(input, buffer)| CpuOperand {
                        buffer,
                        meta: &input.meta,
                        access: &input.access,
                        data: run.data,
                    });
                    let operands: Vec<_> = operands.collect();
                    let op = &call.op;
                    let compute = |results: &mut [HostBuffer]| {
                        let result = op.cpu(&operands, results, &run.data[call.data_start as usize..]);
                        #[cfg(all(test, target_arch = "x86_64"))]
                        tests::count_underflow(op.name());
                        result.map_err(|error| error.at(run.location(call.node)))
                    };
                    match &call.epilogue {
                        None => compute(&mut results)?,
                        Some(epilogue) => {
                            let meta = &call.outputs[0].1;
                            let mut own = [take(meta.dtype, meta.numel(), !op.fills_outputs())?];
                            compute(&mut own)?;
                            let mut inputs: Vec<_> =
                                epilogue.inputs.iter().map(|&(place, _)| operand(place)).collect();
                            inputs.extend(own.map(Arc::new));
                            fused::run(epilogue, &inputs, &mut results, run)?;
                            if let Some(own) = inputs.pop() {
                                self.spare.keep(own);
                            }
                        }
                    }
                }
            }
            for (buffer, result) in outputs.into_iter().zip(results) {
                memory[buffer as usize] = Some(Arc::new(result));
            }
            for buffer in ends {
                if let Some(unused) = memory[buffer as usize].take() {
                    self.spare.keep(unused);
                }
            }
        }
        let root = |place: &Place| match *place {
            Place::Input(input) => run.inputs[input as usize].clone(),
            Place::Buffer(buffer) => Buffer::Cpu(memory[buffer as usize].clone().expect("roots are kept")),
        };
        let roots = run.plan.roots.iter().map(root).collect();
        memory.into_iter().flatten().for_each(|result| self.spare.keep(result));
        Ok(roots)
    }
}

fn buffer_of(place: Place) -> Option<u32> {
    match place {
        Place::Buffer(buffer) => Some(buffer),
        Place::Input(_) => None,
    }
}

/// For every kernel, the temporaries nothing reads after it.
fn last_uses(plan: &Plan) -> Vec<Vec<u32>> {
    let mut last = vec![usize::MAX; plan.buffers.len()];
    for (step, kernel) in plan.kernels.iter().enumerate() {
        for buffer in kernel.inputs().into_iter().chain(kernel.outputs()).filter_map(buffer_of) {
            last[buffer as usize] = step;
        }
    }
    let mut ends = vec![Vec::new(); plan.kernels.len()];
    for (buffer, &step) in last.iter().enumerate() {
        if step != usize::MAX && !plan.buffers[buffer].root {
            ends[step].push(buffer as u32);
        }
    }
    ends
}
