//! Pooling on the CPU: every channel on one core.

use super::{Pool, PoolKind, Span, Window};
use std::hint::select_unpredictable;

/// f32 or f64.
pub(super) trait Real: num_traits::Float + std::ops::AddAssign + Send + Sync {}
impl Real for f32 {}
impl Real for f64 {}

/// Elements under which threads cost more than they bring.
const PARALLEL_WORK: usize = 1 << 14;

/// Fills `to`, which is zero, from `from`: `places` are given going back from a maximum, and `found` going forward.
pub(super) fn pool<T: Real>(
    op: &Pool,
    from: &[T],
    places: Option<&[i32]>,
    to: &mut [T],
    found: Option<&mut [i32]>,
) {
    let (input, output) = (op.input_plane(), op.output_plane());
    if from.is_empty() || to.is_empty() {
        return;
    }
    let spans = op.spans();
    match op.kind {
        PoolKind::Max => {
            let found = found.expect("maxima come with their places");
            let job = |((x, y), found): ((&[T], &mut [T]), &mut [i32])| max_channel(op, &spans, x, y, found);
            #[cfg(not(target_arch = "wasm32"))]
            {
                use rayon::prelude::*;
                let channels = from.par_chunks(input).zip(to.par_chunks_mut(output));
                let least = (PARALLEL_WORK / input).max(1);
                channels.zip(found.par_chunks_mut(output)).with_min_len(least).for_each(job);
            }
            #[cfg(target_arch = "wasm32")]
            from.chunks(input).zip(to.chunks_mut(output)).zip(found.chunks_mut(output)).for_each(job);
        }
        PoolKind::MaxBackward => {
            let places = places.expect("gradients of maxima come with places");
            each_channel(from, output, to, input, |channel, g, x| {
                let places = &places[channel * output..][..output];
                g.iter().zip(places).for_each(|(&g, &place)| x[place as usize] += g);
            });
        }
        PoolKind::Mean(_) => each_channel(from, input, to, output, |_, x, y| {
            op.each_window(&spans, |number, spans| {
                let mut sum = T::zero();
                op.each_place(spans, |place| sum += x[place]);
                y[number] = sum / real(op.divisor(spans));
            });
        }),
        PoolKind::MeanBackward(_) => each_channel(from, output, to, input, |_, g, x| {
            op.each_window(&spans, |number, spans| {
                let share = g[number] / real(op.divisor(spans));
                op.each_place(spans, |place| x[place] += share);
            });
        }),
    }
}

fn real<T: Real>(number: usize) -> T {
    T::from(number).expect("a size is a number")
}

/// Runs `work` on every channel: its number, what it is made from, and what it becomes.
fn each_channel<T: Real>(
    from: &[T],
    from_plane: usize,
    to: &mut [T],
    to_plane: usize,
    work: impl Fn(usize, &[T], &mut [T]) + Send + Sync,
) {
    #[cfg(not(target_arch = "wasm32"))]
    {
        use rayon::prelude::*;
        let channels = from.par_chunks(from_plane).zip(to.par_chunks_mut(to_plane)).enumerate();
        let least = (PARALLEL_WORK / from_plane.max(to_plane)).max(1);
        channels.with_min_len(least).for_each(|(channel, (from, to))| work(channel, from, to));
    }
    #[cfg(target_arch = "wasm32")]
    for (channel, (from, to)) in from.chunks(from_plane).zip(to.chunks_mut(to_plane)).enumerate() {
        work(channel, from, to);
    }
}

/// The maxima of a channel, row by row of the result: one tap of all its windows after the other, from rows sorted
/// by their remainders of the stride, so that the elements of a tap are neighbours.
fn max_channel<T: Real>(op: &Pool, spans: &[Vec<Span>; 3], x: &[T], y: &mut [T], found: &mut [i32]) {
    let [depths, heights, widths] = spans;
    let (width, row_length) = (op.output[2], op.input[2]);
    let rows = y.chunks_exact_mut(width).zip(found.chunks_exact_mut(width));
    let places = depths.iter().flat_map(|depth| heights.iter().map(move |height| (depth, height)));
    let mut sorted = Vec::new();
    for ((y, found), (depth, height)) in rows.zip(places) {
        let first = (depth.start * op.input[1] + height.start) * row_length;
        y.fill(T::neg_infinity());
        found.iter_mut().zip(widths).for_each(|(found, span)| *found = (first + span.start) as i32);
        for d in (depth.start..depth.end).step_by(depth.step) {
            for h in (height.start..height.end).step_by(height.step) {
                let at = (d * op.input[1] + h) * row_length;
                let row = &x[at..at + row_length];
                match op.windows[2] {
                    Window::Sliding { kernel, stride, padding, dilation } => {
                        let taps = Taps { row: by_remainder(row, stride, &mut sorted), row_length, stride };
                        for k in 0..kernel {
                            taps.take(at, (k * dilation) as isize - padding as isize, y, found);
                        }
                    }
                    Window::Adaptive => {
                        for ((y, found), span) in y.iter_mut().zip(found.iter_mut()).zip(widths) {
                            for (k, &value) in row[span.start..span.end].iter().enumerate() {
                                take(value, (at + span.start + k) as i32, y, found);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The elements at multiples of `stride`, then those one after them, and so on; each part ⌈length / stride⌉ long.
fn by_remainder<'a, T: Real>(row: &'a [T], stride: usize, sorted: &'a mut Vec<T>) -> &'a [T] {
    if stride == 1 {
        return row;
    }
    let length = row.len().div_ceil(stride);
    sorted.resize(length * stride, T::zero());
    if stride == 2 {
        let (even, odd) = sorted.split_at_mut(length);
        for ((even, odd), pair) in even.iter_mut().zip(odd).zip(row.chunks_exact(2)) {
            (*even, *odd) = (pair[0], pair[1]);
        }
        if row.len() % 2 == 1 {
            even[length - 1] = row[row.len() - 1];
        }
        return sorted;
    }
    for (remainder, part) in sorted.chunks_exact_mut(length).enumerate().take(row.len()) {
        part.iter_mut().zip(row[remainder..].iter().step_by(stride)).for_each(|(to, &from)| *to = from);
    }
    sorted
}

/// A row, sorted by remainders of the stride.
struct Taps<'a, T> {
    row: &'a [T],
    row_length: usize,
    stride: usize,
}

impl<T: Real> Taps<'_, T> {
    /// Takes the element at o·stride + shift into window o, for all o where there is one; `at` is the row's place.
    fn take(&self, at: usize, shift: isize, y: &mut [T], found: &mut [i32]) {
        let (step, length) = (self.stride as isize, self.row_length as isize);
        let first = if shift < 0 { (-shift + step - 1) / step } else { 0 } as usize;
        let past = if shift < length { (length - 1 - shift) / step + 1 } else { 0 } as usize;
        let past = past.min(y.len());
        if first >= past {
            return;
        }
        let start = (first as isize * step + shift) as usize;
        let part = self.row_length.div_ceil(self.stride) * (start % self.stride);
        let (place, step) = ((at + start) as i32, self.stride as i32);
        let count = past - first;
        let values = &self.row[part + start / self.stride..][..count];
        let (y, found) = (&mut y[first..][..count], &mut found[first..][..count]);
        for o in 0..count {
            take(values[o], place + o as i32 * step, &mut y[o], &mut found[o]);
        }
    }
}

/// Keeps the larger value, the first of equal ones; NaN above all.
#[inline(always)]
fn take<T: Real>(value: T, place: i32, y: &mut T, found: &mut i32) {
    let better = (value > *y) | value.is_nan();
    *y = select_unpredictable(better, value, *y);
    *found = select_unpredictable(better, place, *found);
}
