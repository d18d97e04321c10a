//! Shaders that have been written before.
//!
//! Writing a kernel's text takes longer than everything else that a new plan costs, and most kernels of a new plan have been
//! written before, for another layer or another plan. They differ only in where their operands lie, which nodes they stand
//! for and which of the run's numbers they take; what remains without these is a kernel's *form*, and its shaders are kept by
//! that.

use super::forms::{Form, FormShader, first_tier, programs_of};
use super::runtime::{Runtime, ShaderText};
use crate::error::Result;
use crate::host::mapped;
use crate::ir::access::{Access, DataOffset};
use crate::ir::kernel::{Fused, InstKind, Kernel, Place};
use crate::ir::program::Param;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Forms kept; above it, those that were asked for least recently go. Those of a few plans are enough: what plans share is asked for
/// again and again.
const MAX_FORMS: usize = 512;
/// In a form, numbers of a structured call's own data are counted from here.
const CALL_DATA: u32 = 1 << 24;

/// The shaders of forms.
#[derive(Default)]
pub(super) struct Written {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    forms: FxHashMap<Formed, Entry>,
    /// Forms that differ in sizes share texts.
    texts: FxHashSet<ShaderText>,
    asked: u64,
}

struct Entry {
    form: Arc<Form>,
    last_asked: u64,
}

/// What a form is known by: its kernel, hashed once.
#[derive(Clone, PartialEq, Eq)]
struct Formed {
    kernel: Arc<Kernel>,
    hash: u64,
}

impl Hash for Formed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash.hash(state);
    }
}

impl Formed {
    fn new(kernel: Kernel) -> Formed {
        let mut hasher = FxHasher::default();
        kernel.hash(&mut hasher);
        Formed { kernel: Arc::new(kernel), hash: hasher.finish() }
    }
}

impl Written {
    /// The forms of kernels, and what each kernel has of its own. Forms that are new are written on all cores.
    pub fn forms(&self, kernels: &[&Kernel], runtime: &Runtime) -> Result<Vec<(Arc<Form>, Own)>> {
        let apart = mapped(kernels, |kernel| without_own(kernel));
        let found: Vec<Option<Arc<Form>>> = {
            let mut known = self.lock();
            apart.iter().map(|(kernel, _)| known.find(kernel)).collect()
        };
        let mut missing = FxHashSet::default();
        missing.extend(
            apart.iter().zip(&found).filter(|(_, found)| found.is_none()).map(|((formed, _), _)| formed),
        );
        let missing: Vec<&Formed> = missing.into_iter().collect();
        let tier = first_tier(runtime);
        let shaders = mapped(&missing, |formed| {
            let programs = programs_of(&formed.kernel, tier, None, runtime)?;
            Ok(programs.into_iter().map(FormShader::new).collect::<Vec<FormShader>>())
        });
        let mut known = self.lock();
        let mut new: FxHashMap<Formed, Arc<Form>> = FxHashMap::default();
        for (formed, shaders) in missing.into_iter().zip(shaders) {
            let shaders = shaders?.into_iter().map(|shader| known.shared(shader)).collect();
            new.insert(formed.clone(), Arc::new(Form::new(|| formed.kernel.clone(), shaders, runtime)));
        }
        known.keep(&new);
        let forms: Vec<Arc<Form>> = apart
            .iter()
            .zip(found)
            .map(|((kernel, _), found)| found.unwrap_or_else(|| new[kernel].clone()))
            .collect();
        Ok(forms.into_iter().zip(apart).map(|(form, (_, own))| (form, own)).collect())
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// The shader with the text that others have, if there is one like it.
    fn shared(&mut self, mut shader: FormShader) -> FormShader {
        match self.texts.get(&shader.text) {
            Some(known) => {
                shader.text = known.clone();
                shader.program.source = known.text().clone();
            }
            None => {
                self.texts.insert(shader.text.clone());
            }
        }
        shader
    }

    fn find(&mut self, formed: &Formed) -> Option<Arc<Form>> {
        self.asked += 1;
        let now = self.asked;
        self.forms.get_mut(formed).map(|entry| {
            entry.last_asked = now;
            entry.form.clone()
        })
    }

    fn keep(&mut self, new: &FxHashMap<Formed, Arc<Form>>) {
        if self.forms.len() + new.len() > MAX_FORMS {
            let mut ages: Vec<u64> = self.forms.values().map(|entry| entry.last_asked).collect();
            ages.sort_unstable();
            let oldest_kept = ages.get(ages.len() / 2).copied().unwrap_or(0);
            self.forms.retain(|_, entry| entry.last_asked >= oldest_kept);
            self.texts.retain(|text| Arc::strong_count(text.text()) > 1);
        }
        let last_asked = self.asked;
        let entry = |(formed, form): (&Formed, &Arc<Form>)| {
            (formed.clone(), Entry { form: form.clone(), last_asked })
        };
        self.forms.extend(new.iter().map(entry));
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
    /// Of a shader that belongs to no kernel and reports faults of a node.
    pub fn of_node(node: u32) -> Own {
        Own { nodes: vec![node], ..Own::default() }
    }

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
fn without_own(kernel: &Kernel) -> (Formed, Own) {
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
    (Formed::new(form), own)
}
