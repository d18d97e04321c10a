//! Normalised rows: y = (x − m) · r · w + b, where m and r have a value per row and w and b one per place, or one per channel, of which
//! a row has several. That is what layer norm, RMS norm and group norm come to, and it is worth loops of its own: the interpreter would go over each row seven times and
//! keep four copies of it in the cache, where three times and none are enough. x is read for Σ x, for Σ (x − m)² and for
//! the result; what is made of these sums, once per row, the interpreter makes for some rows at once.
//!
//! Results are rounded as the interpreter rounds them, but for Σ (x − m)², whose squares are not rounded at all.

use super::fused::{Output, Worker};
use super::totals::Totals;
use crate::dtype::DType;
use crate::host::tiny::product;
use crate::host::{Lanes, View, prefetch, widest};
use crate::ir::ReduceKind;
use crate::ir::access::Access;
use crate::ir::kernel::{Fused, InstKind};
use std::ops::Range;

/// Numbers of a row after which others are asked for that will be read soon: all at once would wait for each other.
const PIECE: usize = 256;

/// A kernel that normalises rows, by the instructions that matter.
pub(super) struct Norm {
    length: usize,
    /// The load of x.
    x: usize,
    /// What is subtracted from it, if anything is.
    mean: Option<usize>,
    /// What the difference is multiplied by.
    scale: usize,
    /// The loads of w and b, and for how many places after each other each of their values is.
    weight: Option<usize>,
    bias: Option<usize>,
    stretch: usize,
    /// The output that gets the rows.
    output: usize,
    /// One 0 for every dimension.
    fixed: Vec<usize>,
}

impl Norm {
    /// How the kernel normalises rows, if that is what it does and all it does.
    pub fn of(worker: &Worker) -> Option<Norm> {
        let kernel = worker.kernel;
        let inner = || kernel.insts.iter().filter(|inst| inst.inner);
        let mut rows = (0..kernel.outputs.len()).filter(|&output| kernel.outputs[output].per_element);
        let (output, None) = (rows.next()?, rows.next()) else { return None };
        let result = kernel.outputs[output].inst;
        if worker.straight[result].is_none() || inner().any(|inst| inst.dtype != DType::F32) {
            return None;
        }
        // From the result back to x, counting instructions per element.
        let (mut seen, mut at) = (0, result);
        let mut step = |name: &str| {
            let (rest, load) = operands(kernel, name, at)?;
            let found = is_load(kernel, load) && kernel.insts[rest].inner && !is_load(kernel, rest);
            if found {
                (seen, at) = (seen + 2, rest);
            }
            found.then_some(load)
        };
        let (bias, weight) = (step("add"), step("mul"));
        let (centred, scale) = operands(kernel, "mul", at)?;
        let (x, mean) = match is_load(kernel, centred) {
            true => (centred, None),
            false => operands(kernel, "sub", centred).map(|(x, mean)| (x, Some(mean)))?,
        };
        seen += if mean.is_some() { 3 } else { 2 };
        if !is_load(kernel, x) || [Some(scale), mean].iter().flatten().any(|&row| kernel.insts[row].inner) {
            return None;
        }
        // Σ x and Σ (x − m)² are all that is reduced.
        let mut squares = Vec::new();
        for &reduction in kernel.phases.iter().flat_map(|phase| &phase.reductions) {
            let InstKind::Reduce { arg, reduce } = &kernel.insts[reduction].kind else { return None };
            let is_square = operands(kernel, "mul", *arg) == Some((centred, centred));
            if reduce.kind != ReduceKind::Sum || !(is_square || *arg == x) {
                return None;
            }
            if is_square && !squares.contains(arg) {
                squares.push(*arg);
            }
        }
        let (length, fixed) = (kernel.inner_count(), vec![0; kernel.space.len()]);
        let mut norm = Norm { length, x, mean, scale, weight, bias, stretch: 1, output, fixed };
        let lies_together = |load: usize| norm.row(worker, load, 0).is_some();
        let is_row = lies_together(x) && norm.place(worker, &kernel.outputs[output].access, 0..1).is_some();
        let mut along = [weight, bias].into_iter().flatten();
        if !along.clone().all(lies_together) {
            // One value for the whole of the last dimension.
            let last = kernel.space.len() - 1;
            let is_repeated = |load: usize| match &kernel.insts[load].kind {
                InstKind::Load { access, .. } => {
                    access.is_strided() && access.levels[0].axes[last].stride == 0
                }
                _ => false,
            };
            if last == kernel.kept || !along.all(is_repeated) {
                return None;
            }
            norm.stretch = kernel.space[last];
        }
        (is_row && inner().count() == seen + squares.len()).then_some(norm)
    }

    /// The value of a load at one place of a row.
    fn value(&self, worker: &Worker, load: usize, row: usize, place: usize) -> f32 {
        let InstKind::Load { operand, access } = &worker.kernel.insts[load].kind else {
            unreachable!("w and b are loaded")
        };
        let level = &access.levels[0];
        let (mut rest, mut at) = (row * self.length + place, worker.offset(level));
        for (&size, axis) in worker.kernel.space.iter().zip(&level.axes).rev() {
            at += (rest % size) as i64 * axis.stride;
            rest /= size;
        }
        let value = worker.inputs[*operand].view(at as usize..at as usize + 1).map(f32::slice);
        value.expect("f32 is computed as it is stored")[0]
    }

    /// Where some rows lie, if they lie together, one behind the other.
    fn place(&self, worker: &Worker, access: &Access, rows: Range<usize>) -> Option<Range<usize>> {
        let count = rows.len() * self.length;
        // Rows of a matrix, as nearly all are, need no search.
        if let ([_, _], [level]) = (&worker.kernel.space[..], &access.levels[..])
            && let [row, place] = &level.axes[..]
            && (row.hole.is_none() && place.hole.is_none() && place.stride == 1)
            && (rows.len() == 1 || row.stride == self.length as i64)
        {
            let start = (worker.offset(level) + rows.start as i64 * row.stride) as usize;
            return Some(start..start + count);
        }
        let dimensions = 0..worker.kernel.space.len();
        let start =
            worker.strip(dimensions, rows.start * self.length, count, &self.fixed).together(access)?;
        Some(start..start + count)
    }

    /// What a load gives for some rows, if they lie together.
    fn rows<'a>(&self, worker: &Worker<'a>, load: usize, rows: Range<usize>) -> Option<&'a [f32]> {
        let InstKind::Load { operand, access } = &worker.kernel.insts[load].kind else { return None };
        worker.inputs[*operand].view(self.place(worker, access, rows)?).map(f32::slice)
    }

    fn row<'a>(&self, worker: &Worker<'a>, load: usize, row: usize) -> Option<&'a [f32]> {
        self.rows(worker, load, row..row + 1)
    }

    /// Does a load give the same for all rows?
    fn is_repeated(&self, worker: &Worker, load: usize) -> bool {
        let kernel = worker.kernel;
        let access = kernel.insts[load].kind.access().filter(|access| access.is_strided());
        access.is_some_and(|access| access.levels[0].axes[..kernel.kept].iter().all(|axis| axis.stride == 0))
    }

    /// The sums and the results of a phase, for some rows.
    pub fn pass<'a>(
        &self,
        worker: &Worker<'a>,
        phase: usize,
        rows: Range<usize>,
        totals: &mut [Totals],
        outputs: &[Output],
    ) {
        const LIE: &str = "rows of these loads lie together";
        let phase = &worker.kernel.phases[phase];
        let reductions = phase.reductions.iter().zip(totals);
        for (&reduction, totals) in reductions {
            let of_x = worker.kernel.insts[reduction].args().contains(&self.x);
            let means = self.of_rows(worker, self.mean);
            let mut take_in = |taken: Range<usize>, x: &[f32], means: &[f32]| match of_x {
                true => totals.fold_rows(taken, View::F32(x), 0),
                false => totals.add_squares(taken, x, means),
            };
            if let Some(x) = self.rows(worker, self.x, rows.clone()) {
                take_in(0..rows.len(), x, means);
                continue;
            }
            for (number, row) in rows.clone().enumerate() {
                let mean = number.min(means.len() - 1);
                take_in(
                    number..number + 1,
                    self.row(worker, self.x, row).expect(LIE),
                    &means[mean..mean + 1],
                );
            }
        }
        if phase.outputs.is_empty() {
            return;
        }
        let ahead = |row: usize| (row < worker.kernel.outer_count()).then(|| self.row(worker, self.x, row));
        let of_rows = [self.mean, Some(self.scale)].map(|inst| self.of_rows(worker, inst));
        // What is the same for all rows is looked for once.
        let along = [self.weight, self.bias];
        let repeated = along.map(|load| {
            let load = load.filter(|&load| self.stretch == 1 && self.is_repeated(worker, load))?;
            self.row(worker, load, rows.start)
        });
        for (number, row) in rows.clone().enumerate() {
            let next = ahead(row + rows.len()).flatten().unwrap_or(&[]);
            let access = &worker.kernel.outputs[self.output].access;
            let place = self.place(worker, access, row..row + 1).expect(LIE);
            // Safety: rows of different workers are disjoint.
            let to = unsafe { outputs[self.output].part(place) };
            let of_row = of_rows.map(|values| values[number.min(values.len() - 1)]);
            let (x, to) = (self.row(worker, self.x, row).expect(LIE), f32::slice_mut(to));
            if self.stretch == 1 {
                let [weight, bias] = [0, 1].map(|which| {
                    let of_this_row = || along[which].map(|load| self.row(worker, load, row).expect(LIE));
                    repeated[which].or_else(of_this_row)
                });
                for (k, (x, to)) in x.chunks(PIECE).zip(to.chunks_mut(PIECE)).enumerate() {
                    let here = k * PIECE..k * PIECE + x.len();
                    // Those of the next call are on their way meanwhile.
                    prefetch(next.get(here.clone()).unwrap_or(&[]));
                    let part = |values: Option<&'a [f32]>| values.map(|values| &values[here.clone()]);
                    normalise(x, of_row, part(weight), part(bias), to);
                }
                continue;
            }
            prefetch(next);
            let stretches = x.chunks(self.stretch).zip(to.chunks_mut(self.stretch));
            for (k, (x, to)) in stretches.enumerate() {
                let here =
                    |load: Option<usize>| load.map(|load| self.value(worker, load, row, k * self.stretch));
                normalise_channel(x, of_row, here(self.weight), here(self.bias), to);
            }
        }
    }

    /// A value for each row, or one for all; 0 if there is none.
    fn of_rows<'a>(&self, worker: &'a Worker, inst: Option<usize>) -> &'a [f32] {
        let Some(inst) = inst else { return &[0.0] };
        let values = f32::slice(worker.values(inst));
        if worker.single[inst] { &values[..1] } else { values }
    }
}

fn is_load(kernel: &Fused, inst: usize) -> bool {
    kernel.insts[inst].inner && matches!(kernel.insts[inst].kind, InstKind::Load { .. })
}

/// The two operands of a primitive of this name.
fn operands(kernel: &Fused, name: &str, inst: usize) -> Option<(usize, usize)> {
    match &kernel.insts[inst].kind {
        InstKind::Map { op, args } if op.name == name && args.len() == 2 => Some((args[0], args[1])),
        _ => None,
    }
}

widest! {
    /// y = (x − m) · r · w + b for a row.
    fn normalise(x: &[f32], of_row: [f32; 2], weight: Option<&[f32]>, bias: Option<&[f32]>, y: &mut [f32]) {
        let ([mean, scale], len) = (of_row, y.len());
        let x = &x[..len];
        let scaled = |x: f32| product(x - mean, scale);
        match (weight.map(|weight| &weight[..len]), bias.map(|bias| &bias[..len])) {
            (None, None) => (0..len).for_each(|i| y[i] = scaled(x[i])),
            (Some(weight), None) => (0..len).for_each(|i| y[i] = product(scaled(x[i]), weight[i])),
            (None, Some(bias)) => (0..len).for_each(|i| y[i] = scaled(x[i]) + bias[i]),
            (Some(weight), Some(bias)) => {
                (0..len).for_each(|i| y[i] = product(scaled(x[i]), weight[i]) + bias[i]);
            }
        }
    }
}

widest! {
    /// y = (x − m) · r · w + b for places of a row with one w and b.
    fn normalise_channel(x: &[f32], of_row: [f32; 2], weight: Option<f32>, bias: Option<f32>, y: &mut [f32]) {
        let [mean, scale] = of_row;
        let scaled = |x: f32| product(x - mean, scale);
        let pairs = y.iter_mut().zip(x);
        match (weight, bias) {
            (None, None) => pairs.for_each(|(y, &x)| *y = scaled(x)),
            (Some(weight), None) => pairs.for_each(|(y, &x)| *y = product(scaled(x), weight)),
            (None, Some(bias)) => pairs.for_each(|(y, &x)| *y = scaled(x) + bias),
            (Some(weight), Some(bias)) => pairs.for_each(|(y, &x)| *y = product(scaled(x), weight) + bias),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;

    /// Rows, numbers per row, and whether there are weights and biases.
    const CASES: [(usize, usize, bool, bool); 6] = [
        (5, 64, true, true),
        (3, 1000, true, true),
        (37, 129, true, false),
        (9, 4096, false, false),
        (2, 9000, true, true),
        (300, 70, false, false),
    ];

    fn numbers(count: usize, seed: u32) -> Vec<f32> {
        let number = |k: usize| (k as u32).wrapping_mul(2_654_435_761).wrapping_add(seed * 977) >> 8;
        (0..count).map(|k| number(k) as f32 / (1 << 23) as f32 - 0.75).collect()
    }

    #[test]
    fn rows_are_normalised_as_f64_does_it() {
        let device = Device::cpu();
        for (rows, length, has_weight, has_bias) in CASES {
            let values = numbers(rows * length, 1);
            let x = Tensor::from_slice(&values, [rows, length], &device);
            let (w, b) = (numbers(length, 2), numbers(length, 3));
            let weight = has_weight.then(|| Tensor::from_slice(&w, [length], &device));
            let bias = has_bias.then(|| Tensor::from_slice(&b, [length], &device));
            let y = x.try_layer_norm(&[length], weight.as_ref(), bias.as_ref(), 1e-5).unwrap();
            let got: Vec<f32> = y.to_vec_blocking().unwrap();
            for (row, got) in values.chunks_exact(length).zip(got.chunks_exact(length)) {
                let mean = row.iter().map(|&x| f64::from(x)).sum::<f64>() / length as f64;
                let variance =
                    row.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / length as f64;
                for k in 0..length {
                    let scaled = (f64::from(row[k]) - mean) / (variance + 1e-5).sqrt();
                    let weighed = scaled * if has_weight { f64::from(w[k]) } else { 1.0 };
                    let wanted = weighed + if has_bias { f64::from(b[k]) } else { 0.0 };
                    assert!(
                        (f64::from(got[k]) - wanted).abs() < 1e-6 * (1.0 + scaled.abs()),
                        "{rows} × {length}"
                    );
                }
            }
        }
    }

    #[test]
    fn groups_of_channels_are_normalised_as_f64_does_it() {
        let device = Device::cpu();
        // Images, channels, places of a channel, groups: short and long rows, one channel in a group, one group.
        for [images, channels, places, groups] in [
            [2, 6, 100, 3],
            [1, 8, 1024, 4],
            [3, 4, 7, 2],
            [2, 4, 90, 4],
            [2, 3, 65, 1],
            [5, 16, 1, 2],
            [2, 4, 5000, 2],
        ] {
            let count = images * channels * places;
            let (values, w, b) = (numbers(count, 1), numbers(channels, 2), numbers(channels, 3));
            let x = Tensor::from_slice(&values, [images, channels, places], &device);
            let of_channels = |values: &[f32]| Tensor::from_slice(values, [channels], &device);
            let (weight, bias) = (of_channels(&w), of_channels(&b));
            for (weight, bias) in
                [(Some(&weight), Some(&bias)), (Some(&weight), None), (None, Some(&bias)), (None, None)]
            {
                let y = x.try_group_norm(groups, weight, bias, 1e-5).unwrap();
                let got: Vec<f32> = y.to_vec_blocking().unwrap();
                let length = channels / groups * places;
                for (row, values) in values.chunks_exact(length).enumerate() {
                    let mean = values.iter().map(|&x| f64::from(x)).sum::<f64>() / length as f64;
                    let squares = values.iter().map(|&x| (f64::from(x) - mean).powi(2));
                    let variance = squares.sum::<f64>() / length as f64;
                    for (k, &x) in values.iter().enumerate() {
                        let channel = (row * length + k) / places % channels;
                        let scaled = (f64::from(x) - mean) / (variance + 1e-5).sqrt();
                        let weighed = scaled * weight.map_or(1.0, |_| f64::from(w[channel]));
                        let wanted = weighed + bias.map_or(0.0, |_| f64::from(b[channel]));
                        let got = f64::from(got[row * length + k]);
                        assert!(
                            (got - wanted).abs() < 2e-6 * (1.0 + scaled.abs()),
                            "{images} × {channels} × {places} in {groups}: {got} {wanted}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn rows_do_not_depend_on_their_neighbours_or_on_threads() {
        let device = Device::cpu();
        let (rows, length) = (61, 200);
        let x = Tensor::from_slice(&numbers(rows * length, 4), [rows, length], &device);
        let (w, b) =
            (Tensor::from_slice(&numbers(length, 5), [length], &device), Tensor::zeros([length], &device));
        let bits = |x: &Tensor| -> Vec<u32> {
            let y = x.try_layer_norm(&[length], Some(&w), Some(&b), 1e-5).unwrap();
            y.to_vec_blocking::<f32>().unwrap().into_iter().map(f32::to_bits).collect()
        };
        let all = bits(&x);
        for row in 0..rows {
            assert_eq!(bits(&x.narrow(0, row, 1)), all[row * length..(row + 1) * length], "row {row}");
        }
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert_eq!(pool.install(|| bits(&x)), all, "{threads} threads");
        }
    }
}
