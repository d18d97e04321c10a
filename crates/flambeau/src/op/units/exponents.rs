//! The exponents of the largest elements of rows and columns: by powers of two a product on matrix units brings its operands
//! into the range of f16.
//!
//! Where a workgroup can look at whole rows or columns, the shader that packs them finds theirs on the way (`pack`). Else a shader
//! of its own goes over both operands, in parts, and leaves the exponents in a scratch buffer; who needs one takes the largest of
//! the parts, or where there are many, a second shader does so before. The largest of numbers does not depend on their order.
//! Infinities and NaNs do not count.

use super::{INFINITY, Lies};
use crate::ir::program::{Bound, Program, Tier};
use crate::shader::{Entry, Shader};

/// Rows or columns of a workgroup.
const ABREAST: usize = 32;
const THREADS: usize = 256;
/// Fours that a thread has on their way at a time.
const ON_THEIR_WAY: usize = 4;
/// Threads that look through the parts of a line.
const JOINING: usize = 32;
/// Elements of a part, at least, and parts at most.
const PART: usize = 512;
const MAX_PARTS: usize = 256;
/// Parts up to which whoever needs an exponent looks through them.
const FEW_PARTS: usize = 8;
/// Workgroups that keep a large GPU busy.
const BUSY: usize = 1024;

/// The exponent, as f32 has it, that the largest element of a row or column comes to: 14, behind which a product of K elements is far
/// from f32's largest number.
const TOP: usize = 127 + 14;

/// Where the exponents of a product's operands lie.
pub(in crate::op) struct Exponents {
    /// WGSL of `shift_a_of(x)` and `shift_b_of(x)`: the power of two that row (column) x of the tile was divided by.
    pub functions: String,
}

/// Those of one product or of several, line by line: a line of A is a row; one of B is a column, or what several columns are
/// read from. They lie at `exponents[(part · batches + batch) · (lines of A + lines of B) + line]`, behind the joined ones of
/// many parts.
pub(in crate::op) struct Lines {
    pub batches: usize,
    /// How many there are of A and of B, and the elements of each.
    pub counts: [usize; 2],
    pub lengths: [usize; 2],
    /// Does the shader that packs find them?
    pub when_packed: bool,
}

/// Elements of a line up to which a workgroup goes over whole ones.
const SHORT: usize = 2048;

impl Lines {
    /// Those of a product of matrices.
    pub fn of_product(batches: usize, [m, n]: [usize; 2], k: usize) -> Lines {
        Lines { batches, counts: [m, n], lengths: [k, k], when_packed: k <= SHORT }
    }

    /// Parts of lines: enough for all processors to have work.
    fn parts(&self) -> usize {
        if self.when_packed {
            return 1;
        }
        let blocks: usize = self.counts.iter().map(|count| count.div_ceil(ABREAST)).sum();
        let longest = self.lengths[0].max(self.lengths[1]);
        (BUSY / (self.batches * blocks)).min(longest / PART).clamp(1, MAX_PARTS)
    }

    /// All lines of all batches.
    fn all(&self) -> usize {
        self.batches * (self.counts[0] + self.counts[1])
    }

    fn are_joined(&self) -> bool {
        self.parts() > FEW_PARTS
    }

    /// Bytes of the scratch buffer.
    pub fn bytes(&self) -> u64 {
        (4 * self.all() * (self.parts() + usize::from(self.are_joined()))) as u64
    }

    /// WGSL of `shift_a_at(line)` and `shift_b_at(line)`, the power of two that a line is divided by. The buffer is bound as
    /// `exponents`; `this_batch` says whose, and `zero` is a 0 that no compiler knows.
    pub fn shifts(&self, shader: &mut Shader) {
        let parts = if self.are_joined() { 1 } else { self.parts() };
        let [of_a, of_b, batches, parts] =
            [self.counts[0], self.counts[1], self.batches, parts].map(|size| shader.params.size(size));
        let function = |name: &str, before: &str, count: &str| {
            format!(
                "fn shift_{name}_at(line: u32) -> i32 {{
    var most = 0u;
    for (var part = zero; part < {parts}; part++) {{
        most = max(most, exponents[(part * {batches} + this_batch) * ({of_a} + {of_b}) + {before}min(line, {count} - 1u)]);
    }}
    return max(i32(most) - {TOP}, -126);
}}
"
            )
        };
        let functions = function("a", "", &of_a) + &function("b", &format!("{of_a} + "), &of_b);
        shader.add(&functions);
        shader.include(POWERS);
    }

    /// How a product finds them; `row0` and `column0` say where its tile begins. `line_of` is WGSL of the line of B that a
    /// column, given as WGSL, is read from.
    pub fn found(&self, shader: &mut Shader, scratch: usize, line_of: &dyn Fn(&str) -> String) -> Exponents {
        shader.bind(Bound::ScratchRead(scratch), "exponents", "u32");
        self.shifts(shader);
        let functions = format!(
            "fn shift_a_of(x: u32) -> i32 {{ return shift_a_at(row0 + x); }}
fn shift_b_of(x: u32) -> i32 {{ return shift_b_at({}); }}
",
            line_of("(column0 + x)")
        );
        Exponents { functions }
    }

    /// The shaders that find them. The first is given with `four_a` and `four_b`: four elements of a line from one on, or, across,
    /// one element of four lines from one on; zeros beyond the ends. `set_batch` is WGSL that takes `batch`.
    pub fn programs(
        &self,
        mut shader: Shader,
        lies: [Lies; 2],
        scratch: usize,
        set_batch: &str,
    ) -> Vec<Program> {
        let blocks = self.counts.map(|count| count.div_ceil(ABREAST));
        let (parts, memory, in_turn) = (self.parts(), shader.scratch.clone(), shader.in_turn);
        let [rows, columns, of_a, all, joined] =
            [self.counts[0], self.counts[1], blocks[0], self.all(), usize::from(self.are_joined())]
                .map(|size| shader.params.size(size));
        shader.bind(Bound::Scratch(scratch), "exponents", "u32");
        shader.share("largest", "vec4<u32>", THREADS);
        shader.add(&bits_of());
        let ranges = self.lengths.map(|length| {
            let part = length.div_ceil(parts).next_multiple_of(4);
            let [part, length] = [part, length].map(|size| shader.params.size(size));
            format!(
                "        let first = group.y * {part};
        let end = min(first + {part}, {length});
"
            )
        });
        let side = |name: &str, lies: Lies, before: &str, limit: &str| {
            let put = |x: &str, most: &str| {
                format!(
                    "if (line0 + {x} < {limit}) {{ exponents[at + {before}line0 + {x}] = {most} >> 23u; }}"
                )
            };
            match lies {
                // Eight threads share a row, four steps each.
                Lies::AlongK | Lies::AtPlaces => format!(
                    "        for (var k = first + thread % 8u * 4u; k < end; k += {}u) {{
{}        }}
        largest[thread] = most;
        workgroupBarrier();
        if (thread % 8u == 0u) {{
            for (var other = 1u; other < 8u; other++) {{ most = max(most, largest[thread + other]); }}
            let one = max(max(most.x, most.y), max(most.z, most.w));
            {}
        }}
",
                    ON_THEIR_WAY * 32,
                    several(&|after| format!("four_{name}(line0 + thread / 8u, k + {after}u)")),
                    put("thread / 8u", "one"),
                ),
                // Eight threads take four columns each, 32 steps at a time.
                Lies::Across => format!(
                    "        for (var k = first + thread / 8u; k < end; k += {}u) {{
{}        }}
        largest[thread] = most;
        workgroupBarrier();
        if (thread < 8u) {{
            for (var other = 8u; other < {THREADS}u; other += 8u) {{ most = max(most, largest[thread + other]); }}
            for (var j = 0u; j < 4u; j++) {{ {} }}
        }}
",
                    ON_THEIR_WAY * 32,
                    several(&|after| format!("four_{name}(k + {after}u, line0 + thread % 8u * 4u)")),
                    put("thread * 4u + j", "most[j]"),
                ),
            }
        };
        let body = format!(
            "    let batch = group.z;
{set_batch}    let at = (group.y + {joined}) * {all} + batch * ({rows} + {columns});
    var most = vec4<u32>();
    if (group.x < {of_a}) {{
        let line0 = group.x * {ABREAST}u;
{of_rows}{a}    }} else {{
        let line0 = (group.x - {of_a}) * {ABREAST}u;
{of_columns}{b}    }}
",
            of_rows = ranges[0],
            of_columns = ranges[1],
            a = side("a", lies[0], "", &rows),
            b = side("b", lies[1], &format!("{rows} + "), &columns),
        );
        let groups = [blocks[0] + blocks[1], parts, self.batches].map(|count| count as u32);
        let mut programs = vec![shader.finish(&Entry::grid(groups, THREADS), &body)];
        if self.are_joined() {
            let mut join = Shader::new("exponents", Tier::General);
            (join.scratch, join.in_turn) = (memory, in_turn);
            let [all, parts] = [self.all(), parts].map(|size| join.params.size(size));
            join.bind(Bound::Scratch(scratch), "exponents", "u32");
            join.share("largest", "u32", JOINING);
            // A workgroup for each line: one after the other, its parts would take longer to wait for than the parts took to be found.
            let body = format!(
                "    var most = 0u;
    for (var part = thread + 1u; part <= {parts}; part += {JOINING}u) {{ most = max(most, exponents[part * {all} + line]); }}
    largest[thread] = most;
    workgroupBarrier();
    if (thread == 0u) {{
        for (var other = 1u; other < {JOINING}u; other++) {{ most = max(most, largest[other]); }}
        exponents[line] = most;
    }}
"
            );
            programs.push(join.finish(&Entry::workgroups("line", self.all(), &all, JOINING), &body));
        }
        programs
    }
}

/// WGSL that takes into `most` several fours, 32 apart, which are on their way at once. (Those beyond a part's end are of the same line.)
fn several(four: &dyn Fn(usize) -> String) -> String {
    let each = |text: &dyn Fn(usize) -> String| (0..ON_THEIR_WAY).map(|i| text(i * 32)).collect::<String>();
    each(&|after| format!("            let four{after} = {};\n", four(after)))
        + &each(&|after| format!("            most = max(most, bits_of(four{after}));\n"))
}

/// `bits_of` four numbers, without their signs: they are in order as the numbers are, and zero if these are not finite.
pub(super) fn bits_of() -> String {
    format!(
        "fn bits_of(four: vec4<f32>) -> vec4<u32> {{
    let bits = bitcast<vec4<u32>>(four) & vec4<u32>(0x7fffffffu);
    return select(bits, vec4<u32>(), bits >= vec4<u32>({INFINITY}u));
}}
"
    )
}

/// `shifts_of` the bits of the largest of four lines: the powers of two that they are divided by.
pub(super) fn shifts_of() -> String {
    format!(
        "fn shifts_of(most: vec4<u32>) -> vec4<i32> {{
    return max(vec4<i32>(most >> vec4<u32>(23u)) - {TOP}, vec4<i32>(-126));
}}
{POWERS}"
    )
}

/// Powers of two, for exponents from −126 to 127.
const POWERS: &str = "
fn power(exponent: i32) -> f32 { return bitcast<f32>(u32(exponent + 127) << 23u); }
fn powers(exponents: vec4<i32>) -> vec4<f32> {
    return bitcast<vec4<f32>>(vec4<u32>(exponents + 127) << vec4<u32>(23u));
}
";
