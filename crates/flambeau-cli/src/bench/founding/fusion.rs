//! What fusion gains: common patterns as one evaluation, and with every op evaluated by itself.

use super::super::ops::seconds;
use super::super::{Counts, Kind, time};
use super::{Bench, Row, times};
use crate::output::refused;
use flambeau::prelude::*;

/// The largest difference between both ways, as a share of the largest value.
const TOLERANCE: f64 = 1e-5;

/// Takes the result of an op: passes it on, or evaluates it first.
type Op = fn(Tensor) -> Result<Tensor>;
/// A pattern of two matrices of the same shape and two rows, each op's result given to the function.
type Pattern = fn(&[Tensor], Op) -> Result<Tensor>;

const PATTERNS: &[(&str, Pattern)] = &[
    ("sigmoid(relu(2x + y))", |x, op| {
        op(op(op(op(x[0].try_mul(2.0)?)?.try_add(&x[1])?)?.try_relu()?)?.try_sigmoid()?)
    }),
    ("bias and GELU, by its formula", |x, op| {
        let x = op(x[0].try_add(&x[2])?)?;
        let cube = op(x.try_pow(3.0)?)?;
        let inner = op(op(x.try_add(&op(cube.try_mul(0.044715)?)?)?)?.try_mul(0.797_884_560_8)?)?;
        let share = op(op(op(inner.try_tanh()?)?.try_add(1.0)?)?.try_mul(0.5)?)?;
        op(x.try_mul(&share)?)
    }),
    ("softmax by its formula", |x, op| {
        let shifted = op(x[0].try_sub(&op(x[0].try_amax_keepdim(-1)?)?)?)?;
        let exponentials = op(shifted.try_exp()?)?;
        let sums = op(exponentials.try_sum_keepdim(-1)?)?;
        op(exponentials.try_div(&sums)?)
    }),
    ("layer norm by its formula", |x, op| {
        let centred = op(x[0].try_sub(&op(x[0].try_mean_keepdim(-1)?)?)?)?;
        let variance = op(op(centred.try_square()?)?.try_mean_keepdim(-1)?)?;
        let scale = op(op(variance.try_add(1e-5)?)?.try_rsqrt()?)?;
        op(op(op(centred.try_mul(&scale)?)?.try_mul(&x[2])?)?.try_add(&x[3])?)
    }),
    ("residual, dropout's mask, activation and their gradient", |x, op| {
        // Backward: d = g · mask · [x > 0], and the same added to what goes straight.
        let mask = op(op(x[1].try_gt(0.1)?)?.try_to_dtype(DType::F32)?)?;
        let slope = op(op(x[0].try_gt(0.0)?)?.try_to_dtype(DType::F32)?)?;
        op(op(op(x[1].try_mul(&mask)?)?.try_mul(&slope)?)?.try_add(&x[1])?)
    }),
];

fn together(value: Tensor) -> Result<Tensor> {
    Ok(value)
}

fn alone(value: Tensor) -> Result<Tensor> {
    value.eval()?;
    Ok(value)
}

pub async fn measure(bench: &mut Bench<'_>) -> Result<()> {
    if !bench.wants(&[252]) {
        return Ok(());
    }
    let rows = match bench.kind {
        Kind::Gpu => 16_384,
        Kind::Cpu => 2_048,
        Kind::Software => 64,
    };
    let device = bench.device;
    let generator = Generator::new(3);
    let random = |shape: [usize; 2]| -> Result<Tensor> {
        let tensor = Tensor::try_rand(shape, &generator, device)?.try_mul(4.0)?.try_sub(2.0)?;
        tensor.eval()?;
        Ok(tensor)
    };
    let inputs =
        vec![vec![random([rows, 1024])?, random([rows, 1024])?, random([1, 1024])?, random([1, 1024])?]];
    for &(name, pattern) in PATTERNS {
        // The last rows of a result, and the kernels that it took.
        let checked = async |op: Op| -> Result<(f64, Vec<f64>)> {
            let before = Counts::of(device);
            let result = pattern(&inputs[0], op)?;
            result.eval()?;
            let kernels = Counts::since(device, before, 1).kernels_of_plans();
            Ok((kernels, result.try_narrow(0, rows - 8, 8)?.to_f64_vec().await?))
        };
        let ((few, fused), (many, apart)) = (checked(together).await?, checked(alone).await?);
        let largest = apart.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        let agree = |(a, b): (&f64, &f64)| (a - b).abs() <= TOLERANCE * largest;
        if !fused.iter().zip(&apart).all(agree) {
            return Err(refused("bench founding", format!("{name}: fused and unfused results differ")));
        }
        let fast = seconds(|x| pattern(x, together), &inputs, device).await?;
        let slow = seconds(|x| pattern(x, alone), &inputs, device).await?;
        bench.add(Row {
            numbers: &[252],
            what: name.into(),
            target: "twice as fast".into(),
            measured: format!(
                "{} ({} against {}, {few:.0} instead of {many:.0} kernels, {rows} × 1024)",
                times(slow / fast),
                time(fast),
                time(slow)
            ),
            value: Some(slow / fast),
            met: Some(slow / fast >= 2.0),
        });
    }
    Ok(())
}
