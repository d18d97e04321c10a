//! The library's own test suite: for the tests of the package, and for the Device page of the web app.

use crate::device::device;
use flambeau::selftest::{self, Case, CaseReport, SuiteReport};
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

fn cases(every_case: bool) -> Vec<Case> {
    if every_case { selftest::cases() } else { selftest::essential_cases() }
}

/// How many reports `selftest_ops` will give: of every case or the essential ones, and of calls that must be refused.
#[wasm_bindgen]
pub fn selftest_count(every_case: bool) -> u32 {
    cases(every_case).len() as u32 + 1
}

/// The primitives of the library that a report does not have.
#[wasm_bindgen]
pub fn selftest_missing(ran: Vec<String>) -> Vec<String> {
    selftest::primitives()
        .iter()
        .filter(|op| !ran.iter().any(|ran| ran == *op))
        .map(|op| op.to_string())
        .collect()
}

/// Every op of the table on a device, against the interpreter, with every case or the essential ones; `progress` is called
/// with what came of each case, as JSON.
#[wasm_bindgen]
pub async fn selftest_ops(
    number: u32,
    every_case: bool,
    progress: js_sys::Function,
) -> Result<String, JsError> {
    let device = device(number)?;
    let tell = |case: &CaseReport| {
        let CaseReport { name, group, ops, checks, failures, skipped } = case;
        let text = json!({
            "name": name, "group": group, "ops": ops, "checks": checks, "failures": failures, "skipped": skipped,
        });
        drop(progress.call1(&JsValue::NULL, &JsValue::from_str(&text.to_string())))
    };
    Ok(told(&selftest::op_suite(&device, cases(every_case), tell).await))
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
