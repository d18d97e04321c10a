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
mod sums;
#[cfg(not(target_arch = "wasm32"))]
mod take;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
mod totals;
#[cfg(not(target_arch = "wasm32"))]
mod transpose;

use super::{Buffer, Run};
use crate::dtype::DType;
use crate::error::Result;
use crate::host::{HostBuffer, threads};
use crate::ir::call::CpuOperand;
use crate::ir::kernel::{Kernel, Place, PlanBuffer};
use crate::memory::{Ledger, MemoryStats, MemoryStrategy, Phantom};
use crate::plan::{Plan, PlanOptions};
pub(crate) use spare::CpuBuffer;
use spare::{Filling, Spare};
use std::any::Any;
use std::sync::Arc;

/// The CPU of this machine, and what a device has of its memory.
#[derive(Debug, Default)]
pub(crate) struct Cpu {
    spare: Arc<Spare>,
}

impl Cpu {
    /// With at most so many bytes of memory for its buffers.
    pub fn new(strategy: MemoryStrategy, limit: Option<u64>) -> Cpu {
        Cpu { spare: Arc::new(Spare::new(strategy, limit)) }
    }

    pub fn memory_strategy(&self) -> MemoryStrategy {
        self.spare.strategy()
    }

    pub fn memory_limit(&self) -> Option<u64> {
        self.spare.limit()
    }

    pub fn memory(&self) -> MemoryStats {
        self.spare.stats()
    }

    pub fn reset_peak_memory(&self) {
        self.spare.reset_peak();
    }

    pub fn trim(&self) {
        self.spare.trim();
    }

    /// Memory with these values, given in host layout.
    pub fn upload(&self, dtype: DType, bytes: &[u8]) -> Result<Buffer> {
        Ok(Buffer::Cpu(Arc::new(self.spare.filled(dtype, bytes)?)))
    }

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

    /// What [`run`](Cpu::run) would allocate and free, in its order.
    pub fn rehearse(&self, plan: &Plan, inputs: &[Buffer], ledger: &Arc<Ledger>) -> Vec<Buffer> {
        let new = |dtype: DType, numel: usize| {
            let bytes = numel as u64 * dtype.size() as u64;
            Phantom::new(ledger, bytes, bytes)
        };
        let mut memory: Vec<Option<Arc<Phantom>>> = vec![None; plan.buffers.len()];
        for (kernel, ends) in plan.kernels.iter().zip(last_uses(plan)) {
            for buffer in kernel.outputs().into_iter().filter_map(buffer_of) {
                let PlanBuffer { dtype, numel, .. } = plan.buffers[buffer as usize];
                memory[buffer as usize] = Some(new(dtype, numel));
            }
            if let Kernel::Structured(call) = kernel
                && call.epilogue.is_some()
            {
                // What the epilogue reads is there until the kernel ends.
                let meta = &call.outputs[0].1;
                drop(new(meta.dtype, meta.numel()));
            }
            ends.into_iter().for_each(|buffer| memory[buffer as usize] = None);
        }
        let root = |place: &Place| match *place {
            Place::Input(input) => inputs[input as usize].clone(),
            Place::Buffer(buffer) => {
                Buffer::Phantom(memory[buffer as usize].clone().expect("roots are kept"))
            }
        };
        plan.roots.iter().map(root).collect()
    }

    pub fn run(&self, run: &Run) -> Result<Vec<Buffer>> {
        let mut memory: Vec<Option<Arc<CpuBuffer>>> = vec![None; run.plan.buffers.len()];
        for (kernel, ends) in run.plan.kernels.iter().zip(last_uses(run.plan)) {
            let outputs: Vec<u32> = kernel.outputs().into_iter().filter_map(buffer_of).collect();
            // A fused kernel writes every element, and so does an epilogue.
            let zeroed = matches!(kernel, Kernel::Structured(call) if call.epilogue.is_none() && !call.op.fills_outputs());
            let mut filling = Filling::new(&self.spare);
            for &buffer in &outputs {
                let PlanBuffer { dtype, numel, .. } = run.plan.buffers[buffer as usize];
                filling.add(dtype, numel, zeroed)?;
            }
            let results = &mut filling.buffers[..];
            let operand = |place: Place| -> &HostBuffer {
                match place {
                    Place::Input(input) => run.inputs[input as usize].host(),
                    Place::Buffer(buffer) => {
                        memory[buffer as usize].as_ref().expect("kernels run in dependency order")
                    }
                }
            };
            match kernel {
                Kernel::Fused(kernel) => {
                    let inputs: Vec<_> = kernel.inputs.iter().map(|&(place, _)| operand(place)).collect();
                    fused::run(kernel, &inputs, results, run)?;
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
                        None => compute(results)?,
                        Some(epilogue) => {
                            let meta = &call.outputs[0].1;
                            let mut own = Filling::new(&self.spare);
                            own.add(meta.dtype, meta.numel(), !op.fills_outputs())?;
                            compute(&mut own.buffers)?;
                            let mut inputs: Vec<_> =
                                epilogue.inputs.iter().map(|&(place, _)| operand(place)).collect();
                            inputs.push(&own.buffers[0]);
                            fused::run(epilogue, &inputs, results, run)?;
                        }
                    }
                }
            }
            let results = filling.finish();
            for (buffer, result) in outputs.into_iter().zip(results) {
                memory[buffer as usize] = Some(Arc::new(result));
            }
            for buffer in ends {
                memory[buffer as usize] = None;
            }
        }
        let root = |place: &Place| match *place {
            Place::Input(input) => run.inputs[input as usize].clone(),
            Place::Buffer(buffer) => Buffer::Cpu(memory[buffer as usize].clone().expect("roots are kept")),
        };
        Ok(run.plan.roots.iter().map(root).collect())
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
