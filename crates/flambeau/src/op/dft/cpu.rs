//! The transform on the CPU: lines are copied together, a few at a time, transformed by rustfft or realfft, and copied to their
//! places. Lines that lie side by side are taken in blocks, so that memory is read in runs.

use super::{Dft, Kind, Lines};
use crate::host::{Disjoint, share};
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftNum, FftPlanner};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, OnceLock};

/// Lines that lie side by side and are taken at once.
const BLOCK: usize = 64;
/// Numbers that follow each other in a line and are taken at once where lines lie side by side: a cache line of pairs of f32.
const TILE: usize = 8;
/// Numbers of lines that follow each other and are taken at once.
const TOGETHER: usize = 1 << 12;
/// Lengths whose tables are kept.
const KEPT: usize = 64;
/// Numbers below which one core is enough.
const ALONE: usize = 1 << 14;

/// The tables of lengths that were asked for.
pub(super) struct Tables<T: FftNum> {
    complex: FftPlanner<T>,
    real: RealFftPlanner<T>,
    lengths: Vec<usize>,
}

impl<T: FftNum> Tables<T> {
    fn new() -> Tables<T> {
        Tables { complex: FftPlanner::new(), real: RealFftPlanner::new(), lengths: Vec::new() }
    }

    /// Makes room for those of a length.
    fn of(&mut self, length: usize) -> &mut Tables<T> {
        if !self.lengths.contains(&length) {
            if self.lengths.len() == KEPT {
                *self = Tables::new();
            }
            self.lengths.push(length);
        }
        self
    }
}

/// What the transform is computed in.
pub(super) trait Float: FftNum {
    fn tables() -> &'static Mutex<Tables<Self>>;
}

macro_rules! float {
    ($($float:ty),*) => {$(
        impl Float for $float {
            fn tables() -> &'static Mutex<Tables<$float>> {
                static TABLES: OnceLock<Mutex<Tables<$float>>> = OnceLock::new();
                TABLES.get_or_init(|| Mutex::new(Tables::new()))
            }
        }
    )*};
}
float!(f32, f64);

/// How one line is transformed.
enum Plan<T> {
    Complex(Arc<dyn Fft<T>>),
    ToSpectrum(Arc<dyn RealToComplex<T>>),
    ToReal(Arc<dyn ComplexToReal<T>>),
}

impl<T: Float> Plan<T> {
    fn of(op: &Dft) -> Plan<T> {
        let mut tables = T::tables().lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let tables = tables.of(op.length);
        match (op.kind, op.inverse) {
            (Kind::Complex, false) => Plan::Complex(tables.complex.plan_fft_forward(op.length)),
            (Kind::Complex, true) => Plan::Complex(tables.complex.plan_fft_inverse(op.length)),
            (Kind::ToSpectrum { .. }, _) => Plan::ToSpectrum(tables.real.plan_fft_forward(op.length)),
            (Kind::ToReal { .. }, _) => Plan::ToReal(tables.real.plan_fft_inverse(op.length)),
        }
    }

    fn scratch(&self) -> usize {
        match self {
            Plan::Complex(plan) => plan.get_inplace_scratch_len(),
            Plan::ToSpectrum(plan) => plan.get_scratch_len(),
            Plan::ToReal(plan) => plan.get_scratch_len(),
        }
    }
}

/// Fills `to` with the transforms of all lines.
pub(super) fn transform<T: Float>(op: &Dft, lines: Lines, from: &[T], to: &mut [T], scale: T) {
    let Lines { outer, inner } = lines;
    if op.length == 0 || outer * inner == 0 {
        return;
    }
    let (plan, to) = (Plan::of(op), Disjoint::new(to));
    let job = Job { op, plan: &plan, inner, scale, from, to: &to };
    // Parts of lines that lie side by side, or of some that follow each other.
    let (rows, size) = if inner == 1 { (1, outer) } else { (outer, inner) };
    let block = if inner == 1 { (TOGETHER / op.length).max(1) } else { BLOCK };
    let per_row = size.div_ceil(block);
    let work = |part: usize| {
        let first = part % per_row * block;
        job.lines(&Part { outer: part / per_row, first, count: block.min(size - first) });
        Ok::<(), Infallible>(())
    };
    let parts = rows * per_row;
    let Ok(()) = match op.length * outer * inner >= ALONE {
        true => share(parts, work),
        false => (0..parts).try_for_each(work),
    };
}

/// Lines that one core transforms together.
struct Part {
    outer: usize,
    first: usize,
    count: usize,
}

/// Numbers that follow each other in memory: the i-th is number `place + i · step` of the part, whose lines are one after the
/// other.
struct Run {
    start: usize,
    len: usize,
    place: usize,
    step: usize,
}

struct Job<'a, T> {
    op: &'a Dft,
    plan: &'a Plan<T>,
    inner: usize,
    scale: T,
    from: &'a [T],
    to: &'a Disjoint<'a, T>,
}

impl<T: Float> Job<'_, T> {
    /// Where a part's lines of `size` numbers lie, if they lie side by side.
    fn runs(&self, part: &Part, size: usize) -> impl Iterator<Item = Run> {
        let &Part { outer, first, count } = part;
        let inner = self.inner;
        (0..size).map(move |run| Run {
            start: (outer * size + run) * inner + first,
            len: count,
            place: run,
            step: size,
        })
    }

    fn lines(&self, part: &Part) {
        if self.inner == 1 {
            return self.whole_lines(part);
        }
        let length = self.op.length;
        let (from_size, to_size) = self.op.sizes();
        let zero = Complex::new(T::zero(), T::zero());
        let mut scratch = vec![zero; self.plan.scratch()];
        match self.plan {
            Plan::Complex(plan) => {
                let mut values = self.read_pairs(part, length);
                plan.process_with_scratch(&mut values, &mut scratch);
                values.iter_mut().for_each(|y| *y = *y * self.scale);
                self.write_pairs(part, &values, length);
            }
            Plan::ToSpectrum(plan) => {
                let mut values = vec![T::zero(); part.count * length];
                for Run { start, len, place, step } in self.runs(part, length) {
                    let from = &self.from[start..start + len];
                    from.iter().enumerate().for_each(|(i, &x)| values[place + i * step] = x);
                }
                let mut spectra = vec![zero; part.count * to_size];
                for (values, spectrum) in values.chunks_mut(length).zip(spectra.chunks_mut(to_size)) {
                    self.to_spectrum(&**plan, values, spectrum, &mut scratch);
                }
                self.write_pairs(part, &spectra, to_size);
            }
            Plan::ToReal(plan) => {
                let mut spectra = self.read_pairs(part, from_size);
                let mut values = vec![T::zero(); part.count * length];
                for (spectrum, values) in spectra.chunks_mut(from_size).zip(values.chunks_mut(length)) {
                    self.to_real(&**plan, spectrum, values, &mut scratch);
                }
                for Run { start, len, place, step } in self.runs(part, length) {
                    // Safety: the places of these lines are no other part's.
                    let to = unsafe { self.to.slice(start..start + len) };
                    to.iter_mut().enumerate().for_each(|(i, x)| *x = values[place + i * step]);
                }
            }
        }
    }

    /// [`lines`](Job::lines) that follow each other: they are transformed where their results belong.
    fn whole_lines(&self, part: &Part) {
        let ((from_size, to_size), (from_pairs, to_pairs)) = (self.op.sizes(), self.op.pairs());
        let numbers = |size: usize, pairs: bool| if pairs { 2 * size } else { size };
        let (from_size, to_size) = (numbers(from_size, from_pairs), numbers(to_size, to_pairs));
        let from = &self.from[part.first * from_size..(part.first + part.count) * from_size];
        // Safety: the places of these lines are no other part's.
        let to = unsafe { self.to.slice(part.first * to_size..(part.first + part.count) * to_size) };
        let mut scratch = vec![Complex::new(T::zero(), T::zero()); self.plan.scratch()];
        if let Plan::Complex(plan) = self.plan {
            to.copy_from_slice(from);
            plan.process_with_scratch(as_complex(to), &mut scratch);
            if self.scale != T::one() {
                to.iter_mut().for_each(|x| *x = *x * self.scale);
            }
            return;
        }
        let mut line = vec![T::zero(); from_size];
        for (from, to) in from.chunks_exact(from_size).zip(to.chunks_exact_mut(to_size)) {
            line.copy_from_slice(from);
            match self.plan {
                Plan::ToSpectrum(plan) => self.to_spectrum(&**plan, &mut line, as_complex(to), &mut scratch),
                Plan::ToReal(plan) => self.to_real(&**plan, as_complex(&mut line), to, &mut scratch),
                Plan::Complex(_) => unreachable!("these are transformed all at once"),
            }
        }
    }

    /// The spectrum of real numbers, which are overwritten.
    fn to_spectrum(
        &self,
        plan: &dyn RealToComplex<T>,
        values: &mut [T],
        spectrum: &mut [Complex<T>],
        scratch: &mut [Complex<T>],
    ) {
        let done = plan.process_with_scratch(values, spectrum, scratch);
        done.expect("lengths are the plan's");
        let (op, one) = (self.op, T::one());
        if matches!(op.kind, Kind::ToSpectrum { doubled: false }) && !op.inverse && self.scale == one {
            return;
        }
        let turn = if op.inverse { -one } else { one };
        for (k, y) in spectrum.iter_mut().enumerate() {
            let weight = number::<T>(op.weight(k)) * self.scale;
            *y = Complex::new(y.re * weight, y.im * weight * turn);
        }
    }

    /// Real numbers from half a spectrum, which is overwritten.
    fn to_real(
        &self,
        plan: &dyn ComplexToReal<T>,
        spectrum: &mut [Complex<T>],
        values: &mut [T],
        scratch: &mut [Complex<T>],
    ) {
        let (op, one) = (self.op, T::one());
        let turn = if op.inverse { -one } else { one };
        for (k, y) in spectrum.iter_mut().enumerate() {
            // The plan's exponent is positive, and it counts the other half in.
            let is_end = k == 0 || 2 * k == op.length;
            let weight = if is_end { one } else { number(op.weight(k) / 2.0) };
            let im = if is_end { T::zero() } else { -(y.im * weight * turn) };
            *y = Complex::new(y.re * weight, im);
        }
        let done = plan.process_with_scratch(spectrum, values, scratch);
        done.expect("lengths are the plan's, and the ends of the spectrum are real");
        if self.scale != one {
            values.iter_mut().for_each(|x| *x = *x * self.scale);
        }
    }

    /// The part's lines, one after the other.
    fn read_pairs(&self, part: &Part, size: usize) -> Vec<Complex<T>> {
        let mut values = vec![Complex::new(T::zero(), T::zero()); part.count * size];
        let pair = |number: usize| Complex::new(self.from[2 * number], self.from[2 * number + 1]);
        let start = part.outer * size * self.inner + part.first;
        // Tiles: a line is written a cache line at a time, from as many runs of memory.
        for first in (0..size).step_by(TILE) {
            let last = (first + TILE).min(size);
            for (line, values) in values.chunks_exact_mut(size).enumerate() {
                let places = (first..last).map(|place| start + place * self.inner + line);
                values[first..last].iter_mut().zip(places).for_each(|(y, place)| *y = pair(place));
            }
        }
        values
    }

    /// Writes the part's lines to their places.
    fn write_pairs(&self, part: &Part, values: &[Complex<T>], size: usize) {
        for Run { start, len, place, step } in self.runs(part, size) {
            // Safety: the places of these lines are no other part's.
            let to = unsafe { self.to.slice(2 * start..2 * (start + len)) };
            for (i, pair) in to.chunks_exact_mut(2).enumerate() {
                let y = values[place + i * step];
                (pair[0], pair[1]) = (y.re, y.im);
            }
        }
    }
}

fn number<T: Float>(value: f64) -> T {
    T::from_f64(value).expect("a small number")
}

/// Pairs as complex numbers.
fn as_complex<T: Float>(pairs: &mut [T]) -> &mut [Complex<T>] {
    // Safety: a complex number is laid out as two numbers, one after the other.
    unsafe { std::slice::from_raw_parts_mut(pairs.as_mut_ptr().cast(), pairs.len() / 2) }
}
