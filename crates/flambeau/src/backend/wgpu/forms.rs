//! A kernel's shaders, and what pipelines are made from.

use super::runtime::{Binding, PipelineKey, Request, Runtime, ShaderText, Specialise};
use crate::error::Result;
use crate::ir::call::StructuredCall;
use crate::ir::kernel::Kernel;
use crate::ir::program::{Bound, Param, Program, Tier};
use crate::shader::codegen;
use std::sync::Arc;

/// A form and its shaders.
pub(super) struct Form {
    kernel: Option<Arc<Kernel>>,
    pub shaders: Vec<FormShader>,
}

/// One shader of a form.
pub(super) struct FormShader {
    /// Its numbers are those of the form: see [`Own::number`].
    pub program: Program,
    pub text: ShaderText,
}

/// A shader that is made for its sizes.
pub(super) struct Specialised {
    pub shader: FormShader,
    /// Does it do the work of the next shader, too?
    pub completes: bool,
}

impl FormShader {
    pub fn new(program: Program) -> FormShader {
        let text = program.source.clone().into();
        FormShader { program, text }
    }

    /// What a pipeline of it is made from.
    pub fn request(&self, label: &str) -> Request {
        let Program { entry, bindings, params, trust, .. } = &self.program;
        let mut bindings: Vec<Binding> = bindings
            .iter()
            .map(|bound| match bound {
                Bound::Input(_) | Bound::ScratchRead(_) => Binding::Read,
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
    /// The form of a kernel with these shaders; the kernel is asked for where specialised ones are to be made from it.
    pub fn new(kernel: impl FnOnce() -> Arc<Kernel>, shaders: Vec<FormShader>, runtime: &Runtime) -> Form {
        let gains = runtime.config().specialise == Specialise::WhenHot
            && shaders.iter().any(|shader| shader.program.specialise);
        Form { kernel: gains.then(kernel), shaders }
    }

    /// A shader that belongs to no kernel.
    pub fn apart(program: Program) -> Form {
        Form { kernel: None, shaders: vec![FormShader::new(program)] }
    }

    /// A shader with its sizes in the text, where that is worth it and can take the place of the general one, or of that and
    /// the one that completes its work.
    pub fn specialised(&self, number: usize, runtime: &Runtime) -> Option<Specialised> {
        let general = &self.shaders[number].program;
        let kernel = self.kernel.as_ref().filter(|_| general.specialise)?;
        let next = self.shaders.get(number + 1).map(|next| &next.program).filter(|next| next.completes);
        let block: Arc<[Param]> = match next {
            Some(next) => general.numbers_with(next),
            None => general.params.clone().into(),
        };
        let programs = programs_of(kernel, Tier::Specialised, Some(block.clone()), runtime).ok()?;
        let program = programs.into_iter().nth(number)?;
        let fits = match next {
            Some(_) => program.takes_the_place_of_both(general, &block),
            None => program.takes_the_place_of(general),
        };
        debug_assert!(fits, "what {} reads is bound for both of its texts", general.label);
        fits.then(|| Specialised { shader: FormShader::new(program), completes: next.is_some() })
    }
}

/// The text that a device's kernels have from the start.
pub(super) fn first_tier(runtime: &Runtime) -> Tier {
    let config = runtime.config();
    match config.specialise {
        Specialise::AtOnce => Tier::Specialised,
        // They have more barriers for the same work.
        Specialise::WhenHot if config.compact && !config.avoid_barriers => Tier::Compact,
        _ => Tier::General,
    }
}

/// A call as a device makes it; its shaders find their numbers in a block that is there already, if one is given.
pub(super) fn on_device(
    call: &StructuredCall,
    tier: Tier,
    block: Option<Arc<[Param]>>,
    runtime: &Runtime,
) -> StructuredCall {
    let (gpu, subgroups) = (runtime.config().gpu_size.unwrap_or_default(), runtime.has_subgroups());
    let (units, limits) = (runtime.matrix_units(), runtime.limits());
    let workgroup_memory = limits.max_compute_workgroup_storage_size;
    StructuredCall { tier, subgroups, gpu, workgroup_memory, units, block, ..call.clone() }
}

/// The programs of a kernel on a device; they find their numbers in a block that is there already, if one is given.
pub(super) fn programs_of(
    kernel: &Kernel,
    tier: Tier,
    block: Option<Arc<[Param]>>,
    runtime: &Runtime,
) -> Result<Vec<Program>> {
    let config = runtime.config();
    match kernel {
        Kernel::Fused(fused) => {
            let (threads, subgroups) = (config.workgroup_size as usize, runtime.has_subgroups());
            Ok(codegen::programs(fused, threads, tier, subgroups, block.as_ref()))
        }
        Kernel::Structured(call) => {
            let call = on_device(call, tier, block, runtime);
            match config.avoid_barriers {
                true => call.op.wgsl_without_barriers(&call),
                false => call.op.wgsl(&call),
            }
        }
    }
}
