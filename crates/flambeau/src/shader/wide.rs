//! WGSL for large elementwise kernels whose operands lie as their results do: each thread reads, computes and writes
//! four neighbouring elements, which keeps more memory requests under way.

use super::codegen::{Generator, Located};
use crate::ir::access::Access;
use crate::ir::kernel::{Fused, InstKind};
use crate::shader::{lane_type, narrow, storage_type, widen};
use std::fmt::Write;

/// Elements from which the longer shader pays.
const LARGE: usize = 1 << 20;

/// Which inputs of a kernel are read as vectors of four; all outputs are written as such.
pub(super) struct Wide {
    pub inputs: Vec<bool>,
}

impl Wide {
    /// Where a kernel can work so, and it pays.
    pub fn of(kernel: &Fused) -> Option<Wide> {
        let count = kernel.outer_count();
        let flat = kernel.space.len() == 1 && kernel.kept == 1 && kernel.phases.is_empty();
        if !flat || count < LARGE || !count.is_multiple_of(4) {
            return None;
        }
        let input = |number: usize| {
            kernel.insts.iter().all(|inst| match &inst.kind {
                InstKind::Load { operand, access } if *operand == number => is_flat(access),
                InstKind::Gather { operand, .. } => *operand != number,
                _ => true,
            })
        };
        let inputs: Vec<bool> = (0..kernel.inputs.len()).map(input).collect();
        inputs.contains(&true).then_some(Wide { inputs })
    }
}

/// Is element i at an aligned start + i?
fn is_flat(access: &Access) -> bool {
    let [level] = &access.levels[..] else { return false };
    !access.has_zeros()
        && level.axes[0].stride == 1
        && level.offset.terms.is_empty()
        && level.offset.constant % 4 == 0
}

impl Generator<'_> {
    /// Four elements from 4 · number on.
    pub fn wide_body(&mut self, wide: &Wide) -> String {
        let kernel = self.kernel;
        let mut code = String::from("    let r = number * 4u;\n    let index = r;\n");
        code += &self.coordinates("index", 0..1, 1);
        let vector = |position: usize| match kernel.insts[position].kind {
            InstKind::Load { operand, .. } => wide.inputs[operand],
            _ => false,
        };
        for (position, inst) in kernel.insts.iter().enumerate().filter(|(position, _)| vector(*position)) {
            let InstKind::Load { operand, access } = &inst.kind else { continue };
            let Located { at, .. } = self.locate(access, &mut code, "    ");
            _ = writeln!(code, "    let four{position} = in{operand}[({at}) >> 2u];");
        }
        for (number, output) in kernel.outputs.iter().enumerate() {
            _ = writeln!(code, "    var result{number}: vec4<{}>;", storage_type(output.dtype));
        }
        for (lane, component) in ["x", "y", "z", "w"].into_iter().enumerate() {
            let pad = "        ";
            _ = writeln!(code, "    {{\n{pad}let c0 = r + {lane}u;");
            for (position, inst) in kernel.insts.iter().enumerate() {
                let value = match vector(position) {
                    true => widen(inst.dtype, &format!("four{position}.{component}")),
                    false => self.value(inst, &mut code, pad),
                };
                _ = writeln!(code, "{pad}let v{position}: {} = {value};", lane_type(inst.dtype));
            }
            for (number, output) in kernel.outputs.iter().enumerate() {
                let value = narrow(output.dtype, &format!("v{}", output.inst));
                _ = writeln!(code, "{pad}result{number}.{component} = {value};");
            }
            code += "    }\n";
        }
        for number in 0..kernel.outputs.len() {
            _ = writeln!(code, "    out{number}[number] = result{number};");
        }
        code
    }
}
