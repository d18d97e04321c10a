//! The transform on the GPU: which passes there are, and between which memories.
//!
//! Real numbers of an even length N are transformed as N/2 complex ones, of which they are the real and the imaginary parts: half
//! the work, and half the memory. Of an odd length they are complex numbers whose imaginary parts are zero.
//!
//! Bluestein's algorithm, with c\[n\] = e^(−πi n²/L): y\[k\] = c\[k\] Σₙ (x\[n\] c\[n\]) conj(c\[k − n\]), a convolution, which is computed
//! by transforms of a length that has small factors only.

use super::ends::{COMPLEX, Factor, Memory, Sink, SinkForm, Source, SourceForm, Then, read_only};
use super::kernel::{Digit, Mirror, Pass};
use super::schedule::{convolution, is_rough, passes};
use super::{Dft, Kind, Lines};
use crate::error::{Error, Result};
use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Program, Tier};
use crate::shader::{Entry, Shader, fits_shader};
use crate::shape::product;

/// The most complex numbers that a workgroup holds: 32 KiB. Workgroups with more would be too few at a time.
const MOST: usize = 4096;
/// The longest transform by Bluestein's algorithm: squares of positions are taken modulo twice that with a quotient in f32.
const LONGEST_ROUGH: usize = 1 << 23;
/// Bytes of a complex number.
const PAIR: u64 = 8;

/// The shaders of a call that has something to transform.
pub(super) fn programs(op: &Dft, lines: Lines, call: &StructuredCall) -> Result<Vec<Program>> {
    // A convolution is up to four times as long.
    let longer = if is_rough(op.length) { 4 } else { 2 };
    fits_shader(call.op.name(), "elements", product([longer, op.length, lines.outer, lines.inner]))?;
    let most = (call.workgroup_memory as usize / PAIR as usize).min(MOST);
    let even = op.length.is_multiple_of(2) && op.kind != Kind::Complex;
    let length = if even { op.length / 2 } else { op.length };
    let mut transform = Transform { lines, most, scratch: Vec::new(), passes: Vec::new() };
    let (source, mut sink) = ends(op, lines, even);
    let fits = length <= most && !is_rough(length);
    // Where a workgroup cannot bring numbers k and length − k together, that takes one more pass.
    let mirrors =
        !is_rough(length) && passes(length, most).is_some_and(|factors| Transform::mirrors(&factors, most));
    let untangled = (matches!(sink.form, SinkForm::Untangled { .. }) && !fits && !mirrors).then_some(sink);
    if untangled.is_some() {
        let memory = transform.take(length, lines);
        sink = Sink {
            memory,
            form: SinkForm::Pairs,
            conjugated: false,
            factor: Factor::One,
            before: Then::Nothing,
        };
    }
    match is_rough(length) {
        false => transform.add(length, source, sink, lines),
        true => transform.add_rough(length, source, sink),
    }
    .ok_or_else(|| too_long(op))?;
    let mut programs: Vec<Program> =
        transform.passes.iter().map(|pass| pass.program(most, &transform.scratch, call)).collect();
    if let Some(end) = untangled {
        programs.push(untangle(length, lines, sink.memory, end, &transform.scratch, call));
    }
    Ok(programs)
}

fn too_long(op: &Dft) -> Error {
    let what = format!("fft: the length {} (with its prime factors above 13)", op.length);
    let limit = LONGEST_ROUGH as u64;
    Error::Limit { what, requested: op.length as u64, limit_name: "passes of a transform", limit }
}

/// What an op reads and writes. `even`: as complex numbers, of which there are half as many.
fn ends(op: &Dft, lines: Lines, even: bool) -> (Source, Sink) {
    let inner = lines.inner;
    let (from, to) = op.sizes();
    let memory = |bound, size: usize| Memory { bound, outer: size * inner, step: inner };
    let (mut input, mut output) = (memory(Bound::Input(0), from), memory(Bound::Output(0), to));
    // Where nothing lies between a line's numbers, two real ones are a pair as they are.
    let halved = |memory: &mut Memory| memory.outer /= 2;
    let (source, sink) = match op.kind {
        Kind::Complex => (SourceForm::Pairs, SinkForm::Pairs),
        Kind::ToSpectrum { doubled } if even => {
            let form = if inner == 1 { SourceForm::Pairs } else { SourceForm::EvenAndOdd };
            if inner == 1 {
                halved(&mut input);
            }
            (form, SinkForm::Untangled { doubled })
        }
        Kind::ToSpectrum { doubled } => (SourceForm::Reals, SinkForm::Half { doubled }),
        Kind::ToReal { doubled } if even => {
            let form = if inner == 1 { SinkForm::Pairs } else { SinkForm::EvenAndOdd };
            if inner == 1 {
                halved(&mut output);
            }
            (SourceForm::Tangled { doubled }, form)
        }
        Kind::ToReal { doubled } => (SourceForm::Mirrored { doubled }, SinkForm::Reals),
    };
    // Every exponent is negative: what has the other is conjugated where it is complex, before and after.
    let (reads_pairs, writes_pairs) = op.pairs();
    (
        Source { memory: input, form: source, conjugated: op.inverse && reads_pairs, then: Then::Nothing },
        Sink {
            memory: output,
            form: sink,
            conjugated: op.inverse && writes_pairs,
            factor: Factor::Scale,
            before: Then::Nothing,
        },
    )
}

/// The passes of a call, as they are put together.
struct Transform {
    lines: Lines,
    /// Numbers that fit into workgroup memory.
    most: usize,
    scratch: Vec<u64>,
    passes: Vec<Pass>,
}

impl Transform {
    /// A scratch buffer for lines of a length.
    fn take(&mut self, length: usize, lines: Lines) -> Memory {
        let bound = Bound::Scratch(self.scratch.len());
        self.scratch.push(PAIR * (length * lines.outer * lines.inner) as u64);
        Memory { bound, outer: length * lines.inner, step: lines.inner }
    }

    /// Can the last of several passes take lines in pairs?
    fn mirrors(factors: &[usize], most: usize) -> bool {
        let (last, before) = (factors[factors.len() - 1], product(&factors[..factors.len() - 1]));
        before.is_multiple_of(2) && 2 * last <= most
    }

    /// The passes of a length that is not rough.
    fn add(&mut self, length: usize, source: Source, sink: Sink, lines: Lines) -> Option<()> {
        let factors = passes(length, self.most)?;
        let between = match factors.len() {
            1 => source.memory,
            _ => self.take(length, lines),
        };
        let pairs = |memory: Memory| {
            (
                Source { memory, form: SourceForm::Pairs, conjugated: false, then: Then::Nothing },
                Sink {
                    memory,
                    form: SinkForm::Pairs,
                    conjugated: false,
                    factor: Factor::One,
                    before: Then::Nothing,
                },
            )
        };
        let apart = lines.inner > 1;
        for (number, &factor) in factors.iter().enumerate() {
            let (is_first, is_last) = (number == 0, number + 1 == factors.len());
            let source = if is_first { source } else { pairs(between).0 };
            let sink = if is_last { sink } else { pairs(between).1 };
            let before = product(&factors[..number]);
            let rest = length / before / factor;
            let mut digits = Vec::new();
            let pairs_up = matches!(sink.form, SinkForm::Untangled { .. }) && factors.len() > 1;
            if pairs_up {
                digits.push(Digit { size: 2, ..Digit::default() });
            }
            if apart {
                digits.push(Digit { size: lines.inner, source: 1, output: 1, ..Digit::default() });
            }
            let mut mirror = None;
            match is_last {
                true if pairs_up => {
                    digits.push(Digit { size: before / 2, ..Digit::default() });
                    let mut done = 1;
                    let of_line = factors[..number].iter().map(|&factor| {
                        done *= factor;
                        (factor, length / done)
                    });
                    mirror = Some(Mirror { lines: before, digits: of_line.collect() });
                }
                true => {
                    let mut done = 1;
                    for &factor in &factors[..number] {
                        let position = length / (done * factor);
                        digits.push(Digit { size: factor, position, result: done, ..Digit::default() });
                        done *= factor;
                    }
                }
                false => {
                    digits.push(Digit {
                        size: rest,
                        position: 1,
                        result: 1,
                        is_rest: true,
                        ..Digit::default()
                    });
                    if !is_first {
                        let apart = rest * factor;
                        digits.push(Digit {
                            size: before,
                            position: apart,
                            result: apart,
                            ..Digit::default()
                        });
                    }
                }
            }
            let (from, to) = (source.memory.outer, sink.memory.outer);
            digits.push(Digit { size: lines.outer, source: from, output: to, ..Digit::default() });
            self.passes.push(Pass {
                length: factor,
                whole: length,
                steps: (rest, if is_last { before } else { rest }),
                digits,
                source,
                sink,
                turn: (!is_last).then_some(rest * factor),
                apart: (apart || !is_last, apart || factors.len() > 1),
                mirror,
            });
        }
        Some(())
    }

    /// Bluestein's algorithm.
    fn add_rough(&mut self, length: usize, source: Source, sink: Sink) -> Option<()> {
        if length > LONGEST_ROUGH {
            return None;
        }
        let (lines, whole) = (self.lines, convolution(length, self.most)?);
        let one = Lines { outer: 1, inner: 1 };
        let kernel = self.take(whole, one);
        let spectra = self.take(whole, lines);
        let plain = |memory| Sink {
            memory,
            form: SinkForm::Pairs,
            conjugated: false,
            factor: Factor::One,
            before: Then::Nothing,
        };
        // The transform back is one forth of conjugates, divided by the length.
        let back = Sink { factor: Factor::Fixed(1.0 / whole as f32), ..plain(kernel) };
        let made = Source { form: SourceForm::Kernel(length), ..source };
        self.add(whole, made, back, one)?;
        let chirped = Source { then: Then::Chirp(length), ..source };
        self.add(whole, chirped, plain(spectra), lines)?;
        let product = Source {
            memory: spectra,
            form: SourceForm::Pairs,
            conjugated: false,
            then: Then::Multiply(kernel.bound),
        };
        let finished = Sink { before: Then::ConjugateAndChirp(length), ..sink };
        self.add(whole, product, finished, lines)
    }
}

/// Half the spectra of real numbers, of which the even and the odd ones lie transformed in a scratch buffer.
fn untangle(
    length: usize,
    lines: Lines,
    from: Memory,
    sink: Sink,
    scratch: &[u64],
    call: &StructuredCall,
) -> Program {
    let Lines { outer, inner } = lines;
    let mut shader = Shader::new(call.op.name(), Tier::General);
    shader.scratch = scratch.to_vec();
    shader.in_turn = true;
    shader.include(COMPLEX);
    shader.bind(read_only(from.bound), "source", "vec2<f32>");
    shader.bind(sink.memory.bound, "output", sink.element());
    shader.add("struct Line { output: u32, result: u32 }\n");
    sink.add("output", length, "1u", call, &mut shader);
    Sink::add_untangle(length, &mut shader);
    let count = outer * (length + 1) * inner;
    let [limit, length, inner, from_outer, to_outer] =
        [count, length, inner, from.outer, sink.memory.outer].map(|size| shader.params.size(size));
    let body = format!(
        "    let place = number % {inner};
    let k = number / {inner} % ({length} + 1u);
    let block = number / {inner} / ({length} + 1u);
    let start = block * {from_outer} + place;
    let a = source[start + select(k, 0u, k == {length}) * {inner}];
    let b = source[start + select({length} - k, 0u, k == 0u) * {inner}];
    store(Line(block * {to_outer} + place, 0u), k, untangle(a, b, k));
"
    );
    shader.finish(&Entry::threads("number", count, &limit, 256), &body)
}
