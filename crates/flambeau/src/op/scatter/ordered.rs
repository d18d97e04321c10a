//! Scattering on the GPU by sorting: the positions of every line are put in order first, those of equal positions in the order they came in,
//! and each result then takes its own values. The work grows with the number of values, not with that of values times results;
//! nothing is added in an order that changes.

use super::{Mode, Scatter};
use crate::dtype::DType;
use crate::ir::call::{Kernels, StructuredCall};
use crate::ir::program::{Bound, Checked, Param, Program, Tier};
use crate::op::sorting::{KEYS, PLACES, Rows, Target, bits_below};
use crate::shader::{self, Entry, Fold, Shader, narrow, widen};
use std::fmt::Write;

/// Values of a line from which that pays.
const LEAST: usize = 32;
/// Threads of a workgroup.
const THREADS: usize = 64;
/// Values a result has on average from which a workgroup adds them up, and not a thread.
const MANY: usize = 32;
/// Rounds of a loop: llvmpipe ends those of more than 65,535.
const ROUNDS: usize = 1 << 15;

/// Are lines so long that their positions are put in order?
pub(super) fn applies(op: &Scatter, call: &StructuredCall) -> bool {
    let index = &call.inputs[1].meta;
    index.shape[op.dim] >= LEAST && index.numel() > 0
}

/// The shaders: positions in order, then results.
pub(super) fn programs(op: &Scatter, call: &StructuredCall) -> Vec<Program> {
    let lines = Lines::of(op, call);
    let (size, length) = (call.inputs[0].meta.shape[op.dim], call.inputs[1].meta.shape[op.dim]);
    let keys = |shader: &mut Shader| lines.keys(shader, op, call);
    let rows = Rows {
        label: "scatter_order",
        rows: lines.rows,
        length,
        // Positions outside have a key of their own, after all others.
        bits: bits_below(size + 1),
        keys: &keys,
        target: Target::Pairs,
    };
    let mut programs = rows.programs();
    if lines.is_shared(op, call) {
        programs.iter_mut().for_each(|program| program.scratch.push(4 * (size as u64 + 1)));
        programs.push(lines.begins([size, length], &programs[0]));
    }
    let results = lines.results(op, call, &programs[0]);
    programs.push(results);
    programs
}

/// The lines of positions that are put in order.
struct Lines {
    rows: usize,
    /// Every dimension but the scattered one, with the number of lines between two of its coordinates; none where one line serves all.
    dims: Vec<(usize, usize)>,
}

impl Lines {
    fn of(op: &Scatter, call: &StructuredCall) -> Lines {
        let index = &call.inputs[1];
        let (shape, level) = (&index.meta.shape, &index.access.levels[0]);
        let others: Vec<usize> = (0..shape.rank()).filter(|&d| d != op.dim).collect();
        if others.iter().all(|&d| shape[d] == 1 || level.axes[d].stride == 0) {
            return Lines { rows: 1, dims: Vec::new() };
        }
        let (mut rows, mut dims) = (1, Vec::new());
        for &d in others.iter().rev() {
            dims.push((d, rows));
            rows *= shape[d];
        }
        Lines { rows, dims }
    }

    /// Declares the index, and adds `key(row, place)`: a position, or the dimension's size for those outside, which are faults.
    fn keys(&self, shader: &mut Shader, op: &Scatter, call: &StructuredCall) {
        let index = &call.inputs[1];
        let level = &index.access.levels[0];
        let positions = call.inputs[0].meta.shape[op.dim];
        let params = &mut shader.params;
        let offset = params.push(Param::Offset(level.offset.clone()));
        let mut at = format!("{offset} + place * {}", params.stride(level.axes[op.dim].stride));
        for &(d, lines) in &self.dims {
            let [lines, size] = [lines, index.meta.shape[d]].map(|size| params.size(size));
            _ = write!(at, " + (row / {lines}) % {size} * {}", params.stride(level.axes[d].stride));
        }
        let size = params.size(positions);
        let fault = shader::fault(params, call.node, "found");
        shader.bind_elements(Bound::Input(1), "index", index.meta.dtype, false);
        shader.bind_status();
        shader.checks = Some(Checked::Index { op: op.name(), size: positions });
        shader.add(&format!(
            "fn key(row: u32, place: u32) -> u32 {{
    let found = u32(index[{at}]);
    if (found >= {size}) {{ {fault} }}
    return min(found, {size});
}}
"
        ));
    }

    /// Does one line of positions serve many lines of results? Then where each position begins is found once for all of them.
    fn is_shared(&self, op: &Scatter, call: &StructuredCall) -> bool {
        let base = &call.inputs[0].meta;
        self.rows == 1 && base.numel() > base.shape[op.dim]
    }

    /// Finds where each position begins among the ordered ones, and where the last one ends.
    fn begins(&self, [size, length]: [usize; 2], sorted: &Program) -> Program {
        let mut shader = Shader::new("scatter: begin", Tier::General);
        (shader.scratch, shader.in_turn) = (sorted.scratch.clone(), sorted.in_turn);
        let [limit, count] = [size + 1, length].map(|size| shader.params.size(size));
        shader.bind(Bound::ScratchRead(KEYS), "keys", "u32");
        shader.bind(Bound::Scratch(sorted.scratch.len() - 1), "begins", "u32");
        shader.add(AFTER);
        let body = format!("    begins[place] = after(0u, {count}, place);\n");
        shader.finish(&Entry::threads("place", size + 1, &limit, THREADS), &body)
    }

    /// A thread or a workgroup for each result finds its place among the ordered positions, and takes what stands there.
    /// `sorted` is one of the shaders that leave them in scratch buffers.
    fn results(&self, op: &Scatter, call: &StructuredCall, sorted: &Program) -> Program {
        let (base, index, values) = (&call.inputs[0].meta, &call.inputs[1].meta, &call.inputs[2].meta);
        let (strides, value_strides) = (base.shape.strides(), values.shape.strides());
        let length = index.shape[op.dim];
        let mut shader = Shader::new(op.name(), Tier::General);
        (shader.scratch, shader.in_turn) = (sorted.scratch.clone(), sorted.in_turn);
        let params = &mut shader.params;
        let [numel, count, rounds] = [base.numel(), length, ROUNDS].map(|size| params.size(size));
        let (mut coordinates, mut inside) = (String::new(), String::from("true"));
        for d in 0..base.shape.rank() {
            let (size, stride) = (params.size(base.shape[d]), params.stride(strides[d]));
            if d == op.dim {
                _ = writeln!(coordinates, "    let place = (at / {stride}) % {size};");
                continue;
            }
            let along = params.stride(value_strides[d]);
            _ = writeln!(
                coordinates,
                "    let c{d} = (at / {stride}) % {size};\n    line += c{d} * {along};"
            );
            if index.shape[d] < base.shape[d] {
                _ = write!(inside, " && c{d} < {}", params.size(index.shape[d]));
            }
            if let Some(&(_, lines)) = self.dims.iter().find(|&&(other, _)| other == d) {
                _ = writeln!(coordinates, "    row += c{d} * {};", params.size(lines));
            }
        }
        let step = params.stride(value_strides[op.dim]);
        let value = |k: &str| widen(values.dtype, &format!("values[line + places[first + {k}] * {step}]"));
        let by_workgroup =
            op.mode == Mode::Add && base.dtype.is_float() && length / base.shape[op.dim].max(1) >= MANY;
        let threads = if by_workgroup { THREADS } else { 1 };
        let lane = if by_workgroup { "thread" } else { "0u" };
        let is_shared = self.is_shared(op, call);
        let [begin, end] = match is_shared {
            true => ["begins[place]".into(), "begins[place + 1u]".into()],
            false => ["", " + 1u"].map(|next| format!("after(first, {count}, place{next})")),
        };
        let take = match op.mode {
            // Of several the last one stays.
            Mode::Set => format!(
                "        let end = {end};
        if (end > 0u && keys[first + end - 1u] == place) {{ result = {}; }}
",
                value("(end - 1u)")
            ),
            Mode::Add => {
                let combine = match base.dtype {
                    DType::Bool => format!("result = result || {};", value("k")),
                    _ => format!("result += {};", value("k")),
                };
                // A position that has few is gone through up to its end, which need not be sought.
                let end = match is_shared || by_workgroup || length > ROUNDS {
                    true => format!("        let end = {end};\n"),
                    false => format!(
                        "        var end = begin;
        while (end < {count} && keys[first + min(end, {count} - 1u)] == place) {{ end++; }}
"
                    ),
                };
                format!(
                    "        let begin = {begin};
{end}        for (var next = begin + {lane}; next < end; next += {threads}u * {rounds}) {{
            let until = min(next + {threads}u * {rounds}, end);
            for (var k = next; k < until; k += {threads}u) {{ {combine} }}
        }}
"
                )
            }
        };
        for (input, name, meta) in [(0, "base", base), (2, "values", values)] {
            shader.bind_elements(Bound::Input(input), name, meta.dtype, false);
        }
        shader.bind_elements(Bound::Output(0), "out", base.dtype, false);
        shader.bind(Bound::ScratchRead(KEYS), "keys", "u32");
        shader.bind(Bound::ScratchRead(PLACES), "places", "u32");
        match is_shared {
            true => shader.bind(Bound::ScratchRead(sorted.scratch.len() - 1), "begins", "u32"),
            false => shader.add(AFTER),
        }
        let first = widen(base.dtype, "base[at]");
        let (start, join) = match by_workgroup {
            true => {
                shader.subgroups = call.subgroups;
                let start = format!("    var result = {}(0);\n", shader::lane_type(base.dtype));
                let join = shader.joined(&[Fold::sum("result", base.dtype)], THREADS);
                (start, format!("{join}    if (thread != 0u) {{ return; }}\n    result += {first};\n"))
            }
            false => (format!("    var result = {first};\n"), String::new()),
        };
        let body = format!(
            "    var line = 0u;
    var row = 0u;
{coordinates}{start}    if ({inside}) {{
        let first = row * {count};
{take}    }}
{join}    out[at] = {};
",
            narrow(base.dtype, "result"),
        );
        let entry = match by_workgroup {
            true => Entry::workgroups("at", base.numel(), &numel, THREADS),
            false => Entry::threads("at", base.numel(), &numel, THREADS),
        };
        shader.finish(&entry, &body)
    }
}

/// How many of the ordered positions of a line, or of a part of it, come before one.
const AFTER: &str = "fn after(first: u32, count: u32, place: u32) -> u32 {
    var low = 0u;
    var high = count;
    while (low < high) {
        let middle = (low + high) / 2u;
        if (keys[first + middle] < place) { low = middle + 1u; } else { high = middle; }
    }
    return low;
}
";
