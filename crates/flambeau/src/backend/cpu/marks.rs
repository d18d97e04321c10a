//! Rows that are 0 but for one place, which a number of the row names: one-hot vectors. The interpreter would compare the number with
//! every place; here rows are cleared and the places are marked.

use super::fused::{Output, Worker};
use crate::backend::Run;
use crate::dtype::DType;
use crate::error::Result;
use crate::host::{Disjoint, HostBuffer, Lanes, share};
use crate::ir::access::Access;
use crate::ir::kernel::{Fused, InstKind};
use crate::shape::product;

/// Elements that are worth a thread.
const WORTH_A_THREAD: usize = 1 << 15;

/// Runs the kernel if that is what it computes and does nothing else; says whether it did.
pub(super) fn run(kernel: &Fused, inputs: &[&HostBuffer], outputs: &[Output], run: &Run) -> Result<bool> {
    let Some(marks) = Marks::of(kernel, run) else { return Ok(false) };
    match &outputs[0] {
        Output::Bool(to) => marks.run(kernel, inputs, run, (true, to))?,
        Output::I32(to) => marks.run(kernel, inputs, run, (1, to))?,
        Output::I64(to) => marks.run(kernel, inputs, run, (1, to))?,
        Output::F32(to) => marks.run(kernel, inputs, run, (1.0, to))?,
        Output::F64(to) => marks.run(kernel, inputs, run, (1.0, to))?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// A kernel that marks places, by the instructions that matter.
struct Marks {
    /// The instruction whose value names a row's place, and those that it is made of, in order.
    named: usize,
    needed: Vec<usize>,
    /// What the first place is called.
    first: i64,
    rows: usize,
    length: usize,
}

impl Marks {
    fn of(kernel: &Fused, run: &Run) -> Option<Marks> {
        let (&length, rows) = kernel.space.split_last().filter(|(_, rows)| !rows.is_empty())?;
        if kernel.kept != kernel.space.len() || kernel.outputs.len() != 1 {
            return None;
        }
        let mut result = kernel.outputs[0].inst;
        while let InstKind::Cast { arg } = kernel.insts[result].kind {
            result = arg;
        }
        let InstKind::Map { op, args } = &kernel.insts[result].kind else { return None };
        let (true, &[a, b]) = (op.name == "eq", &args[..]) else { return None };
        let along = |access: &Access| access.is_strided().then(|| access.levels[0].axes[rows.len()].stride);
        // What the places are called: one number after the other.
        let first = |inst: usize| match &kernel.insts[inst].kind {
            InstKind::Index { access } if along(access) == Some(1) => {
                let level = &access.levels[0];
                let is_same = level.axes[..rows.len()].iter().all(|axis| axis.stride == 0);
                is_same.then(|| level.offset.value(run.data))
            }
            _ => None,
        };
        let (named, first) = first(b).map(|first| (a, first)).or_else(|| first(a).map(|first| (b, first)))?;
        let mut needed = vec![named];
        let mut at = 0;
        while let Some(&inst) = needed.get(at) {
            let new = kernel.insts[inst].args().iter().filter(|arg| !needed.contains(arg));
            let new: Vec<usize> = new.copied().collect();
            needed.extend(new);
            at += 1;
        }
        needed.sort_unstable();
        // One value for all of a row.
        let is_of_row =
            |&inst: &usize| kernel.insts[inst].kind.access().is_none_or(|access| along(access) == Some(0));
        let is_named = kernel.insts[named].dtype == DType::I32 && needed.iter().all(is_of_row);
        is_named.then(|| Marks { named, needed, first, rows: product(rows), length })
    }

    fn run<T: Copy + Default + Send + Sync>(
        &self,
        kernel: &Fused,
        inputs: &[&HostBuffer],
        run: &Run,
        (mark, to): (T, &Disjoint<T>),
    ) -> Result<()> {
        let at_once = (WORTH_A_THREAD / self.length.max(1)).max(1);
        let fixed = vec![0; kernel.space.len()];
        share(self.rows.div_ceil(at_once), |piece| {
            let rows = piece * at_once..((piece + 1) * at_once).min(self.rows);
            let mut worker = Worker::new(kernel, inputs, run);
            let strip = worker.strip(0..kernel.space.len() - 1, rows.start, rows.len(), &fixed);
            self.needed.iter().try_for_each(|&inst| worker.compute(inst, &strip))?;
            // Safety: every row of the result belongs to one piece.
            let to = unsafe { to.slice(rows.start * self.length..rows.end * self.length) };
            to.fill(T::default());
            let names = i32::slice(worker.values(self.named));
            for (row, to) in to.chunks_exact_mut(self.length.max(1)).enumerate() {
                let name = names[if worker.single[self.named] { 0 } else { row }];
                let place = usize::try_from(i64::from(name) - self.first).ok();
                if let Some(place) = place.and_then(|place| to.get_mut(place)) {
                    *place = mark;
                }
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;

    #[test]
    fn the_named_place_is_marked_and_no_other() {
        let device = Device::cpu();
        for (rows, classes) in [(1, 1), (7, 3), (300, 1000), (70_000, 2)] {
            let names: Vec<i32> = (0..rows).map(|row| (row * 7919 % classes) as i32).collect();
            let marked = |row: usize, place: usize| names[row] == place as i32;
            let x = Tensor::from_slice(&names, [rows], &device);
            let wanted = |k: usize| f64::from(u8::from(marked(k / classes, k % classes)));
            for dtype in [DType::I32, DType::I64, DType::F16, DType::F32, DType::F64, DType::Bool] {
                let marks = x.one_hot(classes).to_dtype(dtype);
                marks.eval().unwrap();
                let got: Vec<f64> = marks.to_dtype(DType::F64).to_vec_blocking().unwrap();
                assert!(
                    got.iter().enumerate().all(|(k, &got)| got == wanted(k)),
                    "{rows} × {classes} {dtype}"
                );
            }
            // Names of places that are not there mark nothing.
            let places = Tensor::arange(0, classes as i64, 1, &device).to_dtype(DType::I32);
            let equal = (x.unsqueeze(-1) - 1).eq(&places).to_dtype(DType::F64);
            let got: Vec<f64> = equal.to_vec_blocking().unwrap();
            let wanted = |k: usize| f64::from(u8::from(marked(k / classes, k % classes + 1)));
            assert!(got.iter().enumerate().all(|(k, &got)| got == wanted(k)), "{rows} × {classes}");
        }
    }

    #[test]
    fn classes_outside_are_errors() {
        let device = Device::cpu();
        for class in [-1, 5] {
            let x = Tensor::new([0, class, 4], &device).one_hot(5);
            let error = x.to_vec_blocking::<i32>().unwrap_err();
            assert!(matches!(error, Error::IndexOutOfRange { size: 5, .. }), "{error}");
        }
    }
}
