//! Shaders that have been written before.
//!
//! Writing a kernel's text takes longer than everything else that a new plan costs, and most kernels of a new plan have been
//! written before, for another layer or another plan. They differ only in where their operands lie, which nodes they stand
//! for and which of the run's numbers they take; what remains without these is a kernel's *form*, and its shaders are kept by
//! that.

use super::runtime::{Runtime, ShaderText};
use crate::error::Result;
use crate::ir::access::{Access, DataOffset};
use crate::ir::kernel::{Fused, InstKind, Kernel, Place};
use crate::ir::program::{Param, Program};
use crate::shader::codegen;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::{Arc, Mutex, PoisonError};

/// Forms kept; above it, those that were asked for least recently go.
const MAX_FORMS: usize = 4096;
/// In a form, numbers of a structured call's own data are counted from here.
const CALL_DATA: u32 = 1 << 24;

/// One shader of a form.
pub(super) struct Shader {
    /// Its numbers are those of the form: see [`Own::number`].
    pub program: Program,
    /// The text that holds for all sizes.
    pub general: ShaderText,
}

impl Shader {
    /// A shader that belongs to no kernel and reports faults of a node.
    pub fn apart(program: Program, node: u32) -> (Arc<[Shader]>, Own) {
        let general = program.general().into();
        (Arc::new([Shader { program, general }]), Own { nodes: vec![node], ..Own::default() })
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
    shaders: Arc<[Shader]>,
    last_asked: u64,
}

impl Written {
    /// The shaders of a kernel, and what it has of its own.
    pub fn shaders(&self, kernel: &Kernel, runtime: &Runtime) -> Result<(Arc<[Shader]>, Own)> {
        let (form, own) = form(kernel);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.asked += 1;
        let now = known.asked;
        if let Some(entry) = known.forms.get_mut(&form) {
            entry.last_asked = now;
            return Ok((entry.shaders.clone(), own));
        }
        let shaders: Arc<[Shader]> =
            programs_of(&form, runtime)?.into_iter().map(|program| known.shader(program)).collect();
        known.forget_some();
        known.forms.insert(form, Entry { shaders: shaders.clone(), last_asked: now });
        Ok((shaders, own))
    }
}

impl Known {
    fn shader(&mut self, mut program: Program) -> Shader {
        program.source = self.shared(program.source.clone()).text().clone();
        let general = self.shared(program.general());
        Shader { program, general }
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
pub(super) fn programs_of(kernel: &Kernel, runtime: &Runtime) -> Result<Vec<Program>> {
    match kernel {
        Kernel::Fused(fused) => Ok(codegen::programs(fused, runtime.config().workgroup_size as usize)),
        Kernel::Structured(call) => match runtime.config().avoid_barriers {
            true => call.op.wgsl_without_barriers(call),
            false => call.op.wgsl(call),
        },
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

/// The form of a kernel, and what it has of its own.
fn form(kernel: &Kernel) -> (Kernel, Own) {
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
