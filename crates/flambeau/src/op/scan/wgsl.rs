//! Scans on the GPU: a thread or a workgroup for each row, or many workgroups where rows are long and few.

use super::{Rows, Scan, ScanKind};
use crate::ir::Meta;
use crate::ir::call::Kernels;
use crate::ir::program::{Bound, Program, Tier};
use crate::shader::{Entry, Shader, ZERO, lane_type, narrow, widen};

/// Threads of a workgroup, and elements each takes at a time.
const THREADS: usize = 256;
const EACH: usize = 4;
/// Elements a workgroup takes at a time.
const CHUNK: usize = THREADS * EACH;
/// The most parts of a row. Every workgroup adds up the totals of the parts before its own.
const MOST_PARTS: usize = 1024;
/// Rows shorter than this, or more rows than that, are not cut into parts.
const SHORTEST_IN_PARTS: usize = 8 * CHUNK;
const MOST_ROWS_IN_PARTS: usize = 256;

impl Scan {
    /// WGSL of the operator and of its identity.
    fn operator(&self, lane: &str) -> (&'static str, String) {
        match self.kind {
            ScanKind::Sum => ("+", format!("{lane}(0)")),
            ScanKind::Prod => ("*", format!("{lane}(1)")),
        }
    }

    /// A thread per row: short rows, or rows that lie side by side.
    pub(super) fn by_thread(&self, meta: &Meta) -> Program {
        let lane = lane_type(meta.dtype);
        let (symbol, identity) = self.operator(lane);
        let Text { shader, rows, length, inner } = self.text(meta);
        let body = format!(
            "    let length = {length};
    let inner = {inner};
    let base = (row / inner) * length * inner + row % inner;
    var running = {identity};
    for (var k = {ZERO}; k < length; k++) {{
        let at = base + {position} * inner;
        running = running {symbol} {value};
        y[at] = {result};
    }}
",
            position = self.position(),
            value = widen(meta.dtype, "x[at]"),
            result = narrow(meta.dtype, "running"),
        );
        shader.finish(&Entry::threads("row", self.rows(&meta.shape).rows, &rows, THREADS), &body)
    }

    /// A workgroup per row.
    pub(super) fn by_workgroup(&self, meta: &Meta) -> Program {
        let (lane, (_, identity)) = (lane_type(meta.dtype), self.operator(lane_type(meta.dtype)));
        let Text { mut shader, rows, length, inner } = self.text(meta);
        shader.share("totals", lane, THREADS);
        let body = format!(
            "    let length = {length};
    let inner = {inner};
    let base = (row / inner) * length * inner + row % inner;
    let first = {ZERO};
    let end = length;
    var carry = {identity};
{}",
            self.chunk_by_chunk(meta)
        );
        shader.finish(&Entry::workgroups("row", self.rows(&meta.shape).rows, &rows, THREADS), &body)
    }

    /// Are there so few rows, and are they so long, that each should be shared among workgroups?
    pub(super) fn is_for_parts(&self, meta: &Meta) -> bool {
        let Rows { rows, length, .. } = self.rows(&meta.shape);
        length >= SHORTEST_IN_PARTS && rows <= MOST_ROWS_IN_PARTS
    }

    /// A workgroup for each part of a row: the first shader finds the totals of the parts, the second scans each part and begins
    /// with the totals of those before it. An element is read twice and written once.
    pub(super) fn by_parts(&self, meta: &Meta) -> Vec<Program> {
        let lane = lane_type(meta.dtype);
        let (symbol, identity) = self.operator(lane);
        let Rows { rows, length, .. } = self.rows(&meta.shape);
        let part = length.div_ceil(MOST_PARTS).next_multiple_of(CHUNK);
        let parts = length.div_ceil(part);
        let write = |total: Bound, body: &dyn Fn(&Scan) -> String| {
            let Text { mut shader, length, inner, .. } = self.text(meta);
            let [all, parts_text, part_text] =
                [rows * parts, parts, part].map(|size| shader.params.size(size));
            shader.bind(total, "sums", lane);
            shader.scratch = vec![(rows * parts * 4) as u64];
            shader.share("totals", lane, THREADS);
            let body = format!(
                "    let length = {length};
    let inner = {inner};
    let parts = {parts_text};
    let row = place / parts;
    let base = (row / inner) * length * inner + row % inner;
    let first = (place % parts) * {part_text};
    let end = min(first + {part_text}, length);
    var running = {identity};
{}",
                body(self)
            );
            shader.finish(&Entry::workgroups("place", rows * parts, &all, THREADS), &body)
        };
        // What the threads have found, joined in a fixed order; all of them may read it afterwards.
        let join = format!(
            "    totals[thread] = running;
    workgroupBarrier();
    for (var step = {half}u; step > 0u; step /= 2u) {{
        if (thread < step) {{ totals[thread] = totals[thread] {symbol} totals[thread + step]; }}
        workgroupBarrier();
    }}
",
            half = THREADS / 2,
        );
        let totals = write(Bound::Scratch(0), &|scan| {
            format!(
                "    for (var k = first + thread; k < end; k += {THREADS}u) {{
        let at = base + {position} * inner;
        running = running {symbol} {value};
    }}
{join}    if (thread == 0u) {{ sums[place] = totals[0]; }}
",
                position = scan.position(),
                value = widen(meta.dtype, "x[at]"),
            )
        });
        let scanned = write(Bound::ScratchRead(0), &|scan| {
            format!(
                "    for (var before = row * parts + thread; before < place; before += {THREADS}u) {{
        running = running {symbol} sums[before];
    }}
{join}    var carry = totals[0];
    workgroupBarrier();
{}",
                scan.chunk_by_chunk(meta)
            )
        });
        vec![totals, scanned]
    }

    /// A workgroup goes from `first` to `end` chunk by chunk. Each thread combines a few neighbours, the totals are scanned
    /// in workgroup memory (Hillis–Steele), and the last one is carried to the next chunk: always the same order.
    fn chunk_by_chunk(&self, meta: &Meta) -> String {
        let lane = lane_type(meta.dtype);
        let (symbol, identity) = self.operator(lane);
        format!(
            "    for (var start = first; start < end; start += {CHUNK}u) {{
        var own: array<{lane}, {EACH}>;
        var running = {identity};
        for (var t = 0u; t < {EACH}u; t++) {{
            let k = start + thread * {EACH}u + t;
            if (k < end) {{
                let at = base + {position} * inner;
                running = running {symbol} {value};
            }}
            own[t] = running;
        }}
        totals[thread] = running;
        workgroupBarrier();
        for (var step = 1u; step < {THREADS}u; step *= 2u) {{
            var before = {identity};
            if (thread >= step) {{ before = totals[thread - step]; }}
            workgroupBarrier();
            totals[thread] = before {symbol} totals[thread];
            workgroupBarrier();
        }}
        var prefix = carry;
        if (thread > 0u) {{ prefix = carry {symbol} totals[thread - 1u]; }}
        for (var t = 0u; t < {EACH}u; t++) {{
            let k = start + thread * {EACH}u + t;
            if (k < end) {{
                let at = base + {position} * inner;
                let result = prefix {symbol} own[t];
                y[at] = {result};
            }}
        }}
        carry = carry {symbol} totals[{last}];
        workgroupBarrier();
    }}
",
            position = self.position(),
            value = widen(meta.dtype, "x[at]"),
            result = narrow(meta.dtype, "result"),
            last = THREADS - 1,
        )
    }

    /// WGSL of the place of the k-th element in scanning order.
    fn position(&self) -> &'static str {
        if self.reverse { "(length - 1u - k)" } else { "k" }
    }

    fn text(&self, meta: &Meta) -> Text {
        let Rows { rows, length, inner } = self.rows(&meta.shape);
        let mut shader = Shader::new(self.name(), Tier::General);
        let [rows, length, inner] = [rows, length, inner].map(|size| shader.params.size(size));
        shader.bind_elements(Bound::Input(0), "x", meta.dtype, false);
        shader.bind_elements(Bound::Output(0), "y", meta.dtype, false);
        Text { shader, rows, length, inner }
    }
}

/// The beginning of a shader, and WGSL of the sizes of [`Rows`].
struct Text {
    shader: Shader,
    rows: String,
    length: String,
    inner: String,
}
