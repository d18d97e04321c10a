//! Keeping f32 clear of subnormal numbers, those below 2⁻¹²⁶.
//!
//! Processors compute with them in microcode: where a multiplication has one as a result, or would have if it were not
//! rounded to zero, many take a hundred times as long as usual. Deep networks get there: gradients that shrink from layer to
//! layer pass through that range, and their squares, which optimizers take, much sooner. The processor could be told to take
//! such numbers as zeros, but not by a Rust program, whose compiler relies on the usual arithmetic. So they are avoided
//! where they come from: an elementwise product that would be subnormal is not computed but 0, so are an exponential and
//! the total of a reduction, and a matrix product of small operands is computed from larger ones (2ⁿ times as large, which
//! is exact).
//! All of this is of f32. f64, which has room enough, is left as it is.

use super::{Matrix, widest};
use std::borrow::Cow;

const EXPONENT: u32 = 0x7f80_0000;
const SIGN: u32 = 0x8000_0000;
const MANTISSA_BITS: u32 = 23;
/// What an exponent's bits are above the exponent.
const BIAS: i32 = 127;

/// x · y, or a zero of its sign where the exponents do not promise a normal number: below 2⁻¹²⁶, and here and there below
/// 2⁻¹²⁵. Then nothing is multiplied but that zero.
#[inline(always)]
pub(crate) fn product(x: f32, y: f32) -> f32 {
    let exponents = (x.to_bits() & EXPONENT) + (y.to_bits() & EXPONENT);
    let kept = if exponents <= (BIAS as u32) << MANTISSA_BITS { SIGN } else { u32::MAX };
    f32::from_bits(x.to_bits() & kept) * y
}

/// x as f32, or 0 where that would be subnormal.
#[inline(always)]
pub(crate) fn narrowed(x: f64) -> f32 {
    let normal = x.abs() >= f64::from(f32::MIN_POSITIVE) || x.is_nan();
    (if normal { x } else { 0.0f64.copysign(x) }) as f32
}

/// What matrices are made of.
pub(crate) trait Factor: Copy + num_traits::One + 'static {
    /// How an m × k matrix `a` times a k × n matrix `b` is better computed, if these are so small that terms would be
    /// subnormal.
    fn raised<'a>(_: Matrix<'a, Self>, _: Matrix<'a, Self>, (_m, _n, _k): Sizes) -> Option<Raised<Self>> {
        None
    }

    /// x · y, or 0 if that is subnormal.
    fn product(self, other: Self) -> Self {
        self * other
    }

    /// ⌊log₂ |x|⌋ where that matters: of a type whose products may be too small.
    #[inline(always)]
    fn magnitude(self) -> i32 {
        0
    }
}

/// Are two matrices so small that terms of their product would be subnormal? Then [`multiply`](super::multiply) knows what to do.
#[inline(always)]
pub(crate) fn are_tiny<T: Factor>(a: &[T], b: &[T]) -> bool {
    let largest = |values: &[T]| values.iter().fold(-BIAS, |largest, x| largest.max(x.magnitude()));
    largest(a) + largest(b) < LEAST_TERM
}

/// Rows and columns of a product, and the terms of each of its elements.
type Sizes = (usize, usize, usize);

/// One of two operands times a power of two, and what their product must be multiplied by then.
pub(crate) struct Raised<T> {
    pub is_first: bool,
    pub factor: T,
    values: Vec<T>,
    /// Elements of a line.
    length: usize,
    /// Are lines columns?
    transposed: bool,
}

impl<T> Raised<T> {
    pub fn operand(&self) -> Matrix<'_, T> {
        let lines = Matrix::dense(&self.values, self.length);
        if self.transposed { lines.transposed() } else { lines }
    }
}

impl Factor for f64 {}

/// The exponent of the largest term under which an operand is raised: terms that are 2⁻³⁶ of it are still normal numbers.
const LEAST_TERM: i32 = -90;
/// In each direction, elements that are looked at first.
const SAMPLES: usize = 8;

impl Factor for f32 {
    fn raised<'a>(a: Matrix<'a, f32>, b: Matrix<'a, f32>, (m, n, k): Sizes) -> Option<Raised<f32>> {
        if m == 0 || n == 0 || k == 0 {
            return None;
        }
        // Nearly always some of the first elements are large enough.
        let (mut of_a, mut of_b) = (-BIAS, -BIAS);
        for (x, y) in samples(a, m, k).zip(samples(b, k, n)) {
            (of_a, of_b) = (of_a.max(exponent(x)), of_b.max(exponent(y)));
            if of_a + of_b >= LEAST_TERM {
                return None;
            }
        }
        let (a, b) = (Lines::new(a, m, k), Lines::new(b, k, n));
        (of_a, of_b) = (a.largest_exponent(), b.largest_exponent());
        // Zeros stay what they are.
        if of_a + of_b >= LEAST_TERM || of_a == -BIAS || of_b == -BIAS {
            return None;
        }
        let is_first = of_a < of_b;
        let smaller = if is_first { a } else { b };
        // Its largest element becomes at most 2, so that nothing overflows that would not have done so.
        let power = (-of_a.min(of_b)).min(-LEAST_TERM);
        let scale = f32::from_bits(((BIAS + power) as u32) << MANTISSA_BITS);
        Some(Raised {
            is_first,
            factor: 1.0 / scale,
            values: (0..smaller.count).flat_map(|line| smaller.times(line, scale)).collect(),
            length: smaller.length,
            transposed: smaller.transposed,
        })
    }

    #[inline(always)]
    fn product(self, other: f32) -> f32 {
        product(self, other)
    }

    #[inline(always)]
    fn magnitude(self) -> i32 {
        exponent(self)
    }
}

/// ⌊log₂ |x|⌋ of normal numbers; −127 of smaller ones; 128 of what is not finite.
#[inline(always)]
fn exponent(x: f32) -> i32 {
    ((x.to_bits() & EXPONENT) >> MANTISSA_BITS) as i32 - BIAS
}

/// Some elements, from all over a matrix.
fn samples(matrix: Matrix<f32>, rows: usize, columns: usize) -> impl Iterator<Item = f32> {
    let spread = |count: usize, number: usize| number * count / SAMPLES;
    (0..SAMPLES * SAMPLES).map(move |number| {
        let (row, column) = (spread(rows, number / SAMPLES), spread(columns, number % SAMPLES));
        matrix.values[(matrix.offset + row as i64 * matrix.row + column as i64 * matrix.column) as usize]
    })
}

/// A matrix line by line: rows, or columns where these lie together in memory.
struct Lines<'a> {
    matrix: Matrix<'a, f32>,
    count: usize,
    length: usize,
    transposed: bool,
}

impl<'a> Lines<'a> {
    fn new(matrix: Matrix<'a, f32>, rows: usize, columns: usize) -> Lines<'a> {
        match matrix.row == 1 && matrix.column != 1 {
            true => Lines { matrix: matrix.transposed(), count: columns, length: rows, transposed: true },
            false => Lines { matrix, count: rows, length: columns, transposed: false },
        }
    }

    fn line(&self, number: usize) -> Cow<'a, [f32]> {
        let Matrix { values, offset, column, .. } = self.matrix.starting_at(number);
        match column {
            1 => Cow::Borrowed(&values[offset as usize..][..self.length]),
            _ => (0..self.length as i64).map(|place| values[(offset + place * column) as usize]).collect(),
        }
    }

    fn largest_exponent(&self) -> i32 {
        (0..self.count).map(|line| largest_exponent(&self.line(line))).max().unwrap_or(-BIAS)
    }

    fn times(&self, line: usize, scale: f32) -> Vec<f32> {
        self.line(line).iter().map(|x| x * scale).collect()
    }
}

widest! {
    fn largest_exponent(values: &[f32]) -> i32 {
        values.iter().fold(-BIAS, |largest, &x| largest.max(exponent(x)))
    }
}

/// What the processor has noticed: whether an operation underflowed, or had a subnormal operand.
#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) mod noticed {
    use std::arch::asm;

    /// The flags of the status register that are raised by underflow and by subnormal operands.
    const FLAGS: u32 = 0b01_0010;

    /// Has it been noticed on this thread since the last question?
    pub(crate) fn underflow() -> bool {
        let mut status = 0u32;
        // Safety: flags, which say what has happened, are read and cleared; how the processor computes is left alone.
        unsafe {
            asm!("stmxcsr [{}]", in(reg) &raw mut status);
            let cleared = status & !FLAGS;
            asm!("ldmxcsr [{}]", in(reg) &raw const cleared);
        }
        status & FLAGS != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{Disjoint, Product, Target, multiply};

    /// Numbers of all magnitudes and both signs.
    fn numbers() -> impl Iterator<Item = f32> + Clone {
        let edges = [0.0, f32::INFINITY, f32::NAN, f32::MAX, f32::MIN_POSITIVE, f32::from_bits(1)];
        let all = (0..=u32::MAX).step_by(4_999_999).map(f32::from_bits);
        edges.into_iter().flat_map(|x: f32| [x, -x]).chain(all)
    }

    #[test]
    fn products_are_exact_or_zero() {
        for (x, y) in numbers().flat_map(|x| numbers().map(move |y| (x, y))) {
            let (got, exact) = (product(x, y), x * y);
            let same = got.to_bits() == exact.to_bits() || got.is_nan() && exact.is_nan();
            let is_zero = got.to_bits() == exact.to_bits() & SIGN;
            let small = exact.abs() < 2.0 * f32::MIN_POSITIVE;
            assert!(same || small && is_zero, "{x:e} · {y:e}");
            let normal = !x.is_subnormal() && !y.is_subnormal();
            assert!(!normal || !got.is_subnormal(), "{x:e} · {y:e}");
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn products_do_not_underflow() {
        // Normal numbers and zeros, as kernels leave them.
        let numbers: Vec<f32> = numbers().filter(|x| !x.is_subnormal()).collect();
        let pairs = || numbers.iter().flat_map(|&x| numbers.iter().map(move |&y| (x, y)));
        let count = |multiply: fn(f32, f32) -> f32| {
            let underflows = |&(x, y): &(f32, f32)| {
                noticed::underflow();
                std::hint::black_box(multiply(std::hint::black_box(x), std::hint::black_box(y)));
                noticed::underflow()
            };
            pairs().filter(underflows).count()
        };
        let (plain, guarded) = (count(|x, y| x * y), count(product));
        assert!(plain * 10 > pairs().count(), "{plain} of {}", pairs().count());
        assert_eq!(guarded, 0);
    }

    #[test]
    fn totals_are_rounded_or_zero() {
        let numbers = || numbers().map(f64::from).flat_map(|x| [x, x * (1.0 + 1e-9)]);
        for x in numbers() {
            let (got, rounded) = (narrowed(x), x as f32);
            let same = got.to_bits() == rounded.to_bits() || got.is_nan() && rounded.is_nan();
            let small = x.abs() < f64::from(f32::MIN_POSITIVE);
            assert!(if small { got == 0.0 } else { same }, "{x:e}");
        }
    }

    #[test]
    fn products_of_small_matrices_are_those_of_larger_ones() {
        let (m, n, k) = (9, 70, 33);
        let values = |count: usize, scale: f32| -> Vec<f32> {
            (0..count).map(|at| ((at * 7919 % 101) as f32 - 50.0) / 32.0 * scale).collect()
        };
        let multiplied = |a: Matrix<f32>, b: Matrix<f32>, factor: f32| {
            let mut result = vec![0.0; m * n];
            let to = Target { memory: &Disjoint::new(&mut result), offset: 0, row: n };
            // Safety: there is one thread.
            unsafe { multiply(Product { m, n, k, adds: false, parallel: false }, to, a, b, factor) };
            result
        };
        let (a, b) = (values(m * k, 1.0), values(k * n, 1.0));
        let wanted = multiplied(Matrix::dense(&a, k), Matrix::dense(&b, n), 1.0);
        for (of_a, of_b) in [(-120, 0), (3, -126), (-60, -60), (-110, -10), (-126, -20), (-70, 50)] {
            let scale = |exponent: i32| 2f32.powi(exponent);
            let (a, b) = (values(m * k, scale(of_a)), values(k * n, scale(of_b)));
            let by_columns: Vec<f32> = (0..k * n).map(|at| b[at % k * n + at / k]).collect();
            let (a, transposed) = (Matrix::dense(&a, k), Matrix::dense(&by_columns, k).transposed());
            for b in [Matrix::dense(&b, n), transposed] {
                for (got, wanted) in multiplied(a, b, 1.0).into_iter().zip(&wanted) {
                    let exact = f64::from(*wanted) * 2f64.powi(of_a + of_b);
                    let small = exact.abs() < 2.0 * f64::from(f32::MIN_POSITIVE);
                    assert!(got == exact as f32 || small && got == 0.0, "2^{of_a} and 2^{of_b}");
                    assert!(!got.is_subnormal(), "2^{of_a} and 2^{of_b}");
                }
            }
        }
    }

    /// Gradients on their way through layers, as plain products make them and as they are made here.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn chains_of_products_do_not_underflow() {
        use crate::host::disjoint::multiply_plain;
        const WIDTH: usize = 64;
        let number = |at: usize| (at as u32).wrapping_mul(2_654_435_761) as f32 / u32::MAX as f32 - 0.5;
        let weight: Vec<f32> = (0..WIDTH * WIDTH).map(|at| number(at) / 4.0).collect();
        let size = Product { m: WIDTH, n: WIDTH, k: WIDTH, adds: false, parallel: false };
        // Layers in which the processor noticed underflow, and subnormal results of all layers.
        let count = |plain: bool| {
            let (mut underflowed, mut subnormal) = (0, 0);
            let mut grad: Vec<f32> = (0..WIDTH * WIDTH).map(|at| number(at + 99)).collect();
            for _ in 0..256 {
                let mut next = vec![0.0; WIDTH * WIDTH];
                noticed::underflow();
                let (a, b) = (Matrix::dense(&grad, WIDTH), Matrix::dense(&weight, WIDTH));
                let memory = Disjoint::new(&mut next);
                let to = Target { memory: &memory, offset: 0, row: WIDTH };
                // Safety: there is one thread, and all places lie in their memory.
                unsafe {
                    match plain {
                        true => multiply_plain(size, to, a, b, 1.0),
                        false => multiply(size, to, a, b, 1.0),
                    }
                }
                let times = if plain { |x: f32, y: f32| x * y } else { product };
                next.iter_mut().for_each(|x| *x = times(*x, 0.5));
                underflowed += usize::from(noticed::underflow());
                subnormal += next.iter().filter(|x| x.is_subnormal()).count();
                grad = next;
            }
            assert!(grad.iter().all(|&x| x == 0.0), "the gradients vanish");
            (underflowed, subnormal)
        };
        let (underflowed, subnormal) = count(true);
        assert!(underflowed >= 10 && subnormal >= 10_000, "{underflowed} layers, {subnormal} numbers");
        assert_eq!(count(false), (0, 0));
    }
}
