//! Shaders where they are not kept by form: in a browser, where every kilobyte of the module is fetched before the first step.

use super::forms::{Form, FormShader, first_tier, programs_of};
use super::runtime::Runtime;
use crate::error::Result;
use crate::ir::kernel::Kernel;
use crate::ir::program::Param;
use std::sync::Arc;

/// Keeps nothing.
#[derive(Default)]
pub(super) struct Written;

impl Written {
    /// The shaders of kernels, each its own form.
    pub fn forms(&self, kernels: &[&Kernel], runtime: &Runtime) -> Result<Vec<(Arc<Form>, Own)>> {
        let tier = first_tier(runtime);
        let form = |kernel: &&Kernel| {
            let shaders =
                programs_of(kernel, tier, None, runtime)?.into_iter().map(FormShader::new).collect();
            Ok((Arc::new(Form::new(|| Arc::new((*kernel).clone()), shaders, runtime)), Own { node: None }))
        };
        kernels.iter().map(form).collect()
    }
}

/// What a kernel has of its own: nothing, unless its shader belongs to no kernel.
pub(super) struct Own {
    node: Option<u32>,
}

impl Own {
    /// Of a shader that belongs to no kernel and reports faults of a node.
    pub fn of_node(node: u32) -> Own {
        Own { node: Some(node) }
    }

    /// A number of the form as this kernel has it.
    pub fn number(&self, param: &Param) -> Param {
        match (param, self.node) {
            (Param::Node(_), Some(node)) => Param::Node(node),
            (param, _) => param.clone(),
        }
    }
}
