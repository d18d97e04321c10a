//! Sorting rows on the GPU, for the ops that need an order: short rows by a network in one workgroup (`network`), long ones by digits
//! (`radix`). Both keep the order of equal keys. `select` finds a few ranks of a row without sorting it.

mod network;
mod radix;
mod select;

use crate::ir::program::Program;
use crate::shader::Shader;

/// Rows of keys that are to be sorted.
pub(crate) struct Rows<'a> {
    pub label: &'static str,
    pub rows: usize,
    /// Keys of a row.
    pub length: usize,
    /// The low bits in which keys can differ.
    pub bits: u32,
    /// Declares the buffers that keys come from, and adds `fn key(row: u32, place: u32) -> u32`.
    pub keys: &'a dyn Fn(&mut Shader),
    pub target: Target,
}

/// What becomes of the sorted rows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// Output 0, I32: the places of the keys that come at `count` ranks from `first` on.
    Order { first: usize, count: usize },
    /// Keys and places, U32, in the scratch buffers [`KEYS`] and [`PLACES`].
    Pairs,
}

/// Scratch buffers of sorted pairs.
pub(crate) const KEYS: usize = 0;
pub(crate) const PLACES: usize = 1;

impl Rows<'_> {
    /// The shaders that sort; all have the same scratch buffers.
    pub fn programs(&self) -> Vec<Program> {
        if self.length <= network::MOST {
            return vec![self.by_network()];
        }
        if let Target::Order { first, count } = self.target
            && self.is_for_selection(first, count)
        {
            return vec![self.by_selection(first, count)];
        }
        self.by_digits()
    }
}

/// The bits in which the numbers below a limit can differ; at least one.
pub(crate) fn bits_below(limit: usize) -> u32 {
    limit.saturating_sub(1).checked_ilog2().unwrap_or(0) + 1
}

/// Groups of threads whose sums are added up apart first: that takes two barriers, where doubling the distance takes two for each step.
const GROUPS: usize = 16;

/// WGSL, after which `earlier` is the sum of the `sum` of all threads before this one, and `whole` that of all.
fn running_sums(shader: &mut Shader, threads: usize) -> String {
    shader.share("sums", "u32", threads);
    shader.share("groups_sums", "u32", GROUPS);
    let each = threads / GROUPS;
    format!(
        "        sums[thread] = sum;
        workgroupBarrier();
        if (thread < {GROUPS}u) {{
            var of_group = 0u;
            for (var k = 0u; k < {each}u; k++) {{ of_group += sums[thread * {each}u + k]; }}
            groups_sums[thread] = of_group;
        }}
        workgroupBarrier();
        var earlier = 0u;
        var whole = 0u;
        for (var k = 0u; k < {GROUPS}u; k++) {{
            if (k == thread / {each}u) {{ earlier = whole; }}
            whole += groups_sums[k];
        }}
        for (var k = thread / {each}u * {each}u; k < thread; k++) {{ earlier += sums[k]; }}
"
    )
}
