//! WGSL for fused kernels.
//!
//! The text depends on the kernel's structure only: sizes, strides, offsets and numbers are read from the uniform
//! block, so that kernels that differ in those share a pipeline.

use crate::backend::wgsl::{self, Params, lane_type, narrow, storage_type, widen};
use crate::dtype::{DType, Lane};
use crate::op::structured::{Bound, Param, Program};
use crate::op::{Elementwise, ReduceKind};
use crate::plan::access::{Access, Embedding};
use crate::plan::kernel::{Fused, Inst, InstKind};
use std::fmt::Write;

/// Threads of the workgroup that reduces one row.
const ROW_THREADS: usize = 256;
/// Reduced values from which a whole workgroup works on one result.
const LONG_ROW: usize = 128;

/// Reduced values per workgroup where a row is shared among several.
const ROW_PART: usize = 4096;
/// Results above which there are workgroups enough without sharing rows.
const FEW_ROWS: usize = 512;

/// The shaders of a fused kernel, in order: one, or two where long rows are reduced in parts first. `threads` is the
/// workgroup size of kernels without a row reduction.
pub(super) fn programs(kernel: &Fused, threads: usize) -> Vec<Program> {
    let (outer, inner) = (kernel.outer_count(), kernel.inner_count());
    if kernel.reduction().is_some() && outer < FEW_ROWS && inner >= 4 * ROW_PART {
        let parts = inner.div_ceil(ROW_PART);
        return vec![
            Generator::new(kernel, Pass::Parts { parts }).finish(threads),
            Generator::new(kernel, Pass::Whole { parts }).finish(threads),
        ];
    }
    vec![Generator::new(kernel, Pass::Only).finish(threads)]
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
}

struct Generator<'a> {
    kernel: &'a Fused,
    params: Params,
    helpers: Vec<&'static str>,
    status: bool,
    checks: Option<usize>,
    pass: Pass,
    /// Temporary names used so far.
    names: usize,
}

/// An offset and, where some coordinates have no element, whether this one has.
struct Located {
    at: String,
    exists: Option<String>,
}

impl<'a> Generator<'a> {
    fn new(kernel: &'a Fused, pass: Pass) -> Self {
        let mut generator = Generator {
            kernel,
            params: Params::default(),
            helpers: Vec::new(),
            status: false,
            checks: None,
            pass,
            names: 0,
        };
        generator.status =
            generator.insts().any(|inst| matches!(inst.kind, InstKind::Gather { .. } | InstKind::Healthy));
        generator
    }

    /// The instructions this pass runs.
    fn insts(&self) -> impl Iterator<Item = &'a Inst> + use<'a> {
        let pass = self.pass;
        self.kernel.insts.iter().filter(move |inst| match pass {
            Pass::Only => true,
            Pass::Parts { .. } => inst.inner,
            Pass::Whole { .. } => !inst.inner,
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
        let by_row = self.pass != Pass::Only || (kernel.reduction().is_some() && self.reduces_rows());
        let (body, groups, threads) = match self.pass {
            Pass::Parts { parts } => (self.row_body(), wgsl::groups_for(count * parts, 1), ROW_THREADS),
            _ if by_row => (self.row_body(), wgsl::groups_for(count, 1), ROW_THREADS),
            _ => (self.thread_body(), wgsl::groups_for(count, threads), threads),
        };
        let numel = match self.pass {
            Pass::Parts { parts } => self.params.size(count * parts),
            Pass::Only | Pass::Whole { .. } => self.params.size(count),
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
        for (position, (_, dtype)) in kernel.inputs.iter().enumerate() {
            if self.reads(position) {
                let name = format!("in{position}");
                declare(&mut source, Bound::Input(position), "read", &name, storage_type(*dtype));
            }
        }
        if !matches!(self.pass, Pass::Parts { .. }) {
            for (position, (_, _, dtype)) in kernel.outputs.iter().enumerate() {
                let name = format!("out{position}");
                declare(&mut source, Bound::Output(position), "read_write", &name, storage_type(*dtype));
            }
        }
        let mut scratch = Vec::new();
        if let Pass::Parts { parts } | Pass::Whole { parts } = self.pass {
            declare(&mut source, Bound::Scratch(0), "read_write", "parts", "u32");
            scratch.push((count * parts * 8) as u64);
        }
        if self.status {
            source += &wgsl::status_declaration(bindings.len());
            bindings.push(Bound::Status);
        }
        let vectors = self.params.vectors();
        _ = writeln!(
            source,
            "@group(0) @binding({}) var<uniform> params: array<vec4<u32>, {vectors}>;",
            bindings.len()
        );
        self.helpers.iter().for_each(|helper| source += helper);
        if by_row {
            source += &self.row_memory();
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
            source,
            entry: "main".into(),
            bindings,
            params: self.params.list,
            groups,
            scratch,
            trusted: true,
            checks: self.checks,
        }
    }

    fn uses_f16(&self) -> bool {
        let reads = |position: usize| self.reads(position) && self.kernel.inputs[position].1 == DType::F16;
        let writes = !matches!(self.pass, Pass::Parts { .. });
        (0..self.kernel.inputs.len()).any(reads)
            || (writes && self.kernel.outputs.iter().any(|&(_, _, dtype)| dtype == DType::F16))
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

    fn thread_body(&mut self) -> String {
        let kernel = self.kernel;
        let mut body = String::from("    let index = number;\n");
        body += &self.coordinates("index", 0..kernel.kept, 1);
        if let Some((position, arg, reduce)) = kernel.reduction() {
            let fold = Fold::new(reduce.kind, kernel.insts[arg].dtype, position, self);
            let count = self.params.size(kernel.inner_count());
            body += &fold.declare(1);
            _ = writeln!(body, "    for (var r = 0u; r < {count}; r++) {{");
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
        let fold = Fold::new(reduce.kind, kernel.insts[arg].dtype, position, self);
        let count = self.params.size(kernel.inner_count());
        let (index, start, end) = match self.pass {
            Pass::Only => ("number".to_string(), "0u".to_string(), count),
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
        _ = writeln!(body, "    for (var r = begin + thread; r < end; r += {ROW_THREADS}u) {{");
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
        _ = writeln!(body, "    for (var half = {}u; half > 0u; half /= 2u) {{", ROW_THREADS / 2);
        _ = writeln!(body, "        if (thread < half) {{");
        body += &fold.take_other("shared_values[thread + half]", "shared_positions[thread + half]", 3);
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

    fn row_memory(&self) -> String {
        let Some((_, arg, reduce)) = self.kernel.reduction() else { return String::new() };
        let lane = lane_type(self.kernel.insts[arg].dtype);
        let mut memory = format!("var<workgroup> shared_values: array<{lane}, {ROW_THREADS}>;\n");
        if reduce.kind.is_index() {
            memory += &format!("var<workgroup> shared_positions: array<u32, {ROW_THREADS}>;\n");
        }
        memory
    }

    /// Declares c{d} for these dimensions, unravelled from a linear number; only those some access looks at.
    fn coordinates(&mut self, from: &str, dims: std::ops::Range<usize>, depth: usize) -> String {
        let kernel = self.kernel;
        let pad = "    ".repeat(depth);
        let accesses: Vec<&Access> = self.insts().filter_map(|inst| inst.kind.access()).collect();
        let looked_at = |d: usize| {
            accesses.iter().any(|access| {
                let axis = &access.levels[0].axes[d];
                axis.stride != 0 || axis.embedding.is_some()
            })
        };
        let mut code = String::new();
        let mut rest = from.to_string();
        for d in dims.clone().rev() {
            let first = d == dims.start;
            if looked_at(d) {
                if first {
                    _ = writeln!(code, "{pad}let c{d} = {rest};");
                } else {
                    let size = self.params.size(kernel.space[d]);
                    _ = writeln!(code, "{pad}let c{d} = {rest} % {size};");
                }
            }
            if !first {
                let size = self.params.size(kernel.space[d]);
                let name = format!("{from}_{d}");
                _ = writeln!(code, "{pad}let {name} = {rest} / {size};");
                rest = name;
            }
        }
        code
    }

    fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    /// Code that finds the element of the current coordinates.
    fn locate(&mut self, access: &Access, code: &mut String, pad: &str) -> Located {
        let mut exists: Vec<String> = Vec::new();
        let mut number = String::new();
        for (depth, level) in access.levels.iter().enumerate() {
            let mut terms: Vec<String> = Vec::new();
            if !level.offset.is_zero() {
                terms.push(self.params.push(Param::Linear(level.offset.clone())));
            }
            let mut rest = number.clone();
            for (d, axis) in level.axes.iter().enumerate().rev() {
                let mut c = format!("c{d}");
                if depth > 0 {
                    c = self.name("u");
                    let size = self.params.size(axis.size);
                    let next = self.name("rest");
                    _ = writeln!(code, "{pad}let {c} = {rest} % {size};\n{pad}let {next} = {rest} / {size};");
                    rest = next;
                }
                if let Some(Embedding { start, step, len }) = &axis.embedding {
                    let from = self.name("e");
                    let start = self.params.push(Param::Linear(start.clone()));
                    _ = writeln!(code, "{pad}let {from} = {c} - {start};");
                    let limit = self.params.size(len * step);
                    exists.push(format!("{from} < {limit}"));
                    c = from;
                    if *step != 1 {
                        let step = self.params.size(*step);
                        exists.push(format!("{c} % {step} == 0u"));
                        c = format!("({c} / {step})");
                    }
                }
                match axis.stride {
                    0 => {}
                    1 => terms.push(c),
                    stride => terms.push(format!("{c} * {}", self.params.stride(stride))),
                }
            }
            number = self.name("at");
            // `index` is 0 in a kernel with one result; a constant instead sends llvmpipe's compiler into a fit of
            // folding when random numbers are made from it.
            let nothing = if self.kernel.space.is_empty() { "index" } else { "0u" };
            let sum = if terms.is_empty() { nothing.to_string() } else { terms.join(" + ") };
            _ = writeln!(code, "{pad}let {number} = {sum};");
        }
        if exists.is_empty() {
            return Located { at: number, exists: None };
        }
        let flag = self.name("has");
        _ = writeln!(code, "{pad}let {flag} = {};", exists.join(" && "));
        Located { at: format!("select(0u, {number}, {flag})"), exists: Some(flag) }
    }

    /// The statements of one stage.
    fn stage(&mut self, inner: bool, depth: usize) -> String {
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
    fn value(&mut self, inst: &Inst, code: &mut String, pad: &str) -> String {
        let masked = |value: String, exists: &Option<String>| match exists {
            Some(exists) => format!("select({}, {value}, {exists})", zero(inst.dtype)),
            None => value,
        };
        match &inst.kind {
            InstKind::Load { operand, access } => {
                let Located { at, exists } = self.locate(access, code, pad);
                masked(widen(inst.dtype, &format!("in{operand}[{at}]")), &exists)
            }
            InstKind::Constant { datum, access } => {
                let value = self.datum(*datum, inst.dtype);
                let exists = access.has_zeros().then(|| self.locate(access, code, pad).exists).flatten();
                masked(value, &exists)
            }
            InstKind::Index { access } => {
                let Located { at, exists } = self.locate(access, code, pad);
                masked(format!("i32({at})"), &exists)
            }
            InstKind::Bits { datum, access } => {
                self.help(crate::rng::WGSL);
                let word = |k: u32, params: &mut Params| params.push(Param::Data(datum + k, Lane::U32));
                let words = [0, 1, 2, 3].map(|k| word(k, &mut self.params));
                let Located { at, exists } = self.locate(access, code, pad);
                let [k0, k1, c0, c1] = words;
                masked(format!("fl_random_bits(vec2<u32>({k0}, {k1}), vec2<u32>({c0}, {c1}), {at})"), &exists)
            }
            InstKind::Healthy => "fl_healthy()".into(),
            InstKind::Map { op, args } => self.map(op, args, inst.dtype),
            InstKind::Cast { arg } => convert(&format!("v{arg}"), self.kernel.insts[*arg].dtype, inst.dtype),
            InstKind::Mask { arg, access } => {
                let exists = self.locate(access, code, pad).exists;
                masked(format!("v{arg}"), &exists)
            }
            InstKind::Gather { operand, access, index, stride, size } => {
                let Located { at, exists } = self.locate(access, code, pad);
                let name = self.name("g");
                let (size_param, node) = (self.params.size(*size), self.params.size(inst.node as usize));
                let run = self.params.push(Param::Run);
                self.checks = Some(self.checks.map_or(*size, |known| known.max(*size)));
                let wanted = exists.as_ref().map_or(String::new(), |exists| format!("{exists} && "));
                _ = writeln!(code, "{pad}var {name} = u32(v{index});");
                _ = writeln!(
                    code,
                    "{pad}if ({wanted}{name} >= {size_param}) {{ fl_fault({node}, {run}, {name}); {name} = 0u; }}"
                );
                let step = self.params.stride(*stride);
                let at = match &exists {
                    Some(exists) => format!("select(0u, {at} + {name} * {step}, {exists})"),
                    None => format!("{at} + {name} * {step}"),
                };
                masked(widen(inst.dtype, &format!("in{operand}[{at}]")), &exists)
            }
            InstKind::Reduce { .. } => unreachable!("reductions are not part of a stage"),
        }
    }

    fn datum(&mut self, datum: u32, dtype: DType) -> String {
        let param = self.params.push(Param::Data(datum, dtype.lane()));
        match dtype {
            DType::Bool => format!("({param} != 0u)"),
            DType::F16 => format!("f32(f16(bitcast<f32>({param})))"),
            DType::F32 => format!("bitcast<f32>({param})"),
            DType::I32 => format!("bitcast<i32>({param})"),
            _ => param,
        }
    }

    fn map(&mut self, op: &'static Elementwise, args: &[usize], dtype: DType) -> String {
        op.wgsl_helpers.iter().for_each(|helper| self.help(helper));
        let lane = self.kernel.insts[args[args.len() - 1]].dtype.lane();
        let mut expression = op.wgsl_of(lane).to_string();
        for (name, arg) in op.args.iter().zip(args) {
            expression = expression.replace(&format!("{{{name}}}"), &format!("v{arg}"));
        }
        if dtype == DType::U8 { format!("({expression} & 0xffu)") } else { expression }
    }

    fn help(&mut self, helper: &'static str) {
        if !helper.is_empty() && !self.helpers.contains(&helper) {
            self.helpers.push(helper);
        }
    }

    fn stores(&self, depth: usize) -> String {
        let pad = "    ".repeat(depth);
        let store = |(position, (inst, _, dtype)): (usize, &(usize, crate::plan::kernel::Place, DType))| {
            format!("{pad}out{position}[index] = {};\n", narrow(*dtype, &format!("v{inst}")))
        };
        self.kernel.outputs.iter().enumerate().map(store).collect()
    }
}

/// The running result of a reduction, as WGSL variables `acc` and, for positions, `pos`.
struct Fold {
    kind: ReduceKind,
    dtype: DType,
    initial: String,
    result_dtype: DType,
}

impl Fold {
    fn new(kind: ReduceKind, dtype: DType, position: usize, generator: &mut Generator) -> Fold {
        let is_float = dtype.is_float();
        if is_float && !matches!(kind, ReduceKind::Sum | ReduceKind::Prod) {
            generator.help(crate::op::elementwise::wgsl::IS_NAN);
        }
        // Infinities cannot be written in WGSL, so they come from the uniform block.
        let mut bits = |float: f32, signed: i32, unsigned: u32| match dtype.lane() {
            Lane::F32 | Lane::F64 => {
                format!("bitcast<f32>({})", generator.params.push(Param::Fixed(float.to_bits())))
            }
            Lane::I32 | Lane::I64 => {
                format!("bitcast<i32>({})", generator.params.push(Param::Fixed(signed as u32)))
            }
            Lane::U32 | Lane::Bool => generator.params.push(Param::Fixed(unsigned)),
        };
        let initial = match kind {
            ReduceKind::Sum => format!("{}(0)", lane_type(dtype)),
            ReduceKind::Prod => format!("{}(1)", lane_type(dtype)),
            ReduceKind::Max | ReduceKind::ArgMax => bits(f32::NEG_INFINITY, i32::MIN, 0),
            ReduceKind::Min | ReduceKind::ArgMin => bits(f32::INFINITY, i32::MAX, u32::MAX),
        };
        Fold { kind, dtype, initial, result_dtype: generator.kernel.insts[position].dtype }
    }

    fn declare(&self, depth: usize) -> String {
        let pad = "    ".repeat(depth);
        let position =
            if self.kind.is_index() { format!("{pad}var pos = 0xffffffffu;\n") } else { String::new() };
        format!("{pad}var acc: {} = {};\n{position}", lane_type(self.dtype), self.initial)
    }

    /// Is `x` better than what `acc` holds? A NaN beats all, and the first of equals stays.
    fn better(&self, x: &str) -> String {
        let sign = if matches!(self.kind, ReduceKind::Max | ReduceKind::ArgMax) { ">" } else { "<" };
        if self.dtype.is_float() {
            format!("!fl_is_nan(acc) && ({x} {sign} acc || fl_is_nan({x}))")
        } else {
            format!("{x} {sign} acc")
        }
    }

    fn take(&self, x: &str, position: &str, depth: usize) -> String {
        let pad = "    ".repeat(depth);
        match self.kind {
            ReduceKind::Sum => format!("{pad}acc += {x};\n"),
            ReduceKind::Prod => format!("{pad}acc *= {x};\n"),
            ReduceKind::Max | ReduceKind::Min => format!("{pad}if ({}) {{ acc = {x}; }}\n", self.better(x)),
            ReduceKind::ArgMax | ReduceKind::ArgMin => format!(
                "{pad}if (pos == 0xffffffffu || ({})) {{ acc = {x}; pos = {position}; }}\n",
                self.better(x)
            ),
        }
    }

    /// Takes in another thread's or workgroup's result.
    fn take_other(&self, value: &str, position: &str, depth: usize) -> String {
        let pad = "    ".repeat(depth);
        if !self.kind.is_index() {
            return format!("{pad}let x = {value};\n{}", self.take("x", "", depth));
        }
        // They hold interleaved positions: of equal values the one with the lower position wins.
        let same =
            if self.dtype.is_float() { "(x == acc || (fl_is_nan(x) && fl_is_nan(acc)))" } else { "x == acc" };
        format!(
            "{pad}let x = {value};\n{pad}let p = {position};\n{pad}if (p != 0xffffffffu && (pos == 0xffffffffu || \
             ({better}) || ({same} && p < pos))) {{ acc = x; pos = p; }}\n",
            better = self.better("x"),
        )
    }

    /// A value of the scratch buffer.
    fn value_of(&self, word: &str) -> String {
        match lane_type(self.dtype) {
            "u32" => word.to_string(),
            lane => format!("bitcast<{lane}>({word})"),
        }
    }

    /// Writes a part's result into the scratch buffer.
    fn store_part(&self, depth: usize) -> String {
        let pad = "    ".repeat(depth);
        let value =
            if lane_type(self.dtype) == "u32" { "acc".to_string() } else { "bitcast<u32>(acc)".to_string() };
        let position = if self.kind.is_index() { "pos" } else { "0u" };
        format!("{pad}parts[number * 2u] = {value};\n{pad}parts[number * 2u + 1u] = {position};\n")
    }

    fn share(&self, at: &str, depth: usize) -> String {
        let pad = "    ".repeat(depth);
        let positions = if self.kind.is_index() {
            format!("{pad}shared_positions[{at}] = pos;\n")
        } else {
            String::new()
        };
        format!("{pad}shared_values[{at}] = acc;\n{positions}")
    }

    fn result(&self) -> String {
        match (self.kind.is_index(), self.result_dtype) {
            (true, _) => "i32(pos)".into(),
            (false, DType::U8) => "(acc & 0xffu)".into(),
            (false, _) => "acc".into(),
        }
    }
}

fn zero(dtype: DType) -> &'static str {
    match dtype.lane() {
        Lane::Bool => "false",
        Lane::U32 => "0u",
        Lane::I32 | Lane::I64 => "0i",
        Lane::F32 | Lane::F64 => "0.0",
    }
}

/// A value of one dtype as another's lane type.
fn convert(value: &str, from: DType, to: DType) -> String {
    let converted = match (from.lane(), to.lane()) {
        (Lane::Bool, Lane::Bool) => value.to_string(),
        (Lane::Bool, Lane::F32) => format!("select(0.0, 1.0, {value})"),
        (Lane::Bool, Lane::U32) => format!("select(0u, 1u, {value})"),
        (Lane::Bool, Lane::I32) => format!("select(0i, 1i, {value})"),
        // By its bits, because NaN is true and compilers may assume there are none.
        (Lane::F32, Lane::Bool) => format!("((bitcast<u32>({value}) & 0x7fffffffu) != 0u)"),
        (_, Lane::Bool) => format!("({value} != {})", zero(from)),
        (a, b) if a == b => value.to_string(),
        (_, Lane::F32) => format!("f32({value})"),
        (_, Lane::U32) => format!("u32({value})"),
        (_, Lane::I32) => format!("i32({value})"),
        (_, Lane::I64 | Lane::F64) => unreachable!("the GPU has no {to}"),
    };
    match to {
        DType::F16 => format!("f32(f16({converted}))"),
        DType::U8 => format!("({converted} & 0xffu)"),
        _ => converted,
    }
}
