//! Strips: 8 columns of a panel that threads hold in registers, each its rows, 256 apart. LU and QR factor panels in strips: every
//! column would otherwise be a walk through the whole panel in memory, with one workgroup to make it.

use super::{Repeated, THREADS};
use std::fmt::{Display, Write};

/// Columns of a strip: two vectors of four, `low` and `high`.
pub(super) const STRIP: usize = 8;
/// Numbers from one row of a strip in workgroup memory to the next.
pub(super) const PITCH: usize = STRIP + 1;
/// Rows of a thread at most.
const MOST: usize = 8;

/// Names of a vector's four numbers.
const PARTS: [&str; 4] = ["x", "y", "z", "w"];

/// How a panel is factored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// In workgroup memory.
    Held,
    /// In registers, with so many rows a thread.
    Strips(usize),
    /// In the result's memory.
    InPlace,
}

impl Way {
    /// Of a panel with so many rows, where `held` of them fit into workgroup memory.
    pub fn of(height: usize, held: usize) -> Way {
        match height.div_ceil(THREADS) {
            _ if height <= held => Way::Held,
            slots if slots <= MOST => Way::Strips(slots.next_power_of_two()),
            _ => Way::InPlace,
        }
    }
}

/// The texts of a panel's ways, each written when it is first asked for.
pub(super) struct Texts<F> {
    write: F,
    written: Vec<(Way, Repeated)>,
}

impl<F: Fn(Way) -> Repeated> Texts<F> {
    pub fn new(write: F) -> Texts<F> {
        Texts { write, written: Vec::new() }
    }

    pub fn of(&mut self, way: Way) -> &Repeated {
        let found = self.written.iter().position(|(written, _)| *written == way);
        let at = found.unwrap_or_else(|| {
            self.written.push((way, (self.write)(way)));
            self.written.len() - 1
        });
        &self.written[at].1
    }
}

/// One of the eight numbers of a row: `low0.x`, …, `high0.w`.
pub(super) fn number(column: usize, slot: impl Display) -> String {
    format!("{}.{}", half(column, slot), PARTS[column % 4])
}

/// The vector that a column's numbers are in.
pub(super) fn half(column: usize, slot: impl Display) -> String {
    format!("{}{slot}", if column < 4 { "low" } else { "high" })
}

/// The number of column k of a row that lies in workgroup memory as two vectors, from `at` on.
pub(super) fn of_vectors(name: &str, row: usize, k: usize) -> String {
    format!("{name}[{}u].{}", 2 * row + k / 4, PARTS[k % 4])
}

/// Two vectors with the numbers of those columns that `keep` names, and zeros.
pub(super) fn masked(suffix: &str, keep: impl Fn(usize) -> bool) -> [String; 2] {
    [0, 4].map(|first| {
        let numbers = (first..first + 4).map(|column| match keep(column) {
            true => number(column, suffix),
            false => "0.0".to_owned(),
        });
        format!("vec4<f32>({})", numbers.collect::<Vec<_>>().join(", "))
    })
}

/// The row that a thread has in a slot, counted from the strip's first.
pub(super) fn row(slot: usize) -> String {
    format!("(thread + {}u)", slot * THREADS)
}

/// Eight numbers of a row of `tile`, as two vectors: the arguments of their constructors.
pub(super) fn of_tile(at: &str) -> [String; 2] {
    [0, 4].map(|first| {
        let numbers = (first..first + 4).map(|k| format!("tile[{at} + {k}u]"));
        format!("vec4<f32>({})", numbers.collect::<Vec<_>>().join(", "))
    })
}

/// Declares `low0`, `high0`, … with the strip of `memory` that begins at column `strip` of a panel at `start`. It goes through `tile`,
/// so that neighbouring threads read neighbouring numbers.
pub(super) fn load(memory: &str, slots: usize, code: &mut String) {
    for slot in 0..slots {
        let [low, high] = of_tile(&format!("thread * {PITCH}u"));
        _ = write!(
            code,
            "        workgroupBarrier();
        for (var e = thread; e < {count}u; e += {THREADS}u) {{
            let r = strip + {first}u + e / {STRIP}u;
            let c = strip + e % {STRIP}u;
            var value = 0.0;
            if (r < height && c < span) {{ value = {memory}[start + r * columns + c]; }}
            tile[e / {STRIP}u * {PITCH}u + e % {STRIP}u] = value;
        }}
        workgroupBarrier();
        var low{slot} = {low};
        var high{slot} = {high};
",
            count = THREADS * STRIP,
            first = slot * THREADS,
        );
    }
}

/// Stores the rows of a slot from the `skipped`-th on, which are in `tile`.
pub(super) fn store(memory: &str, slot: usize, skipped: usize, code: &mut String) {
    _ = write!(
        code,
        "        for (var e = thread + {skipped_numbers}u; e < {count}u; e += {THREADS}u) {{
            let r = strip + {first}u + e / {STRIP}u;
            let to = strip + e % {STRIP}u;
            if (r < height && to < span) {{
                {memory}[start + r * columns + to] = tile[e / {STRIP}u * {PITCH}u + e % {STRIP}u];
            }}
        }}
",
        skipped_numbers = skipped * STRIP,
        count = THREADS * STRIP,
        first = slot * THREADS,
    );
}
