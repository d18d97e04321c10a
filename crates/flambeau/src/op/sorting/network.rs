//! Short rows on the GPU: a bitonic network sorts pairs (key, place) in the memory of a workgroup. No two pairs are equal, so that the order is the
//! one in which equal keys keep theirs.
//!
//! For runs of 2, 4, … up to the row's length, pairs `distance` = run/2, run/4, … 1 apart are put in order, upwards in every
//! even run and downwards in every odd one.

use super::{KEYS, PLACES, Rows, Target};
use crate::ir::program::{Bound, Program, Tier};
use crate::shader::{Entry, GROUP_NUMBER, Shader, ZERO, groups_for};

/// Keys of a row at most: as many pairs as a workgroup holds, 8 KiB of its memory.
pub(super) const MOST: usize = 1024;
/// Threads of a workgroup.
pub(super) const THREADS: usize = 256;

impl Rows<'_> {
    /// One shader. A workgroup has as many rows, padded to a power of two, as its memory holds.
    pub(super) fn by_network(&self) -> Program {
        let padded = self.length.next_power_of_two();
        let pairs = self.rows * padded;
        let mut shader = Shader::new(self.label, Tier::General);
        let [count, padded, length] = [pairs, padded, self.length].map(|size| shader.params.size(size));
        (self.keys)(&mut shader);
        let put = match self.target {
            Target::Pairs => {
                shader.bind(Bound::Scratch(KEYS), "keys", "u32");
                shader.bind(Bound::Scratch(PLACES), "places", "u32");
                shader.scratch = vec![4 * (self.rows * self.length) as u64; 2];
                "if (at < count && rank < length) {
            keys[row * length + rank] = tile[i].x;
            places[row * length + rank] = tile[i].y;
        }"
                .to_string()
            }
            Target::Order { first, count } => {
                let [first, ranks] = [first, count].map(|size| shader.params.size(size));
                shader.bind(Bound::Output(0), "order", "i32");
                format!(
                    "if (at < count && rank - {first} < {ranks}) {{ order[row * {ranks} + rank - {first}] = i32(tile[i].y); }}"
                )
            }
        };
        shader.share("tile", "vec2<u32>", MOST);
        shader.include(BEFORE);
        let exchanges = exchanges(MOST, "padded", "((start + i) & (padded - 1u) & run) == 0u");
        let body = format!(
            "    let count = {count};
    let padded = {padded};
    let length = {length};
    let start = ({GROUP_NUMBER}) * {MOST}u;
    if (start >= count) {{ return; }}
    for (var i = thread; i < {MOST}u; i += {THREADS}u) {{
        let at = start + i;
        let place = at % padded;
        var pair = vec2<u32>(0xffffffffu, place);
        if (at < count && place < length) {{ pair.x = key(at / padded, place); }}
        tile[i] = pair;
    }}
    workgroupBarrier();
{exchanges}    for (var i = thread; i < {MOST}u; i += {THREADS}u) {{
        let at = start + i;
        let row = at / padded;
        let rank = at % padded;
        {put}
    }}
"
        );
        shader.finish(&Entry::grid(groups_for(pairs, MOST), THREADS), &body)
    }
}

/// The order of two pairs; no two have the same place.
pub(super) const BEFORE: &str = "fn before(a: vec2<u32>, b: vec2<u32>) -> bool {
    return a.x < b.x || (a.x == b.x && a.y < b.y);
}
// The lower position of exchange number `e` at a distance that is a power of two.
fn lower(e: u32, distance: u32) -> u32 {
    return 2u * e - (e & (distance - 1u));
}
";

/// WGSL: sorts `tile`, so many pairs, in runs up to a length; `upwards` says whether the run of pair `i` goes upwards.
pub(super) fn exchanges(pairs: usize, longest_run: &str, upwards: &str) -> String {
    format!(
        "    for (var run = 2u + {ZERO}; run <= {longest_run}; run *= 2u) {{
        for (var distance = run / 2u; distance > 0u; distance /= 2u) {{
            for (var e = thread; e < {half}u; e += {THREADS}u) {{
                let i = lower(e, distance);
                let a = tile[i];
                let b = tile[i + distance];
                let upwards = {upwards};
                if (before(b, a) == upwards) {{
                    tile[i] = b;
                    tile[i + distance] = a;
                }}
            }}
            workgroupBarrier();
        }}
    }}
",
        half = pairs / 2,
    )
}
