//! Derivatives against central differences, in f64: gradients, and gradients of gradients.

use super::CaseReport;
use super::case::Case;
use super::check::{Built, close, read, weighted_sum};
use crate::autograd::{self, BackwardOptions};
use crate::device::Device;
use crate::dtype::DType;
use crate::error::Result;
use crate::tensor::Tensor;

const EPS: f64 = 1e-6;
const ATOL: f64 = 1e-5;
const RTOL: f64 = 1e-3;

/// Checks first and second derivatives of a case.
pub(super) async fn run(case: &Case, device: &Device, report: &mut CaseReport) -> Result<()> {
    let at: Vec<Vec<f64>> = (0..)
        .zip(&case.inputs)
        .filter(|(_, input)| input.dtype.is_float())
        .map(|(salt, input)| input.leaf_values(salt))
        .collect();
    let built = Built::new(case, device, Some(&at))?;
    let analytic = built.gradients()?;
    differences("gradcheck", case, device, &at, &analytic, |built| built.loss(), report).await?;

    let built = Built::new(case, device, Some(&at))?;
    let total = second_order(&built)?;
    let analytic = match total.is_tracked() {
        true => {
            let grads = autograd::grad(&[total], &built.leaves, BackwardOptions::default())?;
            grads
                .into_iter()
                .zip(&built.leaves)
                .map(|(g, leaf)| g.unwrap_or_else(|| leaf.zeros_like()))
                .collect()
        }
        false => built.leaves.iter().map(Tensor::zeros_like).collect::<Vec<_>>(),
    };
    differences("gradgradcheck", case, device, &at, &analytic, second_order, report).await
}

/// A weighted sum of all gradients, recorded.
fn second_order(built: &Built) -> Result<Tensor> {
    let options = BackwardOptions { create_graph: true, ..Default::default() };
    let mut total = Tensor::zeros((), (DType::F64, built.result.device()));
    for (grad, salt) in built.gradients_with(options)?.iter().zip(200..) {
        total = total.try_add(&weighted_sum(grad, salt)?)?;
    }
    Ok(total)
}

/// Compares gradients with central differences of `function`, element by element.
async fn differences(
    what: &str,
    case: &Case,
    device: &Device,
    at: &[Vec<f64>],
    analytic: &[Tensor],
    function: impl Fn(&Built) -> Result<Tensor>,
    report: &mut CaseReport,
) -> Result<()> {
    let analytic = read(&analytic.iter().collect::<Vec<_>>()).await?;
    for (leaf, values) in at.iter().enumerate() {
        report.checks += 1;
        for k in 0..values.len() {
            let mut moved = at.to_vec();
            let mut ends = [0.0; 2];
            for (end, step) in ends.iter_mut().zip([EPS, -EPS]) {
                moved[leaf][k] = values[k] + step;
                *end = function(&Built::new(case, device, Some(&moved))?)?.item().await?;
            }
            let numeric = (ends[0] - ends[1]) / (2.0 * EPS);
            if !close(analytic[leaf][k], numeric, RTOL, ATOL) {
                report.failures.push(format!(
                    "{what}: element {k} of input {leaf} is {}, finite differences give {numeric}",
                    analytic[leaf][k]
                ));
                break;
            }
        }
    }
    Ok(())
}
