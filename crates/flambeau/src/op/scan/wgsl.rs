//! Scans on the GPU: a thread or a workgroup for each row.

use super::{Rows, Scan, ScanKind};
use crate::ir::Meta;
use crate::ir::call::Kernels;
use crate::ir::program::{Bound, Program, Tier};
use crate::shader::{Entry, Shader, ZERO, lane_type, narrow, widen};

/// Threads of a workgroup, and elements each takes at a time.
const THREADS: usize = 256;
const EACH: usize = 4;

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

    /// A workgroup per row goes along it chunk by chunk. Each thread combines a few neighbours, the totals are scanned
    /// in workgroup memory (Hillis–Steele), and the last one is carried to the next chunk: always the same order.
    pub(super) fn by_workgroup(&self, meta: &Meta) -> Program {
        let lane = lane_type(meta.dtype);
        let (symbol, identity) = self.operator(lane);
        let Text { mut shader, rows, length, inner } = self.text(meta);
        shader.share("totals", lane, THREADS);
        let body = format!(
            "    let length = {length};
    let inner = {inner};
    let base = (row / inner) * length * inner + row % inner;
    var carry = {identity};
    for (var start = {ZERO}; start < length; start += {chunk}u) {{
        var own: array<{lane}, {EACH}>;
        var running = {identity};
        for (var t = 0u; t < {EACH}u; t++) {{
            let k = start + thread * {EACH}u + t;
            if (k < length) {{
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
            if (k < length) {{
                let at = base + {position} * inner;
                let result = prefix {symbol} own[t];
                y[at] = {result};
            }}
        }}
        carry = carry {symbol} totals[{last}];
        workgroupBarrier();
    }}
",
            chunk = THREADS * EACH,
            position = self.position(),
            value = widen(meta.dtype, "x[at]"),
            result = narrow(meta.dtype, "result"),
            last = THREADS - 1,
        );
        shader.finish(&Entry::workgroups("row", self.rows(&meta.shape).rows, &rows, THREADS), &body)
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
