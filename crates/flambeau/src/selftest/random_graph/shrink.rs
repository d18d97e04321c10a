//! Makes a graph that fails smaller, as long as it fails: a report should show the bug, not the graph it hid in.

use super::RandomGraph;
use super::kind::Kind;
use super::order::Order;
use super::recipe::Step;
use crate::device::Device;
use crate::dtype::DType;
use crate::selftest::CaseReport;
use crate::selftest::Input;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// Graphs tried before the smallest so far has to do.
const TRIES: usize = 400;

impl RandomGraph {
    /// What is wrong with the graph on a device, if anything is; a panic too.
    pub(super) async fn problem(
        &self,
        device: &Device,
        truth: &Device,
        report: &mut CaseReport,
    ) -> Option<String> {
        match caught(self.judge(device, truth, report)).await {
            Ok(Ok(problem)) => problem,
            Ok(Err(error)) => Some(error.to_string()),
            Err(panic) => Some(format!("panicked: {panic}")),
        }
    }

    /// The smallest graph found that fails, and how.
    pub(super) async fn shrink(
        &self,
        device: &Device,
        truth: &Device,
        problem: String,
    ) -> (RandomGraph, String) {
        let mut smallest = (self.clone(), problem);
        let mut tries = 0;
        'smaller: loop {
            for candidate in smallest.0.smaller() {
                tries += 1;
                if tries > TRIES {
                    return smallest;
                }
                if let Some(problem) = candidate.problem(device, truth, &mut CaseReport::default()).await {
                    smallest = (candidate, problem);
                    continue 'smaller;
                }
            }
            return smallest;
        }
    }

    /// Graphs a step smaller, those that lose the most first.
    fn smaller(&self) -> Vec<RandomGraph> {
        let mut smaller = Vec::new();
        if self.second_order {
            smaller.push(RandomGraph { second_order: false, ..self.clone() });
        }
        if let Order::Rounds { key, outputs_first, all_held } = self.order {
            smaller.push(RandomGraph { order: Order::Together, ..self.clone() });
            if outputs_first || all_held {
                let order = Order::Rounds { key, outputs_first: false, all_held: false };
                smaller.push(RandomGraph { order, ..self.clone() });
            }
        }
        for drop in (0..self.outputs.len()).rev().filter(|_| self.outputs.len() > 1) {
            let mut part = self.clone();
            part.outputs.remove(drop);
            smaller.push(part);
        }
        let needed = self.needed();
        for at in (0..self.steps.len()).rev().filter(|&at| needed[at]) {
            smaller.extend(self.with_leaf(at));
            if let [from] = self.steps[at].reads()[..] {
                let outputs = self.outputs.iter().map(|&output| if output == at { from } else { output });
                let mut outputs: Vec<usize> = outputs.collect();
                if self.outputs.contains(&at) {
                    outputs.sort_unstable();
                    outputs.dedup();
                    smaller.push(RandomGraph { outputs, ..self.clone() });
                }
            }
        }
        smaller
    }

    /// The graph with a leaf in place of a computed float.
    fn with_leaf(&self, at: usize) -> Option<RandomGraph> {
        let range = match (&self.steps[at], self.known[at].kind) {
            (Step::Leaf { .. }, _) => return None,
            (Step::Squeeze { low, high, .. }, _) => (*low, *high),
            (_, Kind::Smooth(bound)) => (-bound.min(2.0), bound.min(2.0)),
            _ => return None,
        };
        let input = Input::new(self.known[at].shape.clone(), DType::F32, range);
        let mut part = self.clone();
        part.steps[at] = Step::Leaf { input, grid: false, requires_grad: true };
        Some(part)
    }
}

/// What the future gives, or the message it panics with.
async fn caught<T>(future: impl Future<Output = T>) -> Result<T, String> {
    let mut future = pin!(future);
    std::future::poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Ok(poll) => poll.map(Ok),
        Err(payload) => {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
            Poll::Ready(Err(text.unwrap_or("without a message").to_string()))
        }
    })
    .await
}
