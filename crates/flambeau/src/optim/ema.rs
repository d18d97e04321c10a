//! Exponential moving averages of weights, which often do better than the weights themselves.

use super::first_order::find;
use super::flat::{Layout, MAX_ELEMENTS};
use crate::autograd::no_grad;
use crate::device::Device;
use crate::dtype::DType;
use crate::error::{Error, Result, expect};
use crate::io::{State, Stateful};
use crate::nn::Parameter;
use crate::tensor::Tensor;
use crate::tensor::node::Value;
use std::collections::HashSet;

/// The exponential moving average of parameters: a ← d a + (1 − d) θ with every [`update`](Ema::update).
///
/// Updates are computed with the optimizer's next step, in the same plan.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::{nn::Parameter, optim::Ema};
/// let w = Parameter::new(&Tensor::new([1.0, 2.0], &Device::cpu()));
/// let mut ema = Ema::new([w.clone()], 0.75);
/// w.set(&Tensor::new([5.0, 6.0], &Device::cpu()));
/// ema.update()?;
/// ema.apply()?; // evaluate the model with the averages,
/// assert_eq!(w.value().to_string(), "tensor([2., 3.])");
/// ema.restore()?; // and go on training.
/// assert_eq!(w.value().to_string(), "tensor([5., 6.])");
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Ema {
    parameters: Vec<Parameter>,
    parts: Vec<Part>,
    device: Device,
    decay: f64,
    warm_up: bool,
    updates: u64,
    /// The parameters' own values, while the averages are in their place.
    own: Option<Vec<Tensor>>,
}

/// Averages of one dtype, in one flat tensor.
#[derive(Debug)]
struct Part {
    members: Vec<usize>,
    layout: Layout,
    average: Tensor,
}

impl Ema {
    /// Averages that start with the present values and keep `decay` of themselves at every update.
    #[track_caller]
    pub fn new(parameters: impl IntoIterator<Item = Parameter>, decay: f64) -> Ema {
        expect(Ema::try_new(parameters, decay))
    }

    /// [`new`](Ema::new), or the error instead of a panic.
    pub fn try_new(parameters: impl IntoIterator<Item = Parameter>, decay: f64) -> Result<Ema> {
        if !(0.0..=1.0).contains(&decay) {
            return Err(Error::argument("Ema", format!("decay {decay} must be in [0, 1]")));
        }
        let mut seen = HashSet::new();
        let parameters: Vec<Parameter> =
            parameters.into_iter().filter(|parameter| seen.insert(parameter.id())).collect();
        let Some(first) = parameters.first() else {
            return Err(Error::argument("Ema", "the list of parameters is empty"));
        };
        let device = first.device();
        let mut parts: Vec<Part> = Vec::new();
        let mut lists: Vec<(DType, usize, Vec<usize>)> = Vec::new();
        for (index, parameter) in parameters.iter().enumerate() {
            if parameter.device() != device {
                let (left, right) = (format!("{device:?}"), format!("{:?}", parameter.device()));
                return Err(Error::DeviceMismatch { op: "Ema", left, right });
            }
            let (dtype, numel) = (parameter.dtype(), parameter.numel());
            let open = lists.iter_mut().rev().find(|(other, ..)| *other == dtype);
            match open.filter(|(_, elements, _)| elements + numel <= MAX_ELEMENTS) {
                Some((_, elements, members)) => {
                    *elements += numel;
                    members.push(index);
                }
                None => lists.push((dtype, numel, vec![index])),
            }
        }
        for (_, _, members) in lists {
            let layout = Layout::flat(members.iter().map(|&member| parameters[member].shape()));
            let average = layout.gather(&values(&parameters, &members))?;
            parts.push(Part { members, layout, average });
        }
        device.evaluate_guarded(&all(&parts))?;
        Ok(Ema { parameters, parts, device, decay, warm_up: false, updates: 0, own: None })
    }

    /// Keeps min(decay, (1 + n) / (10 + n)) at update n instead: averages leave the first weights sooner.
    pub fn with_warm_up(mut self) -> Ema {
        self.warm_up = true;
        self
    }

    /// Takes the parameters' present values into the averages. Not while the averages are in their place.
    pub fn update(&mut self) -> Result<()> {
        if self.own.is_some() {
            return Err(Error::argument(
                "Ema::update",
                "the averages are applied; restore the weights first",
            ));
        }
        let count = self.updates as f64;
        let keep = if self.warm_up { self.decay.min((1.0 + count) / (10.0 + count)) } else { self.decay };
        let average = |part: &Part| {
            let value = part.layout.gather(&values(&self.parameters, &part.members))?;
            let healthy = value.healthy()?;
            let new = part.average.try_mul(keep)?.try_add(value.try_mul(1.0 - keep)?)?;
            healthy.try_where_cond(new, &part.average)
        };
        let averages = no_grad(|| self.parts.iter().map(average).collect::<Result<Vec<_>>>())?;
        self.parts.iter_mut().zip(averages).for_each(|(part, average)| part.average = average);
        self.updates += 1;
        Ok(())
    }

    /// The averages, in the order and the shapes of the parameters.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// use flambeau::{nn::Parameter, optim::Ema};
    /// let w = Parameter::new(&Tensor::ones([2], &Device::cpu()));
    /// assert_eq!(Ema::new([w], 0.9).averages()?[0].to_string(), "tensor([1., 1.])");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn averages(&self) -> Result<Vec<Tensor>> {
        // Windows look at values that are there.
        self.device.evaluate(&all(&self.parts))?;
        Ok(self.windows())
    }

    fn windows(&self) -> Vec<Tensor> {
        let windows = |part: &Part| {
            part.members.iter().copied().zip(part.layout.windows(&part.average)).collect::<Vec<_>>()
        };
        let mut averages: Vec<(usize, Tensor)> = self.parts.iter().flat_map(windows).collect();
        averages.sort_by_key(|(member, _)| *member);
        averages.into_iter().map(|(_, average)| average).collect()
    }

    /// Puts the averages in the parameters' place until [`restore`](Ema::restore), as for validation.
    pub fn apply(&mut self) -> Result<()> {
        if self.own.is_some() {
            return Err(Error::argument("Ema::apply", "the averages are applied already"));
        }
        let averages = self.averages()?;
        let own: Vec<Tensor> = self.parameters.iter().map(Parameter::value).collect();
        self.parameters
            .iter()
            .zip(&averages)
            .try_for_each(|(parameter, average)| parameter.try_set(average))?;
        self.own = Some(own);
        Ok(())
    }

    /// Gives the parameters their own values back. An error if the averages are not applied.
    pub fn restore(&mut self) -> Result<()> {
        let Some(own) = self.own.take() else {
            return Err(Error::argument("Ema::restore", "the averages are not applied"));
        };
        self.parameters.iter().zip(&own).try_for_each(|(parameter, own)| parameter.try_set(own))
    }
}

fn values(parameters: &[Parameter], members: &[usize]) -> Vec<Tensor> {
    members.iter().map(|&member| parameters[member].value()).collect()
}

fn all(parts: &[Part]) -> Vec<Value> {
    parts.iter().map(|part| part.average.value().clone()).collect()
}

/// The tensors are named `<parameter's number>.average`.
impl Stateful for Ema {
    fn state(&self) -> State {
        let mut state = State::default();
        state.set("decay", self.decay);
        state.set("warm_up", self.warm_up);
        state.set("updates", self.updates);
        let named = |(index, average): (usize, Tensor)| (format!("{index}.average"), average);
        state.tensors = self.windows().into_iter().enumerate().map(named).collect();
        state
    }

    fn load_state(&mut self, state: &State) -> Result<()> {
        let (decay, warm_up, updates) =
            (state.value("decay")?, state.value("warm_up")?, state.value("updates")?);
        let parameters = self.parameters.iter().enumerate();
        let found = parameters.map(|(index, parameter)| find(state, &format!("{index}.average"), parameter));
        let averages: Vec<Tensor> = found.collect::<Result<_>>()?;
        let gather = |part: &Part| {
            let members: Vec<Tensor> = part.members.iter().map(|&member| averages[member].detach()).collect();
            part.layout.gather(&members)
        };
        let loaded: Vec<Tensor> = self.parts.iter().map(gather).collect::<Result<_>>()?;
        let values: Vec<Value> = loaded.iter().map(|average| average.value().clone()).collect();
        self.device.evaluate_guarded(&values)?;
        self.parts.iter_mut().zip(loaded).for_each(|(part, average)| part.average = average);
        (self.decay, self.warm_up, self.updates) = (decay, warm_up, updates);
        Ok(())
    }
}
