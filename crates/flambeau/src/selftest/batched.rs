//! How batches are judged: what `func::vmap` makes of a case against a loop over the samples, values and gradients.

use super::check::{Built, close, compare, read, tolerances};
use super::{Case, CaseReport, Input};
use crate::device::Device;
use crate::dtype::DType;
use crate::error::Result;
use crate::func::{Randomness, VmapOptions, try_vmap_with};
use crate::tensor::Tensor;

/// Samples of a batch.
const SAMPLES: u32 = 3;
/// Relative tolerance of gradients, where the case has no larger one.
const LEAST_TOLERANCE: f64 = 1e-5;

/// Runs a case on a batch of samples, and once more with only its first input batched.
pub(super) async fn run(case: &Case, device: &Device) -> CaseReport {
    let mut report = CaseReport { name: case.name.clone(), group: case.group, ..Default::default() };
    let is_missing = |dtype: DType| device.backend().accepts(dtype).is_err();
    let result = Built::new(case, &Device::for_interpreter()).map(|built| built.result.dtype());
    if case.inputs.iter().any(|input| is_missing(input.dtype)) || result.is_ok_and(is_missing) {
        report.skipped = true;
        return report;
    }
    let inputs = case.inputs.len();
    for batched in [inputs, 1].into_iter().take(if inputs > 1 { 2 } else { 1 }) {
        if let Err(error) = judge(case, batched, device, &mut report).await {
            report.failures.push(format!("{batched} of {inputs} inputs batched: {error}"));
        }
    }
    report
}

async fn judge(case: &Case, batched: usize, device: &Device, report: &mut CaseReport) -> Result<()> {
    let dims: Vec<Option<isize>> = (0..case.inputs.len()).map(|k| (k < batched).then_some(0)).collect();
    let at_once = |leaves: &[Tensor]| {
        let options =
            VmapOptions { in_dims: dims.clone(), randomness: Randomness::Same, ..Default::default() };
        try_vmap_with(|leaves: &Vec<Tensor>| case.apply_to_leaves(leaves), options)(&leaves.to_vec())
    };
    let one_by_one = |leaves: &[Tensor]| {
        let result = |sample: u32| {
            let of_sample = leaves.iter().zip(&dims).map(|(leaf, dim)| match dim {
                Some(_) => leaf.try_select(0, sample as isize),
                None => Ok(leaf.clone()),
            });
            case.apply_to_leaves(&of_sample.collect::<Result<Vec<_>>>()?)
        };
        Tensor::try_stack(&(0..SAMPLES).map(result).collect::<Result<Vec<_>>>()?, 0)
    };
    let (expected, actual) = (build(case, &dims, device, one_by_one)?, build(case, &dims, device, at_once)?);
    let wanted = read(&[&expected.result]).await?;
    compare("batch", case, &[&actual.result], &wanted, report).await?;
    let is_float = expected.result.dtype().is_float() && !expected.leaves.is_empty();
    if is_float && case.differentiable && !case.edges {
        let (expected, actual) = (expected.gradients()?, actual.gradients()?);
        let wanted = read(&expected.iter().collect::<Vec<_>>()).await?;
        let got = read(&actual.iter().collect::<Vec<_>>()).await?;
        for (index, (tensor, (got, wanted))) in actual.iter().zip(got.iter().zip(&wanted)).enumerate() {
            report.checks += 1;
            if let Some(failure) = apart(case, tensor, got, wanted) {
                report
                    .failures
                    .push(format!("gradient {index} of a batch, {batched} inputs batched: {failure}"));
            }
        }
    }
    Ok(())
}

/// Where gradients differ by more than the tolerance, measured by the largest of them: what all samples share gets a sum over the
/// samples, whose terms are added in another order.
fn apart(case: &Case, tensor: &Tensor, got: &[f64], wanted: &[f64]) -> Option<String> {
    let (_, relative) = tolerances(case, tensor.dtype());
    let largest = wanted.iter().filter(|x| x.is_finite()).fold(1.0, |largest: f64, x| largest.max(x.abs()));
    let is_close = |k: &usize| close(got[*k], wanted[*k], 0.0, relative.max(LEAST_TOLERANCE) * largest);
    if got.len() != wanted.len() {
        return Some(format!("{} values, not {}", got.len(), wanted.len()));
    }
    let k = (0..got.len()).find(|k| !is_close(k))?;
    Some(format!("element {k} of {} is {:?}, not {:?}", tensor.shape(), got[k], wanted[k]))
}

/// The case's graph on leaves of which some are batches; samples have values of their own.
fn build(
    case: &Case,
    dims: &[Option<isize>],
    device: &Device,
    apply: impl Fn(&[Tensor]) -> Result<Tensor>,
) -> Result<Built> {
    let leaf = |((input, salt), dim): ((&Input, u32), &Option<isize>)| {
        let sample = |sample: u32| input.leaf(&input.leaf_values(salt + 1000 * sample), input.dtype, device);
        let leaf = match dim {
            Some(_) => Tensor::try_stack(&(0..SAMPLES).map(sample).collect::<Result<Vec<_>>>()?, 0)?,
            None => sample(0)?,
        };
        if input.dtype.is_float() { leaf.try_requires_grad() } else { Ok(leaf) }
    };
    let mut leaves = case.inputs.iter().zip(0..).zip(dims).map(leaf).collect::<Result<Vec<_>>>()?;
    let result = apply(&leaves)?;
    leaves.retain(Tensor::is_tracked);
    Ok(Built { leaves, result })
}
