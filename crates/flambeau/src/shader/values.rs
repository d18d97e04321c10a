//! WGSL of a fused kernel's instructions.

use super::codegen::{Generator, Located};
use super::{
    Code, Params, TO_INTEGER, convert, fault, healthy, lane_type, line, open, rounded_to_half, widen, zero,
};
use crate::dtype::{DType, Lane};
use crate::ir::Map;
use crate::ir::kernel::{Inst, InstKind};
use crate::ir::program::{Checked, Param};

impl Generator<'_> {
    /// Declares an instruction's value.
    pub fn statement(&mut self, position: usize, code: &mut Code) {
        let inst = &self.kernel.insts[position];
        let value = self.value(inst, code);
        line!(code, "let v{position}: {} = {value};", lane_type(inst.dtype));
    }

    /// The expression of an instruction; statements it needs go to `code`.
    fn value(&mut self, inst: &Inst, code: &mut Code) -> String {
        let masked = |value: String, exists: &Option<String>| match exists {
            Some(exists) => format!("select({}, {value}, {exists})", zero(inst.dtype)),
            None => value,
        };
        if let Some(value) = self.given(&inst.kind) {
            return value.to_string();
        }
        match &inst.kind {
            InstKind::Load { operand, access } => {
                let Located { at, exists } = self.locate(access, code);
                masked(widen(inst.dtype, &format!("in{operand}[{at}]")), &exists)
            }
            InstKind::Constant { data_start, access } => {
                let value = self.data_start(*data_start, inst.dtype);
                let exists = access.has_zeros().then(|| self.locate(access, code).exists).flatten();
                masked(value, &exists)
            }
            InstKind::Index { access } => {
                let Located { at, exists } = self.locate(access, code);
                masked(format!("i32({at})"), &exists)
            }
            InstKind::Bits { data_start, access } => {
                self.shader.include(crate::rng::WGSL);
                let word =
                    |k: u32, params: &mut Params| params.shared(Param::Data(data_start + k, Lane::U32));
                let words = [0, 1, 2, 3].map(|k| word(k, &mut self.shader.params));
                let Located { at, exists } = self.locate(access, code);
                let [k0, k1, c0, c1] = words;
                masked(format!("fl_random_bits(vec2<u32>({k0}, {k1}), vec2<u32>({c0}, {c1}), {at})"), &exists)
            }
            InstKind::Healthy => healthy(&mut self.shader.params),
            InstKind::Map { op, args } => self.map(op, args, inst.dtype),
            InstKind::Cast { arg } => {
                let from = self.kernel.insts[*arg].dtype;
                if from.is_float() && inst.dtype.is_int() {
                    self.shader.include(TO_INTEGER);
                }
                let converted = convert(&format!("v{arg}"), from, inst.dtype);
                if inst.dtype == DType::F16 { self.rounded_to_half(&converted) } else { converted }
            }
            InstKind::Mask { arg, access } => {
                let exists = self.locate(access, code).exists;
                masked(format!("v{arg}"), &exists)
            }
            InstKind::Gather { operand, .. } => {
                let Located { at, exists } = self.gathered_at(inst, code);
                masked(widen(inst.dtype, &format!("in{operand}[{at}]")), &exists)
            }
            InstKind::Reduce { .. } => unreachable!("reductions are not part of a stage"),
        }
    }

    /// Where a gather's element lies; an index outside of its dimension is a fault.
    pub fn gathered_at(&mut self, inst: &Inst, code: &mut Code) -> Located {
        let InstKind::Gather { access, index, stride, size, .. } = &inst.kind else {
            unreachable!("only a gather has an index")
        };
        let Located { at, exists } = self.locate(access, code);
        let name = self.name("g");
        let of = std::ptr::from_ref(access) as usize;
        let size_param = self.number(of, usize::MAX, Param::Fixed(*size as u32));
        let fault = fault(&mut self.shader.params, inst.node, &name);
        self.shader.checks = Some(Checked::Index { op: "gather", size: *size });
        let wanted = exists.as_ref().map_or(String::new(), |exists| format!("{exists} && "));
        line!(code, "var {name} = u32(v{index});");
        open!(code, "if ({wanted}{name} >= {size_param}) ");
        line!(code, "{fault}");
        line!(code, "{name} = 0u;");
        code.close();
        let step = self.number(of, usize::MAX - 1, Param::Fixed(*stride as u32));
        let at = match &exists {
            // Every index is a fault: the start of any buffer can be read.
            _ if *size == 0 => "0u".into(),
            Some(exists) => format!("select(0u, {at} + {name} * {step}, {exists})"),
            None => format!("{at} + {name} * {step}"),
        };
        Located { at, exists }
    }

    fn data_start(&mut self, data_start: u32, dtype: DType) -> String {
        let param = self.shader.params.shared(Param::Data(data_start, dtype.lane()));
        match dtype {
            DType::Bool => format!("({param} != 0u)"),
            DType::F16 => self.rounded_to_half(&format!("bitcast<f32>({param})")),
            DType::F32 => format!("bitcast<f32>({param})"),
            DType::I32 => format!("bitcast<i32>({param})"),
            _ => param,
        }
    }

    fn rounded_to_half(&mut self, value: &str) -> String {
        rounded_to_half(value, &self.shader.params.shared(Param::Opaque(0)))
    }

    fn map(&mut self, op: &'static Map, args: &[usize], dtype: DType) -> String {
        op.wgsl_helpers.iter().for_each(|helper| self.shader.include(helper));
        let lane = self.kernel.insts[args[args.len() - 1]].dtype.lane();
        let mut expression = op.wgsl_of(lane).to_string();
        for (name, arg) in op.args.iter().zip(args) {
            expression = expression.replace(&format!("{{{name}}}"), &format!("v{arg}"));
        }
        if dtype == DType::U8 { format!("({expression} & 0xffu)") } else { expression }
    }
}
