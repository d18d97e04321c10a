//! Convolutions of one channel in each group on the CPU, where windows of neighbours lie side by side: a channel is copied with its
//! padding, and some neighbours are summed up in registers, all taps after each other.

use super::Sizes;
use crate::host::widest;
use std::ops::{AddAssign, Mul};

/// Neighbours that are summed up at a time.
const LANES: usize = 32;

/// Where windows lie in a channel that has been copied with its padding.
pub(super) struct Windows {
    /// The sizes of the copy.
    padded: [usize; 3],
    /// Of each tap, where that of the first window lies.
    taps: Vec<usize>,
    /// How far apart lines and planes of windows begin.
    line: usize,
    plane: usize,
    output: [usize; 3],
}

impl Windows {
    /// Those of a convolution whose windows are one element apart.
    pub fn of(sizes: &Sizes) -> Option<Windows> {
        let reach = |d: usize| {
            let across = (sizes.kernel[d] - 1).checked_mul(sizes.dilation[d])?;
            (sizes.output[d] - 1).checked_mul(sizes.stride[d])?.checked_add(across + 1)
        };
        let mut padded = [reach(0)?, reach(1)?, reach(2)?];
        // So that whole registers can be read of the last windows, too.
        padded[2] += sizes.output[2].next_multiple_of(LANES) - sizes.output[2];
        let elements = padded.iter().try_fold(1usize, |product, &size| product.checked_mul(size))?;
        // Far padding is not copied.
        if sizes.stride[2] != 1 || elements > 8 * (sizes.input_plane() + LANES * padded[0] * padded[1]) {
            return None;
        }
        let [_, height, width] = padded;
        let [_, rows, columns] = sizes.kernel;
        let place = |tap: usize| {
            let at = [tap / (rows * columns), tap / columns % rows, tap % columns];
            let [z, y, x] = [0, 1, 2].map(|d| at[d] * sizes.dilation[d]);
            (z * height + y) * width + x
        };
        Some(Windows {
            padded,
            taps: (0..sizes.taps()).map(place).collect(),
            line: sizes.stride[1] * width,
            plane: sizes.stride[0] * height * width,
            output: sizes.output,
        })
    }

    /// Copies a channel with its padding.
    pub fn copy<T: Copy + num_traits::Zero>(&self, sizes: &Sizes, channel: &[T], padded: &mut Vec<T>) {
        let [depth, height, width] = self.padded;
        let [_, rows, columns] = sizes.input;
        padded.clear();
        padded.resize(depth * height * width, T::zero());
        let [before_planes, before_rows, before] = sizes.padding;
        let len = columns.min(width.saturating_sub(before));
        for z in before_planes..depth.min(before_planes + sizes.input[0]) {
            for y in before_rows..height.min(before_rows + rows) {
                let from = ((z - before_planes) * rows + y - before_rows) * columns;
                let to = (z * height + y) * width + before.min(width);
                padded[to..to + len].copy_from_slice(&channel[from..from + len]);
            }
        }
    }

    /// y = Σ over taps of w · x, from a padded channel.
    pub fn sum_up<T: Lanes>(&self, padded: &[T], w: &[T], y: &mut [T]) {
        let taps: Vec<(usize, T)> = self.taps.iter().copied().zip(w.iter().copied()).collect();
        let [_, rows, columns] = self.output;
        for (plane, y) in y.chunks_exact_mut(rows * columns).enumerate() {
            T::sum_up(&padded[plane * self.plane..], &taps, self.line, columns, y);
        }
    }
}

/// f32 or f64.
pub(super) trait Lanes: Copy + num_traits::Zero + AddAssign + Mul<Output = Self> {
    /// Sums up the windows of lines of `columns`, which begin `line` apart.
    fn sum_up(x: &[Self], taps: &[(usize, Self)], line: usize, columns: usize, y: &mut [Self]);
}

macro_rules! lanes {
    ($($t:ty: $sum_up:ident),*) => { $(
        widest! {
            fn $sum_up(x: &[$t], taps: &[(usize, $t)], line: usize, columns: usize, y: &mut [$t]) {
                summed_up(x, taps, line, columns, y)
            }
        }

        impl Lanes for $t {
            fn sum_up(x: &[$t], taps: &[(usize, $t)], line: usize, columns: usize, y: &mut [$t]) {
                $sum_up(x, taps, line, columns, y)
            }
        }
    )* };
}
lanes!(f32: sum_up_f32, f64: sum_up_f64);

#[inline(always)]
fn summed_up<T: Lanes>(x: &[T], taps: &[(usize, T)], line: usize, columns: usize, y: &mut [T]) {
    for (row, y) in y.chunks_exact_mut(columns).enumerate() {
        for (block, y) in y.chunks_mut(LANES).enumerate() {
            let x = &x[row * line + block * LANES..];
            let mut sums = [T::zero(); LANES];
            for &(at, w) in taps {
                let x: &[T; LANES] = x[at..].first_chunk().expect("the copy has room for whole registers");
                for lane in 0..LANES {
                    sums[lane] += w * x[lane];
                }
            }
            match <&mut [T; LANES]>::try_from(&mut *y) {
                Ok(y) => *y = sums,
                Err(_) => y.copy_from_slice(&sums[..y.len()]),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;

    #[test]
    fn convolutions_of_single_channels_are_those_of_f64_on_any_number_of_threads() {
        let device = Device::cpu();
        let numbers = |count: usize| -> Vec<f64> {
            (0..count).map(|k| ((k * 7919) % 10_007) as f64 / 5003.0 - 1.0).collect()
        };
        // Images, channels, features of each, height, width, kernel, padding, dilation, stride.
        for [n, c, f, h, w, k, p, d, s] in [
            [2, 3, 1, 32, 32, 3, 1, 1, 1],
            [1, 5, 2, 7, 9, 3, 1, 1, 1],
            [1, 2, 1, 40, 70, 5, 4, 2, 1],
            [2, 2, 1, 6, 33, 1, 0, 1, 1],
            [1, 3, 1, 9, 8, 2, 1, 3, 1],
            [1, 3, 1, 9, 8, 3, 5, 1, 1],
            [1, 2, 1, 11, 13, 3, 1, 1, 2],
            [1, 2, 1, 2, 2, 2, 40, 30, 1],
        ] {
            let (x, kernel) = (numbers(n * c * h * w), numbers(c * f * k * k));
            let reach = d * (k - 1) + 1;
            let (oh, ow) = ((h + 2 * p - reach) / s + 1, (w + 2 * p - reach) / s + 1);
            let wanted: Vec<f64> = (0..n * c * f * oh * ow)
                .map(|at| {
                    let (feature, row, column) = (at / (oh * ow), at / ow % oh, at % ow);
                    let (plane, weights) = (feature / f, feature % (c * f));
                    let taps = (0..k * k).map(|tap| {
                        let y = (row * s + tap / k * d).checked_sub(p).filter(|&y| y < h)?;
                        let x_at = (column * s + tap % k * d).checked_sub(p).filter(|&x| x < w)?;
                        Some(x[(plane * h + y) * w + x_at] * kernel[weights * k * k + tap])
                    });
                    taps.flatten().sum()
                })
                .collect();
            for (dtype, most) in [(DType::F32, 1e-5), (DType::F64, 1e-13)] {
                let tensor = |values: &[f64], shape: [usize; 4]| {
                    Tensor::from_slice(values, shape, &device).to_dtype(dtype)
                };
                let (x, kernel) = (tensor(&x, [n, c, h, w]), tensor(&kernel, [c * f, 1, k, k]));
                let options =
                    Conv2dOptions::default().with_padding(p).with_dilation(d).with_stride(s).with_groups(c);
                let on = |threads: usize| -> Vec<f64> {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                    pool.install(|| {
                        x.conv2d(&kernel, None, &options).to_dtype(DType::F64).to_vec_blocking().unwrap()
                    })
                };
                let got = on(1);
                assert_eq!(got.len(), wanted.len());
                for (got, wanted) in got.iter().zip(&wanted) {
                    assert!((got - wanted).abs() <= most, "{h} × {w}, kernel {k}: {got} {wanted}");
                }
                assert_eq!(on(2), got);
            }
        }
    }
}
