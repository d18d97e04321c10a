//! The number targets that the project was founded on, each beside what is measured on this device. `docs/founding.md` is made of
//! what this prints (`bench/founding.py`), `docs/requirements.md` numbers the targets.

mod elsewhere;
mod fusion;
mod mnist;
mod products;
mod single;

use super::Kind;
use crate::output::{Output, refused};
use flambeau::prelude::*;
use serde_json::{Value, json};

#[derive(clap::Args, Default)]
pub struct Options {
    /// Only the targets with these numbers in docs/requirements.md.
    numbers: Vec<u32>,
}

/// A target and what was found.
struct Row {
    /// The requirements that set it.
    numbers: &'static [u32],
    what: String,
    target: String,
    /// For people.
    measured: String,
    /// The same in seconds, operations a second, bytes, or as a ratio; none where it is not measured here.
    value: Option<f64>,
    /// None where the device has nothing to be measured by.
    met: Option<bool>,
}

/// What the measurements share.
struct Bench<'a> {
    device: &'a Device,
    kind: Kind,
    output: Output,
    wanted: &'a [u32],
    rows: Vec<Value>,
}

impl Bench<'_> {
    /// Is one of these targets asked for?
    fn wants(&self, numbers: &[u32]) -> bool {
        self.wanted.is_empty() || numbers.iter().any(|number| self.wanted.contains(number))
    }

    fn add(&mut self, row: Row) {
        let Row { numbers, what, target, measured, value, met } = row;
        let texts: Vec<String> = numbers.iter().map(u32::to_string).collect();
        let verdict = match met {
            Some(true) => "met",
            Some(false) => "NOT MET",
            None => "",
        };
        self.output.say(format!("{:<9} {what:<62} {target:<26} {measured:<46} {verdict}", texts.join(" ")));
        self.rows.push(json!({
            "requirements": numbers, "what": what, "target": target, "measured": measured, "value": value, "met": met,
        }));
    }
}

pub async fn run(device: &Device, options: &Options, output: Output) -> Result<Value> {
    let kind = Kind::of(device);
    let mut bench = Bench { device, kind, output, wanted: &options.numbers, rows: Vec::new() };
    output.say(format!("founding targets on {}", device.name()));
    products::measure(&mut bench).await?;
    single::measure(&mut bench).await?;
    mnist::measure(&mut bench).await?;
    fusion::measure(&mut bench).await?;
    elsewhere::list(&mut bench);
    if bench.rows.is_empty() {
        let message = "there is no such target; docs/requirements.md numbers them, 227 to 259";
        return Err(refused("bench founding", message));
    }
    Ok(Value::Array(bench.rows))
}

/// A ratio as `12.3 times`.
fn times(ratio: f64) -> String {
    if ratio < 100.0 { format!("{ratio:.1} times") } else { format!("{ratio:.0} times") }
}
