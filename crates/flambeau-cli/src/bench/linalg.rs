//! Decompositions of one large matrix and of many small ones, each held to its residual before it is timed.

use super::ops::{Body, seconds};
use super::trace::most_expensive;
use super::{Kind, time};
use crate::output::{Output, refused};
use flambeau::prelude::*;
use serde_json::{Value, json};

/// The largest residual ‖product of the factors − A‖ / (‖A‖ n ε). LAPACK's own tests allow 30; its decompositions in f32 of the matrices
/// of this benchmark have 0.001 (Cholesky) to 0.2 (eigh of 32²).
const TOLERANCE: f64 = 1.0;

#[derive(clap::Args, Default)]
pub struct Options {
    /// Only the decompositions whose names contain one of these.
    names: Vec<String>,
    /// Print what each kernel of a decomposition takes, by the GPU's timestamps.
    #[arg(long)]
    trace: bool,
}

/// A decomposition to be timed.
struct Case {
    name: &'static str,
    /// What is timed; all results of a decomposition are computed with the first.
    body: Body,
    /// The product of its factors, which must be the matrix again.
    product: Body,
}

/// Of symmetric positive definite matrices, whatever the decomposition.
const CASES: [Case; 5] = [
    Case {
        name: "cholesky",
        body: |x| x[0].try_cholesky(false),
        product: |x| {
            let l = x[0].try_cholesky(false)?;
            l.try_matmul(&l.try_transpose(-2, -1)?)
        },
    },
    Case {
        name: "lu",
        body: |x| Ok(x[0].try_lu_factor()?.0),
        product: |x| {
            let (p, l, u) = x[0].try_lu()?;
            p.try_matmul(&l)?.try_matmul(&u)
        },
    },
    Case {
        name: "qr",
        body: |x| Ok(x[0].try_qr(false)?.0),
        product: |x| {
            let (q, r) = x[0].try_qr(false)?;
            q.try_matmul(&r)
        },
    },
    Case {
        name: "eigh",
        body: |x| Ok(x[0].try_eigh()?.0),
        product: |x| {
            let (w, v) = x[0].try_eigh()?;
            v.try_mul(&w.try_unsqueeze(-2)?)?.try_matmul(&v.try_transpose(-2, -1)?)
        },
    },
    Case {
        name: "svd",
        body: |x| Ok(x[0].try_svd(false)?.1),
        product: |x| {
            let (u, s, vt) = x[0].try_svd(false)?;
            u.try_mul(&s.try_unsqueeze(-2)?)?.try_matmul(&vt)
        },
    },
];

pub async fn run(device: &Device, options: &Options, output: Output) -> Result<Value> {
    let wanted = |name: &str| {
        options.names.is_empty() || options.names.iter().any(|part| name.contains(part.as_str()))
    };
    let (size, batch) = match Kind::of(device) {
        Kind::Gpu | Kind::Cpu => (1024, 10_000),
        Kind::Software => (64, 10),
    };
    if !CASES.iter().any(|case| wanted(case.name)) {
        return Err(refused("bench linalg", "there is no such decomposition"));
    }
    output.say(format!("Decompositions on {}", device.name()));
    output.say(format!("{:<10} {:>18} {:>11} {:>9} {:>8}", "what", "input", "time", "residual", "in n ε"));
    let mut results = Vec::new();
    for shape in [[1, size, size], [batch, 32, 32]] {
        let x = Tensor::try_randn(&shape[..], &Generator::new(1), device)?;
        let ones = Tensor::try_eye(shape[2], device)? * shape[2] as f64;
        let a = x.try_matmul(&x.try_transpose(-2, -1)?)? + ones;
        a.eval()?;
        for case in CASES.iter().filter(|case| wanted(case.name)) {
            let given = vec![a.clone()];
            let residual = residual(case, &given).await?;
            let in_roundings = residual / (shape[2] as f64 * f64::from(f32::EPSILON));
            let mut result = json!({
                "decomposition": case.name,
                "shape": shape,
                "residual": residual,
                "residual_in_n_epsilon": in_roundings,
            });
            // What is not precise enough is not timed, and neither is a NaN.
            let refused = if in_roundings <= TOLERANCE { None } else { Some("refused") };
            let time_text = match refused {
                Some(refused) => refused.to_owned(),
                None => {
                    let seconds = seconds(case.body, std::slice::from_ref(&given), device).await?;
                    result["microseconds"] = json!(seconds * 1e6);
                    time(seconds)
                }
            };
            result["refused"] = json!(refused.is_some());
            let shape_text = format!("{shape:?}");
            output.say(format!(
                "{:<10} {shape_text:>18} {time_text:>11} {residual:>9.1e} {in_roundings:>8.3}",
                case.name
            ));
            if options.trace {
                device.start_trace()?;
                (case.body)(&given)?.eval()?;
                result["trace"] = most_expensive(&device.take_trace().await?, 1, output);
            }
            results.push(result);
        }
    }
    Ok(Value::Array(results))
}

/// How far the product of the factors is from the matrix, as a share of it.
async fn residual(case: &Case, given: &[Tensor]) -> Result<f64> {
    let difference = (case.product)(given)?.try_sub(&given[0])?;
    let [difference, whole] = [&difference, &given[0]].map(|x| x.try_norm(2.0, ..));
    Ok(difference?.to_f64_vec().await?[0] / whole?.to_f64_vec().await?[0])
}
