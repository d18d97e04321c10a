//! Pooling on the CPU: every channel on one core.

#[cfg(not(target_arch = "wasm32"))]
use super::Window;
use super::{Pool, PoolKind, Span};
#[cfg(not(target_arch = "wasm32"))]
use crate::host::widest;
use std::hint::select_unpredictable;

/// f32 or f64.
pub(super) trait Real: num_traits::Float + std::ops::AddAssign + Send + Sync {
    /// A row of [`max_pairs`].
    #[cfg(not(target_arch = "wasm32"))]
    fn max_row(rows: [&[[Self; 2]]; 2], places: [usize; 2], y: &mut [Self], found: &mut [i32]);
}

impl Real for f32 {
    #[cfg(not(target_arch = "wasm32"))]
    fn max_row(rows: [&[[f32; 2]]; 2], places: [usize; 2], y: &mut [f32], found: &mut [i32]) {
        widest! {
            fn wide(rows: [&[[f32; 2]]; 2], places: [usize; 2], y: &mut [f32], found: &mut [i32]) {
                max_row(rows, places, y, found);
            }
        }
        wide(rows, places, y, found);
    }
}

impl Real for f64 {
    #[cfg(not(target_arch = "wasm32"))]
    fn max_row(rows: [&[[f64; 2]]; 2], places: [usize; 2], y: &mut [f64], found: &mut [i32]) {
        max_row(rows, places, y, found);
    }
}

/// Elements under which threads cost more than they bring.
#[cfg(not(target_arch = "wasm32"))]
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

/// The maxima of a channel. Rows of two and three neighbours, the usual windows, are taken without a loop.
fn max_channel<T: Real>(op: &Pool, spans: &[Vec<Span>; 3], x: &[T], y: &mut [T], found: &mut [i32]) {
    #[cfg(not(target_arch = "wasm32"))]
    if in_pairs(op) {
        return max_pairs(op, x, y, found);
    }
    op.each_window(spans, |number, [depth, height, width]| {
        let place = |d: usize, h: usize| (d * op.input[1] + h) * op.input[2] + width.start;
        let mut best = (T::neg_infinity(), place(depth.start, height.start) as i32);
        let count = if width.step == 1 { width.end - width.start } else { 0 };
        depth.each(|d| {
            height.each(|h| {
                let at = place(d, h);
                let row = &x[at..at + width.end - width.start];
                match count {
                    2 => best = take(row[1], at + 1, take(row[0], at, best)),
                    3 => best = take(row[2], at + 2, take(row[1], at + 1, take(row[0], at, best))),
                    _ => width.each(|w| {
                        let k = w - width.start;
                        best = take(row[k], at + k, best);
                    }),
                }
            });
        });
        (y[number], found[number]) = best;
    });
}

/// Are windows 2 × 2, one beside the other? These are most networks' only ones.
#[cfg(not(target_arch = "wasm32"))]
fn in_pairs(op: &Pool) -> bool {
    let halves = Window::Sliding { kernel: 2, stride: 2, padding: 0, dilation: 1 };
    op.input[0] == 1
        && op.output[0] == 1
        && (1..3).all(|d| op.windows[d] == halves && 2 * op.output[d] <= op.input[d])
}

/// The maxima of a channel whose windows are 2 × 2 and lie side by side: row by row, all windows of a row alike.
#[cfg(not(target_arch = "wasm32"))]
fn max_pairs<T: Real>(op: &Pool, x: &[T], y: &mut [T], found: &mut [i32]) {
    let (columns, width) = (op.output[2], op.input[2]);
    let rows = y.chunks_exact_mut(columns).zip(found.chunks_exact_mut(columns));
    for (row, (y, found)) in rows.enumerate() {
        let places = [2 * row * width, (2 * row + 1) * width];
        let pairs = places.map(|place| x[place..place + 2 * columns].as_chunks::<2>().0);
        T::max_row(pairs, places, y, found);
    }
}

/// The maxima of pairs of two rows, which begin at these places of the channel.
#[cfg(not(target_arch = "wasm32"))]
#[inline(always)]
fn max_row<T: Real>([upper, lower]: [&[[T; 2]]; 2], places: [usize; 2], y: &mut [T], found: &mut [i32]) {
    for (k, (y, found)) in y.iter_mut().zip(found).enumerate() {
        let [first, second] = places.map(|place| place + 2 * k);
        let best = take(upper[k][0], first, (T::neg_infinity(), first as i32));
        let best = take(lower[k][0], second, take(upper[k][1], first + 1, best));
        (*y, *found) = take(lower[k][1], second + 1, best);
    }
}

/// The larger value and its place, the first of equal ones; NaN above all.
#[inline(always)]
fn take<T: Real>(value: T, place: usize, (best, at): (T, i32)) -> (T, i32) {
    let better = (value > best) | value.is_nan();
    (select_unpredictable(better, value, best), select_unpredictable(better, place as i32, at))
}
