//! WGSL for the running result of a reduction.

use super::codegen::Generator;
use crate::dtype::{DType, Lane};
use crate::ir::ReduceKind;
use crate::ir::program::Param;
use crate::shader::lane_type;

/// The running result of a reduction, as WGSL variables `acc` and, for positions, `pos`; in workgroup memory
/// `shared_values` and `shared_positions`.
pub(super) struct Fold {
    kind: ReduceKind,
    /// What its variables' names end with.
    suffix: String,
    dtype: DType,
    initial: String,
    result_dtype: DType,
}

impl Fold {
    pub fn new(
        kind: ReduceKind,
        dtype: DType,
        position: usize,
        suffix: &str,
        generator: &mut Generator,
    ) -> Fold {
        let is_float = dtype.is_float();
        if is_float && !matches!(kind, ReduceKind::Sum | ReduceKind::Prod) {
            generator.help(super::IS_NAN);
        }
        // Infinities cannot be written in WGSL, so they come from the uniform block.
        let mut bits = |float: f32, signed: i32, unsigned: u32| match dtype.lane() {
            Lane::F32 | Lane::F64 => {
                format!("bitcast<f32>({})", generator.params.shared(Param::Opaque(float.to_bits())))
            }
            Lane::I32 | Lane::I64 => {
                format!("bitcast<i32>({})", generator.params.shared(Param::Opaque(signed as u32)))
            }
            Lane::U32 | Lane::Bool => generator.params.shared(Param::Opaque(unsigned)),
        };
        let initial = match kind {
            ReduceKind::Sum => format!("{}(0)", lane_type(dtype)),
            ReduceKind::Prod => format!("{}(1)", lane_type(dtype)),
            ReduceKind::Max | ReduceKind::ArgMax => bits(f32::NEG_INFINITY, i32::MIN, 0),
            ReduceKind::Min | ReduceKind::ArgMin => bits(f32::INFINITY, i32::MAX, u32::MAX),
        };
        Fold {
            kind,
            suffix: suffix.to_string(),
            dtype,
            initial,
            result_dtype: generator.kernel.insts[position].dtype,
        }
    }

    fn acc(&self) -> String {
        format!("acc{}", self.suffix)
    }

    fn pos(&self) -> String {
        format!("pos{}", self.suffix)
    }

    pub fn declare(&self, depth: usize) -> String {
        let pad = "    ".repeat(depth);
        let position = match self.kind.is_index() {
            true => format!("{pad}var {} = 0xffffffffu;\n", self.pos()),
            false => String::new(),
        };
        format!("{pad}var {}: {} = {};\n{position}", self.acc(), lane_type(self.dtype), self.initial)
    }

    /// Is `x` better than what `acc` holds? A NaN beats all, and the first of equals stays. Without `&&` and `||`, which
    /// branch: loads of the elements that follow would wait for each of these answers.
    fn better(&self, x: &str) -> String {
        let sign = if matches!(self.kind, ReduceKind::Max | ReduceKind::ArgMax) { ">" } else { "<" };
        let acc = self.acc();
        if self.dtype.is_float() {
            format!("!fl_is_nan({acc}) & (({x} {sign} {acc}) | fl_is_nan({x}))")
        } else {
            format!("({x} {sign} {acc})")
        }
    }

    pub fn take(&self, x: &str, position: &str, depth: usize) -> String {
        let pad = "    ".repeat(depth);
        let (acc, pos) = (self.acc(), self.pos());
        match self.kind {
            ReduceKind::Sum => format!("{pad}{acc} += {x};\n"),
            ReduceKind::Prod => format!("{pad}{acc} *= {x};\n"),
            ReduceKind::Max | ReduceKind::Min => {
                format!("{pad}{acc} = select({acc}, {x}, {});\n", self.better(x))
            }
            ReduceKind::ArgMax | ReduceKind::ArgMin => format!(
                "{pad}{{\n{pad}    let better = ({pos} == 0xffffffffu) | ({});\n{pad}    {acc} = select({acc}, {x}, \
                 better);\n{pad}    {pos} = select({pos}, {position}, better);\n{pad}}}\n",
                self.better(x)
            ),
        }
    }

    /// Takes in another thread's or workgroup's result.
    pub fn take_other(&self, value: &str, position: &str, depth: usize) -> String {
        let pad = "    ".repeat(depth);
        if !self.kind.is_index() {
            return format!("{pad}let x = {value};\n{}", self.take("x", "", depth));
        }
        let (acc, pos) = (self.acc(), self.pos());
        // They hold interleaved positions: of equal values the one with the lower position wins.
        let same = match self.dtype.is_float() {
            true => format!("((x == {acc}) | (fl_is_nan(x) & fl_is_nan({acc})))"),
            false => format!("(x == {acc})"),
        };
        format!(
            "{pad}let x = {value};\n{pad}let p = {position};\n{pad}let wins = ({pos} == 0xffffffffu) | ({better}) | \
             ({same} & (p < {pos}));\n{pad}if ((p != 0xffffffffu) & wins) {{ {acc} = x; {pos} = p; }}\n",
            better = self.better("x"),
        )
    }

    /// Takes in what another thread has shared.
    pub fn take_shared(&self, at: &str, depth: usize) -> String {
        let suffix = &self.suffix;
        let (value, position) =
            (format!("shared_values{suffix}[{at}]"), format!("shared_positions{suffix}[{at}]"));
        let pad = "    ".repeat(depth);
        format!("{pad}{{\n{}{pad}}}\n", self.take_other(&value, &position, depth + 1))
    }

    /// Workgroup memory to share results of this many threads in.
    pub fn memory(&self, threads: usize) -> String {
        let (suffix, lane) = (&self.suffix, lane_type(self.dtype));
        let values = format!("var<workgroup> shared_values{suffix}: array<{lane}, {threads}>;\n");
        match self.kind.is_index() {
            true => values + &format!("var<workgroup> shared_positions{suffix}: array<u32, {threads}>;\n"),
            false => values,
        }
    }

    /// A value of the scratch buffer.
    pub fn value_of(&self, word: &str) -> String {
        match lane_type(self.dtype) {
            "u32" => word.to_string(),
            lane => format!("bitcast<{lane}>({word})"),
        }
    }

    /// Writes a part's result into the scratch buffer.
    pub fn store_part(&self, depth: usize) -> String {
        let pad = "    ".repeat(depth);
        let acc = self.acc();
        let value = if lane_type(self.dtype) == "u32" { acc } else { format!("bitcast<u32>({acc})") };
        let position = if self.kind.is_index() { self.pos() } else { "0u".to_string() };
        format!("{pad}parts[number * 2u] = {value};\n{pad}parts[number * 2u + 1u] = {position};\n")
    }

    pub fn share(&self, at: &str, depth: usize) -> String {
        let (pad, suffix) = ("    ".repeat(depth), &self.suffix);
        let positions = match self.kind.is_index() {
            true => format!("{pad}shared_positions{suffix}[{at}] = {};\n", self.pos()),
            false => String::new(),
        };
        format!("{pad}shared_values{suffix}[{at}] = {};\n{positions}", self.acc())
    }

    /// Starts again from what a thread has shared.
    pub fn restart(&self, at: &str, depth: usize) -> String {
        let (pad, suffix) = ("    ".repeat(depth), &self.suffix);
        let positions = match self.kind.is_index() {
            true => format!("{pad}{} = shared_positions{suffix}[{at}];\n", self.pos()),
            false => String::new(),
        };
        format!("{pad}{} = shared_values{suffix}[{at}];\n{positions}", self.acc())
    }

    pub fn result(&self) -> String {
        match (self.kind.is_index(), self.result_dtype) {
            (true, _) => format!("i32({})", self.pos()),
            (false, DType::U8) => format!("({} & 0xffu)", self.acc()),
            (false, _) => self.acc(),
        }
    }
}
