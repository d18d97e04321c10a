//! Scattering on the CPU. The dimensions before the indexed one cut the base into regions that meet no others' values: these go to
//! different cores. Within one, values are put or added in the order of their indexes.

use super::{Mode, Scatter};
use crate::error::{Error, Result};
use crate::host::{Disjoint, HostBuffer, share};
use crate::ir::call::CpuOperand;
use crate::shape::{Shape, product};
use smallvec::SmallVec;
use std::ops::Range;

/// Elements and values that are worth a thread.
const WORTH_A_THREAD: usize = 1 << 15;
/// Values whose places are found at once.
const PORTION: usize = 1024;

/// Fills `out`.
pub(super) fn scatter(
    op: &Scatter,
    base: &CpuOperand,
    index: &CpuOperand,
    values: &CpuOperand,
    out: &mut HostBuffer,
) -> Result<()> {
    let level = &index.access.levels[0];
    let strides: Vec<i64> = level.axes.iter().map(|axis| axis.stride).collect();
    let positions =
        Positions { shape: &index.meta.shape, start: level.offset.value(index.data), strides: &strides };
    let job = Job { op, base: &base.meta.shape, index: index.buffer, positions };
    match (base.buffer, values.buffer, out) {
        (HostBuffer::F32(b), HostBuffer::F32(v), HostBuffer::F32(o)) => job.run(b, v, o, |a, b| a + b),
        (HostBuffer::F64(b), HostBuffer::F64(v), HostBuffer::F64(o)) => job.run(b, v, o, |a, b| a + b),
        (HostBuffer::F16(b), HostBuffer::F16(v), HostBuffer::F16(o)) => job.run(b, v, o, |a, b| a + b),
        (HostBuffer::I32(b), HostBuffer::I32(v), HostBuffer::I32(o)) => job.count(b, v, o, i32::wrapping_add),
        (HostBuffer::U32(b), HostBuffer::U32(v), HostBuffer::U32(o)) => job.count(b, v, o, u32::wrapping_add),
        (HostBuffer::I64(b), HostBuffer::I64(v), HostBuffer::I64(o)) => job.count(b, v, o, i64::wrapping_add),
        (HostBuffer::U8(b), HostBuffer::U8(v), HostBuffer::U8(o)) => job.run(b, v, o, u8::wrapping_add),
        (HostBuffer::Bool(b), HostBuffer::Bool(v), HostBuffer::Bool(o)) => job.run(b, v, o, |a, b| a | b),
        _ => unreachable!("base and values have one dtype"),
    }
}

/// What is known of a call but for its values.
struct Job<'a> {
    op: &'a Scatter,
    base: &'a Shape,
    index: &'a HostBuffer,
    positions: Positions<'a>,
}

impl Job<'_> {
    fn run<T: Copy + Send + Sync>(
        &self,
        base: &[T],
        values: &[T],
        out: &mut [T],
        add: impl Fn(T, T) -> T + Sync,
    ) -> Result<()> {
        // A page, which has one core, has one region.
        let dim = if cfg!(target_arch = "wasm32") { 0 } else { self.op.dim };
        let (shape, last) = (self.positions.shape, self.base.rank() - 1);
        let (cut, length) = (&self.base[..dim], product(&self.base[dim..]));
        let lines = product(&shape[dim.min(last)..last]);
        let work = length + lines * shape[last];
        let (regions, at_once) = (product(cut), (WORTH_A_THREAD / work.max(1)).max(1));
        let out = Disjoint::new(out);
        share(regions.div_ceil(at_once), |piece| {
            for region in piece * at_once..((piece + 1) * at_once).min(regions) {
                let places = region * length..(region + 1) * length;
                // Safety: every region is one piece's.
                let out = unsafe { out.slice(places.clone()) };
                out.copy_from_slice(&base[places.clone()]);
                // Its number among the regions that the index reaches.
                let (mut rest, mut number, mut apart, mut is_reached) = (region, 0, 1, true);
                for d in (0..cut.len()).rev() {
                    let coordinate = rest % cut[d];
                    rest /= cut[d];
                    is_reached &= coordinate < shape[d];
                    number += coordinate * apart;
                    apart *= shape[d];
                }
                if is_reached {
                    self.put(number * lines..(number + 1) * lines, values, (out, places.start), &add)?;
                }
            }
            Ok(())
        })
    }

    /// [`run`](Job::run) for integers, whose sum is the same in every order: where many are added to few places, each core has places of
    /// its own first.
    fn count<T: Copy + Default + Send + Sync>(
        &self,
        base: &[T],
        values: &[T],
        out: &mut [T],
        add: impl Fn(T, T) -> T + Sync,
    ) -> Result<()> {
        #[cfg(not(target_arch = "wasm32"))]
        if self.op.mode == Mode::Add
            && self.base[self.op.dim] == base.len()
            && self.positions.shape.last() == Some(&values.len())
            && self.op.dim == self.base.rank() - 1
            && values.len() >= 2 * WORTH_A_THREAD.max(base.len())
        {
            let size = values.len().div_ceil(crate::host::threads()).max(WORTH_A_THREAD);
            let total = std::sync::Mutex::new(out);
            let locked = || total.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            locked().copy_from_slice(base);
            return share(values.len().div_ceil(size), |part| {
                let part = part * size..((part + 1) * size).min(values.len());
                let mut sums = vec![T::default(); base.len()];
                self.put_along(0, part.clone(), &values[part], &mut sums, &add)?;
                locked().iter_mut().zip(&sums).for_each(|(total, &sum)| *total = add(*total, sum));
                Ok(())
            });
        }
        self.run(base, values, out, add)
    }

    /// Puts the values of some lines of the index into a part of the result, of which the first place is given.
    fn put<T: Copy>(
        &self,
        lines: Range<usize>,
        values: &[T],
        (out, start): (&mut [T], usize),
        add: &impl Fn(T, T) -> T,
    ) -> Result<()> {
        #[cfg(not(target_arch = "wasm32"))]
        if self.op.dim == self.base.rank() - 1 {
            let length = self.positions.shape[self.op.dim];
            let values = &values[lines.start * length..lines.end * length];
            return self.put_along(lines.start, 0..length, values, out, add);
        }
        let read = |at: i64| self.number(at);
        self.op.places(self.base, &self.positions, lines, read, &mut |Portion { first, starts, run }| {
            let add = |out, value| if self.op.mode == Mode::Add { add(out, value) } else { value };
            if run == 1 && !cfg!(target_arch = "wasm32") {
                for (&place, &value) in starts.iter().zip(&values[first..]) {
                    out[place - start] = add(out[place - start], value);
                }
                return;
            }
            let values = values[first * run..].chunks_exact(run);
            for (&place, values) in starts.iter().zip(values) {
                let places = place - start..place - start + run;
                for (out, &value) in out[places].iter_mut().zip(values) {
                    *out = add(*out, value);
                }
            }
        })
    }

    /// Puts values into the line along the last dimension that a line of the index is of: those at these places of it.
    #[cfg(not(target_arch = "wasm32"))]
    fn put_along<T: Copy>(
        &self,
        line: usize,
        part: Range<usize>,
        values: &[T],
        out: &mut [T],
        add: &impl Fn(T, T) -> T,
    ) -> Result<()> {
        let (first, step) = (self.positions.line(line).0, *self.positions.strides.last().unwrap_or(&0));
        let at = |k: usize| first + k as i64 * step;
        let together = |k: Range<usize>| first as usize + k.start..first as usize + k.end;
        let add = |out, value| if self.op.mode == Mode::Add { add(out, value) } else { value };
        macro_rules! put {
            ($numbers:expr) => {
                for (number, &value) in $numbers.zip(values) {
                    match out.get_mut(number as usize) {
                        Some(out) => *out = add(*out, value),
                        None => return Err(self.op.outside(number, self.base)),
                    }
                }
            };
        }
        match self.index {
            HostBuffer::I32(numbers) if step == 1 => {
                put!(numbers[together(part)].iter().map(|&number| i64::from(number)))
            }
            HostBuffer::I64(numbers) if step == 1 => put!(numbers[together(part)].iter().copied()),
            _ => put!(part.map(|k| self.number(at(k)))),
        }
        Ok(())
    }

    fn number(&self, at: i64) -> i64 {
        match self.index {
            HostBuffer::I32(index) => i64::from(index[at as usize]),
            HostBuffer::U32(index) => i64::from(index[at as usize]),
            HostBuffer::U8(index) => i64::from(index[at as usize]),
            HostBuffer::I64(index) => index[at as usize],
            _ => unreachable!("indexes are integers"),
        }
    }
}

impl Scatter {
    fn outside(&self, index: i64, base: &Shape) -> Error {
        let (size, location) = (base[self.dim], String::new());
        Error::IndexOutOfRange { op: crate::ir::call::Kernels::name(self), index, size, location }
    }

    /// Finds where the values of some lines of the index go, and hands it on in portions.
    pub(super) fn places(
        &self,
        base: &Shape,
        index: &Positions,
        lines: Range<usize>,
        read: impl Fn(i64) -> i64,
        hand_on: &mut dyn FnMut(Portion),
    ) -> Result<()> {
        let (strides, shape, size) = (base.strides(), index.shape, base[self.dim]);
        let last = shape.rank() - 1;
        // One position that serves a whole line along the last dimension makes a run of it.
        let line = shape[last];
        let is_run = self.dim != last && line > 1 && index.strides[last] == 0;
        let (each, run) = if is_run { (1, line) } else { (line, 1) };
        let (step, along, from_one) = (index.strides[last], i64::from(self.dim != last), strides[self.dim]);
        let (mut starts, mut first) = (Vec::with_capacity(PORTION), lines.start * each);
        for number in lines {
            let (at, coordinates) = index.line(number);
            let dims = (0..last).filter(|&d| d != self.dim);
            let place: i64 = dims.map(|d| coordinates[d] * strides[d]).sum();
            for k in 0..each as i64 {
                let found = read(at + k * step);
                if found < 0 || found >= size as i64 {
                    return Err(self.outside(found, base));
                }
                starts.push((place + k * along + found * from_one) as usize);
                if starts.len() == PORTION {
                    hand_on(Portion { first, starts: &starts, run });
                    first += PORTION;
                    starts.clear();
                }
            }
        }
        hand_on(Portion { first, starts: &starts, run });
        Ok(())
    }
}

/// Where the positions of values lie.
pub(super) struct Positions<'a> {
    pub shape: &'a Shape,
    pub start: i64,
    pub strides: &'a [i64],
}

impl Positions<'_> {
    /// How many lines there are along the last dimension.
    pub fn lines(&self) -> usize {
        product(&self.shape[..self.shape.rank() - 1])
    }

    /// Where a line begins, and its coordinates.
    fn line(&self, number: usize) -> (i64, SmallVec<[i64; 6]>) {
        let last = self.shape.rank() - 1;
        let mut coordinates: SmallVec<[i64; 6]> = SmallVec::from_elem(0, last);
        let (mut rest, mut at) = (number, self.start);
        for d in (0..last).rev() {
            coordinates[d] = (rest % self.shape[d]) as i64;
            rest /= self.shape[d];
            at += coordinates[d] * self.strides[d];
        }
        (at, coordinates)
    }
}

/// Where some values go, as offsets into the base: `run` of them one after the other from each of these on, the first of which is number
/// `first`.
pub(super) struct Portion<'a> {
    pub first: usize,
    pub starts: &'a [usize],
    pub run: usize,
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use crate::prelude::*;
    use crate::shape::product;

    /// What comes of adding, or of writing, one value after the other.
    fn wanted(
        base: &[f64],
        shape: [usize; 3],
        index: &[i64],
        of: [usize; 3],
        dim: usize,
        adds: bool,
    ) -> Vec<f64> {
        let mut result = base.to_vec();
        for (k, &found) in index.iter().enumerate() {
            let mut place = [k / (of[1] * of[2]), k / of[2] % of[1], k % of[2]];
            place[dim] = found as usize;
            let at = (place[0] * shape[1] + place[1]) * shape[2] + place[2];
            result[at] = if adds { result[at] + (k % 17) as f64 } else { (k % 17) as f64 };
        }
        result
    }

    #[test]
    fn values_go_where_they_belong_on_any_number_of_threads() {
        let device = Device::cpu();
        let cases = [
            ([4, 3, 50], [4, 3, 90]),
            ([70, 30, 40], [70, 30, 40]),
            ([70, 30, 40], [60, 20, 30]),
            ([1, 1, 1000], [1, 1, 200_000]),
            ([2, 1, 9], [2, 1, 100_000]),
            ([300, 1, 200], [299, 1, 500]),
        ];
        for (shape, of) in cases {
            let count = |sizes: [usize; 3]| product(sizes);
            let base: Vec<f64> = (0..count(shape)).map(|k| (k % 5) as f64).collect();
            for dim in (0..3).filter(|&dim| (0..3).all(|d| d == dim || of[d] <= shape[d])) {
                let index: Vec<i64> = (0..count(of)).map(|k| (k * 7919 % shape[dim]) as i64).collect();
                let values: Vec<f64> = (0..count(of)).map(|k| (k % 17) as f64).collect();
                for (dtype, of_index) in [
                    (DType::F32, DType::I32),
                    (DType::I32, DType::I32),
                    (DType::I64, DType::I64),
                    (DType::U32, DType::I64),
                    (DType::F64, DType::U32),
                ] {
                    let x = Tensor::from_slice(&base, shape, &device).to_dtype(dtype);
                    let values = Tensor::from_slice(&values, of, &device).to_dtype(dtype);
                    let index_of = Tensor::from_slice(&index, of, &device).to_dtype(of_index);
                    for threads in [1, 2, 3] {
                        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                        let got = |result: Tensor| -> Vec<f64> {
                            pool.install(|| result.to_dtype(DType::F64).to_vec_blocking().unwrap())
                        };
                        let along = dim as isize;
                        let added = got(x.scatter_add(along, &index_of, &values));
                        assert_eq!(
                            added,
                            wanted(&base, shape, &index, of, dim, true),
                            "{shape:?} {dim} {dtype}"
                        );
                        let set = got(x.scatter(along, &index_of, &values));
                        assert_eq!(
                            set,
                            wanted(&base, shape, &index, of, dim, false),
                            "{shape:?} {dim} {dtype}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn sums_of_floats_keep_their_order() {
        let device = Device::cpu();
        let values: Vec<f32> = (0..200_000).map(|k| ((k * 7919 % 10_007) as f32).sin()).collect();
        let index: Vec<i32> = (0..200_000).map(|k| k * 31 % 7).collect();
        let mut wanted = [0f32; 7];
        index.iter().zip(&values).for_each(|(&place, value)| wanted[place as usize] += value);
        let (values, index) =
            (Tensor::from_slice(&values, [200_000], &device), Tensor::from_slice(&index, [200_000], &device));
        let sums = Tensor::zeros([7], &device).scatter_add(0, &index, &values);
        assert_eq!(sums.to_vec_blocking::<f32>().unwrap(), wanted);
    }

    #[test]
    fn numbers_outside_are_errors_wherever_they_are() {
        let device = Device::cpu();
        for (at, number) in [(0, -1), (199_999, 50), (100_000, i32::MAX), (3, i32::MIN)] {
            let mut index = vec![3; 200_000];
            index[at] = number;
            for dtype in [DType::F32, DType::I32] {
                let zeros = Tensor::zeros([50], &device).to_dtype(dtype);
                for index_dtype in [DType::I32, DType::I64] {
                    let index = Tensor::from_slice(&index, [200_000], &device).to_dtype(index_dtype);
                    let error = zeros.scatter_add(0, &index, 1).eval().unwrap_err();
                    let Error::IndexOutOfRange { index, size: 50, .. } = error else { panic!("{error}") };
                    assert_eq!(index, i64::from(number));
                }
            }
        }
    }
}
