//! A few ranks of long rows on the GPU: a workgroup finds the key of the last rank by digits, from the highest on, and then
//! takes what comes before it. A row is read five or six times, from the cache after the first.

use super::network::{self, BEFORE, THREADS};
use super::{Rows, running_sums};
use crate::ir::program::{Bound, Program, Tier};
use crate::shader::{Entry, Shader, ZERO};

/// The longest row that one workgroup goes through. Longer ones are sorted, by many workgroups.
const LONGEST: usize = 1 << 16;

impl Rows<'_> {
    /// The first ranks, no more than a workgroup can sort, or a single one.
    pub(super) fn is_for_selection(&self, first: usize, count: usize) -> bool {
        self.length <= LONGEST && (count == 1 || (first == 0 && count <= network::MOST))
    }

    /// One shader: a workgroup a row.
    pub(super) fn by_selection(&self, first: usize, count: usize) -> Program {
        let mut shader = Shader::new(self.label, Tier::General);
        let padded = count.next_power_of_two();
        let [limit, length, last, ranks, padded] =
            [self.rows, self.length, first + count - 1, count, padded].map(|size| shader.params.size(size));
        (self.keys)(&mut shader);
        shader.bind(Bound::Output(0), "order", "i32");
        shader.share("found", "atomic<u32>", 256);
        shader.share("choice", "u32", 2);
        let take = if count == 1 {
            "    for (var at = first; at < end; at++) {
        if (key(row, at) == last) {
            if (tie == rank) { order[row] = i32(at); }
            tie++;
        }
    }
"
            .to_string()
        } else {
            shader.share("tile", "vec2<u32>", network::MOST);
            shader.share("taken", "atomic<u32>", 1);
            shader.include(BEFORE);
            let exchanges = network::exchanges(network::MOST, "padded", "(i & run) == 0u");
            format!(
                "    let padded = {padded};
    if (thread == 0u) {{ atomicStore(&taken[0], 0u); }}
    for (var i = thread; i < {most}u; i += {THREADS}u) {{ tile[i] = vec2<u32>(0xffffffffu, 0xffffffffu); }}
    workgroupBarrier();
    for (var at = first; at < end; at++) {{
        let own = key(row, at);
        var is_taken = own < last;
        if (own == last) {{
            is_taken = tie <= rank;
            tie++;
        }}
        if (is_taken) {{ tile[atomicAdd(&taken[0], 1u)] = vec2<u32>(own, at); }}
    }}
    workgroupBarrier();
{exchanges}    for (var i = thread; i < {ranks}; i += {THREADS}u) {{ order[row * {ranks} + i] = i32(tile[i].y); }}
",
                most = network::MOST,
            )
        };
        let running = running_sums(&mut shader, THREADS);
        let body = format!(
            "    let length = {length};
    // The key of the last rank, as far as its digits are known, and its rank among the keys that share them.
    var last = 0u;
    var known = 0u;
    var rank = {last};
    for (var round = {ZERO}; round < 4u; round++) {{
        let shift = 24u - 8u * round;
        atomicStore(&found[thread], 0u);
        workgroupBarrier();
        for (var at = thread; at < length; at += {THREADS}u) {{
            let own = key(row, at);
            if ((own & known) == last) {{ atomicAdd(&found[(own >> shift) & 255u], 1u); }}
        }}
        workgroupBarrier();
        let sum = atomicLoad(&found[thread]);
{running}        if (earlier <= rank && rank < earlier + sum) {{
            choice[0] = thread;
            choice[1] = earlier;
        }}
        workgroupBarrier();
        last |= choice[0] << shift;
        known |= 255u << shift;
        rank -= choice[1];
    }}
    // Every thread has a part of the row. Of keys that equal the last the first ones are taken.
    let part = (length + {THREADS}u - 1u) / {THREADS}u;
    let first = min(thread * part, length);
    let end = min(first + part, length);
    var sum = 0u;
    for (var at = first; at < end; at++) {{
        if (key(row, at) == last) {{ sum++; }}
    }}
    workgroupBarrier();
{running}    var tie = earlier;
{take}"
        );
        shader.finish(&Entry::workgroups("row", self.rows, &limit, THREADS), &body)
    }
}
