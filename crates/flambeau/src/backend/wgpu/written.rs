//! Shaders that have been written before.
//!
//! Writing a kernel's text takes longer than everything else that a new plan costs, and most kernels of a new plan have been
//! written before, for another layer or another plan. They differ only in where their operands lie, which nodes they stand
//! for and which of the run's numbers they take; what remains without these is a kernel's *form*, and its shaders are kept by
//! that.

use super::runtime::{Binding, PipelineKey, Request, Runtime, ShaderText, Specialise};
use crate::error::Result;
use crate::ir::access::{Access, DataOffset};
use crate::ir::call::StructuredCall;
use crate::ir::kernel::{Fused, InstKind, Kernel, Place};
use crate::ir::program::{Bound, Param, Program, Tier};
use crate::shader::codegen;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::{Arc, Mutex, PoisonError};

/// Forms kept; above it, those that were asked for least recently go.
const MAX_FORMS: usize = 4096;
/// In a form, numbers of a structured call's own data are counted from here.
const CALL_DATA: u32 = 1 << 24;

/// A form and its shaders.
pub(super) struct Form {
    kernel: Option<Kernel>,
    pub shaders: Vec<Shader>,
}

/// One shader of a form.
pub(super) struct Shader {
    /// Its numbers are those of the form: see [`Own::number`].
    pub program: Program,
    pub text: ShaderText,
}

impl Shader {
    /// What a pipeline of it is made from.
    pub fn request(&self, label: &str) -> Request {
        let Program { entry, bindings, params, trust, .. } = &self.program;
        let mut bindings: Vec<Binding> = bindings
            .iter()
            .map(|bound| match bound {
                Bound::Input(_) => Binding::Read,
                Bound::Output(_) | Bound::Scratch(_) | Bound::Status => Binding::ReadWrite,
            })
            .collect();
        if !params.is_empty() {
            bindings.push(Binding::Uniform);
        }
        let key = PipelineKey { source: self.text.clone(), entry: entry.clone(), bindings, trust: *trust };
        Request { key, label: label.into() }
    }
}

impl Form {
    /// A shader that belongs to no kernel and reports faults of a node.
    pub fn apart(program: Program, node: u32) -> (Arc<Form>, Own) {
        let text = program.source.clone().into();
        let form = Form { kernel: None, shaders: vec![Shader { program, text }] };
        (Arc::new(form), Own { nodes: vec![node], ..Own::default() })
    }

    /// A shader with its sizes in the text, where that is worth it and can take the place of the general one.
    pub fn specialised(&self, number: usize, runtime: &Runtime) -> Option<Shader> {
        let general = &self.shaders[number].program;
        let kernel = self.kernel.as_ref().filter(|_| general.specialise)?;
        let program = programs_of(kernel, Tier::Specialised, runtime).ok()?.into_iter().nth(number)?;
        let fits = (&program.params, &program.bindings, &program.scratch)
            == (&general.params, &general.bindings, &general.scratch);
        debug_assert!(fits, "both tiers of {} have one uniform block", general.label);
        let text = program.source.clone().into();
        fits.then_some(Shader { program, text })
    }
}

/// The shaders of forms.
#[derive(Default)]
pub(super) struct Written {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    forms: FxHashMap<Kernel, Entry>,
    /// Forms that differ in sizes share texts.
    texts: FxHashSet<ShaderText>,
    asked: u64,
}

struct Entry {
    form: Arc<Form>,
    last_asked: u64,
}

impl Written {
    /// The form of a kernel, and what the kernel has of its own.
    pub fn form(&self, kernel: &Kernel, runtime: &Runtime) -> Result<(Arc<Form>, Own)> {
        let (kernel, own) = without_own(kernel);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.asked += 1;
        let now = known.asked;
        if let Some(entry) = known.forms.get_mut(&kernel) {
            entry.last_asked = now;
            return Ok((entry.form.clone(), own));
        }
        let tier = match runtime.config().specialise {
            Specialise::AtOnce => Tier::Specialised,
            _ => Tier::General,
        };
        let programs = programs_of(&kernel, tier, runtime)?;
        let shaders: Vec<Shader> = programs.into_iter().map(|program| known.shader(program)).collect();
        let gains = runtime.config().specialise == Specialise::WhenHot
            && shaders.iter().any(|shader| shader.program.specialise);
        let form = Arc::new(Form { kernel: gains.then(|| kernel.clone()), shaders });
        known.forget_some();
        known.forms.insert(kernel, Entry { form: form.clone(), last_asked: now });
        Ok((form, own))
    }
}

impl Known {
    fn shader(&mut self, mut program: Program) -> Shader {
        let text = self.shared(program.source);
        program.source = text.text().clone();
        Shader { program, text }
    }

    fn shared(&mut self, text: Arc<str>) -> ShaderText {
        let text = ShaderText::from(text);
        match self.texts.get(&text) {
            Some(known) => known.clone(),
            None => {
                self.texts.insert(text.clone());
                text
            }
        }
    }

    fn forget_some(&mut self) {
        if self.forms.len() < MAX_FORMS {
            return;
        }
        let mut ages: Vec<u64> = self.forms.values().map(|entry| entry.last_asked).collect();
        ages.sort_unstable();
        let oldest_kept = ages[MAX_FORMS / 2];
        self.forms.retain(|_, entry| entry.last_asked >= oldest_kept);
        self.texts.retain(|text| Arc::strong_count(text.text()) > 1);
    }
}

/// The programs of a kernel on a device.
pub(super) fn programs_of(kernel: &Kernel, tier: Tier, runtime: &Runtime) -> Result<Vec<Program>> {
    match kernel {
        Kernel::Fused(fused) => Ok(codegen::programs(fused, runtime.config().workgroup_size as usize, tier)),
        Kernel::Structured(call) => {
            let call = &StructuredCall { tier, ..call.clone() };
            match runtime.config().avoid_barriers {
                true => call.op.wgsl_without_barriers(call),
                false => call.op.wgsl(call),
            }
        }
    }
}

/// What a kernel has that is no part of its form.
#[derive(Default)]
pub(super) struct Own {
    nodes: Vec<u32>,
    /// The place in the run's data of each number of the form.
    data: Vec<u32>,
    call_data: u32,
}

impl Own {
    /// A number of the form as this kernel has it.
    pub fn number(&self, param: &Param) -> Param {
        match param {
            Param::Node(node) => Param::Node(self.nodes[*node as usize]),
            Param::Data(index, lane) => Param::Data(self.place(*index), *lane),
            Param::Offset(offset) => {
                let terms = offset.terms.iter().map(|&(index, factor)| (self.place(index), factor));
                Param::Offset(DataOffset { constant: offset.constant, terms: terms.collect() })
            }
            other => other.clone(),
        }
    }

    fn place(&self, index: u32) -> u32 {
        match index.checked_sub(CALL_DATA) {
            Some(index) => self.call_data + index,
            None => self.data[index as usize],
        }
    }

    /// The form's number for so many neighbouring places in the data.
    fn numbered(&mut self, first: u32, count: u32) -> u32 {
        let known = self
            .data
            .windows(count as usize)
            .position(|places| places.iter().zip(first..).all(|(&place, wanted)| place == wanted));
        let at = known.unwrap_or_else(|| {
            self.data.extend(first..first + count);
            self.data.len() - count as usize
        });
        at as u32
    }

    fn take_offset(&mut self, offset: &mut DataOffset) {
        offset.terms.iter_mut().for_each(|(index, _)| *index = self.numbered(*index, 1));
    }

    fn take_access(&mut self, access: &mut Access) {
        for level in &mut access.levels {
            self.take_offset(&mut level.offset);
            level
                .axes
                .iter_mut()
                .filter_map(|axis| axis.hole.as_mut())
                .for_each(|hole| self.take_offset(&mut hole.start));
        }
    }

    fn take_fused(&mut self, fused: &mut Fused) {
        for inst in &mut fused.insts {
            self.nodes.push(inst.node);
            inst.node = self.nodes.len() as u32 - 1;
            match &mut inst.kind {
                InstKind::Constant { data_start, .. } => *data_start = self.numbered(*data_start, 1),
                InstKind::Bits { data_start, .. } => *data_start = self.numbered(*data_start, 4),
                _ => {}
            }
            if let Some(access) = inst.kind.access_mut() {
                self.take_access(access);
            }
        }
        fused.outputs.iter_mut().for_each(|output| self.take_access(&mut output.access));
    }
}

/// A kernel without what it has of its own, and that.
fn without_own(kernel: &Kernel) -> (Kernel, Own) {
    let (mut form, mut own) = (kernel.clone(), Own::default());
    form.places_mut().into_iter().for_each(|place| *place = Place::Input(0));
    match &mut form {
        Kernel::Fused(fused) => own.take_fused(fused),
        Kernel::Structured(call) => {
            own.nodes.push(std::mem::take(&mut call.node));
            own.call_data = std::mem::replace(&mut call.data_start, CALL_DATA);
            call.inputs.iter_mut().for_each(|operand| own.take_access(&mut operand.access));
            call.epilogue.iter_mut().for_each(|epilogue| own.take_fused(epilogue));
        }
    }
    (form, own)
}
