//! WGSL of epilogues: the function to which a structured kernel hands its results, written like the body of a fused
//! kernel.

use super::codegen::{Generator, Located};
use crate::dtype::DType;
use crate::ir::access::Access;
use crate::ir::call::StructuredCall;
use crate::ir::kernel::{Fused, InstKind};
use crate::ir::program::Bound;
use crate::shader::results::Results;
use crate::shader::{Params, lane_type, narrow, storage_type, widen};
use std::fmt::Write;

const COMPONENTS: [&str; 4] = ["x", "y", "z", "w"];

/// How the shader of a call hands its results to the epilogue: one by one, or four neighbours at once.
pub(crate) fn results(
    call: &StructuredCall,
    epilogue: &Fused,
    params: &mut Params,
    first: usize,
    fours: bool,
) -> Results {
    let mut generator = Generator::for_epilogue(epilogue, std::mem::take(params));
    let vectors = if fours { vectors(epilogue) } else { vec![false; epilogue.inputs.len()] };
    let body = match fours {
        true => generator.four_results(&vectors),
        false => generator.one_result(),
    };
    let element = |dtype: DType, vector: bool| match vector {
        true => format!("vec4<{}>", storage_type(dtype)),
        false => storage_type(dtype).to_string(),
    };
    let (mut declarations, mut bindings) = (String::new(), Vec::new());
    let mut declare = |bound: Bound, access: &str, name: String, element: String| {
        let binding = first + bindings.len();
        _ = writeln!(
            declarations,
            "@group(0) @binding({binding}) var<storage, {access}> {name}: array<{element}>;"
        );
        bindings.push(bound);
    };
    for (number, &(_, dtype)) in epilogue.inputs.iter().enumerate() {
        let bound = Bound::Input(call.inputs.len() + number);
        declare(bound, "read", format!("in{number}"), element(dtype, vectors[number]));
    }
    for (number, output) in epilogue.outputs.iter().enumerate() {
        declare(Bound::Output(number), "read_write", format!("out{number}"), element(output.dtype, fours));
    }
    let lane = lane_type(call.outputs[0].1.dtype);
    let value = if fours { format!("vec4<{lane}>") } else { lane.to_string() };
    let half = generator.uses_f16() || call.outputs[0].1.dtype == DType::F16;
    let mut functions: String = generator.helpers().concat();
    _ = write!(functions, "fn put(at: u32, value: {value}) {{\n    let index = at;\n{body}}}\n");
    *params = generator.params;
    Results { enable: if half { "enable f16;\n" } else { "" }, declarations, bindings, functions }
}

/// Does a group of four results lie within one line of the last dimension?
fn in_lines(epilogue: &Fused) -> bool {
    epilogue.space.last().is_some_and(|size| size.is_multiple_of(4))
}

/// Which inputs are read four neighbours at a time.
fn vectors(epilogue: &Fused) -> Vec<bool> {
    let aligned = |access: &Access| {
        let [level] = &access.levels[..] else { return false };
        let Some((last, outer)) = level.axes.split_last() else { return false };
        !access.has_zeros()
            && last.stride == 1
            && outer.iter().all(|axis| axis.stride % 4 == 0)
            && level.offset.terms.is_empty()
            && level.offset.constant % 4 == 0
    };
    let input = |number: usize| {
        in_lines(epilogue)
            && epilogue.insts.iter().all(|inst| match &inst.kind {
                InstKind::Load { operand, access } if *operand == number => aligned(access),
                _ => true,
            })
    };
    (0..epilogue.inputs.len()).map(input).collect()
}

impl Generator<'_> {
    /// The body of `put` for one result, `value`, number `index`.
    fn one_result(&mut self) -> String {
        let kernel = self.kernel;
        let mut code = self.coordinates("index", 0..kernel.kept, 1);
        self.given = Some((kernel.inputs.len(), "value".into()));
        self.instructions(&mut code, "    ", |_| None);
        for (number, output) in kernel.outputs.iter().enumerate() {
            let value = narrow(output.dtype, &format!("v{}", output.inst));
            _ = writeln!(code, "    out{number}[index] = {value};");
        }
        code
    }

    /// The body of `put` for the results `value` from number `index` on.
    fn four_results(&mut self, vectors: &[bool]) -> String {
        let kernel = self.kernel;
        let in_lines = in_lines(kernel);
        let mut code = String::new();
        if in_lines {
            code += &self.coordinates("index", 0..kernel.kept, 1);
        }
        let vector = |position: usize| match kernel.insts[position].kind {
            InstKind::Load { operand, .. } => vectors.get(operand).copied().unwrap_or(false),
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
        let last = kernel.kept.saturating_sub(1);
        for (lane, component) in COMPONENTS.into_iter().enumerate() {
            let pad = "        ";
            code += "    {\n";
            match in_lines {
                true if code.contains(&format!("let c{last} =")) && lane > 0 => {
                    _ = writeln!(code, "{pad}let c{last} = c{last} + {lane}u;");
                }
                true => {}
                false => {
                    _ = writeln!(code, "{pad}let index = at + {lane}u;");
                    code += &self.coordinates("index", 0..kernel.kept, 2);
                }
            }
            self.given = Some((kernel.inputs.len(), format!("value.{component}")));
            self.instructions(&mut code, pad, |position| {
                let dtype = kernel.insts[position].dtype;
                vector(position).then(|| widen(dtype, &format!("four{position}.{component}")))
            });
            for (number, output) in kernel.outputs.iter().enumerate() {
                let value = narrow(output.dtype, &format!("v{}", output.inst));
                _ = writeln!(code, "{pad}result{number}.{component} = {value};");
            }
            code += "    }\n";
        }
        for number in 0..kernel.outputs.len() {
            _ = writeln!(code, "    out{number}[index >> 2u] = result{number};");
        }
        code
    }

    /// All instructions; `known` gives the values of those that are at hand.
    fn instructions(&mut self, code: &mut String, pad: &str, known: impl Fn(usize) -> Option<String>) {
        for (position, inst) in self.kernel.insts.iter().enumerate() {
            let value = known(position).unwrap_or_else(|| self.value(inst, code, pad));
            _ = writeln!(code, "{pad}let v{position}: {} = {value};", lane_type(inst.dtype));
        }
    }
}
