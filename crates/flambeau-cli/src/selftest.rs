//! `flambeau selftest`: does every op give the right numbers on this machine? The suite of the library's own tests, which compares a device with an
//! interpreter in f64.

use crate::output::{Output, duration, refused};
use clap::Args;
use flambeau::selftest::{CaseReport, SuiteReport, cases, essential_cases, op_suite, random_graphs};
use flambeau::{Device, Result};
use serde_json::json;
use std::process::ExitCode;
use std::time::Instant;

/// What is checked.
#[derive(Args)]
pub struct Options {
    /// Only cases whose names contain one of these words, such as matmul or sort.
    names: Vec<String>,
    /// Every layout and shape of every elementwise op, too: ten times as many kernels.
    #[arg(long)]
    all: bool,
    /// Random graphs of ops beside, which are fused as those of a model are.
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    graphs: u64,
}

/// Cases after which progress is told.
const TOLD_EVERY: usize = 200;

pub async fn run(device: &Device, options: &Options, output: Output) -> Result<ExitCode> {
    let start = Instant::now();
    let mut chosen = if options.all || !options.names.is_empty() { cases() } else { essential_cases() };
    if !options.names.is_empty() {
        chosen.retain(|case| options.names.iter().any(|name| case.name.contains(name.as_str())));
    }
    if chosen.is_empty() {
        let message = format!("no case is named {}; try matmul, sort or softmax", options.names.join(" or "));
        return Err(refused("selftest", message));
    }
    let (count, mut done) = (chosen.len(), 0);
    let mut told = |report: &CaseReport| {
        done += 1;
        for failure in &report.failures {
            output.say(format!("FAILED {}: {failure}", report.name));
        }
        if done % TOLD_EVERY == 0 {
            output.say(format!("{done} of {count} cases, {}", duration(start.elapsed().as_secs_f64())));
        }
    };
    let mut reports = vec![op_suite(device, chosen, &mut told).await];
    if options.graphs > 0 {
        reports.push(random_graphs(device, 0..options.graphs, &mut told).await);
    }
    let failures: Vec<&String> = reports.iter().flat_map(|report| &report.failures).collect();
    let sum = |of: fn(&SuiteReport) -> usize| reports.iter().map(of).sum::<usize>();
    let result = json!({
        "device": device.name(),
        "cases": sum(|report| report.cases),
        "skipped": sum(|report| report.skipped),
        "checks": sum(|report| report.checks),
        "failures": failures,
        "seconds": start.elapsed().as_secs_f64(),
    });
    let mut lines: Vec<String> = reports.iter().map(SuiteReport::to_string).collect();
    if !failures.is_empty() {
        lines.push("Please tell us, with what `flambeau info` prints. Another driver, or `--device cpu`, may help until then.".into());
    }
    output.result(&result, &lines);
    Ok(if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
