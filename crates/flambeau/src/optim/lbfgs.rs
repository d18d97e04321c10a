//! L-BFGS: a quasi-Newton method for losses that are the same every time they are computed.

use super::flat::Layout;
use super::line_search::{Next, Point, Search};
use super::rule::{check_distinct, check_not_negative, check_step};
use crate::autograd::no_grad;
use crate::error::{Error, Result, expect};
use crate::io::{State, Stateful};
use crate::nn::Parameter;
use crate::settings::{Settings, words};
use crate::tensor::{Tensor, read_many};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// How far [`Lbfgs`] goes along a direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LineSearch {
    /// By the learning rate.
    None,
    /// Until the strong Wolfe conditions hold.
    StrongWolfe,
}

words!(LineSearch { "none" => None, "strong_wolfe" => StrongWolfe });

/// The settings of [`Lbfgs`]; the defaults are PyTorch's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
pub struct LbfgsOptions {
    /// The learning rate; with a line search, the first length tried.
    #[setting(name = "lr")]
    pub learning_rate: f64,
    /// Iterations per step.
    pub max_iterations: usize,
    /// Evaluations per step, about; none: 5/4 of the iterations.
    pub max_evaluations: Option<usize>,
    /// Stops when no element of the gradient is larger.
    pub gradient_tolerance: f64,
    /// Stops when neither loss nor parameters change by more.
    pub change_tolerance: f64,
    /// Pairs of changes that are remembered.
    pub history: usize,
    /// How far it goes along a direction.
    pub line_search: LineSearch,
}

impl Default for LbfgsOptions {
    fn default() -> Self {
        LbfgsOptions {
            learning_rate: 1.0,
            max_iterations: 20,
            max_evaluations: None,
            gradient_tolerance: 1e-7,
            change_tolerance: 1e-9,
            history: 100,
            line_search: LineSearch::None,
        }
    }
}

/// L-BFGS: goes along −H g, where H is the inverse Hessian that the last changes of parameters and gradients suggest.
///
/// It computes the loss several times per step, and looks at values: the step takes a closure and is async. The closure
/// forgets the gradients, computes the loss and its gradients, and returns the loss.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::{nn::Parameter, optim::{Lbfgs, LbfgsOptions, LineSearch}};
/// # flambeau::block_on(async {
/// let w = Parameter::new(&Tensor::new([4.0, -3.0], &Device::cpu()));
/// let options = LbfgsOptions { line_search: LineSearch::StrongWolfe, ..Default::default() };
/// let mut lbfgs = Lbfgs::with_options([w.clone()], options);
/// lbfgs.step(|| {
///     w.zero_grad();
///     let loss = ((w.get() - 1.0).pow(2.0) * Tensor::new([1.0, 10.0], &w.device())).sum(..);
///     loss.backward()?;
///     Ok(loss)
/// }).await?;
/// assert!((w.value() - 1.0).abs().max(..).item().await? < 1e-4);
/// # Ok::<(), Error>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct Lbfgs {
    parameters: Vec<Parameter>,
    layout: Layout,
    options: LbfgsOptions,
    memory: Memory,
}

/// What it remembers from step to step.
#[derive(Debug, Default)]
struct Memory {
    iterations: u64,
    evaluations: u64,
    /// The last direction, how far it went along it, and the gradient where it started.
    last: Option<(Tensor, f64, Tensor)>,
    pairs: VecDeque<Pair>,
    /// The first guess of the inverse Hessian: this times the identity.
    scale: f64,
}

/// How parameters and gradient changed together.
#[derive(Debug)]
struct Pair {
    gradient_change: Tensor,
    change: Tensor,
    /// One divided by their product.
    weight: f64,
}

impl Lbfgs {
    /// With the default settings but for the learning rate.
    #[track_caller]
    pub fn new(parameters: impl IntoIterator<Item = Parameter>, learning_rate: f64) -> Lbfgs {
        Lbfgs::with_options(parameters, LbfgsOptions { learning_rate, ..Default::default() })
    }

    /// With all settings.
    #[track_caller]
    pub fn with_options(parameters: impl IntoIterator<Item = Parameter>, options: LbfgsOptions) -> Lbfgs {
        expect(Lbfgs::try_with_options(parameters, options))
    }

    /// [`with_options`](Lbfgs::with_options), or the error instead of a panic.
    pub fn try_with_options(
        parameters: impl IntoIterator<Item = Parameter>,
        options: LbfgsOptions,
    ) -> Result<Lbfgs> {
        check_not_negative("Lbfgs", &[("learning rate", options.learning_rate)])?;
        let parameters: Vec<Parameter> = parameters.into_iter().collect();
        check_distinct("Lbfgs", &parameters)?;
        let Some(first) = parameters.first() else {
            return Err(Error::argument("Lbfgs", "the list of parameters is empty"));
        };
        for other in &parameters {
            if other.dtype() != first.dtype() {
                let message = format!("{first:?} and {other:?} differ in dtype");
                return Err(Error::dtype("Lbfgs", message));
            }
            if other.device() != first.device() {
                let (left, right) = (format!("{:?}", first.device()), format!("{:?}", other.device()));
                return Err(Error::DeviceMismatch { op: "Lbfgs", left, right });
            }
        }
        let layout = Layout::dense(parameters.iter().map(Parameter::shape));
        Ok(Lbfgs { parameters, layout, options, memory: Memory::default() })
    }

    /// The learning rate of the next step.
    pub fn learning_rate(&self) -> f64 {
        self.options.learning_rate
    }

    /// Changes the learning rate.
    pub fn set_learning_rate(&mut self, learning_rate: f64) {
        self.options.learning_rate = learning_rate;
    }

    /// Iterates until a limit or a tolerance is reached; returns the loss it started from.
    pub async fn step(&mut self, mut closure: impl FnMut() -> Result<Tensor>) -> Result<f64> {
        let LbfgsOptions { learning_rate, max_iterations, change_tolerance, line_search, .. } = self.options;
        check_step("Lbfgs", learning_rate, None)?;
        let max_evaluations = self.options.max_evaluations.unwrap_or(max_iterations * 5 / 4);
        let mut here = self.evaluate(&mut closure, None).await?;
        let first_loss = here.loss;
        let mut evaluations = 1;
        if here.largest <= self.options.gradient_tolerance {
            return Ok(first_loss);
        }
        for iteration in 1..=max_iterations {
            self.memory.iterations += 1;
            let direction = self.direction(&here.gradient).await?;
            let is_first = self.memory.iterations == 1;
            let sums = no_grad(|| {
                let slope = here.gradient.try_dot(&direction)?;
                Ok::<_, Error>([
                    slope,
                    here.gradient.try_abs()?.try_sum(..)?,
                    direction.try_abs()?.try_max(..)?,
                ])
            })?;
            let [slope, sum, reach] = numbers(&sums).await?;
            here.slope = slope;
            let mut length = if is_first { (1.0 / sum).min(1.0) * learning_rate } else { learning_rate };
            let (start_gradient, start_loss) = (here.gradient.clone(), here.loss);
            if slope > -change_tolerance {
                self.memory.last = Some((direction, length, start_gradient));
                break;
            }
            let start = self.flat_values()?;
            match line_search {
                LineSearch::StrongWolfe => {
                    let mut search = Search::new(Point { length: 0.0, ..here }, reach);
                    here = loop {
                        self.move_to(&start, &direction, length)?;
                        let point = self.evaluate(&mut closure, Some((&direction, length))).await?;
                        evaluations += 1;
                        match search.found(point) {
                            Next::Try(next) => length = next,
                            Next::Stop(point) => break point,
                        }
                    };
                    length = here.length;
                    self.move_to(&start, &direction, length)?;
                }
                LineSearch::None => {
                    self.move_to(&start, &direction, length)?;
                    // Where the loss is not the same every time, computing it once more would be for nothing.
                    if iteration != max_iterations {
                        here = self.evaluate(&mut closure, None).await?;
                        evaluations += 1;
                    }
                }
            }
            self.memory.last = Some((direction, length, start_gradient));
            let is_still = (length * reach).abs() <= change_tolerance
                || (here.loss - start_loss).abs() < change_tolerance;
            if evaluations >= max_evaluations || here.largest <= self.options.gradient_tolerance || is_still {
                break;
            }
        }
        Ok(first_loss)
    }

    /// −H g, after the last change has been taken into H.
    async fn direction(&mut self, gradient: &Tensor) -> Result<Tensor> {
        let Some((direction, length, before)) = &self.memory.last else {
            self.memory.scale = 1.0;
            return no_grad(|| gradient.try_neg());
        };
        let (y, s) = no_grad(|| Ok::<_, Error>((gradient.try_sub(before)?, direction.try_mul(*length)?)))?;
        let products = no_grad(|| Ok::<_, Error>([y.try_dot(&s)?, y.try_dot(&y)?]))?;
        crate::tensor::eval(&[&y, &s, &products[0], &products[1]])?;
        let [ys, yy] = numbers(&products).await?;
        if ys > 1e-10 {
            if self.memory.pairs.len() == self.options.history {
                self.memory.pairs.pop_front();
            }
            self.memory.pairs.push_back(Pair { gradient_change: y, change: s, weight: 1.0 / ys });
            self.memory.scale = ys / yy;
        }
        let direction = no_grad(|| {
            let mut q = gradient.try_neg()?;
            let mut shares = Vec::with_capacity(self.memory.pairs.len());
            for Pair { gradient_change, change, weight } in self.memory.pairs.iter().rev() {
                let share = change.try_dot(&q)?.try_mul(*weight)?;
                q = q.try_sub(gradient_change.try_mul(&share)?)?;
                shares.push(share);
            }
            let mut r = q.try_mul(self.memory.scale)?;
            for (Pair { gradient_change, change, weight }, share) in
                self.memory.pairs.iter().zip(shares.iter().rev())
            {
                let back = gradient_change.try_dot(&r)?.try_mul(*weight)?;
                r = r.try_add(change.try_mul(share.try_sub(&back)?)?)?;
            }
            Ok::<_, Error>(r)
        })?;
        direction.eval()?;
        Ok(direction)
    }

    fn flat_values(&self) -> Result<Tensor> {
        let values: Vec<Tensor> = self.parameters.iter().map(Parameter::value).collect();
        let flat = no_grad(|| self.layout.gather(&values))?;
        flat.eval()?;
        Ok(flat)
    }

    /// Puts the parameters at a point along a direction.
    fn move_to(&self, start: &Tensor, direction: &Tensor, length: f64) -> Result<()> {
        let flat = no_grad(|| start.try_add(direction.try_mul(length)?))?;
        flat.eval()?;
        let mut pairs = self.parameters.iter().zip(self.layout.windows(&flat));
        pairs.try_for_each(|(parameter, window)| parameter.try_set(&window))
    }

    /// Loss and gradient where the parameters are now, and the slope along a direction.
    async fn evaluate(
        &mut self,
        closure: &mut impl FnMut() -> Result<Tensor>,
        along: Option<(&Tensor, f64)>,
    ) -> Result<Point> {
        self.memory.evaluations += 1;
        let loss = closure()?.detach();
        let zeros = |parameter: &Parameter| parameter.value().zeros_like();
        let gradients: Vec<Tensor> = self
            .parameters
            .iter()
            .map(|parameter| parameter.grad().unwrap_or_else(|| zeros(parameter)).detach())
            .collect();
        let (gradient, largest, slope) = no_grad(|| {
            let gradient = self.layout.gather(&gradients)?;
            let largest = gradient.try_abs()?.try_max(..)?;
            let slope = match along {
                Some((direction, _)) => gradient.try_dot(direction)?,
                None => largest.clone(),
            };
            Ok::<_, Error>((gradient, largest, slope))
        })?;
        crate::tensor::eval(&[&loss, &gradient, &largest, &slope])?;
        let [loss, largest, slope] = numbers(&[loss, largest, slope]).await?;
        Ok(Point { length: along.map_or(0.0, |(_, length)| length), loss, slope, gradient, largest })
    }
}

/// Single numbers, read in one wait.
async fn numbers<const N: usize>(tensors: &[Tensor; N]) -> Result<[f64; N]> {
    let read = read_many(&tensors.each_ref()).await?;
    let mut numbers = [0.0; N];
    for (number, values) in numbers.iter_mut().zip(&read) {
        let [value] = values[..] else {
            return Err(Error::shape("Lbfgs::step", "the loss must be a single number"));
        };
        *number = value;
    }
    Ok(numbers)
}

#[derive(Serialize, Deserialize)]
struct Saved {
    options: LbfgsOptions,
    iterations: u64,
    evaluations: u64,
    scale: f64,
    length: Option<f64>,
    weights: Vec<f64>,
}

/// The tensors are flat: `direction`, `gradient`, and `<n>.gradient_change` and `<n>.change` for every pair.
impl Stateful for Lbfgs {
    fn state(&self) -> State {
        let Memory { iterations, evaluations, last, pairs, scale } = &self.memory;
        let saved = Saved {
            options: self.options,
            iterations: *iterations,
            evaluations: *evaluations,
            scale: *scale,
            length: last.as_ref().map(|(_, length, _)| *length),
            weights: pairs.iter().map(|pair| pair.weight).collect(),
        };
        let mut state = State::default();
        // A plain struct of numbers, which JSON can always hold.
        state.set("lbfgs", serde_json::to_value(&saved).unwrap_or_default());
        if let Some((direction, _, gradient)) = last {
            state.tensors.insert("direction", direction.clone());
            state.tensors.insert("gradient", gradient.clone());
        }
        for (index, pair) in pairs.iter().enumerate() {
            state.tensors.insert(format!("{index}.gradient_change"), pair.gradient_change.clone());
            state.tensors.insert(format!("{index}.change"), pair.change.clone());
        }
        state
    }

    fn load_state(&mut self, state: &State) -> Result<()> {
        let saved: Saved = state.value("lbfgs")?;
        let find = |name: &str| match state.tensors.get(name) {
            Some(tensor) if tensor.shape() == self.layout.shape() => Ok(tensor.clone()),
            Some(tensor) => {
                let (found, wanted) = (tensor.shape(), self.layout.shape());
                Err(Error::State(format!("`{name}` has shape {found}, not {wanted}")))
            }
            None => Err(Error::State(format!("`{name}` is missing"))),
        };
        let pair = |(index, &weight): (usize, &f64)| {
            let gradient_change = find(&format!("{index}.gradient_change"))?;
            Ok(Pair { gradient_change, change: find(&format!("{index}.change"))?, weight })
        };
        let last = match saved.length {
            Some(length) => Some((find("direction")?, length, find("gradient")?)),
            None => None,
        };
        let pairs = saved.weights.iter().enumerate().map(pair).collect::<Result<_>>()?;
        let Saved { iterations, evaluations, scale, .. } = saved;
        self.memory = Memory { iterations, evaluations, last, pairs, scale };
        self.options = saved.options;
        Ok(())
    }
}
