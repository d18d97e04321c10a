//! Runs programs, in several orders of evaluation, and compares.

use super::Verdict;
use super::call::{Call, Op};
use super::case::{Found, Program, Step};
use super::{elementwise, layers, losses, shapes};
use flambeau::nn::Parameter;
use flambeau::{Device, Error, Result, Tensor, block_on, read_many};
use std::cell::RefCell;
use std::collections::HashMap;

/// What is read, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Gradients alone; the results are dropped unread.
    GradientsAlone,
    /// Results one by one before the backward pass, then gradients.
    ResultsFirst,
    /// Results and gradients in one plan.
    Together,
    /// Gradients one by one, then results.
    GradientsFirst,
    /// Results from the last to the first, the others dropped, then gradients together.
    Backwards,
    /// The last result is read before the backward pass, everything else is dropped.
    LossFirst,
}

const ORDERS: [Order; 6] = [
    Order::Together,
    Order::GradientsAlone,
    Order::ResultsFirst,
    Order::GradientsFirst,
    Order::Backwards,
    Order::LossFirst,
];

/// Compares a program in the order of its number; where that fails, says in which of the others it does not.
pub fn judge(program: &Program, device: &Device, number: u64) -> Verdict {
    let chosen = ORDERS[number as usize % ORDERS.len()];
    let mut failures = judge_in(program, device, chosen)?;
    if !failures.is_empty() {
        let passes =
            |order: &Order| judge_in(program, device, *order).is_ok_and(|failures| failures.is_empty());
        let others: Vec<Order> = ORDERS.into_iter().filter(passes).collect();
        failures.push(format!("in order {chosen:?}; right in {others:?}"));
    }
    Ok(failures)
}

/// A tensor that was read: its position, and what is compared.
type Read = Vec<(usize, Found)>;

fn judge_in(program: &Program, device: &Device, order: Order) -> Verdict {
    let built = Built::new(program, device)?;
    let (mut results, mut gradients) = (Read::new(), Read::new());
    let count = built.results.len();
    match order {
        Order::ResultsFirst => results = one_by_one(&built.results, 0..count)?,
        Order::Backwards => results = one_by_one(&built.results, (0..count).rev().step_by(2))?,
        Order::LossFirst => results = one_by_one(&built.results, count.saturating_sub(1)..count)?,
        Order::Together | Order::GradientsAlone | Order::GradientsFirst => {}
    }
    built.backward()?;
    let keeps = matches!(order, Order::Together | Order::GradientsFirst);
    let Built { leaves, parameters, results: kept, .. } = built;
    let kept = if keeps { kept } else { Vec::new() };
    let of_leaf = |leaf: usize| match parameters.get(&leaf) {
        Some(parameter) => parameter.grad(),
        None => leaves[leaf].grad(),
    };
    let wanted: Vec<(usize, Option<Tensor>)> =
        program.gradients.iter().enumerate().map(|(k, (leaf, _))| (k, of_leaf(*leaf))).collect();
    let mut failures = Vec::new();
    let found: Vec<(usize, Tensor)> = wanted
        .into_iter()
        .filter_map(|(k, grad)| match grad {
            Some(grad) => Some((k, grad)),
            // PyTorch's gradient of a leaf that nothing depends on is sometimes zeros.
            None if program.gradients[k].1.values().iter().all(|&x| x == 0.0) => None,
            None => {
                failures.push(format!("leaf {} has no gradient", program.gradients[k].0));
                None
            }
        })
        .collect();
    match order {
        Order::Together => {
            let all: Vec<&Tensor> = kept.iter().chain(found.iter().map(|(_, grad)| grad)).collect();
            let values = block_on(read_many(&all))?;
            for (k, values) in values.into_iter().enumerate() {
                let values = Found::new(all[k], values);
                match k.checked_sub(kept.len()) {
                    None => results.push((k, values)),
                    Some(grad) => gradients.push((found[grad].0, values)),
                }
            }
        }
        _ => {
            for (k, grad) in &found {
                gradients.push((*k, Found::new(grad, block_on(grad.to_f64_vec())?)));
            }
            results.extend(one_by_one(&kept, 0..kept.len())?);
        }
    }
    for (k, got) in &results {
        failures.extend(program.want[*k].compare(&format!("result {k}"), got));
    }
    for (k, got) in &gradients {
        let (leaf, want) = &program.gradients[*k];
        failures.extend(want.compare(&format!("gradient of {leaf}"), got));
    }
    Ok(failures)
}

fn one_by_one(tensors: &[Tensor], order: impl Iterator<Item = usize>) -> Result<Read> {
    let read = |k: usize| Ok((k, Found::new(&tensors[k], block_on(tensors[k].to_f64_vec())?)));
    order.map(read).collect()
}

/// A program's graph.
struct Built {
    leaves: Vec<Tensor>,
    parameters: HashMap<usize, Parameter>,
    results: Vec<Tensor>,
    loss: Option<Tensor>,
}

impl Built {
    fn new(program: &Program, device: &Device) -> Result<Built> {
        let mut leaves = Vec::new();
        for given in &program.leaves {
            let leaf = given.tensor(device)?;
            leaf.eval()?;
            leaves.push(if given.gradient { leaf.try_requires_grad()? } else { leaf });
        }
        let parameters = RefCell::new(HashMap::new());
        let mut values = leaves.clone();
        for Step(name, numbers, options) in &program.steps {
            let operands = numbers.iter().map(|&k| values[k].clone()).collect();
            let call = Call { operands, options, device, numbers, parameters: &parameters };
            values.extend(find(name)?(&call)?);
        }
        let missing = |&k: &usize| {
            values.get(k).cloned().ok_or_else(|| Error::Autograd(format!("there is no value {k}")))
        };
        let results: Vec<Tensor> = program.outputs.iter().map(missing).collect::<Result<_>>()?;
        let mut loss: Option<Tensor> = None;
        for y in results.iter().filter(|y| y.dtype().is_float() && y.is_tracked() && y.numel() > 0) {
            let part = y.try_mul(&weights(y)?)?.try_sum(..)?;
            loss = Some(match loss {
                Some(loss) => loss.try_add(&part.try_to_dtype(loss.dtype())?)?,
                None => part,
            });
        }
        Ok(Built { leaves, parameters: parameters.into_inner(), results, loss })
    }

    fn backward(&self) -> Result<()> {
        self.loss.as_ref().map_or(Ok(()), Tensor::backward)
    }
}

/// The generator's weights: 0.5 to 1.5, no two alike.
fn weights(y: &Tensor) -> Result<Tensor> {
    let weight = |k: usize| (k as f64 * 0.618_033_988_749_894_9).fract() + 0.5;
    let values: Vec<f64> = (0..y.numel()).map(weight).collect();
    super::case::of_values(&values, y.shape().dims(), y.dtype(), y.device())
}

/// The entry of an op.
fn find(name: &str) -> Result<Op> {
    let tables = [elementwise::TABLE, shapes::TABLE, losses::TABLE, layers::TABLE];
    let found = tables.into_iter().flatten().find(|(known, _)| *known == name);
    found.map(|(_, op)| *op).ok_or_else(|| Error::Autograd(format!("there is no op {name} in the tables")))
}
