//! Elements of a tensor that numbers name and nothing else. Rows of a matrix, as embeddings take them, are copied as they lie in memory;
//! elements of rows, as `gather` takes them, one by one.

use super::fused::Output;
use super::gather::all_below;
use crate::backend::Run;
use crate::error::{Error, Result};
use crate::host::{Disjoint, HostBuffer, share};
use crate::ir::access::Access;
use crate::ir::kernel::{Fused, InstKind};
use crate::shape::product;

/// Elements that are worth a thread: copying fewer is done before another one has woken up.
const WORTH_A_THREAD: usize = 1 << 16;

/// Runs the kernel if it takes elements and does nothing else; says whether it did.
pub(super) fn run(kernel: &Fused, inputs: &[&HostBuffer], outputs: &[Output], run: &Run) -> Result<bool> {
    let ([named, taken], [_]) = (&kernel.insts[..], &kernel.outputs[..]) else { return Ok(false) };
    let (
        InstKind::Load { operand, access },
        InstKind::Gather { operand: table, access: places, index: 0, stride, size },
    ) = (&named.kind, &taken.kind)
    else {
        return Ok(false);
    };
    let HostBuffer::I32(numbers) = inputs[*operand] else { return Ok(false) };
    let (Some(names), Some(places)) = (Lines::of(access, kernel, run), Lines::of(places, kernel, run)) else {
        return Ok(false);
    };
    let (Ok(stride), Some(&length)) = (usize::try_from(*stride), kernel.space.last()) else {
        return Ok(false);
    };
    let taking = Taking { numbers, names, places, length, stride, size: *size };
    let taken = match (inputs[*table], &outputs[0]) {
        (HostBuffer::F16(from), Output::F16(to)) => taking.run(from, to),
        (HostBuffer::F32(from), Output::F32(to)) => taking.run(from, to),
        (HostBuffer::F64(from), Output::F64(to)) => taking.run(from, to),
        (HostBuffer::I32(from), Output::I32(to)) => taking.run(from, to),
        _ => return Ok(false),
    };
    taken.map(|()| true).map_err(|index| {
        let location = run.location(kernel.insts[1].node).to_string();
        Error::IndexOutOfRange { op: "gather", index: index.into(), size: *size, location }
    })
}

/// Lines of elements in memory: those along the last dimension of a kernel's space.
struct Lines<'a> {
    /// The other dimensions, and how far apart lines lie along each of them.
    sizes: &'a [usize],
    strides: Vec<usize>,
    start: usize,
    /// How far apart the elements of a line lie.
    step: usize,
}

impl<'a> Lines<'a> {
    /// Those of an access that goes forward alone.
    fn of(access: &Access, kernel: &'a Fused, run: &Run) -> Option<Lines<'a>> {
        let level = access.levels.first().filter(|_| access.is_strided())?;
        let strides = level.axes.iter().map(|axis| usize::try_from(axis.stride).ok());
        let mut strides: Vec<usize> = strides.collect::<Option<_>>()?;
        let (step, start) = (strides.pop()?, usize::try_from(level.offset.value(run.data)).ok()?);
        Some(Lines { sizes: &kernel.space[..strides.len()], strides, start, step })
    }

    fn start_of(&self, mut line: usize) -> usize {
        if let [stride] = self.strides[..] {
            return self.start + line * stride;
        }
        let mut start = self.start;
        for (&size, &stride) in self.sizes.iter().zip(&self.strides).rev() {
            start += line % size * stride;
            line /= size;
        }
        start
    }
}

/// Elements at places[c] + numbers[names[c]] · stride for all coordinates c.
struct Taking<'a> {
    numbers: &'a [i32],
    names: Lines<'a>,
    places: Lines<'a>,
    /// Elements of a line.
    length: usize,
    stride: usize,
    /// What numbers are below.
    size: usize,
}

impl Taking<'_> {
    /// Takes all elements, or returns a number that is out of range.
    fn run<T: Copy + Send + Sync>(&self, from: &[T], to: &Disjoint<T>) -> std::result::Result<(), i32> {
        let length = self.length;
        let lines = product(self.names.sizes);
        // Some lines, or a part of one.
        let part = length.clamp(1, WORTH_A_THREAD);
        let (parts, at_once) = (length.div_ceil(part), (WORTH_A_THREAD / part).max(1));
        share((lines * parts).div_ceil(at_once), |piece| {
            for number in piece * at_once..((piece + 1) * at_once).min(lines * parts) {
                let (line, first) = (number / parts, number % parts * part);
                let len = part.min(length - first);
                let start = line * length + first;
                // Safety: every element of the result belongs to one part.
                let to = unsafe { to.slice(start..start + len) };
                self.part(line, first, from, to)?;
            }
            Ok(())
        })
    }

    /// Takes the elements of a line from the `first` on.
    fn part<T: Copy>(
        &self,
        line: usize,
        first: usize,
        from: &[T],
        to: &mut [T],
    ) -> std::result::Result<(), i32> {
        let (names, places) = (self.names.start_of(line), self.places.start_of(line));
        let (name, place) = (names + first * self.names.step, places + first * self.places.step);
        let inside = |number: i32| usize::try_from(number).ok().filter(|&number| number < self.size);
        match (self.names.step, self.places.step) {
            (0, 1) => {
                let number = self.numbers[name];
                let place = place + inside(number).ok_or(number)? * self.stride;
                to.copy_from_slice(&from[place..place + to.len()]);
            }
            (1, step) => {
                let numbers = &self.numbers[name..name + to.len()];
                // Nearly always one look at all of them is enough.
                if !all_below(numbers, self.size)
                    && let Some(&number) = numbers.iter().find(|&&number| inside(number).is_none())
                {
                    return Err(number);
                }
                let from = &from[place..];
                // The farthest element of the part is there, so all are.
                assert!(self.size > 0 && (to.len() - 1) * step + (self.size - 1) * self.stride < from.len());
                for (k, (to, &number)) in to.iter_mut().zip(numbers).enumerate() {
                    // Safety: the number is below the size.
                    *to = unsafe { *from.get_unchecked(k * step + number as usize * self.stride) };
                }
            }
            (along, step) => {
                for (k, to) in to.iter_mut().enumerate() {
                    let number = self.numbers[name + k * along];
                    *to = from[place + k * step + inside(number).ok_or(number)? * self.stride];
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::shape::product;

    /// Shapes of tensors and of numbers, and the dimension they name places along.
    const CASES: [(&[usize], &[usize], usize); 8] = [
        (&[5], &[100_000], 0),
        (&[7, 4], &[7, 9], 1),
        (&[7, 4], &[3, 4], 0),
        (&[300, 200], &[300, 200], 1),
        (&[300, 200], &[250, 150], 0),
        (&[3, 4, 50], &[3, 9, 40], 1),
        (&[2, 70_000], &[2, 70_000], 1),
        (&[1, 3], &[1, 1], 1),
    ];

    #[test]
    fn elements_are_those_that_numbers_name() {
        let device = Device::cpu();
        for (shape, of_index, dim) in CASES {
            let count = product(shape);
            let values: Vec<f32> = (0..count).map(|k| k as f32 + 0.5).collect();
            let total = product(of_index);
            let names: Vec<i32> = (0..total).map(|k| (k * 7919 % shape[dim]) as i32).collect();
            let x = Tensor::from_slice(&values, shape, &device);
            let index = Tensor::from_slice(&names, of_index, &device);
            let wanted: Vec<f32> = (0..total)
                .map(|k| {
                    let (mut rest, mut place, mut apart) = (k, 0, 1);
                    for d in (0..shape.len()).rev() {
                        let coordinate = if d == dim { names[k] as usize } else { rest % of_index[d] };
                        rest /= of_index[d];
                        place += coordinate * apart;
                        apart *= shape[d];
                    }
                    values[place]
                })
                .collect();
            let last = shape.len() as isize - 1;
            // As they lie in memory, and with the first and the last dimension exchanged there.
            let exchanged = |t: &Tensor| {
                let moved = t.transpose(0, last) * 1;
                moved.eval().unwrap();
                moved.transpose(0, last)
            };
            for x in [x.clone(), exchanged(&x)] {
                for index in [index.clone(), exchanged(&index)] {
                    let taken = x.gather(dim as isize, &index);
                    assert_eq!(
                        taken.to_vec_blocking::<f32>().unwrap(),
                        wanted,
                        "{shape:?} {of_index:?} {dim}"
                    );
                    for dtype in [DType::F16, DType::F64, DType::I32, DType::I64] {
                        let taken = (&x * 0.125).floor().to_dtype(dtype).gather(dim as isize, &index);
                        let got: Vec<f32> = taken.to_dtype(DType::F32).to_vec_blocking().unwrap();
                        let of_dtype = |x: f32| match dtype {
                            DType::F16 => half::f16::from_f32((x * 0.125).floor()).to_f32(),
                            _ => (x * 0.125).floor(),
                        };
                        assert!(
                            got.iter().zip(&wanted).all(|(&got, &x)| got == of_dtype(x)),
                            "{shape:?} {dtype}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn numbers_outside_are_errors_wherever_they_are() {
        let device = Device::cpu();
        for (at, number) in [(0, -1), (399, 20), (200, i32::MAX), (7, i32::MIN)] {
            let mut names = vec![3; 400];
            names[at] = number;
            let index = Tensor::from_slice(&names, [20, 20], &device);
            let x = Tensor::zeros([20, 20], &device);
            for (dim, index) in [(1, index.clone()), (0, index.clone()), (1, index.t())] {
                let error = x.gather(dim, &index).to_vec_blocking::<f32>().unwrap_err();
                let Error::IndexOutOfRange { index, size: 20, .. } = error else { panic!("{error}") };
                assert_eq!(index, i64::from(number));
            }
            let rows = Tensor::from_slice(&names, [400], &device);
            assert!(x.index_select(0, &rows).to_vec_blocking::<f32>().is_err());
        }
    }
}
