//! Sorting by digits on the GPU: rows of keys with their places, in the order of the keys; equal keys keep their order.
//!
//! A pass takes eight bits, the lowest first. Rows are cut into tiles. A workgroup counts the digits of each tile (`count`); running
//! sums of the counts say where the digits of a tile begin in their row (`begin`); and a workgroup puts the keys of its tile in order in
//! its own memory, and then to where they belong, neighbours beside neighbours (`distribute`). In a tile four bits are taken at a time:
//! every thread counts the digits of its few keys, and running sums over the threads' counts are the places. No result depends
//! on which thread comes first.

use super::{KEYS, Rows, Target, running_sums};
use crate::ir::program::{Bound, Program, Tier};
use crate::shader::{Entry, Shader, ZERO};

/// Threads of a workgroup, and keys that each holds.
const THREADS: usize = 128;
const EACH: usize = 16;
/// Keys of a tile.
const TILE: usize = THREADS * EACH;
/// Bits that a pass takes, and the digits they can be.
const BITS: u32 = 8;
const DIGITS: usize = 1 << BITS;
/// Tiles of a row up to which a thread goes through the counts of a digit; a workgroup does where there are more.
const MOST_BY_THREAD: usize = 32;

/// Scratch buffers after those of the results: others that passes take turns with, counts of every tile's digits, and of every row's.
const OTHERS: usize = 2;
const COUNTS: usize = 4;
const TOTALS: usize = 5;

/// Where a pass finds its keys, and where it puts them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Outside,
    /// In the scratch buffers from this number on.
    Scratch(usize),
}

impl Rows<'_> {
    pub(super) fn by_digits(&self) -> Vec<Program> {
        let passes = self.bits.div_ceil(BITS).max(1);
        // The last pass leaves pairs where they are looked for, the one before it in the others, and so on.
        let left = |pass: u32| Place::Scratch(if (passes - pass) % 2 == 1 { KEYS } else { OTHERS });
        let each = |pass: u32| {
            let source = if pass == 0 { Place::Outside } else { left(pass - 1) };
            let is_last = pass == passes - 1;
            let target = if is_last && self.target != Target::Pairs { Place::Outside } else { left(pass) };
            let digit = Digit { shift: BITS * pass, bits: (self.bits - BITS * pass).clamp(1, BITS) };
            [self.count(source, digit), self.begin(), self.distribute(source, target, digit)]
        };
        (0..passes).flat_map(each).collect()
    }

    /// Bytes of the scratch buffers.
    fn digits_scratch(&self) -> Vec<u64> {
        let keys = 4 * (self.rows * self.length) as u64;
        let others = if self.bits > BITS { keys } else { 4 };
        let counts = (4 * self.rows * self.tiles() * DIGITS) as u64;
        vec![keys, keys, others, others, counts, (4 * self.rows * DIGITS) as u64]
    }

    fn tiles(&self) -> usize {
        self.length.div_ceil(TILE)
    }

    /// How far apart the counts of two digits are, and those of two tiles: what is summed up by one workgroup lies together.
    fn strides(&self) -> (usize, usize) {
        if self.tiles() <= MOST_BY_THREAD { (1, DIGITS) } else { (self.tiles(), 1) }
    }

    fn digits_shader(&self, part: &'static str) -> Shader {
        let mut shader = Shader::new(part, Tier::General);
        shader.scratch = self.digits_scratch();
        shader.in_turn = true;
        shader
    }

    /// Declares where keys come from; WGSL of the key at place `at` of the row.
    fn read_keys(&self, shader: &mut Shader, source: Place) -> &'static str {
        match source {
            Place::Outside => {
                (self.keys)(shader);
                "key(row, at)"
            }
            Place::Scratch(number) => {
                shader.bind(Bound::ScratchRead(number), "keys", "u32");
                "keys[row * length + at]"
            }
        }
    }

    /// Counts the digits of each tile.
    fn count(&self, source: Place, digit: Digit) -> Program {
        let mut shader = self.digits_shader("sort: count");
        let (across, along) = self.strides();
        let all = self.rows * self.tiles();
        let [limit, tiles, length, across, along, shift, mask] =
            [all, self.tiles(), self.length, across, along, digit.shift as usize, digit.mask()]
                .map(|size| shader.params.size(size));
        let key = self.read_keys(&mut shader, source);
        shader.bind(Bound::Scratch(COUNTS), "counts", "u32");
        shader.share("found", "atomic<u32>", DIGITS);
        let body = format!(
            "    let tiles = {tiles};
    let length = {length};
    let row = number / tiles;
    let first = (number % tiles) * {TILE}u;
    for (var digit = thread; digit < {DIGITS}u; digit += {THREADS}u) {{ atomicStore(&found[digit], 0u); }}
    workgroupBarrier();
    let end = min(first + {TILE}u, length);
    for (var at = first + thread; at < end; at += {THREADS}u) {{
        atomicAdd(&found[({key} >> {shift}) & {mask}], 1u);
    }}
    workgroupBarrier();
    for (var digit = thread; digit < {DIGITS}u; digit += {THREADS}u) {{
        counts[row * tiles * {DIGITS}u + digit * {across} + (number % tiles) * {along}] = atomicLoad(&found[digit]);
    }}
"
        );
        shader.finish(&Entry::workgroups("number", all, &limit, THREADS), &body)
    }

    /// Makes of each count the sum of those of the tiles before, and of all of a digit the row's total.
    fn begin(&self) -> Program {
        let mut shader = self.digits_shader("sort: begin");
        let (across, along) = self.strides();
        let lines = self.rows * DIGITS;
        let [limit, tiles, across, along] =
            [lines, self.tiles(), across, along].map(|size| shader.params.size(size));
        shader.bind(Bound::Scratch(COUNTS), "counts", "u32");
        shader.bind(Bound::Scratch(TOTALS), "totals", "u32");
        let start = format!(
            "    let tiles = {tiles};
    let start = (line / {DIGITS}u) * tiles * {DIGITS}u + (line % {DIGITS}u) * {across};
    var before = 0u;
"
        );
        if self.tiles() <= MOST_BY_THREAD {
            let body = format!(
                "{start}    for (var tile = {ZERO}; tile < tiles; tile++) {{
        let at = start + tile * {along};
        let count = counts[at];
        counts[at] = before;
        before += count;
    }}
    totals[line] = before;
"
            );
            return shader.finish(&Entry::threads("line", lines, &limit, THREADS), &body);
        }
        let running = running_sums(&mut shader, THREADS);
        let body = format!(
            "{start}    for (var first = {ZERO}; first < tiles; first += {TILE}u) {{
        var own: array<u32, {EACH}>;
        var sum = 0u;
        for (var i = 0u; i < {EACH}u; i++) {{
            let tile = first + thread * {EACH}u + i;
            own[i] = sum;
            if (tile < tiles) {{ sum += counts[start + tile * {along}]; }}
        }}
{running}        for (var i = 0u; i < {EACH}u; i++) {{
            let tile = first + thread * {EACH}u + i;
            if (tile < tiles) {{ counts[start + tile * {along}] = before + earlier + own[i]; }}
        }}
        before += whole;
        workgroupBarrier();
    }}
    if (thread == 0u) {{ totals[line] = before; }}
"
        );
        shader.finish(&Entry::workgroups("line", lines, &limit, THREADS), &body)
    }

    /// Puts the keys of each tile in the order of a digit, and then where they belong in their row.
    fn distribute(&self, source: Place, target: Place, digit: Digit) -> Program {
        let mut shader = self.digits_shader("sort: distribute");
        let (across, along) = self.strides();
        let (all, rounds) = (self.rows * self.tiles(), digit.bits.div_ceil(4) as usize);
        let shift = digit.shift as usize;
        let [limit, tiles, length, across, along, shift, mask, rounds] =
            [all, self.tiles(), self.length, across, along, shift, digit.mask(), rounds]
                .map(|size| shader.params.size(size));
        let key = self.read_keys(&mut shader, source);
        let places = match source {
            Place::Outside => format!(
                "    for (var i = 0u; i < {EACH}u; i++) {{ own_places[i] = first + thread * {EACH}u + i; }}\n"
            ),
            Place::Scratch(number) => {
                shader.bind(Bound::ScratchRead(number + 1), "places", "u32");
                format!(
                    "    for (var i = thread; i < count; i += {THREADS}u) {{ line[pad(i)] = places[row * length + first + i]; }}
    workgroupBarrier();
    for (var i = 0u; i < {EACH}u; i++) {{ own_places[i] = line[pad(thread * {EACH}u + i)]; }}
    workgroupBarrier();
"
                )
            }
        };
        shader.bind(Bound::ScratchRead(COUNTS), "counts", "u32");
        shader.bind(Bound::ScratchRead(TOTALS), "totals", "u32");
        let put = match (target, self.target) {
            (Place::Scratch(number), _) => {
                shader.bind(Bound::Scratch(number), "keys_out", "u32");
                shader.bind(Bound::Scratch(number + 1), "places_out", "u32");
                "keys_out[row * length + at] = own_keys[i];
            places_out[row * length + at] = own_places[i];"
                    .to_string()
            }
            (Place::Outside, Target::Order { first, count }) => {
                let [first, ranks] = [first, count].map(|size| shader.params.size(size));
                shader.bind(Bound::Output(0), "order", "i32");
                format!(
                    "if (at - {first} < {ranks}) {{ order[row * {ranks} + at - {first}] = i32(own_places[i]); }}"
                )
            }
            (Place::Outside, Target::Pairs) => unreachable!("pairs stay in scratch buffers"),
        };
        // A word beside every so many, so that threads that read neighbours' keys do not wait for one bank of memory.
        shader.share("line", "u32", TILE + TILE / 16);
        shader.share("tally", "u32", 8 * THREADS + THREADS / 4);
        shader.share("begins", "u32", DIGITS);
        let running = running_sums(&mut shader, THREADS);
        shader.add(
            "fn pad(i: u32) -> u32 { return i + (i >> 4u); }
fn slot(i: u32) -> u32 { return i + (i >> 5u); }
",
        );
        let body = format!(
            "    let tiles = {tiles};
    let length = {length};
    let shift = {shift};
    let mask = {mask};
    let rounds = {rounds};
    let row = number / tiles;
    let tile = number % tiles;
    let first = tile * {TILE}u;
    let count = min({TILE}u, length - first);
    // Where each digit of this tile begins in the row.
    {{
        let digit = 2u * thread;
        let one = totals[row * {DIGITS}u + digit];
        let sum = one + totals[row * {DIGITS}u + digit + 1u];
{running}        let at = row * tiles * {DIGITS}u + digit * {across} + tile * {along};
        begins[digit] = earlier + counts[at];
        begins[digit + 1u] = earlier + one + counts[at + {across}];
    }}
    var own_keys: array<u32, {EACH}>;
    var own_places: array<u32, {EACH}>;
    var ranks: array<u32, {EACH}>;
    // Beyond the row's end are the largest keys, after all others that are as large.
    for (var i = thread; i < {TILE}u; i += {THREADS}u) {{
        let at = first + i;
        var found = 0xffffffffu;
        if (i < count) {{ found = {key}; }}
        line[pad(i)] = found;
    }}
    workgroupBarrier();
    for (var i = 0u; i < {EACH}u; i++) {{ own_keys[i] = line[pad(thread * {EACH}u + i)]; }}
    workgroupBarrier();
{places}    for (var round = {ZERO}; round < rounds; round++) {{
        // Counts of sixteen digits, two in a word: a thread's own are those of digits 0 to 7, and above them 8 to 15.
        for (var k = 0u; k < 8u; k++) {{ tally[slot(k * {THREADS}u + thread)] = 0u; }}
        for (var i = 0u; i < {EACH}u; i++) {{
            let digit = (((own_keys[i] >> shift) & mask) >> (4u * round)) & 15u;
            let half = 2u * (digit & 8u);
            let at = slot((digit & 7u) * {THREADS}u + thread);
            let word = tally[at];
            ranks[i] = (word >> half) & 0xffffu;
            tally[at] = word + (1u << half);
        }}
        workgroupBarrier();
        var sum = 0u;
        for (var k = 0u; k < 8u; k++) {{ sum += tally[slot(8u * thread + k)]; }}
{running}        // Digits 8 to 15 come after all of 0 to 7.
        var before = earlier + (whole << 16u);
        for (var k = 0u; k < 8u; k++) {{
            let at = slot(8u * thread + k);
            let word = tally[at];
            tally[at] = before;
            before += word;
        }}
        workgroupBarrier();
        for (var i = 0u; i < {EACH}u; i++) {{
            let digit = (((own_keys[i] >> shift) & mask) >> (4u * round)) & 15u;
            ranks[i] += (tally[slot((digit & 7u) * {THREADS}u + thread)] >> (2u * (digit & 8u))) & 0xffffu;
            line[pad(ranks[i])] = own_keys[i];
        }}
        workgroupBarrier();
        // After the last round neighbouring threads take neighbours, and the first key of a digit tells where it lies.
        let is_last = round + 1u == rounds;
        for (var i = 0u; i < {EACH}u; i++) {{
            let j = select(thread * {EACH}u + i, i * {THREADS}u + thread, is_last);
            own_keys[i] = line[pad(j)];
            if (is_last && j < count) {{
                let digit = (own_keys[i] >> shift) & mask;
                var other = {DIGITS}u;
                if (j > 0u) {{ other = (line[pad(j - 1u)] >> shift) & mask; }}
                if (digit != other) {{ begins[digit] -= j; }}
            }}
        }}
        workgroupBarrier();
        for (var i = 0u; i < {EACH}u; i++) {{ line[pad(ranks[i])] = own_places[i]; }}
        workgroupBarrier();
        for (var i = 0u; i < {EACH}u; i++) {{
            let j = select(thread * {EACH}u + i, i * {THREADS}u + thread, is_last);
            own_places[i] = line[pad(j)];
        }}
        workgroupBarrier();
    }}
    for (var i = 0u; i < {EACH}u; i++) {{
        let j = i * {THREADS}u + thread;
        if (j < count) {{
            let at = begins[(own_keys[i] >> shift) & mask] + j;
            {put}
        }}
    }}
"
        );
        shader.finish(&Entry::workgroups("number", all, &limit, THREADS), &body)
    }
}

/// The bits of a key that a pass looks at.
#[derive(Clone, Copy)]
struct Digit {
    shift: u32,
    bits: u32,
}

impl Digit {
    fn mask(self) -> usize {
        (1 << self.bits) - 1
    }
}
