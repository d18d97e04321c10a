//! Reductions of many lengths, along rows and down columns, in all tiers, with subgroups and without: against f64. And rows
//! found by an index, element by element and by fours.

use crate::common::{new_gpu, values};
use flambeau::prelude::*;
use flambeau::{GpuConfig, Specialise, Subgroups};

/// Devices that reduce in every way there is, and what they are.
fn devices() -> Vec<(String, Device)> {
    let mut devices = Vec::new();
    for subgroups in [Subgroups::Never, Subgroups::Always] {
        let tiers = [(Specialise::Never, false), (Specialise::WhenHot, true), (Specialise::AtOnce, false)];
        for (specialise, compact) in tiers {
            let device = new_gpu(GpuConfig { subgroups, specialise, compact, ..GpuConfig::default() });
            let used = device.features().contains(&"subgroups");
            assert!(subgroups == Subgroups::Always || !used, "{:?}", device.features());
            let what =
                format!("subgroups {subgroups:?} ({used}), specialised {specialise:?}, compact {compact}");
            devices.push((what, device));
        }
    }
    devices
}

/// Numbers of both signs, some of them equal, as f32 has them.
fn numbers(count: usize) -> Vec<f32> {
    let hash = |k: usize| (k as u32).wrapping_mul(2_654_435_761).rotate_left(13).wrapping_mul(0x9e37_79b1);
    (0..count).map(|k| (hash(k) >> 20) as f32 / 1024.0 - 2.0).collect()
}

/// What is known of a row, in f64: sum, largest, smallest, where these are first, and the variance.
fn expected(row: &[f64]) -> [f64; 6] {
    let count = row.len() as f64;
    let sum: f64 = row.iter().sum();
    let first = |better: fn(&f64, &f64) -> bool| {
        (1..row.len()).fold(0, |best, k| if better(&row[k], &row[best]) { k } else { best })
    };
    let (largest, smallest) = (first(f64::gt), first(f64::lt));
    let squares: f64 = row.iter().map(|x| (x - sum / count).powi(2)).sum();
    [sum, row[largest], row[smallest], largest as f64, smallest as f64, squares / (count - 1.0)]
}

fn check(device: &Device, what: &str, rows: usize, length: usize, dim: isize) {
    let data = numbers(rows * length);
    let (shape, dim_of_row) = if dim == 1 { ([rows, length], 0) } else { ([length, rows], 1) };
    let x = Tensor::from_slice(&data, shape, device);
    let all =
        [x.sum(dim), x.max(dim), x.min(dim), x.argmax(dim), x.argmin(dim), x.var(dim, 1)].map(|y| values(&y));
    for row in 0..rows {
        let at = |k: usize| if dim_of_row == 0 { row * length + k } else { k * rows + row };
        let elements: Vec<f64> = (0..length).map(|k| f64::from(data[at(k)])).collect();
        let want = expected(&elements);
        let scale: f64 = elements.iter().map(|x| x.abs()).sum();
        // Sums of f32 in whatever order; everything else is exact.
        let allowed = [scale * 3e-7, 0.0, 0.0, 0.0, 0.0, 1e-5 * want[5].abs() + 1e-6];
        for (k, (all, (want, allowed))) in all.iter().zip(want.into_iter().zip(allowed)).enumerate() {
            let got = all[row];
            assert!(
                (got - want).abs() <= allowed,
                "{what}: number {k} of row {row} of {shape:?} along {dim}: {got}, not {want}"
            );
        }
    }
}

#[test]
fn of_many_lengths() {
    let lengths =
        [2, 3, 4, 31, 32, 33, 36, 64, 100, 127, 128, 129, 200, 256, 257, 500, 1000, 1024, 1028, 2047];
    for (what, device) in devices() {
        for length in lengths {
            check(&device, &what, 5, length, 1);
            check(&device, &what, 5, length, 0);
        }
        for (rows, length) in [(3, 4096), (260, 4096), (257, 4100), (3, 9000), (2, 16_384), (1, 70_001)] {
            check(&device, &what, rows, length, 1);
        }
        for (rows, length) in [(32, 1100), (130, 300), (132, 1030), (128, 8200), (1025, 1024)] {
            check(&device, &what, rows, length, 0);
        }
    }
}

/// The order in which a sum is made does not depend on the tier.
#[test]
fn have_one_order_in_all_tiers() {
    let devices = devices();
    for tiers in devices.chunks(3) {
        for shape in [[1030, 1024], [1024, 1028], [300, 5000], [70, 16_500], [29, 33], [41, 7], [600, 200]] {
            let bits = tiers.iter().map(|(_, device)| {
                let x = Tensor::from_slice(&numbers(shape[0] * shape[1]), shape, device);
                let sums = [x.sum(1), x.sum(0), x.exp().var(1, 1), x.sum(..)];
                sums.iter().flat_map(values).map(f64::to_bits).collect::<Vec<u64>>()
            });
            let bits: Vec<_> = bits.collect();
            for (other, (what, _)) in bits.iter().zip(tiers) {
                assert!(bits[0] == *other, "{} and {what} differ for {shape:?}", tiers[0].0);
            }
        }
    }
}

#[test]
fn nan_and_infinity_are_found() {
    for (what, device) in devices() {
        for length in [40, 300, 4096] {
            for place in [0, 1, length / 2, length - 1] {
                let mut data = numbers(3 * length);
                data[length + place] = f32::NAN;
                data[2 * length + place] = f32::INFINITY;
                let x = Tensor::from_slice(&data, [3, length], &device);
                let (largest, at) = (values(&x.max(1)), values(&x.argmax(1)));
                assert!(!largest[0].is_nan() && largest[1].is_nan(), "{what} {length} {place}");
                assert_eq!((largest[2], at[1], at[2]), (f64::INFINITY, place as f64, place as f64), "{what}");
            }
        }
    }
}

#[test]
fn rows_by_index() {
    let device = new_gpu(GpuConfig::default());
    for (rows, width, picks) in [(7, 1024, 1030), (50, 4, 300_000), (9, 1023, 1030), (5, 3, 10)] {
        let data = numbers(rows * width);
        let x = Tensor::from_slice(&data, [rows, width], &device);
        let index: Vec<i32> = (0..picks).map(|k| ((k * k + 3 * k) % rows) as i32).collect();
        let picked = x.index_select(0, &Tensor::from_slice(&index, [picks], &device));
        let got = values(&(picked * 2.0 + 1.0));
        for (k, got) in got.into_iter().enumerate() {
            let want = data[index[k / width] as usize * width + k % width] * 2.0 + 1.0;
            assert_eq!(got, f64::from(want), "element {k} of ({rows}, {width})[{picks}]");
        }
    }
}
