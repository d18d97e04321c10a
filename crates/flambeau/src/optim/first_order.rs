//! The optimizer that a rule makes: groups of parameters, each with its own settings, over shared slots.

use super::Optimizer;
use super::grad_scaler::ScaledStep;
use super::rule::{Rule, check_step};
use super::slots::Slots;
use crate::error::{Error, Result, expect};
use crate::io::{State, Stateful};
use crate::nn::Parameter;
use crate::tensor::Tensor;
use serde::{Deserialize, Serialize};

/// Parameters with the settings they are trained with.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::{nn::Parameter, optim::{Adam, AdamOptions, Group, Optimizer}};
/// let parameter = || Parameter::new(&Tensor::ones([2], &Device::cpu()));
/// let body = AdamOptions { learning_rate: 1e-4, weight_decay: 0.1, ..Default::default() };
/// let head = AdamOptions { learning_rate: 1e-2, ..Default::default() };
/// let adam = Adam::with_groups([Group::new([parameter(), parameter()], body), Group::new([parameter()], head)]);
/// assert_eq!((adam.group_count(), adam.group_learning_rate(1)), (2, 1e-2));
/// ```
#[derive(Debug, Clone)]
pub struct Group<R> {
    parameters: Vec<Parameter>,
    options: R,
}

impl<R: Rule> Group<R> {
    /// A group; a parameter may be in one only, and once.
    pub fn new(parameters: impl IntoIterator<Item = Parameter>, options: R) -> Group<R> {
        Group { parameters: parameters.into_iter().collect(), options }
    }
}

/// An optimizer that needs gradients only, and whose [`Rule`] says what it does with them. The known ones have names:
/// [`Sgd`](super::Sgd), [`Adam`](super::Adam) and so on.
///
/// Parameters of one group are stored together, and a step updates them with one kernel or a few, whatever their
/// number. A parameter without a gradient, or a frozen one, is left as it is.
#[derive(Debug)]
pub struct FirstOrder<R> {
    slots: Slots,
    groups: Vec<Settings<R>>,
}

/// What the state calls the number of steps that a gradient scaler has skipped.
const SKIPPED: &str = "skipped_steps";

/// The settings of a group, and how many parameters it has.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Settings<R> {
    options: R,
    parameters: usize,
}

impl<R: Rule> FirstOrder<R> {
    /// With the default settings but for the learning rate.
    #[track_caller]
    pub fn new(parameters: impl IntoIterator<Item = Parameter>, learning_rate: f64) -> Self {
        let mut options = R::default();
        options.set_learning_rate(learning_rate);
        Self::with_options(parameters, options)
    }

    /// With all settings.
    #[track_caller]
    pub fn with_options(parameters: impl IntoIterator<Item = Parameter>, options: R) -> Self {
        expect(Self::try_with_options(parameters, options))
    }

    /// [`with_options`](Self::with_options), or the error instead of a panic.
    pub fn try_with_options(parameters: impl IntoIterator<Item = Parameter>, options: R) -> Result<Self> {
        Self::try_with_groups([Group::new(parameters, options)])
    }

    /// With groups of parameters that have settings of their own.
    #[track_caller]
    pub fn with_groups(groups: impl IntoIterator<Item = Group<R>>) -> Self {
        expect(Self::try_with_groups(groups))
    }

    /// [`with_groups`](Self::with_groups), or the error instead of a panic.
    pub fn try_with_groups(groups: impl IntoIterator<Item = Group<R>>) -> Result<Self> {
        let groups: Vec<Group<R>> = groups.into_iter().collect();
        let Some(first) = groups.iter().find_map(|group| group.parameters.first()) else {
            return Err(Error::argument(R::NAME, "the list of parameters is empty"));
        };
        let slots = Slots::new(R::NAME, R::ELEMENTWISE, &first.device());
        let mut optimizer = FirstOrder { slots, groups: Vec::new() };
        groups.into_iter().try_for_each(|group| optimizer.add_group(group))?;
        Ok(optimizer)
    }

    /// Adds a group, as when more of a model starts to learn.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// use flambeau::{nn::Parameter, optim::{Group, Optimizer, Sgd, SgdOptions}};
    /// let [a, b] = [1.0, 2.0].map(|x| Parameter::new(&Tensor::full([1], x, &Device::cpu())));
    /// let mut sgd = Sgd::new([a], 0.1);
    /// sgd.add_group(Group::new([b], SgdOptions { learning_rate: 0.2, ..Default::default() }))?;
    /// assert_eq!(sgd.group_learning_rate(1), 0.2);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn add_group(&mut self, group: Group<R>) -> Result<()> {
        let Group { parameters, options } = group;
        options.check()?;
        parameters.iter().try_for_each(|parameter| options.accepts(parameter))?;
        let states: Vec<f64> = options.states().iter().map(|(_, initial)| *initial).collect();
        let before = self.slots.parameters().count();
        self.slots.add_group(self.groups.len(), parameters, &states)?;
        self.groups.push(Settings { options, parameters: self.slots.parameters().count() - before });
        Ok(())
    }

    /// The settings of a group.
    #[track_caller]
    pub fn options(&self, group: usize) -> &R {
        &self.groups[group].options
    }

    fn step_with(&mut self, scaled: Option<&mut ScaledStep>) -> Result<()> {
        let groups = &self.groups;
        for Settings { options, .. } in groups {
            check_step(R::NAME, options.learning_rate(), options.momentum())?;
        }
        self.slots.step(&|group, given| groups[group].options.update(given), scaled)
    }

    /// The settings of the group that each parameter is in.
    fn options_by_parameter(groups: &[Settings<R>]) -> impl Iterator<Item = &R> {
        groups.iter().flat_map(|group| std::iter::repeat_n(&group.options, group.parameters))
    }
}

impl<R: Rule> Optimizer for FirstOrder<R> {
    fn step(&mut self) -> Result<()> {
        self.step_with(None)
    }

    fn step_scaled(&mut self, scaled: &mut ScaledStep) -> Result<()> {
        self.step_with(Some(scaled))
    }

    fn state_bytes(&self) -> u64 {
        self.slots.state_bytes()
    }

    fn anew(&self) -> Result<Box<dyn Optimizer>> {
        let mut parameters = self.slots.parameters().cloned();
        let group = |Settings { options, parameters: count }: &Settings<R>| {
            Group::new(parameters.by_ref().take(*count), options.clone())
        };
        let mut anew = Self::try_with_groups(self.groups.iter().map(group).collect::<Vec<_>>())?;
        anew.slots.requires_finite = self.slots.requires_finite;
        Ok(Box::new(anew))
    }

    fn zero_grad(&self) {
        self.slots.zero_grad();
    }

    fn parameters(&self) -> Vec<Parameter> {
        self.slots.parameters().cloned().collect()
    }

    fn group_count(&self) -> usize {
        self.groups.len()
    }

    fn require_finite(&mut self, required: bool) {
        self.slots.requires_finite = required;
    }

    fn group_learning_rate(&self, group: usize) -> f64 {
        self.groups[group].options.learning_rate()
    }

    fn set_group_learning_rate(&mut self, group: usize, learning_rate: f64) {
        self.groups[group].options.set_learning_rate(learning_rate);
    }

    fn group_momentum(&self, group: usize) -> Option<f64> {
        self.groups[group].options.momentum()
    }

    fn set_group_momentum(&mut self, group: usize, momentum: f64) {
        self.groups[group].options.set_momentum(momentum);
    }
}

/// The tensors are named `<parameter's number>.<state's name>`; PyTorch's names where it has them. Where a gradient scaler may
/// have skipped steps, `<parameter's number>.skipped_steps` says how many of its steps were.
impl<R: Rule> Stateful for FirstOrder<R> {
    fn state(&self) -> State {
        let mut state = State::default();
        state.set("optimizer", R::NAME);
        // Settings are plain structs of numbers, which JSON can always hold.
        state.set("groups", serde_json::to_value(&self.groups).unwrap_or_default());
        state.set("steps", self.slots.steps());
        let options = Self::options_by_parameter(&self.groups);
        let tensors = self.slots.states().into_iter().zip(options).enumerate();
        let named = tensors.flat_map(|(index, (states, options))| {
            let names = options.states().into_iter().map(move |(name, _)| format!("{index}.{name}"));
            names.zip(states)
        });
        let skipped = self.slots.skipped().into_iter().enumerate();
        let skipped = skipped.filter_map(|(index, skipped)| Some((format!("{index}.{SKIPPED}"), skipped?)));
        state.tensors = named.chain(skipped).collect();
        state
    }

    fn load_state(&mut self, state: &State) -> Result<()> {
        let name: String = state.value("optimizer")?;
        if name != R::NAME {
            return Err(Error::State(format!("this is a state of {name}, not of {}", R::NAME)));
        }
        let groups: Vec<Settings<R>> = state.value("groups")?;
        let sizes = |groups: &[Settings<R>]| groups.iter().map(|group| group.parameters).collect::<Vec<_>>();
        if sizes(&groups) != sizes(&self.groups) {
            let (saved, here) = (sizes(&groups), sizes(&self.groups));
            let message = format!("groups of {saved:?} parameters were saved, {here:?} are here");
            return Err(Error::State(message));
        }
        groups.iter().try_for_each(|group| group.options.check())?;
        let steps: Vec<u64> = state.value("steps")?;
        let parameters: Vec<&Parameter> = self.slots.parameters().collect();
        if steps.len() != parameters.len() {
            let message = format!("{} step counts for {} parameters", steps.len(), parameters.len());
            return Err(Error::State(message));
        }
        let mut states: Vec<Vec<Tensor>> = Vec::with_capacity(parameters.len());
        let options = Self::options_by_parameter(&groups);
        for (index, (parameter, options)) in parameters.into_iter().zip(options).enumerate() {
            let found = options
                .states()
                .into_iter()
                .map(|(name, _)| find(state, &format!("{index}.{name}"), parameter));
            states.push(found.collect::<Result<_>>()?);
        }
        let skipped = (0..steps.len()).map(|index| state.tensors.get(&format!("{index}.{SKIPPED}")));
        let skipped: Vec<Option<&Tensor>> = skipped.collect();
        self.slots.load(&steps, &states, &skipped)?;
        self.groups = groups;
        Ok(())
    }
}

/// A saved tensor that fits a parameter.
pub(super) fn find(state: &State, name: &str, parameter: &Parameter) -> Result<Tensor> {
    let tensor = state.tensors.get(name).ok_or_else(|| Error::State(format!("`{name}` is missing")))?;
    if tensor.shape() != parameter.shape() || tensor.dtype() != parameter.dtype() {
        let (shape, dtype) = (tensor.shape(), tensor.dtype());
        return Err(Error::State(format!("`{name}` is {dtype} {shape}, which does not fit {parameter:?}")));
    }
    if *tensor.device() != parameter.device() {
        let (left, right) = (format!("{:?}", tensor.device()), format!("{:?}", parameter.device()));
        return Err(Error::DeviceMismatch { op: "load_state", left, right });
    }
    Ok(tensor.clone())
}
