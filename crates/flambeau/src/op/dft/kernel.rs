//! One pass of a transform, as a shader: a workgroup reads a few lines, transforms them by Stockham's algorithm and writes them.
//!
//! With radices r₁ r₂ …, of which the first i have the product L, butterfly j of pass i + 1 takes the numbers
//! j + q N/r, turns them by e^(−2πi q (j mod L) / (L r)), and gives numbers (j − j mod L) r + j mod L + q L. The first ones come from
//! memory, the last ones go there, and between them numbers go through workgroup memory: all of them are in registers while it is
//! written anew. Lengths of lines and radices are in the text, all else are numbers.

use super::butterfly;
use super::ends::{COMPLEX, Sink, SinkForm, Source, root, shared_root};
use super::schedule::{MAX_RADIX, Shares, radices};
use crate::ir::call::StructuredCall;
use crate::ir::program::{Program, Tier};
use crate::shader::{Entry, GROUP_NUMBER, Shader, groups_for};
use crate::shape::product;
use std::fmt::Write;

/// One of the numbers that a line's number is made of, and where lines lie by it.
#[derive(Clone, Copy, Default)]
pub(super) struct Digit {
    pub size: usize,
    /// What it adds to a line's place in the source's memory, and in the sink's.
    pub source: usize,
    pub output: usize,
    /// What it adds to the position in a longer line, before and after.
    pub position: usize,
    pub result: usize,
    /// Is it the rest that numbers are turned by?
    pub is_rest: bool,
}

/// Lines in pairs, of which one has numbers k and the other numbers N − k of a longer line of N: lines q and F − q of F, and 0 and
/// F/2, which are each their own. The least significant digit says which of a pair, the one before the last which pair.
pub(super) struct Mirror {
    /// F.
    pub lines: usize,
    /// What q is made of, the least significant first: sizes, and what they add to the position before.
    pub digits: Vec<(usize, usize)>,
}

/// A pass over memory.
pub(super) struct Pass {
    /// Numbers of a line, and of the longer one that its numbers are `steps` apart in, before and after.
    pub length: usize,
    pub whole: usize,
    pub steps: (usize, usize),
    /// The least significant first.
    pub digits: Vec<Digit>,
    pub source: Source,
    pub sink: Sink,
    /// Numbers are turned by e^(−2πi k rest / n).
    pub turn: Option<usize>,
    /// Do lines lie side by side, before and after?
    pub apart: (bool, bool),
    /// Are lines taken in pairs, so that the spectra of real numbers can be taken apart?
    pub mirror: Option<Mirror>,
}

/// What of a pass is in its text.
struct Text<'a> {
    pass: &'a Pass,
    shares: Shares,
    /// The number of lines, as WGSL.
    lines: String,
    /// What numbers are turned by, as WGSL, with the angle `T`.
    turn: Option<String>,
    body: String,
}

impl Pass {
    fn lines(&self) -> usize {
        product(self.digits.iter().map(|digit| digit.size))
    }

    /// The shader, with room for `most` numbers in workgroup memory.
    pub fn program(&self, most: usize, scratch: &[u64], call: &StructuredCall) -> Program {
        let shares = Shares::of(self.length, self.lines(), most, self.apart.0 || self.apart.1);
        let mut shader = Shader::new(call.op.name(), Tier::General);
        shader.scratch = scratch.to_vec();
        shader.in_turn = true;
        shader.include(COMPLEX);
        self.add_line(&mut shader);
        let steps = [self.steps.0, self.steps.1].map(|step| shader.params.size(step));
        // A pass in place writes what it has read: a buffer is bound once.
        let in_place = self.source.memory.bound == self.sink.memory.bound;
        self.source.add(self.whole, &steps[0], in_place, &mut shader);
        if !in_place {
            shader.bind(self.sink.memory.bound, "output", self.sink.element());
        }
        let name = if in_place { "source" } else { "output" };
        self.sink.add(name, self.whole, &steps[1], call, &mut shader);
        let radices = radices(self.length);
        let mut kinds = radices.clone();
        kinds.sort_unstable();
        kinds.dedup();
        kinds.iter().for_each(|&radix| shader.add(&butterfly::function(radix)));
        let untangles = matches!(self.sink.form, SinkForm::Untangled { .. });
        if untangles {
            Sink::add_untangle(self.whole, &mut shader);
        }
        if radices.len() > 1 || untangles {
            shader.share("tile", "vec2<f32>", (shares.lines * self.length).next_multiple_of(16));
        }
        let lines = shader.params.size(self.lines());
        let turn = self.turn.map(|n| shared_root("T", n, &mut shader.params));
        let mut text = Text { pass: self, shares, lines, turn, body: String::new() };
        let mut done = 1;
        for (number, &radix) in radices.iter().enumerate() {
            let is_last = number + 1 == radices.len();
            text.stage(radix, done, is_last && !untangles);
            done *= radix;
        }
        if untangles {
            let half = self.mirror.as_ref().map_or(0, |mirror| mirror.lines / 2);
            text.untangle(&steps[1], &shader.params.size(half));
        }
        let groups = groups_for(self.lines(), shares.lines);
        let body = format!("    let first = ({GROUP_NUMBER}) * {}u;\n{}", shares.lines, text.body);
        shader.finish(&Entry::grid(groups, shares.threads), &body)
    }

    /// Adds `line_at(number)`: where a line lies.
    fn add_line(&self, shader: &mut Shader) {
        let mut code = String::new();
        for (index, digit) in self.digits.iter().enumerate() {
            match index + 1 == self.digits.len() {
                true => code += "    let digit = left;\n",
                false => {
                    let size = shader.params.size(digit.size);
                    _ = write!(code, "    let digit{index} = left % {size};\n    left /= {size};\n");
                }
            }
            let name = if index + 1 == self.digits.len() { "digit".into() } else { format!("digit{index}") };
            let terms = [
                ("source", digit.source),
                ("output", digit.output),
                ("position", digit.position),
                ("result", digit.result),
                ("rest", usize::from(digit.is_rest)),
            ];
            for (field, factor) in terms.into_iter().filter(|&(_, factor)| factor > 0) {
                let factor = shader.params.size(factor);
                _ = writeln!(code, "    line.{field} += {name} * {factor};");
            }
        }
        if let Some(Mirror { lines, digits }) = &self.mirror {
            let lines = shader.params.size(*lines);
            let pair = format!("digit{}", self.digits.len() - 2);
            _ = write!(
                code,
                "    let other = select({lines} - {pair}, {lines} / 2u, {pair} == 0u);
    line.result = select({pair}, other, digit0 == 1u);
    var rest = line.result;
"
            );
            for &(size, position) in digits {
                let [size, position] = [size, position].map(|size| shader.params.size(size));
                _ = write!(code, "    line.position += (rest % {size}) * {position};\n    rest /= {size};\n");
            }
        }
        shader.add(&format!(
            "struct Line {{ source: u32, output: u32, position: u32, result: u32, rest: u32 }}
fn line_at(number: u32) -> Line {{
    var line: Line;
    var left = number;
{code}    return line;
}}
"
        ));
    }
}

impl Text<'_> {
    /// WGSL of the place of number `position` of a line in workgroup memory. Where rows of sixteen are whole, numbers are shuffled
    /// within them, so that threads that write numbers 16 apart, or the same ones of several lines, meet different banks.
    fn slot(&self, line: &str, position: &str) -> String {
        let (length, lines) = (self.pass.length, self.shares.lines);
        match self.pass.apart.0 {
            true if (length * lines).is_multiple_of(16) => {
                let at = format!("({position}) * {lines}u + {line}");
                format!("tile[({at}) ^ ((({at}) >> 4u) & 15u)]")
            }
            true => format!("tile[({position}) * {lines}u + {line}]"),
            false if length.is_multiple_of(16) => {
                let shuffled = format!("(({position}) ^ (((({position}) >> 4u) ^ ({line} << 2u)) & 15u))");
                format!("tile[{line} * {length}u + {shuffled}]")
            }
            false => format!("tile[{line} * {length}u + {position}]"),
        }
    }

    /// Names the line and the number among `count` of a line of the thread's m-th piece of work.
    fn share(&mut self, m: usize, count: usize, apart: bool) {
        let Shares { lines, threads } = self.shares;
        let (line, j) = match apart {
            true => (format!("u{m} % {lines}u"), format!("u{m} / {lines}u")),
            false => (format!("u{m} / {count}u"), format!("u{m} % {count}u")),
        };
        _ = write!(
            self.body,
            "    let u{m} = thread + {}u;
    let line{m} = {line};
    let j{m} = {j};
",
            m * threads
        );
    }

    /// The butterflies of a radix, after `done` of a line's factors.
    fn stage(&mut self, radix: usize, done: usize, is_last: bool) {
        let Shares { lines, threads } = self.shares;
        let (length, is_first) = (self.pass.length, done == 1);
        let apart = if is_first || !is_last { self.pass.apart.0 } else { self.pass.apart.1 };
        let stride = length / radix;
        let count = lines * stride;
        let pieces = count.div_ceil(threads);
        let mut guards = Vec::new();
        self.body += "    {\n";
        for m in 0..pieces {
            self.share(m, stride, apart);
            let guard = match (m + 1) * threads > count {
                true => format!("u{m} < {count}u && "),
                false => String::new(),
            };
            let present = format!("{guard}first + line{m} < {}", self.lines);
            _ = writeln!(self.body, "    var v{m}: array<vec2<f32>, {radix}>;");
            _ = writeln!(self.body, "    if ({present}) {{");
            if is_first {
                _ = writeln!(self.body, "        let place = line_at(first + line{m});");
            }
            for q in 0..radix {
                let at = format!("j{m} + {}u", q * stride);
                let value = match is_first {
                    true => format!("load(place, {at})"),
                    false => self.slot(&format!("line{m}"), &at),
                };
                _ = writeln!(self.body, "        v{m}[{q}] = {value};");
            }
            if !is_first {
                let root = |power: usize| root(&format!("a * {power}u"), done * radix);
                _ = writeln!(self.body, "        let a = j{m} % {done}u;");
                self.powers("w", radix, root);
                for q in 1..radix {
                    _ = writeln!(self.body, "        v{m}[{q}] = times(v{m}[{q}], w{q});");
                }
            }
            _ = writeln!(self.body, "        dft{radix}(&v{m});\n    }}");
            guards.push(present);
        }
        if !is_first && !is_last {
            self.body += "    workgroupBarrier();\n";
        }
        for (m, guard) in guards.iter().enumerate() {
            _ = writeln!(self.body, "    if ({guard}) {{");
            match is_last {
                true => self.write(m, radix, done),
                false => {
                    let start = format!("(j{m} / {done}u) * {}u + j{m} % {done}u", done * radix);
                    for q in 0..radix {
                        let slot = self.slot(&format!("line{m}"), &format!("{start} + {}u", q * done));
                        _ = writeln!(self.body, "        {slot} = v{m}[{q}];");
                    }
                }
            }
            self.body += "    }\n";
        }
        if !is_last {
            self.body += "    workgroupBarrier();\n";
        }
        self.body += "    }\n";
    }

    /// Hands on the results of the thread's m-th butterfly of the last stage.
    fn write(&mut self, m: usize, radix: usize, done: usize) {
        _ = writeln!(self.body, "        let place = line_at(first + line{m});");
        if let Some(turn) = self.turn.clone() {
            let turn = |factor: &str| turn.replace('T', &format!("place.rest * {factor}"));
            _ = writeln!(self.body, "        let base = {};", turn(&format!("j{m}")));
            self.powers("w", radix, |power| turn(&format!("{}u", power * done)));
            _ = writeln!(self.body, "        v{m}[0] = times(v{m}[0], base);");
            for q in 1..radix {
                _ = writeln!(self.body, "        v{m}[{q}] = times(v{m}[{q}], times(base, w{q}));");
            }
        }
        for q in 0..radix {
            _ = writeln!(self.body, "        store(place, j{m} + {}u, v{m}[{q}]);", q * done);
        }
    }

    /// Names the powers of a root: those of 2 by themselves, the others as products, so that errors do not grow with the power.
    fn powers(&mut self, name: &str, radix: usize, root: impl Fn(usize) -> String) {
        for q in 1..radix {
            let highest = 1 << q.ilog2();
            let value = match q - highest {
                0 => root(q),
                rest => format!("times({name}{highest}, {name}{rest})"),
            };
            _ = writeln!(self.body, "        let {name}{q} = {value};");
        }
    }

    /// Writes half the spectra of real numbers, of which the even and the odd ones have been transformed as one line, or as pairs of
    /// lines that mirror each other. A line's number k is number `result + k · step` of that line; line 0 has one more, its first.
    fn untangle(&mut self, step: &str, half: &str) {
        let Shares { lines, threads } = self.shares;
        let length = self.pass.length;
        let stored = length + 1;
        let (line, k) = match self.pass.apart.1 {
            true => (format!("e % {lines}u"), format!("e / {lines}u")),
            false => (format!("e / {stored}u"), format!("e % {stored}u")),
        };
        let (a, b) = (self.slot("line", "direct"), self.slot("other", "mirrored"));
        _ = write!(
            self.body,
            "    for (var e = thread; e < {}u; e += {threads}u) {{
        let line = {line};
        let k = {k};
        if (first + line >= {}) {{ continue; }}
        let place = line_at(first + line);
        let is_first = place.result == 0u;
        if (k == {length}u && !is_first) {{ continue; }}
        let direct = select(k, 0u, k == {length}u);
        let mirrored = select({length}u - 1u - k, select({length}u - k, 0u, k == 0u), is_first);
        let other = select(line ^ 1u, line, is_first || place.result == {half});
        store(place, k, untangle({a}, {b}, place.result + k * {step}));
    }}
",
            lines * stored,
            self.lines
        );
    }
}

const _: () = assert!(MAX_RADIX == 16, "numbers are shuffled within rows of sixteen");
