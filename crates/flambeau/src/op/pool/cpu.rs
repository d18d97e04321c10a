//! Pooling on the CPU: every channel on one core.

use super::{Pool, PoolKind, Span, Window};

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
    match op.kind {
        PoolKind::Max => {
            let found = found.expect("maxima come with their places");
            let spans = op.spans();
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
            op.each_window(|number, spans| {
                let mut sum = T::zero();
                op.each_place(spans, |place| sum += x[place]);
                y[number] = sum / real(op.divisor(spans));
            });
        }),
        PoolKind::MeanBackward(_) => each_channel(from, output, to, input, |_, g, x| {
            op.each_window(|number, spans| {
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

/// The maxima of a channel, row by row of the result: one tap of all its windows after the other.
fn max_channel<T: Real>(op: &Pool, spans: &[Vec<Span>; 3], x: &[T], y: &mut [T], found: &mut [i32]) {
    let [depths, heights, widths] = spans;
    let width = op.output[2];
    let rows = y.chunks_exact_mut(width).zip(found.chunks_exact_mut(width));
    let places = depths.iter().flat_map(|depth| heights.iter().map(move |height| (depth, height)));
    for ((y, found), (depth, height)) in rows.zip(places) {
        y.fill(T::neg_infinity());
        found.fill(-1);
        for d in (depth.start..depth.end).step_by(depth.step) {
            for h in (height.start..height.end).step_by(height.step) {
                let at = (d * op.input[1] + h) * op.input[2];
                let row = &x[at..at + op.input[2]];
                match op.windows[2] {
                    Window::Sliding { kernel, stride, padding, dilation } => {
                        for k in 0..kernel {
                            let shift = (k * dilation) as isize - padding as isize;
                            take_taps(row, at, shift, stride, y, found);
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

/// Keeps the larger value, the first of equal ones; NaN above all.
#[inline(always)]
fn take<T: Real>(value: T, place: i32, y: &mut T, found: &mut i32) {
    let better = (value > *y) | value.is_nan() | (*found < 0);
    *y = if better { value } else { *y };
    *found = if better { place } else { *found };
}

/// Takes row[o·stride + shift] into window o, for all o where there is such an element; `at` is the row's place.
fn take_taps<T: Real>(row: &[T], at: usize, shift: isize, stride: usize, y: &mut [T], found: &mut [i32]) {
    let (step, width) = (stride as isize, row.len() as isize);
    let first = if shift < 0 { (-shift + step - 1) / step } else { 0 } as usize;
    let past = if shift < width { (width - 1 - shift) / step + 1 } else { 0 } as usize;
    let past = past.min(y.len());
    if first >= past {
        return;
    }
    let start = (first as isize * step + shift) as usize;
    let (row, place) = (&row[start..], (at + start) as i32);
    let windows = y[first..past].iter_mut().zip(&mut found[first..past]).enumerate();
    match stride {
        1 => {
            windows.zip(row).for_each(|((o, (y, found)), &value)| take(value, place + o as i32, y, found));
        }
        2 => windows.zip(row.chunks(2)).for_each(|((o, (y, found)), pair)| {
            take(pair[0], place + 2 * o as i32, y, found);
        }),
        _ => windows.zip(row.iter().step_by(stride)).for_each(|((o, (y, found)), &value)| {
            take(value, place + (stride * o) as i32, y, found);
        }),
    }
}
