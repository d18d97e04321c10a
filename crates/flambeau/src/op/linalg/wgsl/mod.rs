//! Decompositions on the GPU.
//!
//! A matrix is factored in panels of 32 columns: one program factors a panel, others bring the rest of the matrix up to date,
//! mostly by products. Their texts hold for all panels: where a panel begins is a number of the uniform block. A matrix that
//! is one panel takes one dispatch, and a workgroup.

pub(super) mod cholesky;
mod jacobi;
pub(super) mod lu;
pub(super) mod qr;
mod strip;
mod tiles;
pub(super) mod triangular;
pub(super) mod vectors;

use super::Sizes;
use crate::error::Result;
use crate::ir::call::StructuredCall;
use crate::ir::program::{Param, Program, Tier};
use crate::shader::{Entry, GROUP_NUMBER, Shader, fits_shader, groups_for};

/// Columns of a panel.
const PANEL: usize = 32;
/// Numbers from one row of a panel in workgroup memory to the next: rows begin in different banks.
const PITCH: usize = PANEL + 1;
/// Threads of a workgroup.
const THREADS: usize = 256;

/// Refuses what a shader cannot count.
fn check(sizes: Sizes, call: &StructuredCall) -> Result<()> {
    fits_shader(call.op.name(), "elements", sizes.numel())
}

/// The first column and the width of each panel of a matrix.
fn panels(sizes: Sizes) -> impl DoubleEndedIterator<Item = (usize, usize)> + ExactSizeIterator {
    let least = sizes.least();
    (0..least.div_ceil(PANEL)).map(move |panel| (panel * PANEL, PANEL.min(least - panel * PANEL)))
}

/// A text that is dispatched several times, each time with other numbers.
struct Repeated(Program);

impl Repeated {
    /// Writes a text whose workgroups have a `number` below the first of the numbers; `numbers` are their names. `part` is what a
    /// trace calls it.
    fn new<const N: usize>(
        part: &'static str,
        call: &StructuredCall,
        scratch: &[u64],
        numbers: [&str; N],
        write: impl FnOnce(&mut Shader) -> String,
    ) -> Repeated {
        let mut shader = Shader::new(part, Tier::General);
        shader.subgroups = call.subgroups;
        shader.scratch = scratch.to_vec();
        shader.in_turn = true;
        let mut start = String::new();
        for name in numbers {
            start += &format!("    let {name} = {};\n", shader.params.size(0));
        }
        start += &format!("    let number = {GROUP_NUMBER};\n    if (number >= count) {{ return; }}\n");
        let body = write(&mut shader);
        Repeated(shader.finish(&Entry::grid([1, 1, 1], THREADS), &(start + &body)))
    }

    /// A dispatch with these numbers, the first of which is how many workgroups there are.
    fn with<const N: usize>(&self, numbers: [usize; N]) -> Program {
        let mut program = self.0.clone();
        for (param, number) in program.params.iter_mut().zip(numbers) {
            *param = Param::Fixed(number as u32);
        }
        program.groups = groups_for(numbers[0], 1);
        program
    }
}
