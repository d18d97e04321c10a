//! The recurrence on the GPU: one dispatch for each step, all of one shader whose text holds for all sizes.
//!
//! A step is a product of rows (the states of the sequences, or the gradients of their gates) with rows of the weight, both
//! along memory, and few: 32 sequences of 256 units give 8192 results for each gate. So a workgroup has a small tile of
//! them, and its threads share the depth in slices: neighbours read neighbouring numbers, each for 4 rows by 4 columns.
//! Then the slices are added up in workgroup memory in a fixed order, and a thread for each unit does the rest (`gates`).
//!
//! Columns are the gates of one unit where forward has several of them, else four units.

use super::gates::{self, Buffers, Numbers};
use super::{Direction, Recurrence, Sizes};
use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Param, Program, Tier};
use crate::shader::{Entry, Params, Shader, ZERO};
use std::fmt::Write;

/// Threads of a workgroup.
const THREADS: usize = 256;
/// Threads of a workgroup without barriers.
const ALONE: usize = 64;
/// Vectors of partial sums in workgroup memory.
const SUMS: usize = 4 * THREADS;
/// What every device has.
const _: () = assert!(16 * SUMS <= 16 << 10);

/// How the threads of a workgroup lie: blocks of four rows, columns (or fours of them), slices of the depth.
#[derive(Clone, Copy)]
struct Tile {
    down: usize,
    across: usize,
    slices: usize,
    /// Is a column a unit with all its gates?
    gated: bool,
}

impl Tile {
    fn of(op: &Recurrence, without_barriers: bool) -> Tile {
        let gated = op.kind.has_gates() && op.direction != Direction::Backward;
        let (down, across, slices) = match (without_barriers, gated) {
            (true, true) => (4, 16, 1),
            (true, false) => (16, 4, 1),
            (false, true) => (4, 4, 16),
            (false, false) => (2, 2, 64),
        };
        Tile { down, across, slices, gated }
    }

    /// Rows of a workgroup.
    fn rows(self) -> usize {
        4 * self.down
    }

    /// Units of a workgroup.
    fn units(self) -> usize {
        if self.gated { self.across } else { 4 * self.across }
    }

    /// Vectors of results.
    fn results(self) -> usize {
        4 * self.down * self.across
    }
}

/// The parts of the shader that are the same for its functions.
struct Text<'a> {
    op: &'a Recurrence,
    tile: Tile,
    vectors: bool,
    numbers: &'a Numbers,
}

/// The dispatches of a call, in order.
pub(super) fn programs(
    op: &Recurrence,
    sizes: &Sizes,
    call: &StructuredCall,
    without_barriers: bool,
) -> Vec<Program> {
    let tile = Tile::of(op, without_barriers);
    let mut shader = Shader::new(call.op.name(), Tier::General);
    let numbers = numbers(&mut shader.params, op, sizes, 0);
    let vectors = !without_barriers && sizes.units.is_multiple_of(4);
    let text = Text { op, tile, vectors, numbers: &numbers };
    let groups = [sizes.units.div_ceil(tile.units()) as u32, sizes.batch.div_ceil(tile.rows()) as u32, 1];
    let program = text.program(shader, &Buffers::of(op, call.inputs.len()), groups);
    let step = |time: usize| {
        let mut params = Params::default();
        self::numbers(&mut params, op, sizes, time);
        Program { params: params.list, ..program.clone() }
    };
    op.order(sizes.steps).map(step).collect()
}

/// A step's numbers.
fn numbers(params: &mut Params, op: &Recurrence, sizes: &Sizes, time: usize) -> Numbers {
    let (before, after) = (op.before(sizes.steps, time), op.after(sizes.steps, time));
    let mut number = |number: usize| params.push(Param::Fixed(number as u32));
    Numbers {
        time: number(time),
        before: number(before.unwrap_or(time)),
        has_before: number(usize::from(before.is_some())),
        after: number(after.unwrap_or(time)),
        has_after: number(usize::from(after.is_some())),
        batch: number(sizes.batch),
        units: number(sizes.units),
    }
}

impl Text<'_> {
    /// The type of what products read.
    fn element(&self) -> &'static str {
        if self.vectors { "vec4<f32>" } else { "f32" }
    }

    /// Vectors that the product of the next step reads, for each unit; one unless they are gates.
    fn handed_on(&self) -> usize {
        if self.op.direction == Direction::Backward { self.op.kind.gates() } else { 1 }
    }

    fn program(&self, mut shader: Shader, buffers: &Buffers, groups: [u32; 3]) -> Program {
        let inputs = buffers.inputs.iter().enumerate().map(|(k, buffer)| (Bound::Input(k), buffer));
        let outputs = buffers.outputs.iter().enumerate().map(|(k, buffer)| (Bound::Output(k), buffer));
        for (bound, &(name, of_product)) in inputs.chain(outputs) {
            shader.bind(bound, name, if of_product { self.element() } else { "f32" });
        }
        shader.add(&gates::functions(self.op, buffers, self.numbers, self.vectors));
        let (body, threads) = match self.tile.slices {
            1 => (self.alone(&mut shader), ALONE),
            _ => (self.shared(&mut shader), THREADS),
        };
        shader.finish(&Entry::grid(groups, threads), &body)
    }

    /// WGSL that leaves a thread's 4 × 4 sums over its slice in `sum0` … `sum3`.
    fn product(&self) -> String {
        let Tile { down, across, slices, gated } = self.tile;
        let Numbers { before, has_before, after, has_after, batch, units, .. } = self.numbers;
        let columns = if gated { self.op.kind.gates() } else { 4 };
        let forward = self.op.direction != Direction::Backward;
        let width = if forward { 1 } else { self.op.kind.gates() };
        let fours = if self.vectors { " / 4u" } else { "" };
        let mut text = format!(
            "    let slice = thread % {slices}u;
    let column = group.x * {across}u + thread / {slices}u % {across}u;
    let row = (group.y * {down}u + thread / {}u) * 4u;
    let depth = {units} * {width}u{fours};
",
            slices * across
        );
        for i in 0..4 {
            _ = writeln!(text, "    let row{i} = min(row + {i}u, {batch} - 1u) * depth;");
            _ = writeln!(text, "    var sum{i} = vec4<f32>();");
        }
        for j in 0..columns {
            let place = match gated {
                true => format!("{j}u * {units} + min(column, {units} - 1u)"),
                false => format!("min(column * 4u + {j}u, {units} - 1u)"),
            };
            _ = writeln!(text, "    let column{j} = ({place}) * depth;");
        }
        let terms = |from: &str, step: Option<&str>| {
            let start = step.map_or(String::new(), |step| format!("{step} * {batch} * depth + "));
            let mut terms = format!("        for (var k = slice + {ZERO}; k < depth; k += {slices}u) {{\n");
            for i in 0..4 {
                _ = writeln!(terms, "            let x{i} = {from}[{start}row{i} + k];");
            }
            for j in 0..columns {
                _ = writeln!(terms, "            let w{j} = weight[column{j} + k];");
            }
            for i in 0..4 {
                let term = |j: usize| match (j < columns, self.vectors) {
                    (false, _) => "0.0".to_string(),
                    (true, true) => format!("dot(x{i}, w{j})"),
                    (true, false) => format!("x{i} * w{j}"),
                };
                _ = writeln!(
                    terms,
                    "            sum{i} += vec4<f32>({});",
                    [0, 1, 2, 3].map(term).join(", ")
                );
            }
            terms + "        }\n"
        };
        // Compared with a zero that is no constant: see there.
        _ = match forward {
            true => write!(
                text,
                "    if ({has_before} > {ZERO}) {{\n{}    }} else {{\n{}    }}\n",
                terms("states", Some(before)),
                terms("first", None)
            ),
            false => {
                write!(text, "    if ({has_after} > {ZERO}) {{\n{}    }}\n", terms("gates", Some(after)))
            }
        };
        text
    }

    /// Each thread finishes its own results: no barriers.
    fn alone(&self, shader: &mut Shader) -> String {
        let Numbers { time, batch, units, .. } = self.numbers;
        let mut done = String::new();
        for i in 0..4 {
            match self.tile.gated {
                true => _ = writeln!(done, "    done(row + {i}u, column, sum{i});"),
                false => {
                    for (j, c) in ["x", "y", "z", "w"].into_iter().enumerate() {
                        let state = format!("vec4<f32>(sum{i}.{c}, 0.0, 0.0, 0.0)");
                        _ = writeln!(done, "    done(row + {i}u, column * 4u + {j}u, {state});");
                    }
                }
            }
        }
        shader.add(&format!(
            "fn done(row: u32, unit: u32, state: vec4<f32>) {{
    if (row >= {batch} || unit >= {units}) {{ return; }}
    let result = finish(row, unit, state, fetch(row, unit));
{}}}
",
            self.put_singles(&format!("({time} * {batch} + row)"), "unit"),
        ));
        self.product() + &done
    }

    /// Stores what `result` has for the next step's product, number by number.
    fn put_singles(&self, row: &str, unit: &str) -> String {
        let (units, count) = (&self.numbers.units, self.handed_on());
        let name = if self.op.direction == Direction::Backward { "gates" } else { "states" };
        let put = |k: usize| {
            format!("        {name}[({row} * {count}u + {k}u) * {units} + {unit}] = result[{k}];\n")
        };
        (0..count).map(put).collect()
    }

    /// Stores the same as vectors of four units, through workgroup memory: no two threads write to one vector.
    fn put_vectors(&self) -> String {
        let Numbers { time, batch, units, .. } = self.numbers;
        let (rows, per_row, count) = (self.tile.rows(), self.tile.units() / 4, self.handed_on());
        let name = if self.op.direction == Direction::Backward { "gates" } else { "states" };
        let four = [0, 1, 2, 3].map(|k| format!("sums[spot * 4u + {k}u][part]")).join(", ");
        format!(
            "    workgroupBarrier();
    if (thread < {}u) {{ sums[thread] = result; }}
    workgroupBarrier();
    let spot = thread / {count}u;
    let part = thread % {count}u;
    let its_row = group.y * {rows}u + spot / {per_row}u;
    let its_four = group.x * {per_row}u + spot % {per_row}u;
    if (spot < {}u && its_row < {batch} && its_four < {units} / 4u) {{
        {name}[((({time} * {batch} + its_row) * {count}u + part) * {units}) / 4u + its_four] = vec4<f32>({four});
    }}
",
            rows * self.tile.units(),
            rows * per_row,
        )
    }

    /// The threads of a workgroup add up their slices, and some of them finish.
    fn shared(&self, shader: &mut Shader) -> String {
        let Numbers { time, batch, units, .. } = self.numbers;
        let Tile { across, slices, gated, .. } = self.tile;
        let (rows, own_units, results) = (self.tile.rows(), self.tile.units(), self.tile.results());
        let finishing = rows * own_units;
        let parts = THREADS / results;
        let store: String = (0..4)
            .map(|i| {
                let entry = format!(
                    "(thread / {}u * 4u + {i}u) * {across}u + thread / {slices}u % {across}u",
                    slices * across
                );
                format!("    sums[place(slice, {entry})] = sum{i};\n")
            })
            .collect();
        let (entry, taken) = match gated {
            true => ("thread", "sums[place(part * 4u, entry)]"),
            false => ("thread / 4u", "vec4<f32>(sums[place(part * 4u, entry)][thread % 4u], 0.0, 0.0, 0.0)"),
        };
        let put = match self.vectors {
            true => self.put_vectors(),
            false => {
                format!(
                    "    if (ready) {{\n{}    }}\n",
                    self.put_singles(&format!("({time} * {batch} + own_row)"), "own_unit")
                )
            }
        };
        shader.share("sums", "vec4<f32>", SUMS);
        shader.add(&format!(
            "// Shuffled, so that threads that store or read at once meet different banks.
fn place(slice: u32, entry: u32) -> u32 {{ return slice * {results}u + (entry ^ (slice & 7u)); }}
"
        ));
        format!(
            "    let own_row = group.y * {rows}u + thread / {own_units}u;
    let own_unit = group.x * {own_units}u + thread % {own_units}u;
    let ready = thread < {finishing}u && own_row < {batch} && own_unit < {units};
    var fetched = Fetched();
    if (ready) {{ fetched = fetch(own_row, own_unit); }}
{product}{store}    workgroupBarrier();
    // Four slices for each thread, then all for those that finish.
    let first = thread / {results}u * 4u;
    let its = thread % {results}u;
    let four = sums[place(first, its)] + sums[place(first + 1u, its)] + sums[place(first + 2u, its)]
        + sums[place(first + 3u, its)];
    sums[place(first, its)] = four;
    workgroupBarrier();
    var result = vec4<f32>();
    if (ready) {{
        let entry = {entry};
        var state = vec4<f32>();
        for (var part = 0u; part < {parts}u; part++) {{ state += {taken}; }}
        result = finish(own_row, own_unit, state, fetched);
    }}
{put}",
            product = self.product(),
        )
    }
}
