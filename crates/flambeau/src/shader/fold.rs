//! WGSL for the running result of a reduction: what a thread takes in, element by element, and what threads and workgroups
//! hand to each other.

use super::{Code, IS_NAN, Shader, lane_type, line, open};
use crate::dtype::{DType, Lane};
use crate::ir::ReduceKind;
use crate::ir::program::Param;

/// The running result of a reduction, as a WGSL variable and, for positions, a second one.
#[derive(Clone)]
pub(crate) struct Fold {
    kind: ReduceKind,
    /// The variables' names; in workgroup memory, `shared_` goes before them.
    value: String,
    position: String,
    dtype: DType,
    initial: String,
}

/// The position of a result that has taken in nothing.
const NOWHERE: &str = "0xffffffffu";

impl Fold {
    /// Of values of a dtype, in variables whose names end so.
    pub fn new(kind: ReduceKind, dtype: DType, suffix: &str, shader: &mut Shader) -> Fold {
        if dtype.is_float() && !matches!(kind, ReduceKind::Sum | ReduceKind::Prod) {
            shader.include(IS_NAN);
        }
        // Infinities cannot be written in WGSL, so they come from the uniform block.
        let mut bits = |float: f32, signed: i32, unsigned: u32| match dtype.lane() {
            Lane::F32 | Lane::F64 => {
                format!("bitcast<f32>({})", shader.params.shared(Param::Opaque(float.to_bits())))
            }
            Lane::I32 | Lane::I64 => {
                format!("bitcast<i32>({})", shader.params.shared(Param::Opaque(signed as u32)))
            }
            Lane::U32 | Lane::Bool => shader.params.shared(Param::Opaque(unsigned)),
        };
        let initial = match kind {
            ReduceKind::Sum => format!("{}(0)", lane_type(dtype)),
            ReduceKind::Prod => format!("{}(1)", lane_type(dtype)),
            ReduceKind::Max | ReduceKind::ArgMax => bits(f32::NEG_INFINITY, i32::MIN, 0),
            ReduceKind::Min | ReduceKind::ArgMin => bits(f32::INFINITY, i32::MAX, u32::MAX),
        };
        Fold { kind, value: format!("acc{suffix}"), position: format!("pos{suffix}"), dtype, initial }
    }

    /// A sum in a variable that the shader declares itself.
    pub fn sum(variable: &str, dtype: DType) -> Fold {
        let (kind, value) = (ReduceKind::Sum, variable.to_string());
        Fold { kind, value, position: String::new(), dtype, initial: String::new() }
    }

    pub fn declare(&self, code: &mut Code) {
        line!(code, "var {}: {} = {};", self.value, lane_type(self.dtype), self.initial);
        if self.kind.is_index() {
            line!(code, "var {} = {NOWHERE};", self.position);
        }
    }

    /// Is `x` better than what it holds? A NaN beats all, and the first of equals stays. Without `&&` and `||`, which
    /// branch: loads of the elements that follow would wait for each of these answers.
    fn better(&self, x: &str) -> String {
        let sign = if matches!(self.kind, ReduceKind::Max | ReduceKind::ArgMax) { ">" } else { "<" };
        let value = &self.value;
        if self.dtype.is_float() {
            format!("!fl_is_nan({value}) & (({x} {sign} {value}) | fl_is_nan({x}))")
        } else {
            format!("({x} {sign} {value})")
        }
    }

    /// Takes in an element.
    pub fn take(&self, x: &str, place: &str, code: &mut Code) {
        let Fold { value, position, .. } = self;
        match self.kind {
            ReduceKind::Sum => line!(code, "{value} += {x};"),
            ReduceKind::Prod => line!(code, "{value} *= {x};"),
            ReduceKind::Max | ReduceKind::Min => {
                line!(code, "{value} = select({value}, {x}, {});", self.better(x));
            }
            ReduceKind::ArgMax | ReduceKind::ArgMin => {
                open!(code, "");
                line!(code, "let better = ({position} == {NOWHERE}) | ({});", self.better(x));
                line!(code, "{value} = select({value}, {x}, better);");
                line!(code, "{position} = select({position}, {place}, better);");
                code.close();
            }
        }
    }

    /// Takes in another thread's or workgroup's result.
    fn take_other(&self, other: &str, place: &str, code: &mut Code) {
        open!(code, "");
        line!(code, "let x = {other};");
        if !self.kind.is_index() {
            self.take("x", "", code);
            return code.close();
        }
        let Fold { value, position, .. } = self;
        // They hold interleaved positions: of equal values the one with the lower position wins.
        let same = match self.dtype.is_float() {
            true => format!("((x == {value}) | (fl_is_nan(x) & fl_is_nan({value})))"),
            false => format!("(x == {value})"),
        };
        let better = self.better("x");
        line!(code, "let p = {place};");
        line!(code, "let wins = ({position} == {NOWHERE}) | ({better}) | ({same} & (p < {position}));");
        line!(code, "if ((p != {NOWHERE}) & wins) {{ {value} = x; {position} = p; }}");
        code.close();
    }

    /// Workgroup memory to share results of this many threads in.
    pub fn memory(&self, threads: usize, shader: &mut Shader) {
        shader.share(&format!("shared_{}", self.value), lane_type(self.dtype), threads);
        if self.kind.is_index() {
            shader.share(&format!("shared_{}", self.position), "u32", threads);
        }
    }

    /// Puts the result into workgroup memory.
    pub fn share(&self, at: &str, code: &mut Code) {
        line!(code, "shared_{0}[{at}] = {0};", self.value);
        if self.kind.is_index() {
            line!(code, "shared_{0}[{at}] = {0};", self.position);
        }
    }

    /// Takes in what another thread has shared.
    pub fn take_shared(&self, at: &str, code: &mut Code) {
        let shared = |name: &str| format!("shared_{name}[{at}]");
        self.take_other(&shared(&self.value), &shared(&self.position), code);
    }

    /// Takes in the result of the thread of its subgroup whose number differs in this bit.
    pub fn take_neighbour(&self, bit: usize, code: &mut Code) {
        let other = |name: &str| format!("subgroupShuffleXor({name}, {bit}u)");
        self.take_other(&other(&self.value), &other(&self.position), code);
    }

    /// Starts again from what a thread has shared.
    pub fn restart(&self, at: &str, code: &mut Code) {
        line!(code, "{0} = shared_{0}[{at}];", self.value);
        if self.kind.is_index() {
            line!(code, "{0} = shared_{0}[{at}];", self.position);
        }
    }

    /// Writes a part's result into the scratch buffer.
    pub fn store_part(&self, number: &str, code: &mut Code) {
        let value = match lane_type(self.dtype) {
            "u32" => self.value.clone(),
            _ => format!("bitcast<u32>({})", self.value),
        };
        let position = if self.kind.is_index() { &self.position } else { "0u" };
        line!(code, "parts[({number}) * 2u] = {value};");
        line!(code, "parts[({number}) * 2u + 1u] = {position};");
    }

    /// Takes in a part's result.
    pub fn take_part(&self, number: &str, code: &mut Code) {
        let word = format!("parts[{number} * 2u]");
        let value = match lane_type(self.dtype) {
            "u32" => word,
            lane => format!("bitcast<{lane}>({word})"),
        };
        self.take_other(&value, &format!("parts[{number} * 2u + 1u]"), code);
    }

    /// The result as a value of a dtype.
    pub fn result(&self, dtype: DType) -> String {
        match (self.kind.is_index(), dtype) {
            (true, _) => format!("i32({})", self.position),
            (false, DType::U8) => format!("({} & 0xffu)", self.value),
            (false, _) => self.value.clone(),
        }
    }
}
