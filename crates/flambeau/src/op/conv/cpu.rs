//! Convolution on the CPU: the windows of a block of positions as columns of a matrix that stays in the cache, and
//! matrix products with it. Images, groups and blocks go to different cores; sums over them are added in one order.

use super::depthwise::{Lanes, Windows};
use super::{Direction, Sizes};
use crate::host::tiny::Factor;
use crate::host::{Disjoint, Matrix, Product, Target, multiply, share};
use crate::shape::product;
use std::cell::Cell;
use std::convert::Infallible;
use std::ops::{AddAssign, Mul, Range};
use std::thread::LocalKey;

/// f32 or f64.
pub(super) trait Real:
    Factor + Lanes + num_traits::Zero + AddAssign + Mul<Output = Self> + Send + Sync
{
    /// Memory for columns that the thread keeps from one convolution to the next.
    fn kept() -> &'static LocalKey<Cell<Vec<Self>>>;
}

macro_rules! real {
    ($($t:ty),*) => { $(
        impl Real for $t {
            fn kept() -> &'static LocalKey<Cell<Vec<Self>>> {
                thread_local! {
                    static KEPT: Cell<Vec<$t>> = const { Cell::new(Vec::new()) };
                }
                &KEPT
            }
        }
    )* };
}
real!(f32, f64);

/// Runs `work` with the thread's memory for columns. Work that meanwhile starts on the same thread gets memory of its
/// own.
fn with_columns<T: Real>(work: impl FnOnce(&mut Vec<T>)) {
    let mut columns = T::kept().take();
    work(&mut columns);
    T::kept().set(columns);
}

/// Elements of a block of columns: half a megabyte of f32.
const COLUMNS: usize = 1 << 17;
/// Elements of all partial weight gradients together, and how many of them there are at most.
const PARTIAL: usize = 1 << 24;
const PARTS: usize = 8;

/// Fills `result`, which is zero, from the two operands of a direction.
pub(super) fn convolve<T: Real>(direction: Direction, sizes: &Sizes, a: &[T], b: &[T], result: &mut [T]) {
    if a.is_empty() || b.is_empty() || result.is_empty() {
        return;
    }
    match direction {
        _ if sizes.inputs == 1 && sizes.groups > 1 => depthwise(direction, sizes, a, b, result),
        Direction::Forward => forward(sizes, a, b, result),
        Direction::Input => input_gradient(sizes, a, b, result),
        Direction::Weight => weight_gradient(sizes, a, b, result),
    }
}

/// Runs `work` on ranges that cover 0..count, on all cores; each call brings its own buffers. Ranges are short, as few jobs that are
/// taken together would leave a core without work at the end.
fn in_parallel(count: usize, work: impl Fn(Range<usize>) + Send + Sync) {
    let size = (count / (8 * crate::host::threads())).max(1);
    let done: Result<(), Infallible> = share(count.div_ceil(size), |range| {
        work(range * size..((range + 1) * size).min(count));
        Ok(())
    });
    let Ok(()) = done;
}

/// A product that one thread makes.
fn alone(m: usize, n: usize, k: usize) -> Product {
    Product { m, n, k, adds: false, parallel: false }
}

/// Positions of a block, so that `depth` rows of them fit the cache.
fn block_size(positions: usize, depth: usize) -> usize {
    let blocks = product([positions, depth]).div_ceil(COLUMNS).clamp(1, positions.div_ceil(64));
    positions.div_ceil(blocks)
}

/// Elements of a row of windows that lie in the image: `at` is where they start in the columns' row, `from` in the
/// channel.
struct Run {
    at: usize,
    from: usize,
    len: usize,
}

impl Sizes {
    /// Visits the runs of tap `tap` for the positions of a block, in order; what they leave out is padding.
    fn runs(&self, tap: usize, block: &Range<usize>, mut visit: impl FnMut(Run)) {
        let ([_, kh, kw], [depth, height, width]) = (self.kernel, self.input);
        let [_, oh, ow] = self.output;
        let shift = |d: usize, k: usize| (k * self.dilation[d]) as isize - self.padding[d] as isize;
        let shifts = [shift(0, tap / (kh * kw)), shift(1, tap / kw % kh), shift(2, tap % kw)];
        let (step, shift) = (self.stride[2] as isize, shifts[2]);
        // Positions p of a row with 0 ≤ p·step + shift < width.
        let first = if shift < 0 { (-shift + step - 1) / step } else { 0 } as usize;
        let past = if shift < width as isize { (width as isize - 1 - shift) / step + 1 } else { 0 } as usize;
        let mut at = block.start;
        let (mut z, mut r) = (at / (oh * ow), at / ow % oh);
        while at < block.end {
            let start = at % ow;
            let end = ow.min(start + block.end - at);
            let plane = z as isize * self.stride[0] as isize + shifts[0];
            let row = r as isize * self.stride[1] as isize + shifts[1];
            let (low, high) = (first.max(start), past.min(end));
            if low < high && (0..depth as isize).contains(&plane) && (0..height as isize).contains(&row) {
                let from = (plane as usize * height + row as usize) * width;
                visit(Run {
                    at: at - block.start + low - start,
                    from: (from as isize + low as isize * step + shift) as usize,
                    len: high - low,
                });
            }
            at += end - start;
            r += 1;
            if r == oh {
                (z, r) = (z + 1, 0);
            }
        }
    }

    /// The windows of a block of positions as columns: a row for every channel and tap.
    fn fill_columns<T: Real>(&self, x: &[T], block: &Range<usize>, columns: &mut Vec<T>) {
        let (len, plane, step) = (block.len(), self.input_plane(), self.stride[2]);
        let padded = (0..3).any(|d| {
            let last = (self.output[d] - 1) * self.stride[d] + (self.kernel[d] - 1) * self.dilation[d];
            self.padding[d] > 0 || last >= self.input[d] + self.padding[d]
        });
        if padded {
            columns.clear();
        }
        columns.resize(self.inputs * self.taps() * len, T::zero());
        let mut rows = columns.chunks_exact_mut(len);
        for channel in x.chunks_exact(plane).take(self.inputs) {
            for (tap, row) in (0..self.taps()).zip(&mut rows) {
                self.runs(tap, block, |Run { at, from, len }| {
                    let to = &mut row[at..at + len];
                    if step == 1 {
                        to.copy_from_slice(&channel[from..from + len]);
                    } else {
                        let from = channel[from..].iter().step_by(step);
                        to.iter_mut().zip(from).for_each(|(to, &from)| *to = from);
                    }
                });
            }
        }
    }

    /// Adds columns back to where their windows lie.
    fn add_columns<T: Real>(&self, columns: &[T], block: &Range<usize>, x: &mut [T]) {
        let (len, plane, step) = (block.len(), self.input_plane(), self.stride[2]);
        let mut rows = columns.chunks_exact(len);
        for channel in x.chunks_exact_mut(plane) {
            for (tap, row) in (0..self.taps()).zip(&mut rows) {
                self.runs(tap, block, |Run { at, from, len }| {
                    let row = &row[at..at + len];
                    if step == 1 {
                        let to = &mut channel[from..from + len];
                        to.iter_mut().zip(row).for_each(|(to, &from)| *to += from);
                    } else {
                        let to = channel[from..].iter_mut().step_by(step);
                        to.zip(row).for_each(|(to, &from)| *to += from);
                    }
                });
            }
        }
    }
}

/// y (O × P) = w (O × C·K) · columns (C·K × P), for every image, group and block.
fn forward<T: Real>(sizes: &Sizes, x: &[T], w: &[T], y: &mut [T]) {
    let (depth, positions) = (sizes.inputs * sizes.taps(), sizes.output_plane());
    let size = block_size(positions, depth);
    let (blocks, result) = (positions.div_ceil(size), Disjoint::new(y));
    in_parallel(sizes.images * sizes.groups * blocks, |jobs| {
        with_columns(|columns| {
            for job in jobs {
                let (matrix, start) = (job / blocks, job % blocks * size);
                let group = matrix % sizes.groups;
                let block = start..(start + size).min(positions);
                let x = &x[matrix * sizes.inputs * sizes.input_plane()..];
                let windows = if sizes.is_pointwise() {
                    Matrix::dense(&x[start..], positions)
                } else {
                    sizes.fill_columns(x, &block, columns);
                    Matrix::dense(columns, block.len())
                };
                let weight = Matrix::dense(&w[group * sizes.outputs * depth..], depth);
                let offset = matrix * sizes.outputs * positions + start;
                let to = Target { memory: &result, offset, row: positions };
                let size = alone(sizes.outputs, block.len(), depth);
                // Safety: every job has its own images, groups and columns of y.
                unsafe { multiply(size, to, weight, windows, T::one()) };
            }
        });
    });
}

/// columns (C·K × P) = wᵀ (C·K × O) · y (O × P), added to where the windows lie. Channels of one image may go to
/// different cores, as their windows do not meet.
fn input_gradient<T: Real>(sizes: &Sizes, y: &[T], w: &[T], x: &mut [T]) {
    let (positions, taps, plane) = (sizes.output_plane(), sizes.taps(), sizes.input_plane());
    let matrices = sizes.images * sizes.groups;
    let share = (2 * crate::host::threads()).div_ceil(matrices).min(sizes.inputs);
    let channels = sizes.inputs.div_ceil(share);
    let parts = sizes.inputs.div_ceil(channels);
    let size = block_size(positions, channels * taps);
    let result = Disjoint::new(x);
    in_parallel(matrices * parts, |jobs| {
        with_columns(|columns| {
            for job in jobs {
                let (matrix, first) = (job / parts, job % parts * channels);
                let group = matrix % sizes.groups;
                let channels = channels.min(sizes.inputs - first);
                let row = sizes.inputs * taps;
                let weight = &w[group * sizes.outputs * row + first * taps..];
                let weight = Matrix::dense(weight, row).transposed();
                let start = (matrix * sizes.inputs + first) * plane;
                // Safety: every job has its own channels of its own images.
                let x = unsafe { result.slice(start..start + channels * plane) };
                for start in (0..positions).step_by(size) {
                    let block = start..(start + size).min(positions);
                    let y = &y[matrix * sizes.outputs * positions + start..];
                    let y = Matrix::dense(y, positions);
                    let size = alone(channels * taps, block.len(), sizes.outputs);
                    if sizes.is_pointwise() {
                        let to = Target { memory: &Disjoint::new(x), offset: start, row: positions };
                        // Safety: x is the job's own.
                        unsafe { multiply(size, to, weight, y, T::one()) };
                        continue;
                    }
                    columns.resize(channels * taps * block.len(), T::zero());
                    let to = Target { memory: &Disjoint::new(columns), offset: 0, row: block.len() };
                    // Safety: the columns are the thread's own.
                    unsafe { multiply(size, to, weight, y, T::one()) };
                    sizes.add_columns(columns, &block, x);
                }
            }
        });
    });
}

/// w (O × C·K) = Σ over images and blocks of y (O × P) · columnsᵀ (P × C·K). The images and blocks are cut into parts
/// whose number does not depend on the machine, and whose sums are added in order.
fn weight_gradient<T: Real>(sizes: &Sizes, x: &[T], y: &[T], w: &mut [T]) {
    let (depth, positions) = (sizes.inputs * sizes.taps(), sizes.output_plane());
    let size = block_size(positions, depth);
    let blocks = positions.div_ceil(size);
    let jobs = sizes.images * blocks;
    let parts = jobs.min(PARTS).min(PARTIAL / w.len()).max(1);
    let (each, matrix) = (jobs.div_ceil(parts), sizes.outputs * depth);
    let parts = jobs.div_ceil(each);
    let mut partial = vec![T::zero(); if parts > 1 { (parts - 1) * w.len() } else { 0 }];
    let weights = w.len();
    let (first, rest) = (Disjoint::new(w), Disjoint::new(&mut partial));
    let run = |part: usize, group: usize| {
        let (memory, earlier) = if part == 0 { (&first, 0) } else { (&rest, part - 1) };
        let total = Target { memory, offset: (earlier * sizes.groups + group) * matrix, row: depth };
        with_columns(|columns| {
            for job in part * each..((part + 1) * each).min(jobs) {
                let (image, start) = (job / blocks, job % blocks * size);
                let block = start..(start + size).min(positions);
                let x = &x[(image * sizes.groups + group) * sizes.inputs * sizes.input_plane()..];
                let windows = if sizes.is_pointwise() {
                    Matrix::dense(&x[start..], positions).transposed()
                } else {
                    sizes.fill_columns(x, &block, columns);
                    Matrix::dense(columns, block.len()).transposed()
                };
                let y = &y[(image * sizes.groups + group) * sizes.outputs * positions + start..];
                let y = Matrix::dense(y, positions);
                let own = alone(sizes.outputs, depth, block.len());
                let size = Product { adds: true, parallel: parts * sizes.groups == 1, ..own };
                // Safety: every part and group has its own memory of `matrix` elements.
                unsafe { multiply(size, total, y, windows, T::one()) };
            }
        });
    };
    in_parallel(parts * sizes.groups, |jobs| {
        jobs.for_each(|job| run(job / sizes.groups, job % sizes.groups));
    });
    for part in partial.chunks_exact(weights) {
        w.iter_mut().zip(part).for_each(|(sum, &part)| *sum += part);
    }
}

/// One channel of x in each group: sums over a single channel are too short for matrix products.
fn depthwise<T: Real>(direction: Direction, sizes: &Sizes, a: &[T], b: &[T], result: &mut [T]) {
    let (positions, taps, plane) = (sizes.output_plane(), sizes.taps(), sizes.input_plane());
    let (images, groups, outputs, step) = (sizes.images, sizes.groups, sizes.outputs, sizes.stride[2]);
    let (all, result) = (0..positions, Disjoint::new(result));
    // A page has the loops of all directions alone.
    let windows = (!cfg!(target_arch = "wasm32")).then(|| Windows::of(sizes)).flatten();
    match (direction, windows) {
        (Direction::Forward, Some(windows)) => in_parallel(images * groups, |jobs| {
            with_columns(|padded| {
                for job in jobs {
                    windows.copy(sizes, &a[job * plane..][..plane], padded);
                    for o in 0..outputs {
                        let w = &b[(job % groups * outputs + o) * taps..][..taps];
                        let start = (job * outputs + o) * positions;
                        // Safety: every job has its own channels of y.
                        let y = unsafe { result.slice(start..start + positions) };
                        windows.sum_up(padded, w, y);
                    }
                }
            });
        }),
        (Direction::Forward, None) => in_parallel(images * groups, |jobs| {
            for job in jobs {
                let x = &a[job * plane..][..plane];
                for o in 0..outputs {
                    let w = &b[(job % groups * outputs + o) * taps..][..taps];
                    let start = (job * outputs + o) * positions;
                    // Safety: every job has its own channels of y.
                    let y = unsafe { result.slice(start..start + positions) };
                    for (tap, &w) in w.iter().enumerate() {
                        sizes.runs(tap, &all, |Run { at, from, len }| {
                            let (y, x) = (&mut y[at..at + len], &x[from..]);
                            match step {
                                1 => y.iter_mut().zip(x).for_each(|(y, &x)| *y += w * x),
                                _ => y.iter_mut().zip(x.iter().step_by(step)).for_each(|(y, &x)| *y += w * x),
                            }
                        });
                    }
                }
            }
        }),
        (Direction::Input, _) => in_parallel(images * groups, |jobs| {
            for job in jobs {
                // Safety: every job has its own channel of x.
                let x = unsafe { result.slice(job * plane..(job + 1) * plane) };
                for o in 0..outputs {
                    let w = &b[(job % groups * outputs + o) * taps..][..taps];
                    let y = &a[(job * outputs + o) * positions..][..positions];
                    for (tap, &w) in w.iter().enumerate() {
                        sizes.runs(tap, &all, |Run { at, from, len }| {
                            let (y, x) = (&y[at..at + len], &mut x[from..]);
                            match step {
                                1 => x.iter_mut().zip(y).for_each(|(x, &y)| *x += w * y),
                                _ => x.iter_mut().step_by(step).zip(y).for_each(|(x, &y)| *x += w * y),
                            }
                        });
                    }
                }
            }
        }),
        (Direction::Weight, _) => in_parallel(groups * outputs, |jobs| {
            for job in jobs {
                // Safety: every job has its own kernel.
                let w = unsafe { result.slice(job * taps..(job + 1) * taps) };
                for image in 0..images {
                    let x = &a[(image * groups + job / outputs) * plane..][..plane];
                    let y = &b[(image * groups * outputs + job) * positions..][..positions];
                    for (tap, w) in w.iter_mut().enumerate() {
                        let mut sum = T::zero();
                        sizes.runs(tap, &all, |Run { at, from, len }| {
                            sum += dot(&y[at..at + len], &x[from..], step);
                        });
                        *w += sum;
                    }
                }
            }
        }),
    }
}

/// Σ y\[i\]·x\[i·step\], in eight running sums.
fn dot<T: Real>(y: &[T], x: &[T], step: usize) -> T {
    let mut sums = [T::zero(); 8];
    if step == 1 {
        let x = &x[..y.len()];
        let (head, tail) = (y.chunks_exact(8), y.len() / 8 * 8);
        for (y, x) in head.zip(x.chunks_exact(8)) {
            sums.iter_mut().zip(y.iter().zip(x)).for_each(|(sum, (&y, &x))| *sum += y * x);
        }
        y[tail..].iter().zip(&x[tail..]).for_each(|(&y, &x)| sums[0] += y * x);
    } else {
        y.iter().zip(x.iter().step_by(step)).for_each(|(&y, &x)| sums[0] += y * x);
    }
    sums.into_iter().fold(T::zero(), |total, sum| total + sum)
}
