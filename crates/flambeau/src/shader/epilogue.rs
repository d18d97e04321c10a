//! WGSL of epilogues: the function to which a structured kernel hands its results, written like the body of a fused
//! kernel.

use super::codegen::Generator;
use super::fours::{Elements, Fours};
use super::{Code, Shader, lane_type, line};
use crate::ir::call::StructuredCall;
use crate::ir::kernel::Fused;
use crate::ir::program::Bound;

/// Adds what a call's epilogue needs to its shader, and `put`, which does it with one result or with four neighbours.
pub(super) fn hand_on(shader: &mut Shader, call: &StructuredCall, epilogue: &Fused, fours: bool) {
    // Do four results lie within one line of the last dimension?
    let last = epilogue.kept.checked_sub(1).filter(|&last| epilogue.space[last].is_multiple_of(4));
    let read = match last.filter(|_| fours) {
        Some(last) => Fours::of_inputs(epilogue, last),
        None => Fours::none(epilogue),
    };
    let read = Fours { outputs: vec![fours; epilogue.outputs.len()], ..read };
    let mut generator = Generator::for_epilogue(epilogue, std::mem::take(shader));
    let body = generator.put(&read, last);
    *shader = generator.shader;
    for (number, &(_, dtype)) in epilogue.inputs.iter().enumerate() {
        let bound = Bound::Input(call.inputs.len() + number);
        shader.bind_elements(bound, &format!("in{number}"), dtype, read.inputs[number]);
    }
    for (number, output) in epilogue.outputs.iter().enumerate() {
        shader.bind_elements(Bound::Output(number), &format!("out{number}"), output.dtype, fours);
    }
    let lane = lane_type(call.outputs[0].1.dtype);
    let value = if fours { format!("vec4<{lane}>") } else { lane.to_string() };
    shader.add(&format!("fn put(at: u32, value: {value}) {{\n{}}}\n", body.text()));
}

impl Generator<'_> {
    /// The body of `put`. Four results lie along the last coordinate, or each finds its own place.
    fn put(&mut self, fours: &Fours, last: Option<usize>) -> Code {
        let (kernel, lanes) = (self.kernel, fours.lanes());
        let result = kernel.inputs.len();
        self.note_f16();
        let mut code = Code::new();
        line!(code, "let index = at;");
        if lanes == 1 || last.is_some() {
            self.coordinates(&mut code, "index", 0..kernel.kept);
        }
        let (insts, outputs): (Vec<usize>, Vec<usize>) =
            ((0..kernel.insts.len()).collect(), (0..kernel.outputs.len()).collect());
        let work = Elements { fours, axis: last, insts: &insts, known: &[], outputs: &outputs };
        let each = |generator: &mut Self, code: &mut Code, lane: &super::fours::Lane| {
            generator.given = Some((result, format!("value{}", lane.component)));
            if lanes > 1 && last.is_none() {
                line!(code, "let index = at + {}u;", lane.number);
                generator.coordinates(code, "index", 0..kernel.kept);
            }
        };
        self.elements(&mut code, &work, each, |_, _, _| {});
        code
    }
}
