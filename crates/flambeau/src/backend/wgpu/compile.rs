//! Prepares a plan for the queue: a pipeline per kernel, its buffers, and one uniform block for all of them.
//!
//! All pipelines that a plan needs are known before the first is compiled, and are asked for together.

use super::forms::{Form, FormShader, Specialised};
use super::heat::Heat;
use super::runtime::{GpuBuffer, KernelWork, Pipeline, Request, Runtime, Specialise};
use super::written::{Own, Written};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::host::{decreasing, sorted_by};
use crate::ir::UNIFORM_ALIGNMENT;
use crate::ir::kernel::{Kernel, Place};
use crate::ir::program::{Bound, Checked, Param, Program};
use crate::plan::{Cost, Plan};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Where a kernel's buffer comes from at run time.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source {
    Place(Place),
    Scratch(usize),
    Status,
}

/// One dispatch.
pub(super) struct CompiledKernel {
    /// What is there from the start.
    general: Ready,
    /// What is made for these sizes, when it is ready; see `specialise`.
    specialised: OnceLock<Ready>,
    /// What the latter is made from, where it is worth it.
    gains: Option<Gain>,
    pub label: String,
    pub work: KernelWork,
}

/// A pipeline and what it is given.
pub(super) struct Ready {
    pub pipeline: Arc<Pipeline>,
    pub groups: [u32; 3],
    pub sources: Vec<Source>,
    pub uniform: Range<u64>,
    /// Does it do the work of the next kernel, too?
    pub completes: bool,
}

/// A shader of a form, and the operands that it has here: what a kernel gains a specialised one from.
struct Gain {
    form: Arc<Form>,
    number: usize,
    operands: Arc<Operands>,
}

/// How kernels of one form run with a pipeline that is made for their sizes.
pub(super) struct Takeover {
    groups: [u32; 3],
    bindings: Vec<Bound>,
    completes: bool,
}

impl CompiledPlan {
    /// What a run dispatches, each kernel the fastest way that is ready.
    pub fn dispatches(&self) -> Vec<(&CompiledKernel, &Ready)> {
        let mut dispatches = Vec::with_capacity(self.kernels.len());
        let mut is_completed = false;
        for kernel in &self.kernels {
            // Once: another pipeline may take over at any time.
            let ready = kernel.specialised.get().unwrap_or(&kernel.general);
            if !is_completed {
                dispatches.push((kernel, ready));
            }
            is_completed = ready.completes;
        }
        dispatches
    }
}

/// A dispatch whose pipeline is not there yet.
struct Draft {
    gain: Gain,
    uniform: Range<u64>,
    label: String,
    work: KernelWork,
}

/// Where a kernel's operands lie.
struct Operands {
    inputs: Vec<Place>,
    outputs: Vec<Place>,
    /// Its scratch buffers, by their numbers in the plan.
    scratch: Vec<usize>,
}

impl Operands {
    fn sources(&self, bindings: &[Bound]) -> Vec<Source> {
        let source = |bound: &Bound| match *bound {
            Bound::Input(input) => Source::Place(self.inputs[input]),
            Bound::Output(output) => Source::Place(self.outputs[output]),
            Bound::Scratch(number) | Bound::ScratchRead(number) => Source::Scratch(self.scratch[number]),
            Bound::Status => Source::Status,
        };
        bindings.iter().map(source).collect()
    }
}

/// A node whose kernel may report a fault.
#[derive(Debug, Clone)]
pub(super) struct Check {
    pub node: u32,
    pub checked: Checked,
}

/// Bytes that are new in a block, from an offset on.
type NewBytes = (u64, Vec<u8>);

/// Kernels of a plan up to which it has several uniform blocks.
const SMALL_PLAN: usize = 4;
/// Blocks of such a plan. Runs that wait together have one each and are submitted together; one block for all of them would
/// have to be written between two runs, hence between two submissions. A browser submits every run by itself.
const BLOCKS: usize = if cfg!(target_arch = "wasm32") { 1 } else { 16 };

/// The uniform blocks of a plan: what they hold, and where on the device. A block is written once, and again where its
/// numbers have changed.
#[derive(Default)]
pub(super) struct Numbers {
    /// What every block holds but for the words that differ from run to run.
    bytes: Vec<u8>,
    blocks: Vec<KeptBlock>,
    /// The block of the latest run.
    current: usize,
    /// Blocks at most.
    most: usize,
}

struct KeptBlock {
    /// What it holds, once `memory` is there.
    bytes: Vec<u8>,
    memory: Option<GpuBuffer>,
}

impl KeptBlock {
    /// Has it these words, given with their byte offsets?
    fn holds(&self, words: &[(usize, u32)]) -> bool {
        let held = |&(offset, word): &(usize, u32)| self.bytes[offset..offset + 4] == word.to_le_bytes();
        self.memory.is_some() && words.iter().all(held)
    }

    /// Puts words in; which bytes have changed.
    fn put(&mut self, words: &[(usize, u32)]) -> Range<usize> {
        let mut changed = match self.memory {
            Some(_) => 0..0,
            None => 0..self.bytes.len(),
        };
        for &(offset, word) in words {
            let (end, word) = (offset + 4, word.to_le_bytes());
            if self.bytes[offset..end] != word {
                self.bytes[offset..end].copy_from_slice(&word);
                changed = match changed.is_empty() {
                    true => offset..end,
                    false => changed.start.min(offset)..changed.end.max(end),
                };
            }
        }
        changed
    }
}

impl Numbers {
    /// Puts in words, given with their byte offsets. Gives the block of this run, if kernels have numbers, and what of it
    /// is to be written: bytes from an offset on.
    pub fn with(
        &mut self,
        words: impl Iterator<Item = (usize, u32)>,
        runtime: &Arc<Runtime>,
    ) -> Result<(Option<&GpuBuffer>, Option<NewBytes>)> {
        if self.bytes.is_empty() {
            return Ok((None, None));
        }
        let words: SmallVec<[(usize, u32); 16]> = words.collect();
        if !self.blocks.get(self.current).is_some_and(|block| block.holds(&words)) {
            self.current = (self.current + 1) % self.most.max(1);
            if self.current >= self.blocks.len() {
                self.current = self.blocks.len();
                self.blocks.push(KeptBlock { bytes: self.bytes.clone(), memory: None });
            }
        }
        let block = &mut self.blocks[self.current];
        let changed = block.put(&words);
        let write = (!changed.is_empty()).then(|| (changed.start as u64, block.bytes[changed].to_vec()));
        let memory = match block.memory.take() {
            Some(memory) => memory,
            None => runtime.uniform_block(block.bytes.len())?,
        };
        Ok((Some(block.memory.insert(memory)), write))
    }

    /// Has the plan not run yet?
    pub fn is_new(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Forgets what the device holds: it may not have been written.
    pub fn forget(&mut self) {
        self.blocks.clear();
        self.current = 0;
    }
}

/// Everything about a plan that is the same in every run.
pub(super) struct CompiledPlan {
    pub kernels: Vec<CompiledKernel>,
    /// The uniform block.
    pub uniforms: Mutex<Numbers>,
    /// Byte offsets of the words that differ from run to run.
    pub patches: Vec<(usize, Param)>,
    /// Bytes of scratch buffers.
    pub scratch: Vec<u64>,
    /// Those that kernels use in turn: two sets, so that one can fill its own while the kernel before is still at work.
    in_turn: [Vec<usize>; 2],
    /// Whose turn it is.
    turn: usize,
    pub checks: Vec<Check>,
    /// Are updates in it that a fault stops?
    pub is_guard: bool,
    /// Would some of its kernels gain from pipelines for their sizes, made when it is hot?
    pub gains: bool,
    pub heat: Heat,
    drafts: Vec<Draft>,
}

impl CompiledPlan {
    pub fn new(plan: &Plan, written: &Written, runtime: &Arc<Runtime>) -> Result<CompiledPlan> {
        let mut compiled = CompiledPlan::drafted(plan, written, runtime)?;
        let drafts = std::mem::take(&mut compiled.drafts);
        let wanted =
            drafts.iter().map(|Draft { gain, label, .. }| gain.form.shaders[gain.number].request(label));
        let pipelines = runtime.pipelines(wanted.collect())?;
        let hot = runtime.config().specialise == Specialise::WhenHot;
        let kernel = |(Draft { gain, uniform, label, work }, pipeline)| {
            let program = &gain.form.shaders[gain.number].program;
            let sources = gain.operands.sources(&program.bindings);
            let (groups, specialise) = (program.groups, hot && program.specialise);
            CompiledKernel {
                general: Ready { pipeline, groups, sources, uniform, completes: false },
                specialised: OnceLock::new(),
                gains: specialise.then_some(gain),
                label,
                work,
            }
        };
        compiled.kernels = drafts.into_iter().zip(pipelines).map(kernel).collect();
        let numbers = compiled.uniforms.get_mut().unwrap_or_else(PoisonError::into_inner);
        numbers.most = if compiled.kernels.len() <= SMALL_PLAN { BLOCKS } else { 1 };
        compiled.gains = compiled.kernels.iter().any(|kernel| kernel.gains.is_some());
        Ok(compiled)
    }

    /// The kernels that gain from pipelines for their sizes and have none yet: those of one form together, because they share
    /// one, and those with the most arithmetic first.
    pub fn gaining(&self) -> Vec<Vec<usize>> {
        let mut wanted: Vec<(Vec<usize>, u64)> = Vec::new();
        let shares = |a: usize, b: usize| match (&self.kernels[a].gains, &self.kernels[b].gains) {
            (Some(a), Some(b)) => Arc::ptr_eq(&a.form, &b.form) && a.number == b.number,
            _ => false,
        };
        for (number, kernel) in self.kernels.iter().enumerate().filter(|(_, kernel)| kernel.gains.is_some()) {
            match wanted.iter_mut().find(|(kernels, _)| shares(kernels[0], number)) {
                Some((kernels, flops)) => {
                    kernels.push(number);
                    *flops += kernel.work.flops;
                }
                None => wanted.push((vec![number], kernel.work.flops)),
            }
        }
        sorted_by(wanted, |(_, flops)| decreasing(*flops as i64))
            .into_iter()
            .map(|(kernels, _)| kernels)
            .collect()
    }

    /// Makes a pipeline for kernels of one form.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn specialise(&self, kernels: &[usize], runtime: &Runtime) {
        if let Some((request, takeover)) = self.specialised(kernels, runtime) {
            self.take_over(kernels, runtime.pipeline(request), &takeover, runtime);
        }
    }

    /// What to ask for to have a pipeline for the sizes of kernels of one form, and how they run with it.
    pub fn specialised(&self, kernels: &[usize], runtime: &Runtime) -> Option<(Request, Takeover)> {
        let first = &self.kernels[kernels[0]];
        let Gain { form, number, .. } = first.gains.as_ref()?;
        let Specialised { shader, completes } = form.specialised(*number, runtime)?;
        let request = shader.request(&first.label);
        let Program { groups, bindings, .. } = shader.program;
        Some((request, Takeover { groups, bindings, completes }))
    }

    /// Takes such a pipeline into use, from the next run on.
    pub fn take_over(
        &self,
        kernels: &[usize],
        pipeline: Result<Arc<Pipeline>>,
        takeover: &Takeover,
        runtime: &Runtime,
    ) {
        match pipeline {
            Ok(pipeline) => {
                runtime.count_specialised();
                kernels.iter().for_each(|&number| self.replace(number, &pipeline, takeover));
            }
            Err(error) => {
                log::warn!("{} stays with its kernel for all sizes: {error}", self.kernels[kernels[0]].label);
            }
        }
    }

    /// Takes a pipeline into use for one kernel.
    fn replace(&self, number: usize, pipeline: &Arc<Pipeline>, takeover: &Takeover) {
        let &Takeover { groups, ref bindings, completes } = takeover;
        let kernel = &self.kernels[number];
        let Some(Gain { operands, .. }) = &kernel.gains else { return };
        let last = &self.kernels[number + usize::from(completes)];
        let uniform = kernel.general.uniform.start..last.general.uniform.end;
        let (pipeline, sources) = (pipeline.clone(), operands.sources(bindings));
        // Whoever comes second has compiled the same.
        let _ = kernel.specialised.set(Ready { pipeline, groups, sources, uniform, completes });
    }

    /// Bytes of the memory that a plan's kernels need beside their results.
    pub fn scratch_of(plan: &Plan, written: &Written, runtime: &Arc<Runtime>) -> Result<Vec<u64>> {
        Ok(CompiledPlan::drafted(plan, written, runtime)?.scratch)
    }

    /// Everything but the pipelines.
    fn drafted(plan: &Plan, written: &Written, runtime: &Arc<Runtime>) -> Result<CompiledPlan> {
        let mut compiled = CompiledPlan {
            kernels: Vec::new(),
            uniforms: Mutex::default(),
            patches: Vec::new(),
            scratch: Vec::new(),
            in_turn: Default::default(),
            turn: 0,
            checks: Vec::new(),
            is_guard: false,
            gains: false,
            heat: Heat::default(),
            drafts: Vec::new(),
        };
        let has_results = |kernel: &Kernel| !kernel.outputs().iter().all(|&place| is_empty(plan, place));
        let (kernels, costs): (Vec<&Kernel>, Vec<&Cost>) =
            plan.kernels.iter().zip(&plan.costs).filter(|(kernel, _)| has_results(kernel)).unzip();
        for (kernel, cost) in kernels.iter().zip(&costs) {
            check_size(kernel, cost.elements)?;
        }
        let forms = written.forms(&kernels, runtime)?;
        for ((kernel, cost), (form, own)) in kernels.into_iter().zip(costs).zip(forms) {
            let name = kernel.describe().join("+");
            let first = compiled.drafts.len();
            match kernel {
                Kernel::Fused(fused) => {
                    let inputs: Vec<Place> = fused.inputs.iter().map(|&(place, _)| place).collect();
                    let outputs: Vec<Place> = fused.outputs.iter().map(|output| output.place).collect();
                    let scratch = compiled.own_scratch(&form.shaders[0].program.scratch);
                    let nodes = fused.insts.iter().filter_map(|inst| match &inst.kind {
                        crate::ir::kernel::InstKind::Gather { size, .. } => {
                            let checked = Checked::Index { op: "gather", size: *size };
                            Some(Check { node: inst.node, checked })
                        }
                        _ => None,
                    });
                    compiled.checks.extend(nodes);
                    let operands = Arc::new(Operands { inputs, outputs, scratch });
                    for number in 0..form.shaders.len() {
                        compiled.add(&form, number, &own, &name, &operands);
                    }
                    if runtime.config().debug {
                        compiled.check_results(plan, &operands.outputs, fused_node(fused), &name);
                    }
                }
                Kernel::Structured(call) => {
                    let (inputs, outputs) = (call.input_places(), call.output_places());
                    let scratch = compiled.scratch_for(&form);
                    let operands = Arc::new(Operands { inputs, outputs, scratch });
                    for (number, FormShader { program, .. }) in form.shaders.iter().enumerate() {
                        if let Some(checked) = program.checks.clone() {
                            compiled.checks.push(Check { node: call.node, checked });
                        }
                        let writes = program.bindings.contains(&Bound::Output(0));
                        let label = if writes && call.epilogue.is_some() { &name } else { program.label };
                        compiled.add(&form, number, &own, label, &operands);
                    }
                    if runtime.config().debug {
                        compiled.check_results(plan, &operands.outputs, call.node, &name);
                    }
                }
            }
            if let Some(draft) = compiled.drafts.get_mut(first) {
                let Cost { elements, flops, bytes } = *cost;
                draft.work = KernelWork { elements, flops, bytes };
            }
        }
        Ok(compiled)
    }

    /// Scratch buffers that no other kernel uses.
    fn own_scratch(&mut self, wanted: &[u64]) -> Vec<usize> {
        let first = self.scratch.len();
        self.scratch.extend(wanted);
        (first..self.scratch.len()).collect()
    }

    /// A structured kernel's scratch buffers. Some are used in turn: what the next kernel completes, which is as large as results
    /// are and not needed any more when the specialised kernels are there, and operands that are laid out anew.
    fn scratch_for(&mut self, form: &Form) -> Vec<usize> {
        let Some(FormShader { program: first, .. }) = form.shaders.first() else { return Vec::new() };
        let completes = form.shaders.iter().any(|shader| shader.program.completes);
        let set = match (first.in_turn, completes) {
            (true, _) => {
                self.turn = 1 - self.turn;
                self.turn
            }
            (false, true) => 0,
            (false, false) => return self.own_scratch(&first.scratch),
        };
        for (number, &bytes) in first.scratch.iter().enumerate() {
            match self.in_turn[set].get(number) {
                Some(&place) => self.scratch[place] = self.scratch[place].max(bytes),
                None => {
                    self.in_turn[set].push(self.scratch.len());
                    self.scratch.push(bytes);
                }
            }
        }
        self.in_turn[set][..first.scratch.len()].to_vec()
    }

    fn add(&mut self, form: &Arc<Form>, number: usize, own: &Own, label: &str, operands: &Arc<Operands>) {
        let program = &form.shaders[number].program;
        self.is_guard |= program.params.contains(&Param::Status(1));
        let uniform = self.block(program.params.iter().map(|param| own.number(param)));
        let gain = Gain { form: form.clone(), number, operands: operands.clone() };
        self.drafts.push(Draft { gain, uniform, label: label.to_string(), work: KernelWork::default() });
    }

    /// Adds a kernel's numbers to the uniform block, aligned as uniform bindings must be.
    fn block(&mut self, params: impl Iterator<Item = Param>) -> Range<u64> {
        let bytes = &mut self.uniforms.get_mut().unwrap_or_else(PoisonError::into_inner).bytes;
        let start = bytes.len().next_multiple_of(UNIFORM_ALIGNMENT);
        bytes.resize(start, 0);
        for param in params {
            let word = match &param {
                Param::Fixed(word) | Param::Opaque(word) | Param::Node(word) => *word,
                Param::Offset(linear) if linear.terms.is_empty() => linear.constant as u32,
                Param::Offset(_) | Param::Data(..) | Param::Run | Param::Status(_) => {
                    self.patches.push((bytes.len(), param));
                    0
                }
            };
            bytes.extend(word.to_le_bytes());
        }
        let end = bytes.len().next_multiple_of(16);
        bytes.resize(end, 0);
        start as u64..end as u64
    }

    /// A kernel that looks for NaNs in the results of the one before: debug mode.
    #[inline(never)] // A page fetches it only when it is asked for.
    fn check_results(&mut self, plan: &Plan, outputs: &[Place], node: u32, name: &str) {
        for &place in outputs {
            let Place::Buffer(buffer) = place else { continue };
            let buffer = &plan.buffers[buffer as usize];
            if matches!(buffer.dtype, DType::F32 | DType::F16) && buffer.numel > 0 {
                let node = node | super::fault::NAN_FLAG;
                let form = Arc::new(Form::apart(super::fault::nan_check(buffer.dtype, buffer.numel)));
                self.checks.push(Check { node, checked: Checked::Nan });
                let operands =
                    Arc::new(Operands { inputs: vec![place], outputs: Vec::new(), scratch: Vec::new() });
                self.add(&form, 0, &Own::of_node(node), &format!("NaN check of {name}"), &operands);
            }
        }
    }
}

/// The shaders of a plan with their numbers, for people.
#[cfg(not(target_arch = "wasm32"))]
pub(super) fn shaders(plan: &Plan, runtime: &Runtime) -> Result<String> {
    use super::forms::{first_tier, programs_of};
    use crate::ir::program::Program;
    let mut text = String::new();
    for (number, kernel) in plan.kernels.iter().enumerate() {
        for program in programs_of(kernel, first_tier(runtime), None, runtime)? {
            let Program { label, params, groups, .. } = &program;
            text += &format!(
                "// kernel {number}: {label}, workgroups {groups:?}, numbers {params:?}\n{}\n",
                program.source
            );
        }
    }
    Ok(text)
}

/// Refuses a kernel with more elements, or along a dimension of an operand, than 32 bits count: its shader would go over
/// some of them only.
fn check_size(kernel: &Kernel, elements: u64) -> Result<()> {
    let sizes = match kernel {
        Kernel::Fused(_) => None,
        Kernel::Structured(call) => call.inputs.iter().flat_map(|input| input.meta.shape.iter()).max(),
    };
    let (requested, limit) = (elements.max(sizes.map_or(0, |&size| size as u64)), u64::from(u32::MAX));
    if requested <= limit {
        return Ok(());
    }
    let what = format!("the size of {}", kernel.describe().join("+"));
    Err(Error::Limit { what, requested, limit_name: "u32 of WGSL", limit })
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

#[cfg(test)]
mod tests {
    use super::super::runtime::GpuConfig;
    use super::*;

    /// The block and what is written of it, for a word at the start.
    fn run(numbers: &mut Numbers, word: u32, runtime: &Arc<Runtime>) -> (u64, Option<NewBytes>) {
        let (block, write) = numbers.with([(0, word)].into_iter(), runtime).expect("there is memory");
        (block.expect("there are numbers").id(), write)
    }

    #[test]
    fn runs_whose_numbers_differ_have_blocks_of_their_own_in_turn() {
        let config = GpuConfig { allow_software: true, ..GpuConfig::default() };
        let runtime = crate::block_on(Runtime::new(&config)).expect("a software adapter");
        let mut numbers = Numbers { bytes: vec![7; 16], most: 3, ..Numbers::default() };
        assert!(numbers.is_new());
        let (first, write) = run(&mut numbers, 1, &runtime);
        let whole: Vec<u8> = [1, 0, 0, 0].into_iter().chain([7; 12]).collect();
        assert_eq!(write, Some((0, whole)), "a block that is new is written whole");
        assert_eq!(run(&mut numbers, 1, &runtime), (first, None), "equal numbers need no other");
        let (second, _) = run(&mut numbers, 2, &runtime);
        let (third, _) = run(&mut numbers, 3, &runtime);
        assert!(first != second && second != third && first != third);
        assert_eq!(run(&mut numbers, 4, &runtime), (first, Some((0, vec![4, 0, 0, 0]))), "only what is new");
        numbers.forget();
        assert!(numbers.is_new());
    }
}
