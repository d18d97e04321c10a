//! The check that optimizers can be asked for: is every number of a flat tensor's windows finite? If not, that is a
//! fault, as an index out of range is one: an error on the CPU, a word in the run's slot on the GPU. A gradient scaler asks
//! for the answer alone.

use super::case::Case;
use super::structured::{Exact, Listed, Structured};
use super::{Grads, Meta, Saves, Vjp, not_differentiable};
use crate::calls::Methods;
use crate::dtype::Scalar;
use crate::error::Result;
use crate::host::{Block, HostBuffer};
use crate::ir::call::{CpuOperand, Kernels, Layout, StructuredCall};
use crate::ir::program::{Bound, Checked, FiniteCheck, Program, Tier, Window};
use crate::shader::{self, Entry, Shader, ZERO, groups_for, widen};

/// Threads of a workgroup.
const BLOCK: usize = 64;
/// Numbers that a thread looks at.
const EACH: usize = 8;
/// Windows that one shader looks at: their bounds fit its uniform block.
const MOST_WINDOWS: usize = 1024;

impl FiniteCheck {
    /// The first place in the windows whose number is not finite.
    fn first(&self, is_finite: impl Fn(usize) -> bool) -> Option<usize> {
        let places = self.windows.iter().flat_map(|window| window.start..window.start + window.len);
        places.into_iter().find(|&place| !is_finite(place))
    }

    /// Is all finite, where this was found not to be?
    fn answer(&self, found: Option<usize>) -> Result<bool> {
        match found {
            Some(place) if self.faults => Err(self.error(place)),
            found => Ok(found.is_none()),
        }
    }
}

impl Kernels for FiniteCheck {
    fn name(&self) -> &'static str {
        if self.faults { "require_finite" } else { "all_finite" }
    }

    fn layout(&self, _: usize) -> Layout {
        Layout::Contiguous
    }

    fn cpu(&self, inputs: &[CpuOperand], outputs: &mut [HostBuffer], _: &[Scalar]) -> Result<()> {
        let found = match inputs[0].buffer {
            HostBuffer::F16(numbers) => self.first(|place| numbers[place].is_finite()),
            HostBuffer::F32(numbers) => self.first(|place| numbers[place].is_finite()),
            HostBuffer::F64(numbers) => self.first(|place| numbers[place].is_finite()),
            _ => unreachable!("only floats are checked"),
        };
        let HostBuffer::Bool(result) = &mut outputs[0] else { unreachable!("the result is a bool") };
        result.fill(self.answer(found)?);
        Ok(())
    }

    /// A look at each number.
    fn flops(&self, _: &StructuredCall) -> u64 {
        self.windows.iter().map(|window| window.len as u64).sum()
    }

    /// The first shader says that all is well; the others, one for every thousand windows, say where it is not.
    fn wgsl(&self, call: &StructuredCall) -> Result<Vec<Program>> {
        let mut well = self.shader();
        well.bind(Bound::Output(0), "result", "u32");
        let mut programs = vec![well.finish(&Entry::grid([1, 1, 1], 1), "    result[0] = 1u;\n")];
        programs.extend(self.windows.chunks(MOST_WINDOWS).map(|windows| self.check(call, windows)));
        Ok(programs)
    }
}

impl Structured for FiniteCheck {
    fn saves(&self) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, v: &Vjp) -> Result<Grads> {
        not_differentiable(v)
    }

    fn exact(&self, inputs: &[Exact], outputs: &[Meta], _: &[Scalar]) -> Result<Vec<Exact>> {
        let Block::F64(numbers) = &inputs[0].values else { unreachable!("only floats are checked") };
        let answer = self.answer(self.first(|place| numbers[place].is_finite()))?;
        let Meta { shape, dtype } = outputs[0].clone();
        Ok(vec![Exact { shape, dtype, values: Block::Bool(vec![answer].into()) }])
    }
}

impl FiniteCheck {
    fn shader(&self) -> Shader {
        let mut shader = Shader::new(self.name(), Tier::General);
        shader.checks = self.faults.then(|| Checked::Finite(self.clone()));
        shader
    }

    /// Threads look at all numbers from the first of these windows to the last. Where one is not finite they find its window, if it
    /// is in any, by bisection.
    fn check(&self, call: &StructuredCall, windows: &[Window]) -> Program {
        let dtype = call.inputs[0].meta.dtype;
        let from = windows.first().map_or(0, |window| window.start);
        let to = windows.last().map_or(0, |window| window.start + window.len);
        let mut shader = self.shader();
        let [first, end, count] = [from, to, windows.len()].map(|size| shader.params.size(size));
        let fault = match self.faults {
            true => shader::fault(&mut shader.params, call.node, "place"),
            false => String::new(),
        };
        let bounds = shader.params.list.len();
        for window in windows {
            shader.params.size(window.start);
            shader.params.size(window.start + window.len);
        }
        shader.bind_elements(Bound::Input(0), "numbers", dtype, false);
        shader.bind(Bound::Output(0), "result", "atomic<u32>");
        if self.faults {
            shader.bind_status();
        }
        shader.add(&format!(
            "fn bound(k: u32) -> u32 {{ return params[({bounds}u + k) / 4u][({bounds}u + k) % 4u]; }}\n"
        ));
        let body = format!(
            "    let number = {thread};
    for (var j = {ZERO}; j < {EACH}u; j++) {{
        let place = {first} + (number / {BLOCK}u * {EACH}u + j) * {BLOCK}u + number % {BLOCK}u;
        if (place >= {end}) {{ return; }}
        if ((bitcast<u32>({element}) & 0x7f800000u) != 0x7f800000u) {{ continue; }}
        // The window is the last one that starts here or before.
        var low = {ZERO};
        var high = {count};
        while (high - low > 1u) {{
            let middle = (low + high) / 2u;
            if (bound(2u * middle) <= place) {{ low = middle; }} else {{ high = middle; }}
        }}
        if (place >= bound(2u * low + 1u)) {{ continue; }}
        atomicStore(&result[0], 0u);
        {fault}
    }}
",
            thread = Entry::thread_number(BLOCK),
            element = widen(dtype, "numbers[place]"),
        );
        shader.finish(&Entry::grid(groups_for((to - from).div_ceil(EACH), BLOCK), BLOCK), &body)
    }
}

impl Listed for FiniteCheck {
    /// Optimizers make it, ops on tensors do not.
    const NAMES: &'static [&'static str] = &[];

    fn samples() -> Vec<Case> {
        Vec::new()
    }
}

impl Methods for FiniteCheck {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::op::StructuredOp;
    use crate::op::testing::{call, validate};

    fn check(lens: &[usize]) -> (FiniteCheck, usize) {
        let mut end = 0_usize;
        let mut window = |(parameter, &len): (usize, &usize)| {
            let start = end.next_multiple_of(BLOCK);
            end = start + len;
            Window { start, len, parameter }
        };
        let windows = lens.iter().enumerate().map(&mut window).collect();
        (FiniteCheck { asker: "Adam", what: "gradient", windows, faults: true }, end)
    }

    #[test]
    fn shaders_are_valid() {
        for dtype in [DType::F16, DType::F32] {
            for (lens, programs) in [(&[1][..], 2), (&[7, 64, 65, 5_000_000], 2), (&[3; 1030], 3)] {
                let (check, len) = check(lens);
                for faults in [true, false] {
                    let op = StructuredOp::RequireFinite(FiniteCheck { faults, ..check.clone() });
                    let made = validate(&call(op, &[(&[len], dtype)], &[(&[], DType::Bool)]));
                    assert_eq!(made.len(), programs);
                }
            }
        }
    }

    #[test]
    fn an_error_names_the_parameter_and_its_element() {
        let (op, _) = check(&[7, 64, 65]);
        let text = |place| op.error(place).to_string();
        assert!(text(6).contains("parameter 0 is not finite at element 6"), "{}", text(6));
        assert!(text(64).contains("parameter 1 is not finite at element 0"), "{}", text(64));
        assert!(text(192).contains("parameter 2 is not finite at element 64"), "{}", text(192));
    }
}
