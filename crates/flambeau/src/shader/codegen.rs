//! WGSL for fused kernels.
//!
//! The text depends on the kernel's structure only: sizes, strides, offsets and numbers are read from the uniform
//! block, so that kernels that differ in those share a pipeline.

use super::columns::Columns;
use super::fold::Fold;
pub(super) use super::locate::Located;
use super::rows::RowShape;
use super::wide::Wide;
use crate::dtype::{DType, Lane};
use crate::ir::Map;
use crate::ir::kernel::{Fused, Inst, InstKind, Output};
use crate::ir::program::{Bound, Checked, Param, Program, Tier, Trust};
use crate::shader::{self, Params, TO_INTEGER, convert, lane_type, narrow, storage_type, widen, zero};
use std::fmt::Write;

/// Most threads of the workgroup that reduces one row, and fewer for shorter ones: in software a barrier takes time for each
/// of them.
pub(super) const ROW_THREADS: usize = 256;
const FEWER_ROW_THREADS: [usize; 2] = [8, 32];
/// Reduced values that such a thread should have.
const ROW_PIECES: usize = 4;
/// Reduced values from which a whole workgroup works on one result.
const LONG_ROW: usize = 128;

/// Reduced values per workgroup where a row is shared among several.
const ROW_PART: usize = 4096;
/// Results above which there are workgroups enough without sharing rows.
const FEW_ROWS: usize = 512;

/// The shaders of a fused kernel, in order: one, or two where long rows are reduced in parts first. `threads` is the
/// workgroup size of kernels without a row reduction.
pub(crate) fn programs(kernel: &Fused, threads: usize, tier: Tier) -> Vec<Program> {
    let generator = |pass: Pass| Generator::new(kernel, pass, tier);
    if !kernel.phases.is_empty() {
        return vec![generator(Pass::Rows).finish(threads)];
    }
    let (outer, inner) = (kernel.outer_count(), kernel.inner_count());
    if let Some(columns) = Columns::of(kernel) {
        let parts = columns.parts;
        let mut programs = vec![generator(Pass::Columns(columns)).finish(threads)];
        if parts > 1 {
            programs.push(generator(Pass::Whole { parts }).finish(threads));
        }
        return programs;
    }
    if kernel.reduction().is_some() && outer < FEW_ROWS && inner >= 4 * ROW_PART {
        let parts = inner.div_ceil(ROW_PART);
        return vec![
            generator(Pass::Parts { parts }).finish(threads),
            generator(Pass::Whole { parts }).finish(threads),
        ];
    }
    vec![generator(Pass::Only).finish(threads)]
}

/// Elements from which a reduction is worth a shader with its sizes: taking apart an element's number by sizes that the
/// shader does not know takes longer than reading the element.
const LARGE_REDUCTION: usize = 1 << 20;

fn is_large_reduction(kernel: &Fused) -> bool {
    kernel.kept < kernel.space.len() && crate::shape::product(&kernel.space) >= LARGE_REDUCTION
}

/// Which part of a kernel a shader does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// All of it.
    Only,
    /// Reduces each part of each row into the scratch buffer.
    Parts { parts: usize },
    /// Reduces the parts' results, and runs the outer stage.
    Whole { parts: usize },
    /// All phases of a kernel that has them.
    Rows,
    /// Reduces neighbouring rows together, whose elements are neighbours; in parts like `Parts`, or all of it.
    Columns(Columns),
}

impl Pass {
    /// The parts a row is in, where this pass leaves their results in the scratch buffer or finds them there.
    fn parts(self) -> Option<usize> {
        match self {
            Pass::Parts { parts } | Pass::Whole { parts } => Some(parts),
            Pass::Columns(columns) => (columns.parts > 1).then_some(columns.parts),
            Pass::Only | Pass::Rows => None,
        }
    }

    /// Does it end with parts' results?
    fn ends_in_parts(self) -> bool {
        !matches!(self, Pass::Whole { .. }) && self.parts().is_some()
    }
}

pub(super) struct Generator<'a> {
    pub kernel: &'a Fused,
    pub params: Params,
    /// The names of numbers of the uniform block, by what they belong to; see `number`.
    pub numbers: Vec<((usize, usize), String)>,
    helpers: Vec<&'static str>,
    status: bool,
    checks: Option<Checked>,
    pass: Pass,
    /// Temporary names used so far.
    pub names: usize,
    /// In an epilogue: the operand that is the result it follows, and the expression of its value.
    pub given: Option<(usize, String)>,
}

impl<'a> Generator<'a> {
    fn new(kernel: &'a Fused, pass: Pass, tier: Tier) -> Self {
        let mut generator = Generator {
            kernel,
            params: Params::of(if is_large_reduction(kernel) { tier } else { Tier::General }),
            numbers: Vec::new(),
            helpers: Vec::new(),
            status: false,
            checks: None,
            pass,
            names: 0,
            given: None,
        };
        generator.status =
            generator.insts().any(|inst| matches!(inst.kind, InstKind::Gather { .. } | InstKind::Healthy));
        generator
    }

    /// For the epilogue of a structured kernel, which has these parameters already.
    pub fn for_epilogue(kernel: &'a Fused, params: Params) -> Self {
        let given = Some((kernel.inputs.len(), String::new()));
        Generator { params, given, ..Generator::new(kernel, Pass::Only, Tier::General) }
    }

    /// The functions its code calls.
    pub fn helpers(&self) -> &[&'static str] {
        &self.helpers
    }

    /// Is it the value of the result that an epilogue follows?
    pub fn given(&self, kind: &InstKind) -> Option<&str> {
        match (kind, &self.given) {
            (InstKind::Load { operand, .. }, Some((given, value))) if operand == given => Some(value),
            _ => None,
        }
    }

    /// The instructions this pass runs.
    pub fn insts(&self) -> impl Iterator<Item = &'a Inst> + use<'a> {
        let pass = self.pass;
        self.kernel.insts.iter().filter(move |inst| match pass {
            Pass::Whole { .. } => !inst.inner,
            pass => inst.inner || !pass.ends_in_parts(),
        })
    }

    /// Does this pass read the kernel's input?
    fn reads(&self, operand: usize) -> bool {
        self.insts().any(|inst| match &inst.kind {
            InstKind::Load { operand: read, .. } | InstKind::Gather { operand: read, .. } => *read == operand,
            _ => false,
        })
    }

    fn finish(mut self, threads: usize) -> Program {
        let kernel = self.kernel;
        let count = kernel.outer_count();
        let shape = (self.pass == Pass::Rows).then(|| RowShape::new(kernel));
        let elementwise = self.pass == Pass::Only && kernel.reduction().is_none();
        let wide = if elementwise { Wide::of(kernel) } else { None };
        let count = if wide.is_some() { count / 4 } else { count };
        let by_row = match self.pass {
            Pass::Only => kernel.reduction().is_some() && self.reduces_rows(),
            Pass::Rows => shape.as_ref().is_some_and(|shape| shape.threads > 1),
            Pass::Parts { .. } | Pass::Whole { .. } | Pass::Columns(_) => true,
        };
        let (body, groups, threads) = match (self.pass, &shape) {
            (_, Some(shape)) if by_row => {
                (self.phases_body(shape), shader::groups_for(count, 1), shape.threads)
            }
            (_, Some(shape)) => (self.phases_body(shape), shader::groups_for(count, threads), threads),
            (Pass::Parts { parts }, _) => {
                (self.row_body(), shader::groups_for(count * parts, 1), self.row_threads())
            }
            (Pass::Columns(columns), _) => (
                self.columns_body(columns),
                shader::groups_for(columns.tiles * columns.parts, 1),
                ROW_THREADS,
            ),
            _ if by_row => (self.row_body(), shader::groups_for(count, 1), self.row_threads()),
            _ => {
                let body = match &wide {
                    Some(wide) => self.wide_body(wide),
                    None => self.thread_body(),
                };
                (body, shader::groups_for(count, threads), threads)
            }
        };
        let numel = match self.pass {
            Pass::Parts { parts } => self.params.size(count * parts),
            Pass::Columns(columns) => self.params.size(columns.tiles * columns.parts),
            Pass::Only | Pass::Whole { .. } | Pass::Rows => self.params.size(count),
        };
        let mut source = String::from(if self.uses_f16() { "enable f16;\n" } else { "" });
        let mut bindings = Vec::new();
        let mut declare = |source: &mut String, bound: Bound, access: &str, name: &str, stored: &str| {
            let binding = bindings.len();
            _ = writeln!(
                source,
                "@group(0) @binding({binding}) var<storage, {access}> {name}: array<{stored}>;"
            );
            bindings.push(bound);
        };
        let stored_as = |dtype: DType, vector: bool| match vector {
            true => format!("vec4<{}>", storage_type(dtype)),
            false => storage_type(dtype).to_string(),
        };
        for (position, (_, dtype)) in kernel.inputs.iter().enumerate() {
            if self.reads(position) {
                let name = format!("in{position}");
                let vector = shape.as_ref().is_some_and(|shape| shape.inputs[position])
                    || wide.as_ref().is_some_and(|wide| wide.inputs[position]);
                declare(&mut source, Bound::Input(position), "read", &name, &stored_as(*dtype, vector));
            }
        }
        if !self.pass.ends_in_parts() {
            for (position, output) in kernel.outputs.iter().enumerate() {
                let name = format!("out{position}");
                let vector = shape.as_ref().is_some_and(|shape| shape.outputs[position]) || wide.is_some();
                let stored = stored_as(output.dtype, vector);
                declare(&mut source, Bound::Output(position), "read_write", &name, &stored);
            }
        }
        let mut scratch = Vec::new();
        if let Some(parts) = self.pass.parts() {
            declare(&mut source, Bound::Scratch(0), "read_write", "parts", "u32");
            scratch.push((count * parts * 8) as u64);
        }
        if self.status {
            source += &shader::status_declaration(bindings.len());
            bindings.push(Bound::Status);
        }
        if !self.params.list.is_empty() {
            let (binding, vectors) = (bindings.len(), self.params.vectors());
            _ = writeln!(
                source,
                "@group(0) @binding({binding}) var<uniform> params: array<vec4<u32>, {vectors}>;"
            );
        }
        self.helpers.iter().for_each(|helper| source += helper);
        match &shape {
            Some(shape) => source += &self.phases_memory(shape),
            None if by_row => source += &self.row_memory(),
            None => {}
        }
        let number = if by_row {
            "group.x + group.y * groups.x".to_string()
        } else {
            format!("(group.x + group.y * groups.x) * {threads}u + thread")
        };
        _ = write!(
            source,
            "
@compute @workgroup_size({threads})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {{
    let number = {number};
    if (number >= {numel}) {{ return; }}
{body}}}
"
        );
        Program {
            label: "fused",
            source: source.into(),
            entry: "main".into(),
            bindings,
            params: self.params.list,
            groups,
            scratch,
            trust: Trust::OURS,
            checks: self.checks,
            specialise: is_large_reduction(kernel),
        }
    }

    pub fn uses_f16(&self) -> bool {
        let reads = |position: usize| self.reads(position) && self.kernel.inputs[position].1 == DType::F16;
        let writes = !self.pass.ends_in_parts();
        (0..self.kernel.inputs.len()).any(reads)
            || (writes && self.kernel.outputs.iter().any(|output| output.dtype == DType::F16))
            || self.insts().any(|inst| {
                inst.dtype == DType::F16
                    && matches!(inst.kind, InstKind::Cast { .. } | InstKind::Constant { .. })
            })
    }

    /// Is a workgroup per result better than a thread per result?
    fn reduces_rows(&self) -> bool {
        let (outer, inner) = (self.kernel.outer_count(), self.kernel.inner_count());
        let last = self.kernel.space.len().saturating_sub(1);
        let contiguous = self.kernel.insts.iter().any(|inst| match &inst.kind {
            InstKind::Load { access, .. } if inst.inner => {
                access.levels[0].axes.get(last).is_some_and(|axis| axis.stride == 1)
            }
            _ => false,
        });
        inner >= 32 && (contiguous || outer < 1024 || inner >= 16 * LONG_ROW)
    }

    /// Threads of a workgroup that reduces a row, a part of one, or the results of parts. There are few such numbers, so that rows
    /// of different lengths share shaders.
    fn row_threads(&self) -> usize {
        let values = match self.pass {
            Pass::Parts { .. } | Pass::Columns(_) => return ROW_THREADS,
            Pass::Whole { parts } => parts,
            Pass::Only | Pass::Rows => self.kernel.inner_count(),
        };
        let wanted = values.div_ceil(ROW_PIECES);
        FEWER_ROW_THREADS.into_iter().find(|&threads| wanted <= threads).unwrap_or(ROW_THREADS)
    }

    /// Where a loop over all of a row starts; one whose end the compiler knows can be unrolled.
    pub fn start(&self) -> &'static str {
        self.params.tier().either(shader::ZERO, "0u")
    }

    fn thread_body(&mut self) -> String {
        let kernel = self.kernel;
        let mut body = String::from("    let index = number;\n");
        body += &self.coordinates("index", 0..kernel.kept, 1);
        if let Some((position, arg, reduce)) = kernel.reduction() {
            let fold = Fold::new(reduce.kind, kernel.insts[arg].dtype, position, "", self);
            let count = self.params.size(kernel.inner_count());
            body += &fold.declare(1);
            _ = writeln!(body, "    for (var r = {}; r < {count}; r++) {{", self.start());
            body += &self.coordinates("r", kernel.kept..kernel.space.len(), 2);
            body += &self.stage(true, 2);
            body += &fold.take(&format!("v{arg}"), "r", 2);
            _ = writeln!(body, "    }}\n    let v{position} = {};", fold.result());
        }
        body += &self.stage(false, 1);
        body += &self.stores(1);
        body
    }

    /// A workgroup reduces one row, or one part of a row, or the results of a row's parts.
    fn row_body(&mut self) -> String {
        let kernel = self.kernel;
        let Some((position, arg, reduce)) = kernel.reduction() else {
            unreachable!("row kernels have a reduction");
        };
        let fold = Fold::new(reduce.kind, kernel.insts[arg].dtype, position, "", self);
        let count = self.params.size(kernel.inner_count());
        let (index, start, end) = match self.pass {
            Pass::Only | Pass::Rows | Pass::Columns(_) => ("number".to_string(), "0u".to_string(), count),
            Pass::Parts { parts } => {
                let parts = self.params.size(parts);
                let start = format!("number % {parts} * {ROW_PART}u");
                (format!("number / {parts}"), start, format!("min(begin + {ROW_PART}u, {count})"))
            }
            Pass::Whole { parts } => {
                let parts = self.params.size(parts);
                ("number".to_string(), format!("number * {parts}"), format!("begin + {parts}"))
            }
        };
        let mut body = format!("    let index = {index};\n    let begin = {start};\n    let end = {end};\n");
        body += &self.coordinates("index", 0..kernel.kept, 1);
        body += &fold.declare(1);
        let threads = self.row_threads();
        _ = writeln!(body, "    for (var r = begin + thread; r < end; r += {threads}u) {{");
        if let Pass::Whole { .. } = self.pass {
            body += &fold.take_other(&fold.value_of("parts[r * 2u]"), "parts[r * 2u + 1u]", 2);
        } else {
            body += &self.coordinates("r", kernel.kept..kernel.space.len(), 2);
            body += &self.stage(true, 2);
            body += &fold.take(&format!("v{arg}"), "r", 2);
        }
        body += "    }\n";
        body += &fold.share("thread", 1);
        _ = writeln!(body, "    workgroupBarrier();");
        _ = writeln!(body, "    for (var half = {}u; half > 0u; half /= 2u) {{", threads / 2);
        _ = writeln!(body, "        if (thread < half) {{");
        body += &fold.take_shared("thread + half", 3);
        body += &fold.share("thread", 3);
        _ = writeln!(body, "        }}\n        workgroupBarrier();\n    }}");
        _ = writeln!(body, "    if (thread == 0u) {{");
        if let Pass::Parts { .. } = self.pass {
            body += &fold.store_part(2);
        } else {
            _ = writeln!(body, "    let v{position} = {};", fold.result());
            body += &self.stage(false, 1);
            body += &self.stores(1);
        }
        body += "    }\n";
        body
    }

    fn row_memory(&mut self) -> String {
        let Some((position, arg, reduce)) = self.kernel.reduction() else { return String::new() };
        Fold::new(reduce.kind, self.kernel.insts[arg].dtype, position, "", self).memory(self.row_threads())
    }

    /// The statements of one stage.
    pub fn stage(&mut self, inner: bool, depth: usize) -> String {
        let kernel = self.kernel;
        let pad = "    ".repeat(depth);
        let mut code = String::new();
        for (position, inst) in kernel.insts.iter().enumerate() {
            if inst.inner == inner && !matches!(inst.kind, InstKind::Reduce { .. }) {
                let value = self.value(inst, &mut code, &pad);
                _ = writeln!(code, "{pad}let v{position}: {} = {value};", lane_type(inst.dtype));
            }
        }
        code
    }

    /// The expression of an instruction; statements it needs go to `code`.
    pub fn value(&mut self, inst: &Inst, code: &mut String, pad: &str) -> String {
        let masked = |value: String, exists: &Option<String>| match exists {
            Some(exists) => format!("select({}, {value}, {exists})", zero(inst.dtype)),
            None => value,
        };
        if let Some(value) = self.given(&inst.kind) {
            return value.to_string();
        }
        match &inst.kind {
            InstKind::Load { operand, access } => {
                let Located { at, exists } = self.locate(access, code, pad);
                masked(widen(inst.dtype, &format!("in{operand}[{at}]")), &exists)
            }
            InstKind::Constant { data_start, access } => {
                let value = self.data_start(*data_start, inst.dtype);
                let exists = access.has_zeros().then(|| self.locate(access, code, pad).exists).flatten();
                masked(value, &exists)
            }
            InstKind::Index { access } => {
                let Located { at, exists } = self.locate(access, code, pad);
                masked(format!("i32({at})"), &exists)
            }
            InstKind::Bits { data_start, access } => {
                self.help(crate::rng::WGSL);
                let word =
                    |k: u32, params: &mut Params| params.shared(Param::Data(data_start + k, Lane::U32));
                let words = [0, 1, 2, 3].map(|k| word(k, &mut self.params));
                let Located { at, exists } = self.locate(access, code, pad);
                let [k0, k1, c0, c1] = words;
                masked(format!("fl_random_bits(vec2<u32>({k0}, {k1}), vec2<u32>({c0}, {c1}), {at})"), &exists)
            }
            InstKind::Healthy => shader::healthy(&mut self.params),
            InstKind::Map { op, args } => self.map(op, args, inst.dtype),
            InstKind::Cast { arg } => {
                let from = self.kernel.insts[*arg].dtype;
                if from.is_float() && inst.dtype.is_int() {
                    self.help(TO_INTEGER);
                }
                convert(&format!("v{arg}"), from, inst.dtype)
            }
            InstKind::Mask { arg, access } => {
                let exists = self.locate(access, code, pad).exists;
                masked(format!("v{arg}"), &exists)
            }
            InstKind::Gather { operand, access, index, stride, size } => {
                let Located { at, exists } = self.locate(access, code, pad);
                let name = self.name("g");
                let of = std::ptr::from_ref(access) as usize;
                let size_param = self.number(of, usize::MAX, Param::Fixed(*size as u32));
                let fault = shader::fault(&mut self.params, inst.node, &name);
                self.checks = Some(Checked::Index { op: "gather", size: *size });
                let wanted = exists.as_ref().map_or(String::new(), |exists| format!("{exists} && "));
                _ = writeln!(code, "{pad}var {name} = u32(v{index});");
                _ = writeln!(code, "{pad}if ({wanted}{name} >= {size_param}) {{ {fault} {name} = 0u; }}");
                let step = self.number(of, usize::MAX - 1, Param::Fixed(*stride as u32));
                let at = match &exists {
                    // Every index is a fault: the start of any buffer can be read.
                    _ if *size == 0 => "0u".into(),
                    Some(exists) => format!("select(0u, {at} + {name} * {step}, {exists})"),
                    None => format!("{at} + {name} * {step}"),
                };
                masked(widen(inst.dtype, &format!("in{operand}[{at}]")), &exists)
            }
            InstKind::Reduce { .. } => unreachable!("reductions are not part of a stage"),
        }
    }

    fn data_start(&mut self, data_start: u32, dtype: DType) -> String {
        let param = self.params.shared(Param::Data(data_start, dtype.lane()));
        match dtype {
            DType::Bool => format!("({param} != 0u)"),
            DType::F16 => format!("f32(f16(bitcast<f32>({param})))"),
            DType::F32 => format!("bitcast<f32>({param})"),
            DType::I32 => format!("bitcast<i32>({param})"),
            _ => param,
        }
    }

    fn map(&mut self, op: &'static Map, args: &[usize], dtype: DType) -> String {
        op.wgsl_helpers.iter().for_each(|helper| self.help(helper));
        let lane = self.kernel.insts[args[args.len() - 1]].dtype.lane();
        let mut expression = op.wgsl_of(lane).to_string();
        for (name, arg) in op.args.iter().zip(args) {
            expression = expression.replace(&format!("{{{name}}}"), &format!("v{arg}"));
        }
        if dtype == DType::U8 { format!("({expression} & 0xffu)") } else { expression }
    }

    pub fn help(&mut self, helper: &'static str) {
        if !helper.is_empty() && !self.helpers.contains(&helper) {
            self.helpers.push(helper);
        }
    }

    pub fn stores(&self, depth: usize) -> String {
        let pad = "    ".repeat(depth);
        let store = |(position, output): (usize, &Output)| {
            let value = narrow(output.dtype, &format!("v{}", output.inst));
            format!("{pad}out{position}[index] = {value};\n")
        };
        self.kernel.outputs.iter().enumerate().map(store).collect()
    }
}
