//! The library's own test suite, for the test build of the package.

use crate::device::device;
use flambeau::selftest::{self, CaseReport, SuiteReport};
use serde_json::json;
use wasm_bindgen::prelude::*;

fn told(report: &SuiteReport) -> String {
    json!({
        "summary": report.to_string(),
        "cases": report.cases,
        "skipped": report.skipped,
        "checks": report.checks,
        "ops": report.ops.len(),
        "failures": report.failures,
    })
    .to_string()
}

/// Every op of the table on a device, against the interpreter, with every case or the essential ones; `progress` is called
/// with each case's name.
#[wasm_bindgen]
pub async fn selftest_ops(
    number: u32,
    every_case: bool,
    progress: js_sys::Function,
) -> Result<String, JsError> {
    let device = device(number)?;
    let cases = if every_case { selftest::cases() } else { selftest::essential_cases() };
    let tell = |case: &CaseReport| drop(progress.call1(&JsValue::NULL, &JsValue::from_str(&case.name)));
    Ok(told(&selftest::op_suite(&device, cases, tell).await))
}

/// Random graphs with these seeds.
#[wasm_bindgen]
pub async fn selftest_graphs(number: u32, first: u32, count: u32) -> Result<String, JsError> {
    let device = device(number)?;
    let seeds = u64::from(first)..u64::from(first + count);
    Ok(told(&selftest::random_graphs(&device, seeds, |_| ()).await))
}

/// The losses of the training run that is the same everywhere.
#[wasm_bindgen]
pub async fn selftest_training(number: u32, pictures: &[u8], labels: &[u8]) -> Result<Vec<f64>, JsError> {
    let device = device(number)?;
    Ok(selftest::training_curve(&device, pictures, labels).await?)
}
