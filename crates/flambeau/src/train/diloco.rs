//! Local SGD with an outer optimizer (DiLoCo, arXiv 2311.08105): members train by themselves and meet every H steps.

use super::compression::Compression;
use crate::error::{Error, Result};
use crate::group::{FlatTensors, Group, Membership, Reduce};
use crate::io::{State, Stateful};
use crate::nn::Parameter;
use crate::tensor::Tensor;

/// How members that train by themselves come together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DilocoOptions {
    /// H: steps of a member between two rounds.
    pub inner_steps: u64,
    /// The outer optimizer's learning rate.
    pub outer_rate: f64,
    /// The outer optimizer's momentum μ, after Nesterov.
    pub outer_momentum: f64,
    /// How updates travel.
    pub compression: Compression,
    /// The largest norm that an update may have (no limit if not set): a member's own is made shorter, another's that is longer is refused.
    pub largest_norm: f64,
}

impl Default for DilocoOptions {
    /// The paper's: rounds every 100 steps, rate 0.7, momentum 0.9.
    fn default() -> Self {
        DilocoOptions {
            inner_steps: 100,
            outer_rate: 0.7,
            outer_momentum: 0.9,
            compression: Compression::None,
            largest_norm: f64::INFINITY,
        }
    }
}

/// The outer half of a run: every member trains with an optimizer of its own, and after H steps calls
/// [`round`](Diloco::round). With θ₀ what all began with and θ_H what a member has come to:
///
/// ```text
/// g  = mean over members of (θ₀ − θ_H + e)      e: what compression has kept back
/// v ← μ v + g
/// θ₀ ← θ₀ − rate · (g + μ v)
/// ```
///
/// and all go on from the new θ₀. [`Trainer::with_diloco`](super::Trainer::with_diloco) does this; in a loop of one's own:
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::group::{Group, Threads};
/// use flambeau::{nn::Linear, optim::Sgd, train::{Diloco, DilocoOptions}};
/// fn train(group: impl Group) -> Result<f64> {
///     flambeau::block_on(async {
///         let device = Device::cpu();
///         let model = Linear::new(1, 1, &device);
///         let x = Tensor::rand([8, 1], &Generator::new(group.rank() as u64), &device); // each its own data
///         let mut inner = Sgd::new(model.parameters(), 0.2);
///         let mut outer = Diloco::start(model.parameters(), DilocoOptions::default(), &group).await?;
///         for _round in 0..12 {
///             for _step in 0..10 {
///                 model.forward(&x).mse_loss(&(&x * 2.0)).backward()?;
///                 inner.step()?;
///                 inner.zero_grad();
///             }
///             outer.round(&group).await?;
///         }
///         model.weight.value().item().await
///     })
/// }
/// let members = Threads::group(2).into_iter().map(|member| std::thread::spawn(move || train(member)));
/// let weights: Vec<f64> = members.collect::<Vec<_>>().into_iter().map(|thread| thread.join().unwrap()).collect::<Result<_>>()?;
/// assert!(weights[0] == weights[1] && (weights[0] - 2.0).abs() < 0.5, "{weights:?}");
/// # Ok::<(), Error>(())
/// ```
///
/// Between two rounds members may leave, and others join, in groups that know how to ([`regroup`](Diloco::regroup)). Among members who
/// do not trust each other ([`Peers`](crate::group::Peers)) call [`meet`](Diloco::meet) instead of `round`.
#[derive(Debug)]
pub struct Diloco {
    pub(super) options: DilocoOptions,
    pub(super) parameters: Vec<Parameter>,
    pub(super) outer: Outer,
    /// What the round that is being made would lead to, once this member has everybody's update.
    pub(super) prepared: Option<Outer>,
}

/// Where the outer optimizer is.
#[derive(Debug, Clone, Default)]
pub(super) struct Outer {
    /// θ₀, v and e, in the order in which parameters are packed.
    pub start: Vec<f32>,
    pub velocity: Vec<f32>,
    pub kept: Vec<f32>,
    /// Rounds so far and one for the beginning; 0 for a member that has just joined.
    pub rounds: u64,
}

impl Diloco {
    /// All members begin with the parameters of rank 0.
    pub async fn start(
        parameters: Vec<Parameter>,
        options: DilocoOptions,
        group: &dyn Group,
    ) -> Result<Diloco> {
        group.broadcast_parameters(&parameters).await?;
        let mut diloco = Diloco::new(parameters, options).await?;
        diloco.outer.rounds = 1;
        Ok(diloco)
    }

    /// For a member that has just joined: what the others have come to, who call [`regroup`](Diloco::regroup).
    pub async fn join(
        parameters: Vec<Parameter>,
        options: DilocoOptions,
        group: &dyn Group,
    ) -> Result<Diloco> {
        let mut diloco = Diloco::new(parameters, options).await?;
        match group.is_trusted() {
            true => diloco.settle(group).await?,
            false => diloco.enter(group).await?,
        }
        Ok(diloco)
    }

    async fn new(parameters: Vec<Parameter>, options: DilocoOptions) -> Result<Diloco> {
        options.compression.check()?;
        if options.inner_steps == 0 {
            return Err(Error::argument("Diloco", "0 steps between rounds; take at least 1, e.g. 100"));
        }
        for (name, value) in [("outer rate", options.outer_rate), ("outer momentum", options.outer_momentum)]
        {
            if !value.is_finite() || value < 0.0 {
                return Err(Error::argument("Diloco", format!("the {name} is {value}")));
            }
        }
        if options.largest_norm.is_nan() || options.largest_norm <= 0.0 {
            return Err(Error::argument("Diloco", format!("the largest norm is {}", options.largest_norm)));
        }
        if parameters.is_empty() {
            return Err(Error::argument("Diloco", "the list of parameters is empty"));
        }
        let start = packed(&parameters)?.read().await?;
        let zeros = vec![0.0; start.len()];
        let outer = Outer { start, velocity: zeros.clone(), kept: zeros, rounds: 0 };
        Ok(Diloco { options, parameters, outer, prepared: None })
    }

    /// The options.
    pub fn options(&self) -> &DilocoOptions {
        &self.options
    }

    /// Rounds that have been made, with those before this member joined.
    pub fn rounds(&self) -> u64 {
        self.outer.rounds.saturating_sub(1)
    }

    /// Brings the members' parameters together. On error nothing has changed here.
    pub async fn round(&mut self, group: &dyn Group) -> Result<()> {
        let update = self.update().await?;
        let next = match self.options.compression == Compression::None && group.is_trusted() {
            true => {
                let kept = vec![0.0; update.len()];
                self.next(&group.all_reduce(update, Reduce::Mean).await?, kept)
            }
            false => {
                let all = self.exchange(group, &update).await?;
                let next = self.next(&all.mean, all.kept);
                if !group.is_trusted() {
                    // From here on others may count on this member's making the round.
                    self.prepared = Some(next.clone());
                    super::judged::confirm(group, &all.digests, &next).await?;
                }
                next
            }
        };
        self.take(next)
    }

    /// What this member has learned since the last round, θ₀ − θ_H + e.
    async fn update(&self) -> Result<Vec<f32>> {
        let now = packed(&self.parameters)?.read().await?;
        let Outer { start, kept, .. } = &self.outer;
        let difference = start.iter().zip(&now).zip(kept).map(|((start, now), kept)| start - now + kept);
        let mut update: Vec<f32> = difference.collect();
        if let Some(place) = update.iter().position(|x| !x.is_finite()) {
            let message = format!(
                "the parameters are not finite after {} rounds (number {place} of {}); try a lower learning rate",
                self.rounds(),
                update.len()
            );
            return Err(Error::Diverged(message));
        }
        let (norm, most) = (super::judged::norm(&update), 0.99 * self.options.largest_norm);
        if norm > most {
            // A little shorter than is allowed: compression rounds.
            let share = (most / norm) as f32;
            update.iter_mut().for_each(|x| *x *= share);
        }
        Ok(update)
    }

    /// Where the outer optimizer comes to by a mean of updates.
    fn next(&self, mean: &[f32], kept: Vec<f32>) -> Outer {
        let (rate, momentum) = (self.options.outer_rate as f32, self.options.outer_momentum as f32);
        let Outer { start, velocity, rounds, .. } = &self.outer;
        let velocity: Vec<f32> = velocity.iter().zip(mean).map(|(v, g)| momentum * v + g).collect();
        let step = mean.iter().zip(&velocity).map(|(g, v)| g + momentum * v);
        let start: Vec<f32> = start.iter().zip(step).map(|(start, step)| start - rate * step).collect();
        Outer { start, velocity, kept, rounds: rounds + 1 }
    }

    pub(super) fn take(&mut self, next: Outer) -> Result<()> {
        self.set_parameters(&next.start)?;
        self.prepared = None;
        self.outer = next;
        Ok(())
    }

    /// Gives all members the mean of what compression has kept at each, so that one saved state serves all: the sum that the
    /// next round adds stays what it is.
    pub async fn level(&mut self, group: &dyn Group) -> Result<()> {
        if self.options.compression != Compression::None {
            self.outer.kept = group.all_reduce(self.outer.kept.clone(), Reduce::Mean).await?;
        }
        Ok(())
    }

    /// Lets members leave and join, where the group knows how to; all that stay call it. Who joins, or missed the end of a
    /// round because a member was lost in it, gets θ₀ and v from one who has made all rounds; what it has learned since its
    /// last round is then gone.
    pub async fn regroup(&mut self, group: &dyn Group) -> Result<Membership> {
        let membership = group.regroup().await?;
        self.settle(group).await?;
        Ok(membership)
    }

    pub(super) async fn settle(&mut self, group: &dyn Group) -> Result<()> {
        let counts = group.gather(self.outer.rounds.to_le_bytes().to_vec()).await?;
        let counts: Vec<u64> = counts
            .iter()
            .enumerate()
            .map(|(rank, bytes)| {
                let bytes: std::result::Result<[u8; 8], _> = bytes[..].try_into();
                bytes
                    .map(u64::from_le_bytes)
                    .map_err(|_| Error::group("regroup", rank, "sent no count of rounds"))
            })
            .collect::<Result<_>>()?;
        let most = counts.iter().copied().max().unwrap_or_default();
        if counts.iter().all(|&count| count == most) {
            return Ok(());
        }
        let root = counts.iter().position(|&count| count == most).unwrap_or_default();
        let own = match group.rank() == root {
            true => bytemuck::cast_slice(&[&self.outer.start[..], &self.outer.velocity].concat()).to_vec(),
            false => Vec::new(),
        };
        let received: Vec<f32> = bytemuck::pod_collect_to_vec(&group.broadcast(root, own).await?);
        if self.outer.rounds < most {
            let length = self.outer.start.len();
            if received.len() != 2 * length {
                let message = format!("has {} parameters, this member {length}", received.len() / 2);
                return Err(Error::group("regroup", root, message));
            }
            let (start, velocity) = received.split_at(length);
            let (start, velocity) = (start.to_vec(), velocity.to_vec());
            self.take(Outer { start, velocity, kept: vec![0.0; length], rounds: most })?;
        }
        Ok(())
    }

    fn set_parameters(&self, numbers: &[f32]) -> Result<()> {
        let values = packed(&self.parameters)?.put_back(numbers)?;
        self.parameters.iter().zip(&values).try_for_each(|(parameter, value)| parameter.try_set(value))
    }
}

fn packed(parameters: &[Parameter]) -> Result<FlatTensors> {
    FlatTensors::of(&parameters.iter().map(Parameter::value).collect::<Vec<_>>())
}

impl Stateful for Diloco {
    /// θ₀, v, e and the number of rounds. What a member has learned since the last round is the parameters'.
    fn state(&self) -> State {
        let mut state = State::default();
        let device = self.parameters[0].device();
        for (name, numbers) in
            [("start", &self.outer.start), ("velocity", &self.outer.velocity), ("kept", &self.outer.kept)]
        {
            state.tensors.insert(name, Tensor::from_slice(numbers, numbers.len(), &device));
        }
        state.set("rounds", self.outer.rounds.to_string());
        state
    }

    /// It reads the tensors back, which natively waits for the device; in a browser it is an error.
    fn load_state(&mut self, state: &State) -> Result<()> {
        #[cfg(target_arch = "wasm32")]
        return Err(Error::argument(
            "Diloco",
            format!("a browser cannot wait for {} tensors", state.tensors.len()),
        ));
        #[cfg(not(target_arch = "wasm32"))]
        {
            let numbers = |name: &str| {
                let tensor = state.tensors.get(name);
                let tensor = tensor.ok_or_else(|| Error::State(format!("`{name}` is missing")))?;
                match tensor.numel() {
                    length if length == self.outer.start.len() => tensor.to_vec_blocking::<f32>(),
                    length => Err(Error::State(format!(
                        "`{name}` has {length} numbers, not {}",
                        self.outer.start.len()
                    ))),
                }
            };
            let (start, velocity, kept) = (numbers("start")?, numbers("velocity")?, numbers("kept")?);
            let rounds: String = state.value("rounds")?;
            let rounds =
                rounds.parse().map_err(|_| Error::State(format!("`rounds`: {rounds} is no number")))?;
            self.outer = Outer { start, velocity, kept, rounds };
            Ok(())
        }
    }
}
