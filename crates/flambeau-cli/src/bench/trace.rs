//! Timelines of kernels: a file in Chrome's trace format (open it in `chrome://tracing` or ui.perfetto.dev), and a
//! table of the kernels that cost most.

use super::{flop_rate, time};
use crate::output::{Output, bad_file};
use flambeau::KernelTiming;
use flambeau::prelude::*;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;

/// Kernels in the table.
const LISTED: usize = 10;
/// Characters of a name in the table.
const NAME: usize = 60;

/// The timelines of one file, each under its own heading.
#[derive(Default)]
pub struct Timelines {
    events: Vec<Value>,
    count: usize,
}

impl Timelines {
    /// Adds a timeline; submissions are its rows.
    pub fn add(&mut self, heading: &str, kernels: &[KernelTiming]) {
        let process = self.count;
        self.count += 1;
        self.events.push(json!({
            "name": "process_name", "ph": "M", "pid": process, "args": { "name": heading },
        }));
        for kernel in kernels {
            let KernelTiming { name, submission, start, duration, groups, work } = kernel;
            self.events.push(json!({
                "name": name,
                "cat": "kernel",
                "ph": "X",
                "pid": process,
                "tid": 0,
                "ts": start / 1e3,
                "dur": duration / 1e3,
                "args": {
                    "submission": submission,
                    "workgroups": groups,
                    "elements": work.elements,
                    "flops": work.flops,
                    "bytes": work.bytes,
                },
            }));
        }
    }

    pub fn write(&self, path: &Path) -> Result<()> {
        let text = json!({ "traceEvents": self.events, "displayTimeUnit": "ns" }).to_string();
        std::fs::write(path, text).map_err(|error| bad_file(path, error))
    }
}

/// All runs of kernels of one name and size.
#[derive(Clone, Copy, Default)]
struct Total {
    count: usize,
    nanoseconds: f64,
    flops: u64,
    bytes: u64,
}

/// Prints the most expensive kernels of some steps, and gives them for machines.
pub fn most_expensive(kernels: &[KernelTiming], steps: usize, output: Output) -> Value {
    let mut totals: HashMap<(&str, u64), Total> = HashMap::new();
    for kernel in kernels {
        let total = totals.entry((&kernel.name, kernel.work.elements)).or_default();
        total.count += 1;
        total.nanoseconds += kernel.duration;
        total.flops += kernel.work.flops;
        total.bytes += kernel.work.bytes;
    }
    let all: f64 = kernels.iter().map(|kernel| kernel.duration).sum();
    let span = kernels.iter().map(|kernel| kernel.start + kernel.duration).fold(0.0, f64::max);
    let per_step = |value: f64| value / steps as f64;
    output.say(format!(
        "  traced {steps} steps: kernels take {} of {} a step",
        time(per_step(all) * 1e-9),
        time(per_step(span) * 1e-9)
    ));
    output.say(format!(
        "  {:>6} {:>10} {:>7} {:>16} {:>11} {:>12}  kernel",
        "a step", "µs a step", "share", "rate", "GB/s", "elements"
    ));
    let mut totals: Vec<_> = totals.into_iter().collect();
    totals.sort_by(|a, b| b.1.nanoseconds.total_cmp(&a.1.nanoseconds).then(a.0.cmp(&b.0)));
    let mut listed = Vec::new();
    for &((name, elements), total) in totals.iter().take(LISTED) {
        let seconds = total.nanoseconds * 1e-9;
        let (count, microseconds) = (per_step(total.count as f64), per_step(total.nanoseconds / 1e3));
        let share = if all > 0.0 { total.nanoseconds / all } else { 0.0 };
        output.say(format!(
            "  {count:>6.1} {microseconds:>10.1} {:>5.1} % {:>16} {:>11.1} {elements:>12}  {}",
            100.0 * share,
            flop_rate(total.flops as f64 / seconds),
            total.bytes as f64 / seconds / 1e9,
            shortened(name),
        ));
        listed.push(json!({
            "name": name,
            "elements": elements,
            "per_step": count,
            "microseconds_per_step": microseconds,
            "share": share,
        }));
    }
    json!({ "steps": steps, "kernel_microseconds_per_step": per_step(all / 1e3), "kernels": listed })
}

fn shortened(name: &str) -> String {
    match name.char_indices().nth(NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}
