//! Calls of fallible functions with absurd arguments, on ordinary small tensors. An error is a fine answer; a panic, a
//! hang, an abort or an endless allocation is not. Small results are read, and some of them derived, so that evaluation
//! is attacked as well.

mod arguments;
mod layers;
mod numbers;
mod shapes;
mod training;
mod watchdog;
mod windows;

use crate::session::Session;
use arguments::{Arguments, Pool};
use flambeau::{Device, Error, Result, Tensor, block_on};
use std::collections::BTreeMap;
use watchdog::Watchdog;

/// A function under attack: draws its arguments and calls it.
struct Call {
    name: &'static str,
    run: fn(&mut Arguments) -> Result<Vec<Tensor>>,
}

/// What a function gives, as a list of tensors to be read.
trait Results {
    fn list(self) -> Vec<Tensor>;
}

impl Results for () {
    fn list(self) -> Vec<Tensor> {
        Vec::new()
    }
}
impl Results for Tensor {
    fn list(self) -> Vec<Tensor> {
        vec![self]
    }
}
impl Results for Vec<Tensor> {
    fn list(self) -> Vec<Tensor> {
        self
    }
}
impl Results for (Tensor, Tensor) {
    fn list(self) -> Vec<Tensor> {
        vec![self.0, self.1]
    }
}

/// A table of calls: `"name": a => an expression of a Result`.
macro_rules! calls {
    ($($name:literal: $a:ident => $call:expr;)*) => {
        &[$($crate::calls::Call { name: $name, run: |$a| $call.map($crate::calls::Results::list) }),*]
    };
}
use calls;

/// Elements up to which a result is read.
const READ: usize = 10_000;
/// Results of one call that are read.
const RESULTS: usize = 4;
/// Reads of a hundred that are followed by a backward pass.
const BACKWARD: usize = 10;
/// Reads of a hundred on a GPU: a new shader takes a software adapter tens of milliseconds.
const READ_ON_GPU: usize = 2;

pub fn run(session: &mut Session) {
    let device = session.device();
    let pool = Pool::new(session.seed(), &device);
    let tables = [shapes::CALLS, numbers::CALLS, windows::CALLS, layers::CALLS, training::CALLS];
    let calls: Vec<&Call> = tables.into_iter().flatten().collect();
    let watchdog = Watchdog::start();
    let mut answers: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
    while let Some(case) = session.next() {
        let mut arguments = Arguments::new(session.random(case), &pool, &device);
        let call = *arguments.random.pick(&calls);
        watchdog.begin(case, call.name);
        let name = format!("{}{}", call.name, if arguments.tracks() { " with gradients" } else { "" });
        let answer = session.guard(case, &name, || {
            (call.run)(&mut arguments).and_then(|results| read(&mut arguments, results))
        });
        if let Some(answer) = answer {
            answers.entry(call.name).or_default()[usize::from(answer.is_ok())] += 1;
            if let Err(Error::IndexOutOfRange { .. } | Error::Poisoned(_)) = answer {
                session.guard(case, "clear_fault", || device.clear_fault());
            }
        }
    }
    watchdog.end();
    let never = answers.iter().filter(|(_, [_, good])| *good == 0).map(|(name, _)| *name).collect::<Vec<_>>();
    session.note(format!("{} functions, {} of them never with a value", answers.len(), never.len()));
    if !never.is_empty() {
        println!("never answered with a value: {}", never.join(", "));
    }
}

/// Evaluates the small ones among the results, and now and then their derivative.
fn read(arguments: &mut Arguments, results: Vec<Tensor>) -> Result<()> {
    let percent = if is_cpu(arguments.device) { 100 } else { READ_ON_GPU };
    for result in results.iter().filter(|result| result.numel() <= READ).take(RESULTS) {
        if !arguments.random.chance(percent) {
            continue;
        }
        block_on(result.to_f64_vec())?;
        if result.is_tracked() && arguments.random.chance(BACKWARD) {
            result.try_sum(..)?.backward()?;
            for leaf in arguments.leaves() {
                let grad = leaf.grad();
                leaf.zero_grad();
                if let Some(grad) = grad {
                    block_on(grad.to_f64_vec())?;
                }
            }
        }
    }
    Ok(())
}

fn is_cpu(device: &Device) -> bool {
    *device == Device::cpu()
}
