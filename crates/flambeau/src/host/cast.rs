//! Changes of dtype.

use super::{Block, View};
#[cfg(not(target_arch = "wasm32"))]
use super::{Lanes, widest};
use crate::dtype::DType;
use half::f16;

#[cfg(not(target_arch = "wasm32"))]
widest! {
    /// Floats as integers, as `as` does it, which the compiler does not run several lanes at a time.
    fn truncate(from: &[f32], to: &mut [i32]) {
        const BEYOND: f32 = -(i32::MIN as f32);
        for (to, &x) in to.iter_mut().zip(from) {
            let is_inside = x.abs() < BEYOND;
            // Safety: it is a number of which an i32 has the whole part.
            let whole: i32 = unsafe { (if is_inside { x } else { 0.0 }).to_int_unchecked() };
            let end = if x > 0.0 { i32::MAX } else { i32::MIN };
            *to = if is_inside { whole } else if x.is_nan() { 0 } else { end };
        }
    }
}

/// Converts a block to another dtype's lane type. Floats become integers towards zero: those beyond the dtype's range
/// its nearest end, NaN 0. Integers wrap.
pub(crate) fn cast(from: View, dtype: DType, to: &mut Block) {
    macro_rules! convert {
        ($from:expr, $to:expr, $f:expr) => {
            $to.iter_mut().zip($from).for_each(|(to, &from)| *to = $f(from))
        };
    }
    macro_rules! from_number {
        ($from:expr, $to:expr, $t:ty) => {
            match $to {
                Block::Bool(to) => convert!($from, to, |x: $t| x != 0 as $t),
                Block::U32(to) => convert!($from, to, |x: $t| x as u32),
                Block::I32(to) => convert!($from, to, |x: $t| x as i32),
                Block::I64(to) => convert!($from, to, |x: $t| x as i64),
                Block::F32(to) => convert!($from, to, |x: $t| x as f32),
                Block::F64(to) => convert!($from, to, |x: $t| x as f64),
            }
        };
    }
    match from {
        View::Bool(from) => match &mut *to {
            Block::Bool(to) => to.copy_from_slice(from),
            Block::U32(to) => convert!(from, to, u32::from),
            Block::I32(to) => convert!(from, to, i32::from),
            Block::I64(to) => convert!(from, to, i64::from),
            Block::F32(to) => convert!(from, to, |x: bool| f32::from(u8::from(x))),
            Block::F64(to) => convert!(from, to, |x: bool| f64::from(u8::from(x))),
        },
        View::U32(from) => from_number!(from, &mut *to, u32),
        View::I32(from) => from_number!(from, &mut *to, i32),
        View::I64(from) => from_number!(from, &mut *to, i64),
        #[cfg(not(target_arch = "wasm32"))]
        View::F32(from) if matches!(to, Block::I32(_)) => truncate(from, i32::slice_mut(to.view_mut())),
        View::F32(from) => from_number!(from, &mut *to, f32),
        View::F64(from) => from_number!(from, &mut *to, f64),
    }
    let from_float = matches!(from, View::F32(_) | View::F64(_));
    match (dtype, &mut *to) {
        (DType::U8, Block::U32(values)) if from_float => values.iter_mut().for_each(|x| *x = (*x).min(255)),
        (dtype, Block::I64(values)) if from_float => {
            let (least, most) = match dtype {
                DType::U8 => (0, 255),
                DType::U32 => (0, i64::from(u32::MAX)),
                DType::I32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
                _ => (i64::MIN, i64::MAX),
            };
            values.iter_mut().for_each(|x| *x = (*x).clamp(least, most));
        }
        (DType::F16, Block::F32(values)) => values.iter_mut().for_each(|x| *x = f16::from_f32(*x).to_f32()),
        (dtype, to) => wrap(dtype, to),
    }
}

/// Keeps U8 results in eight bits.
pub(crate) fn wrap(dtype: DType, block: &mut Block) {
    if let (DType::U8, Block::U32(values)) = (dtype, block) {
        values.iter_mut().for_each(|value| *value &= 0xff);
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;

    #[test]
    fn floats_are_cut_off_as_rust_does_it() {
        let edges =
            [0.0, -0.0, 0.5, -0.99, 1.5, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e-40, 3e9, -3e9];
        let near = [2147483520.0, 2147483648.0, -2147483648.0, -2147483904.0, 16777216.0];
        let others = (0..1000).map(|k: u32| f32::from_bits(k.wrapping_mul(4_294_967)));
        let values: Vec<f32> = edges.into_iter().chain(near).chain(others).collect();
        let mut found = vec![0; values.len()];
        truncate(&values, &mut found);
        assert_eq!(found, values.iter().map(|&x| x as i32).collect::<Vec<_>>());
    }
}
