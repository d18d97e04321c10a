//! The exponents of the largest elements of rows and columns: by powers of two a product on matrix units brings its operands
//! into the range of f16.
//!
//! A shader of its own goes over both operands, in parts of K, and leaves the exponents in a scratch buffer; the product
//! takes the largest of the parts. The largest of numbers does not depend on their order.

use crate::ir::program::{Bound, Program};
use crate::shader::{Entry, Shader};

/// Rows or columns of a workgroup.
const ABREAST: usize = 32;
const THREADS: usize = 256;
/// Steps of K of a part, at least, and parts at most.
const PART: usize = 512;
const MAX_PARTS: usize = 16;

/// Where the exponents of a product's operands lie.
pub(in crate::op) struct Exponents {
    /// WGSL of `exponent_a(x)` and `exponent_b(x)`, the largest exponents of rows and columns of the tile.
    pub functions: String,
}

/// Those of one product or of several, line by line: a line of A is a row; one of B is a column, or what several columns are
/// read from. They lie at `exponents[((part · batches) + batch) · (lines of A + lines of B) + line]`.
pub(in crate::op) struct Lines {
    pub batches: usize,
    /// How many there are of A and of B, and the elements of each.
    pub counts: [usize; 2],
    pub lengths: [usize; 2],
}

impl Lines {
    /// Parts of lines: enough for all processors to have work.
    fn parts(&self) -> usize {
        let blocks: usize = self.counts.iter().map(|count| count.div_ceil(ABREAST)).sum();
        let longest = self.lengths[0].max(self.lengths[1]);
        (512 / (self.batches * blocks)).min(longest / PART).clamp(1, MAX_PARTS)
    }

    /// Bytes of the scratch buffer.
    pub fn bytes(&self) -> u64 {
        (4 * self.parts() * self.batches * (self.counts[0] + self.counts[1])) as u64
    }

    /// How a product finds them. The buffer is bound as `exponents`; `this_batch` says whose, `row0` and `column0` where its tile
    /// begins, and `zero` is 0. `line_of` is WGSL of the line of B that a column, given as WGSL, is read from.
    pub fn found(&self, shader: &mut Shader, line_of: impl Fn(&str) -> String) -> Exponents {
        let [rows, columns, batches, parts] =
            [self.counts[0], self.counts[1], self.batches, self.parts()].map(|size| shader.params.size(size));
        let function = |name: &str, origin: &str, x: &str| {
            format!(
                "fn exponent_{name}(x: u32) -> u32 {{
    var most = 0u;
    for (var part = zero; part < {parts}; part++) {{
        most = max(most, exponents[(part * {batches} + this_batch) * ({rows} + {columns}) + {origin}{x}]);
    }}
    return most;
}}
"
            )
        };
        let of_a = function("a", "", &format!("min(row0 + x, {rows} - 1u)"));
        let line = line_of("(column0 + x)");
        let of_b = function("b", &format!("{rows} + "), &format!("min({line}, {columns} - 1u)"));
        Exponents { functions: of_a + &of_b }
    }

    /// The shader that finds them, with functions `place` and `four` for both operands. `set_batch` is WGSL that takes `batch`.
    pub fn program(
        &self,
        mut shader: Shader,
        along_k: [bool; 2],
        scratch: usize,
        set_batch: &str,
    ) -> Program {
        let blocks = self.counts.map(|count| count.div_ceil(ABREAST));
        let parts = self.parts();
        let [rows, columns, of_a, batches] =
            [self.counts[0], self.counts[1], blocks[0], self.batches].map(|size| shader.params.size(size));
        shader.bind(Bound::Scratch(scratch), "exponents", "u32");
        shader.share("largest", "vec4<u32>", THREADS);
        let range = |length: usize, shader: &mut Shader| {
            let part = length.div_ceil(parts).next_multiple_of(4);
            let [part, length] = [part, length].map(|size| shader.params.size(size));
            format!(
                "        let first = group.y * {part};
        let end = min(first + {part}, {length});
"
            )
        };
        let ranges = self.lengths.map(|length| range(length, &mut shader));
        let side = |name: &str, along_k: bool, origin: &str, before: &str, limit: &str| {
            let put = |x: &str, most: &str| {
                format!(
                    "if ({origin} + {x} < {limit}) {{ exponents[at + {before}{origin} + {x}] = {most} >> 23u; }}"
                )
            };
            let read =
                "most = max(most, bitcast<vec4<u32>>(four_NAME(place, k, end)) & vec4<u32>(0x7fffffffu));"
                    .replace("NAME", name);
            match along_k {
                // Eight threads share a row, four steps each.
                true => format!(
                    "        let place = place_{name}(thread / 8u);
        for (var k = first + thread % 8u * 4u; k < end; k += 32u) {{ {read} }}
        largest[thread] = most;
        workgroupBarrier();
        if (thread % 8u == 0u) {{
            for (var other = 1u; other < 8u; other++) {{ most = max(most, largest[thread + other]); }}
            let one = max(max(most.x, most.y), max(most.z, most.w));
            {}
        }}
",
                    put("thread / 8u", "one"),
                ),
                // Eight threads take four columns each, 32 steps at a time.
                false => format!(
                    "        let place = place_{name}(thread % 8u * 4u);
        for (var k = first + thread / 8u; k < end; k += 32u) {{ {read} }}
        largest[thread] = most;
        workgroupBarrier();
        if (thread < 8u) {{
            for (var other = 8u; other < {THREADS}u; other += 8u) {{ most = max(most, largest[thread + other]); }}
            for (var j = 0u; j < 4u; j++) {{ {} }}
        }}
",
                    put("thread * 4u + j", "most[j]"),
                ),
            }
        };
        let body = format!(
            "    let batch = group.z;
{set_batch}    let at = (group.y * {batches} + batch) * ({rows} + {columns});
    var most = vec4<u32>();
    if (group.x < {of_a}) {{
        row0 = group.x * {ABREAST}u;
{of_rows}{a}    }} else {{
        column0 = (group.x - {of_a}) * {ABREAST}u;
{of_columns}{b}    }}
",
            of_rows = ranges[0],
            of_columns = ranges[1],
            a = side("a", along_k[0], "row0", "", &rows),
            b = side("b", along_k[1], "column0", &format!("{rows} + "), &columns),
        );
        let groups = [blocks[0] + blocks[1], parts, self.batches].map(|count| count as u32);
        shader.finish(&Entry::grid(groups, THREADS), &body)
    }
}
