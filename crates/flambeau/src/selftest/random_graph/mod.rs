//! Random graphs: what the planner makes of ops together, judged by the interpreter.
//!
//! A graph is a list of steps drawn from a seed. It is built once for the device and once for the interpreter;
//! outputs, a loss, the gradients of the loss and sometimes their own gradients must agree. Which of them are read, when,
//! and with which others decides what a plan looks like, so that is drawn too (`order`). A graph that fails is made
//! smaller before it is reported (`shrink`).

mod generate;
mod kind;
mod order;
mod recipe;
mod rows;
mod shrink;

use super::check::read;
use super::{CaseReport, primitives};
use crate::autograd::{self, BackwardOptions};
use crate::device::Device;
use crate::error::Result;
use crate::reference;
use crate::tensor::Tensor;
use generate::{Generator, Known};
use order::Order;
use recipe::Step;
use std::collections::BTreeSet;
use std::fmt;

/// How far a device may be off, relative to the size of the values in the graph.
const TOLERANCE: f64 = 3e-4;
/// Changes of the leaves, from about as small as f32 can hold, with how many times their effect a device may be off. The
/// larger ones, in both directions, find values that lie on a jump of a derivative.
const NUDGES: [(f64, f64); 3] = [(6e-8, 60.0), (1e-6, 16.0), (-1e-6, 16.0)];
/// Steps up to which a graph may have second derivatives: they are several times as many nodes.
const SECOND_ORDER: usize = 14;

/// A graph drawn from a seed.
#[derive(Clone)]
pub struct RandomGraph {
    seed: u64,
    steps: Vec<Step>,
    known: Vec<Known>,
    outputs: Vec<usize>,
    /// Are the gradients differentiated again?
    second_order: bool,
    order: Order,
}

/// The results of a graph: outputs, loss, gradients of the leaves.
#[derive(Default)]
struct Results {
    tensors: Vec<Tensor>,
    names: Vec<String>,
}

impl Results {
    fn push(&mut self, name: String, tensor: Tensor) {
        self.names.push(name);
        self.tensors.push(tensor);
    }
}

impl RandomGraph {
    /// The graph of a seed: the same everywhere.
    ///
    /// ```
    /// use flambeau::selftest::RandomGraph;
    /// assert_eq!(RandomGraph::new(7).to_string(), RandomGraph::new(7).to_string());
    /// ```
    pub fn new(seed: u64) -> RandomGraph {
        let mut generator = Generator::new(seed);
        generator.run();
        // Everything that nothing reads, so that all of the graph is needed, and some values from its middle.
        let count = generator.steps.len();
        let read: BTreeSet<usize> = generator.steps.iter().flat_map(Step::reads).collect();
        let mut outputs: Vec<usize> = (0..count).filter(|at| !read.contains(at)).collect();
        for _ in 0..generator.below(4) {
            outputs.push(generator.below(count));
        }
        outputs.sort_unstable();
        outputs.dedup();
        let second_order = count <= SECOND_ORDER && generator.below(4) == 0;
        let order = Order::draw(&mut generator);
        let Generator { steps, known, .. } = generator;
        RandomGraph { seed, steps, known, outputs, second_order, order }
    }

    /// The number of steps.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Has it no steps?
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Which steps the outputs need.
    fn needed(&self) -> Vec<bool> {
        let mut needed = vec![false; self.steps.len()];
        self.outputs.iter().for_each(|&output| needed[output] = true);
        for at in (0..self.steps.len()).rev() {
            if needed[at] {
                self.steps[at].reads().into_iter().for_each(|read| needed[read] = true);
            }
        }
        needed
    }

    /// All steps that are needed, as tensors.
    fn forward(&self, device: &Device, nudge: f64) -> Result<Vec<Option<Tensor>>> {
        let needed = self.needed();
        let mut built: Vec<Option<Tensor>> = Vec::with_capacity(self.steps.len());
        for (position, step) in self.steps.iter().enumerate() {
            let tensor = if needed[position] {
                let at = |at: usize| built[at].as_ref().expect("a step reads steps that are needed");
                Some(step.build(position as u32, nudge, device, at)?)
            } else {
                None
            };
            built.push(tensor);
        }
        Ok(built)
    }

    /// The outputs among the steps.
    fn outputs(&self, built: &[Option<Tensor>]) -> Results {
        let mut results = Results::default();
        for &at in &self.outputs {
            results.push(format!("output %{at}"), built[at].clone().expect("outputs are needed"));
        }
        results
    }

    /// Adds the loss, which is the sum of all outputs' squares, the gradients of the leaves, and where they are asked for
    /// those of the sum of the gradients' squares.
    fn backward(&self, built: &[Option<Tensor>], results: &mut Results) -> Result<()> {
        let Some(loss) = sum_of_squares(&results.tensors)? else { return Ok(()) };
        let leaves = built.iter().enumerate().filter_map(|(at, tensor)| Some((at, tensor.clone()?)));
        let leaves: Vec<(usize, Tensor)> =
            leaves.filter(|(_, tensor)| tensor.is_tracked() && tensor.is_leaf()).collect();
        let inputs: Vec<Tensor> = leaves.iter().map(|(_, leaf)| leaf.clone()).collect();
        results.push("loss".into(), loss.clone());
        let options = BackwardOptions { create_graph: self.second_order, ..Default::default() };
        let grads: Vec<_> = autograd::grad(&[loss], &inputs, options)?;
        let first: Vec<Tensor> = grads.iter().flatten().cloned().collect();
        for ((at, _), grad) in leaves.iter().zip(grads) {
            grad.into_iter().for_each(|grad| results.push(format!("gradient of leaf %{at}"), grad));
        }
        if !self.second_order {
            return Ok(());
        }
        let Some(squares) = sum_of_squares(&first)? else { return Ok(()) };
        for ((at, _), grad) in
            leaves.iter().zip(autograd::grad(&[squares], &inputs, BackwardOptions::default())?)
        {
            grad.into_iter().for_each(|grad| results.push(format!("second gradient of leaf %{at}"), grad));
        }
        Ok(())
    }

    /// What the interpreter says; `nudge` moves the leaves.
    async fn truth(&self, truth: &Device, nudge: f64) -> Result<(Results, Vec<Vec<f64>>)> {
        let built = self.forward(truth, nudge)?;
        let mut results = self.outputs(&built);
        self.backward(&built, &mut results)?;
        let values = reference::evaluate(&results.tensors.iter().collect::<Vec<_>>()).await?;
        Ok((results, values))
    }

    /// What a device says, read in the graph's order; None for what is never read.
    async fn evaluate(&self, device: &Device) -> Result<Vec<Option<Vec<f64>>>> {
        let built = self.forward(device, 0.0)?;
        let mut results = self.outputs(&built);
        if self.order.reads_outputs_first() {
            read(&results.tensors.iter().collect::<Vec<_>>()).await?;
        }
        self.backward(&built, &mut results)?;
        drop(built);
        let mut values = vec![None; results.tensors.len()];
        let rounds = self.order.rounds(values.len());
        let read_at_all: BTreeSet<usize> = rounds.iter().flatten().copied().collect();
        let mut held: Vec<Option<Tensor>> = results.tensors.into_iter().map(Some).collect();
        held.iter_mut()
            .enumerate()
            .filter(|(at, _)| !read_at_all.contains(at))
            .for_each(|(_, unread)| *unread = None);
        if self.order.evaluates_all_held() {
            device.evaluate_with_held(&[])?;
        }
        for round in rounds {
            let tensors: Vec<Tensor> = round.iter().filter_map(|&at| held[at].take()).collect();
            let got = read(&tensors.iter().collect::<Vec<_>>()).await?;
            round.into_iter().zip(got).for_each(|(at, got)| values[at] = Some(got));
        }
        Ok(values)
    }

    /// Runs the graph on a device and judges it; a failure is reported for the smallest part that shows it.
    pub(super) async fn run(&self, device: &Device, truth: &Device) -> CaseReport {
        let mut report = CaseReport {
            name: format!("random graph {}", self.seed),
            group: "random graph",
            ..Default::default()
        };
        if let Some(problem) = self.problem(device, truth, &mut report).await {
            let (part, problem) = self.shrink(device, truth, problem).await;
            let again = format!("run it again with FLAMBEAU_SEED={}", self.seed);
            report.failures.push(format!("{problem}\n{part}{again}"));
        }
        report
    }

    /// What is wrong, if anything is.
    async fn judge(
        &self,
        device: &Device,
        truth: &Device,
        report: &mut CaseReport,
    ) -> Result<Option<String>> {
        let (expected, want) = self.truth(truth, 0.0).await?;
        expected.tensors.iter().for_each(|tensor| primitives::collect(tensor, &mut report.ops));
        let got = self.evaluate(device).await?;
        let size = |values: &[f64]| values.iter().fold(1.0f64, |size, value| size.max(value.abs()));
        let mut nudged: Vec<Vec<Vec<f64>>> = Vec::new();
        for (index, (got, want)) in got.iter().zip(&want).enumerate() {
            let Some(got) = got else { continue };
            report.checks += 1;
            let is_float = expected.tensors[index].dtype().is_float();
            let allowed = if is_float { TOLERANCE * size(want) } else { 0.0 };
            for k in 0..want.len() {
                let off = (got[k] - want[k]).abs();
                if off <= allowed || (got[k].is_nan() && want[k].is_nan()) || got[k] == want[k] {
                    continue;
                }
                if nudged.is_empty() {
                    for (nudge, _) in NUDGES {
                        nudged.push(self.truth(truth, nudge).await?.1);
                    }
                }
                let moved = nudged.iter().zip(NUDGES);
                let moved = moved.map(|(moved, (_, times))| times * (moved[index][k] - want[k]).abs());
                // Written so that a NaN fails.
                let is_close = off <= allowed + moved.fold(0.0, f64::max);
                if !is_close {
                    let name = &expected.names[index];
                    let shape = expected.tensors[index].shape();
                    return Ok(Some(format!("{name} {shape}: element {k} is {}, not {}", got[k], want[k])));
                }
            }
        }
        Ok(None)
    }
}

/// The sum of the squares of all that are tracked, if any is.
fn sum_of_squares(tensors: &[Tensor]) -> Result<Option<Tensor>> {
    let mut sum: Option<Tensor> = None;
    for tensor in tensors.iter().filter(|tensor| tensor.is_tracked()) {
        let square = tensor.try_mul(tensor)?.try_sum(..)?;
        sum = Some(match sum {
            Some(sum) => sum.try_add(&square)?,
            None => square,
        });
    }
    Ok(sum)
}

impl fmt::Display for RandomGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let needed = self.needed();
        for (at, step) in self.steps.iter().enumerate().filter(|(at, _)| needed[*at]) {
            writeln!(f, "  %{at} = {step:?}")?;
        }
        let order = if self.second_order { "with second gradients, " } else { "" };
        writeln!(f, "  outputs {:?}, {order}read {:?}", self.outputs, self.order)
    }
}
