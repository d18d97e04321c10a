//! Random graphs: what the planner makes of ops together, judged by the interpreter.
//!
//! A graph is a list of steps drawn from a seed. It is built once for the device and once for the interpreter;
//! outputs and the gradients of a sum of their squares must agree. A graph that fails is made smaller before it is
//! reported.

mod generate;
mod kind;
mod recipe;
mod rows;

use super::check::read;
use super::{CaseReport, primitives};
use crate::autograd::{self, BackwardOptions};
use crate::device::Device;
use crate::error::Result;
use crate::reference;
use crate::tensor::Tensor;
use generate::Generator;
use recipe::Step;
use std::collections::BTreeSet;
use std::fmt;

/// How far a device may be off, relative to the size of the values in the graph.
const TOLERANCE: f64 = 1e-4;
/// A change of the leaves about as small as f32 can hold, and how many times its effect a device may be off.
const NUDGE: f64 = 6e-8;
const SENSITIVITY: f64 = 30.0;

/// A graph drawn from a seed.
#[derive(Clone)]
pub struct RandomGraph {
    seed: u64,
    steps: Vec<Step>,
    outputs: Vec<usize>,
}

/// The outputs of a graph and the gradients of its leaves.
struct Results {
    tensors: Vec<Tensor>,
    names: Vec<String>,
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
        RandomGraph { seed, steps: generator.steps, outputs }
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

    fn build(&self, device: &Device, nudge: f64) -> Result<Results> {
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
        let output = |&at: &usize| built[at].clone().expect("outputs are needed");
        let mut tensors: Vec<Tensor> = self.outputs.iter().map(output).collect();
        let mut names: Vec<String> = self.outputs.iter().map(|at| format!("output %{at}")).collect();
        let mut loss: Option<Tensor> = None;
        for tensor in tensors.iter().filter(|tensor| tensor.is_tracked()) {
            let square = tensor.try_mul(tensor)?.try_sum(..)?;
            loss = Some(match loss {
                Some(loss) => loss.try_add(&square)?,
                None => square,
            });
        }
        if let Some(loss) = loss {
            let leaves: Vec<(usize, Tensor)> = built
                .iter()
                .enumerate()
                .filter_map(|(at, tensor)| tensor.clone().map(|tensor| (at, tensor)))
                .filter(|(_, tensor)| tensor.is_tracked() && tensor.is_leaf())
                .collect();
            let inputs: Vec<Tensor> = leaves.iter().map(|(_, leaf)| leaf.clone()).collect();
            let grads = autograd::grad(&[loss], &inputs, BackwardOptions::default())?;
            for ((at, _), grad) in leaves.iter().zip(grads) {
                if let Some(grad) = grad {
                    tensors.push(grad);
                    names.push(format!("gradient of leaf %{at}"));
                }
            }
        }
        Ok(Results { tensors, names })
    }

    /// Runs the graph on a device and judges it; a failure is reported for the smallest part that shows it.
    pub(super) async fn run(&self, device: &Device, truth: &Device) -> CaseReport {
        let mut report = CaseReport { name: format!("random graph {}", self.seed), ..Default::default() };
        match self.judge(device, truth, &mut report).await {
            Ok(None) => {}
            Ok(Some(problem)) => {
                let (part, problem) = self.shrink(device, truth, problem).await;
                let again = format!("run it again with FLAMBEAU_SEED={}", self.seed);
                report.failures.push(format!("{problem}\n{part}{again}"));
            }
            Err(error) => report.failures.push(format!("{error}\n{self}")),
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
        let expected = self.build(truth, 0.0)?;
        expected.tensors.iter().for_each(|tensor| primitives::collect(tensor, &mut report.ops));
        let actual = self.build(device, 0.0)?;
        let want = reference::evaluate(&expected.tensors.iter().collect::<Vec<_>>()).await?;
        let got = read(&actual.tensors.iter().collect::<Vec<_>>()).await?;
        report.checks += want.len();
        let size = |values: &[f64]| values.iter().fold(1.0f64, |size, value| size.max(value.abs()));
        let mut nudged: Option<Vec<Vec<f64>>> = None;
        for (index, (got, want)) in got.iter().zip(&want).enumerate() {
            let is_float = expected.tensors[index].dtype().is_float();
            let allowed = if is_float { TOLERANCE * size(want) } else { 0.0 };
            for k in 0..want.len() {
                let off = (got[k] - want[k]).abs();
                if off <= allowed || (got[k].is_nan() && want[k].is_nan()) || got[k] == want[k] {
                    continue;
                }
                if nudged.is_none() {
                    let moved = self.build(truth, NUDGE)?;
                    nudged = Some(reference::evaluate(&moved.tensors.iter().collect::<Vec<_>>()).await?);
                }
                let moved = nudged.as_ref().map_or(want[k], |moved| moved[index][k]);
                // Written so that a NaN fails.
                let is_close = off <= allowed + SENSITIVITY * (moved - want[k]).abs();
                if !is_close {
                    let name = &expected.names[index];
                    let shape = expected.tensors[index].shape();
                    return Ok(Some(format!("{name} {shape}: element {k} is {}, not {}", got[k], want[k])));
                }
            }
        }
        Ok(None)
    }

    /// The part up to the first step that is wrong by itself.
    async fn shrink(&self, device: &Device, truth: &Device, problem: String) -> (RandomGraph, String) {
        for at in 0..self.steps.len() {
            let part = RandomGraph { outputs: vec![at], ..self.clone() };
            match part.judge(device, truth, &mut CaseReport::default()).await {
                Ok(None) => {}
                Ok(Some(problem)) => return (part, problem),
                Err(error) => return (part, error.to_string()),
            }
        }
        let mut smallest = (self.clone(), problem);
        for drop in (0..self.outputs.len()).rev() {
            let mut part = smallest.0.clone();
            part.outputs.remove(drop);
            if part.outputs.is_empty() {
                continue;
            }
            if let Ok(Some(problem)) = part.judge(device, truth, &mut CaseReport::default()).await {
                smallest = (part, problem);
            }
        }
        smallest
    }
}

impl fmt::Display for RandomGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let needed = self.needed();
        for (at, step) in self.steps.iter().enumerate().filter(|(at, _)| needed[*at]) {
            writeln!(f, "  %{at} = {step:?}")?;
        }
        writeln!(f, "  outputs {:?}", self.outputs)
    }
}
