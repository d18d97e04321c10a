//! Single ops: additions, a convolution, gradients of activations.

use super::super::ops::{Body, Case, Given, Least, Sample, gradient, inputs, measured};
use super::super::{Kind, median_seconds, time};
use super::{Bench, Row, times};
use flambeau::prelude::*;

const RUNS: usize = 7;
/// Elements of the gradients of activations, as rows of 1024.
const ROWS: usize = 1024;
const MILLION: f64 = 1e6;

pub async fn measure(bench: &mut Bench<'_>) -> Result<()> {
    if bench.wants(&[229]) {
        let case = Case {
            name: "add",
            inputs: vec![Given::Floats(vec![10_000]), Given::Floats(vec![10_000])],
            least: Least::Bytes(120_000.0),
            sample: Sample::Whole,
            body: |x| x[0].try_add(&x[1]),
        };
        timed(bench, &[229], &case, "sum of two vectors of 10,000 numbers", 50e-6).await?;
    }
    if bench.wants(&[230]) {
        let (channels, filters, side) = (3, 64, 224);
        let case = Case {
            name: "conv2d",
            inputs: vec![
                Given::Floats(vec![1, channels, side, side]),
                Given::Floats(vec![filters, channels, 3, 3]),
            ],
            least: Least::Flops((2 * filters * channels * 9 * side * side) as f64),
            sample: Sample::Whole,
            body: |x| x[0].try_conv2d(&x[1], None, &Conv2dOptions::default().with_padding(1)),
        };
        let what = "convolution of a 3 × 224 × 224 picture with 64 filters of 3 × 3";
        timed(bench, &[230], &case, what, 5e-3).await?;
    }
    if bench.wants(&[248, 138, 249]) {
        activations(bench).await?;
    }
    Ok(())
}

/// A row about the time of an op, evaluated one after the other.
async fn timed(
    bench: &mut Bench<'_>,
    numbers: &'static [u32],
    case: &Case,
    what: &str,
    limit: f64,
) -> Result<()> {
    let seconds = measured(case, bench.device).await?;
    let given = inputs(case, bench.device)?;
    let waited = median_seconds(bench.device, RUNS, async || {
        let result = (case.body)(&given[0])?;
        let mut element = result.clone();
        for dim in 0..result.rank() {
            element = element.try_narrow(dim as isize, 0, 1)?;
        }
        result.eval()?;
        element.item().await.map(drop)
    });
    let waited = waited.await?;
    bench.add(Row {
        numbers,
        what: format!("{what}, one after the other"),
        target: format!("below {}", time(limit)),
        measured: format!("{} ({} with a wait)", time(seconds), time(waited)),
        value: Some(seconds),
        met: Some(seconds < limit),
    });
    Ok(())
}

async fn activations(bench: &mut Bench<'_>) -> Result<()> {
    let rows = if bench.kind == Kind::Software { ROWS / 16 } else { ROWS };
    let elements = (rows * 1024) as f64;
    let bodies: [(&str, Body); 3] = [
        ("relu", |x| gradient(&x[0], &x[1], Tensor::try_relu)),
        ("sigmoid", |x| gradient(&x[0], &x[1], Tensor::try_sigmoid)),
        ("softmax", |x| gradient(&x[0], &x[1], |x| x.try_softmax(-1))),
    ];
    for (name, body) in bodies {
        let case = Case {
            name,
            inputs: vec![Given::Floats(vec![rows, 1024]); 2],
            least: Least::Bytes(12.0 * elements),
            sample: Sample::Rows(2),
            body,
        };
        let seconds = measured(&case, bench.device).await?;
        let per_million = seconds / elements * MILLION;
        bench.add(Row {
            numbers: &[248, 138],
            what: format!("gradient of {name}, per million elements"),
            target: "below 1 ms".into(),
            measured: format!("{} ({rows} × 1024)", time(per_million)),
            value: Some(per_million),
            met: Some(per_million < 1e-3),
        });
        if bench.kind == Kind::Gpu {
            let on_cpu = measured(&case, &Device::cpu()).await?;
            bench.add(Row {
                numbers: &[249],
                what: "the same against this machine's CPU backend".into(),
                target: "10 times as fast".into(),
                measured: format!("{} ({} there)", times(on_cpu / seconds), time(on_cpu)),
                value: Some(on_cpu / seconds),
                met: Some(on_cpu / seconds >= 10.0),
            });
        }
    }
    Ok(())
}
