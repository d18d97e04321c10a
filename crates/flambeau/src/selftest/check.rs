//! How a case is judged: values and gradients on the device against the interpreter, which works on leaves of its own.

use super::{Case, Input};
use super::{CaseReport, primitives};
use crate::autograd::{self, BackwardOptions, GradcheckOptions};
use crate::device::Device;
use crate::dtype::DType;
use crate::error::Result;
use crate::reference;
use crate::tensor::node::Value;
use crate::tensor::{Tensor, widen};

/// Absolute tolerance of floats.
const ATOL: f64 = 1e-5;
/// What may become zero at the edges: exponentials end a little before floats do.
const LEAST: f64 = 1e-37;
/// Elements of all leaves up to which finite differences are taken.
const MAX_DIFFERENCES: usize = 80;

/// Relative tolerance of a dtype.
fn rtol(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 1e-3,
        DType::F32 => 1.3e-6,
        DType::F64 => 1e-7,
        DType::Bool | DType::U8 | DType::I32 | DType::U32 | DType::I64 => 0.0,
    }
}

/// Runs every check of a case.
pub(super) async fn run(case: &Case, device: &Device, truth: &Device) -> CaseReport {
    let mut report = CaseReport { name: case.name.clone(), group: case.group, ..Default::default() };
    if case.inputs.iter().any(|input| device.backend().accepts(input.dtype).is_err()) {
        report.skipped = true;
        return report;
    }
    if let Err(error) = judge(case, device, truth, &mut report).await {
        report.failures.push(error.to_string());
    }
    report
}

async fn judge(case: &Case, device: &Device, truth: &Device, report: &mut CaseReport) -> Result<()> {
    let build = |device: &Device| Built::new(case, device);
    let expected = build(truth)?;
    if device.backend().accepts(expected.result.dtype()).is_err() {
        report.skipped = true;
        return Ok(());
    }
    let actual = build(device)?;
    primitives::collect(&expected.result, &mut report.ops);
    let wanted = reference::evaluate(&[&expected.result]).await?;
    compare("forward", case, &[&actual.result], &wanted, report).await?;

    let floats = case.inputs.iter().filter(|input| input.dtype.is_float()).count();
    if floats == 0 || !expected.result.dtype().is_float() || case.edges {
        return Ok(());
    }
    let gradients = |device: &Device| Built::new(case, device)?.gradients();
    if !case.differentiable {
        report.checks += 1;
        if gradients(truth).is_ok() {
            report
                .failures
                .push("a gradient flowed through an op that is marked as not differentiable".into());
        }
        return Ok(());
    }
    let (expected, actual) = (gradients(truth)?, gradients(device)?);
    expected.iter().for_each(|grad| primitives::collect(grad, &mut report.ops));
    let wanted = reference::evaluate(&expected.iter().collect::<Vec<_>>()).await?;
    compare("gradient", case, &actual.iter().collect::<Vec<_>>(), &wanted, report).await?;

    let in_f32 = case.inputs.iter().all(|input| !input.dtype.is_float() || input.dtype == DType::F32);
    let elements: usize = case.inputs.iter().map(|input| input.leaf_values(0).len()).sum();
    if device.is_cpu() && in_f32 && case.smooth && elements <= MAX_DIFFERENCES {
        differences(case, device, report).await?;
    }
    Ok(())
}

/// The default relative tolerance of a result, and the case's own.
pub(super) fn tolerances(case: &Case, dtype: DType) -> (f64, f64) {
    let coarsest = case.inputs.iter().any(|input| input.dtype == DType::F16);
    let default = if coarsest && dtype.is_float() { rtol(DType::F16) } else { rtol(dtype) };
    (default, case.tolerance.map_or(default, |(rtol, _)| rtol.max(default)))
}

/// Compares what the device computes with what the interpreter says.
pub(super) async fn compare(
    what: &str,
    case: &Case,
    actual: &[&Tensor],
    expected: &[Vec<f64>],
    report: &mut CaseReport,
) -> Result<()> {
    let got = read(actual).await?;
    for (index, (tensor, (got, want))) in actual.iter().zip(got.iter().zip(expected)).enumerate() {
        report.checks += 1;
        let dtype = tensor.dtype();
        let (default, relative) = tolerances(case, dtype);
        let absolute = match (dtype.is_float(), case.edges) {
            (true, false) => ATOL.max(default),
            (true, true) => LEAST,
            (false, _) => 0.0,
        };
        if got.len() != want.len() {
            report.failures.push(format!("{what} {index}: {} values, not {}", got.len(), want.len()));
            continue;
        }
        let narrow = |x: f64| if case.edges && dtype == DType::F32 { f64::from(x as f32) } else { x };
        let bad = |&k: &usize| !close(got[k], narrow(want[k]), relative, absolute);
        if let Some(k) = (0..got.len()).find(bad) {
            let count = (0..got.len()).filter(bad).count();
            report.failures.push(format!(
                "{what} {index} ({dtype} {}): element {k} is {:?}, not {:?} ({count} of {} wrong)",
                tensor.shape(),
                got[k],
                want[k],
                got.len()
            ));
        }
    }
    Ok(())
}

/// Equal within tolerances; infinities and NaNs only to themselves.
pub(super) fn close(got: f64, want: f64, relative: f64, absolute: f64) -> bool {
    got == want
        || (got.is_nan() && want.is_nan())
        || (want.is_finite() && (got - want).abs() <= absolute + relative * want.abs())
}

/// The values of several tensors of one device, evaluated in one plan and read in one wait.
pub(super) async fn read(tensors: &[&Tensor]) -> Result<Vec<Vec<f64>>> {
    let Some(first) = tensors.first() else { return Ok(Vec::new()) };
    let values: Vec<Value> = tensors.iter().map(|tensor| tensor.value().clone()).collect();
    let read = first.device().read(&values).await?;
    Ok(tensors.iter().zip(read).map(|(tensor, bytes)| widen(tensor.dtype(), &bytes)).collect())
}

/// Compares first and second derivatives with finite differences, in f64.
async fn differences(case: &Case, device: &Device, report: &mut CaseReport) -> Result<()> {
    let leaf = |(input, salt): (&Input, u32)| match input.dtype.is_float() {
        true => input.leaf(&input.leaf_values(salt), DType::F64, device)?.try_requires_grad(),
        false => input.leaf(&input.leaf_values(salt), input.dtype, device),
    };
    let leaves = case.inputs.iter().zip(0..).map(leaf).collect::<Result<Vec<_>>>()?;
    let body = |leaves: &[Tensor]| case.apply_to_leaves(leaves);
    report.checks += 2;
    let options = GradcheckOptions::default();
    if let Err(error) = autograd::gradcheck(body, &leaves, options).await {
        report.failures.push(format!("gradcheck: {error}"));
    }
    if let Err(error) = autograd::gradgradcheck(body, &leaves, options).await {
        report.failures.push(format!("gradgradcheck: {error}"));
    }
    Ok(())
}

/// A case's graph on one device.
pub(super) struct Built {
    /// The float leaves, which require gradients.
    pub leaves: Vec<Tensor>,
    pub result: Tensor,
}

impl Built {
    pub fn new(case: &Case, device: &Device) -> Result<Built> {
        let leaf = |(input, salt): (&Input, u32)| {
            let leaf = input.leaf(&input.leaf_values(salt), input.dtype, device)?;
            if input.dtype.is_float() { leaf.try_requires_grad() } else { Ok(leaf) }
        };
        let mut leaves = case.inputs.iter().zip(0..).map(leaf).collect::<Result<Vec<_>>>()?;
        let result = case.apply_to_leaves(&leaves)?;
        leaves.retain(Tensor::is_tracked);
        Ok(Built { leaves, result })
    }

    /// The gradients of Σ wᵢ·resultᵢ with fixed weights between 0.5 and 1.5, so that no two elements count the same.
    pub fn gradients(&self) -> Result<Vec<Tensor>> {
        let y = &self.result;
        let weights = Input::new(y.shape(), y.dtype(), (0.5, 1.5));
        let weights = weights.leaf(&weights.leaf_values(100), y.dtype(), y.device())?;
        let loss = y.try_mul(&weights)?.try_sum(..)?;
        let grads = autograd::grad(&[loss], &self.leaves, BackwardOptions::default())?;
        let missing = |(grad, leaf): (Option<Tensor>, &Tensor)| grad.unwrap_or_else(|| leaf.zeros_like());
        Ok(grads.into_iter().zip(&self.leaves).map(missing).collect())
    }
}
