//! Runs of several members: what their trainers tell each other, and when.
//!
//! Every member takes its share of the same batches. In step, gradients are averaged before every step of the optimizer, so
//! that all models stay equal; with DiLoCo, members train by themselves between rounds. Losses, metrics, running statistics
//! and the wish to stop are brought together where they are looked at: in reports, evaluations and checkpoints. Rank 0 writes
//! the files.

use super::diloco::{Diloco, DilocoOptions};
use super::running::Totals;
use super::trainer::Trainer;
use crate::data::DataLoader;
#[cfg(not(target_arch = "wasm32"))]
use crate::device::Device;
use crate::error::{Error, Result};
use crate::group::{FlatTensors, Group, Transmitted};
#[cfg(not(target_arch = "wasm32"))]
use crate::io::Checkpoint;
use crate::nn::Module;
#[cfg(not(target_arch = "wasm32"))]
use crate::rng::Generator;
use serde::{Deserialize, Serialize};

/// The members of a run, as one of them sees it.
pub(super) struct Together {
    pub group: Box<dyn Group>,
    options: Option<DilocoOptions>,
    pub diloco: Option<Diloco>,
    /// Steps of this member since the last round.
    since_round: u64,
    /// A state for DiLoCo from a checkpoint, until it starts.
    pub saved: Option<crate::io::State>,
    /// The seed of the whole run while members draw from streams of their own.
    pub seed: Option<u64>,
    /// How many numbers each member has drawn, for a checkpoint.
    pub counters: Vec<u64>,
}

/// What being a group has cost a member.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct GroupSummary {
    /// This member's rank.
    pub rank: usize,
    /// The number of members.
    pub size: usize,
    /// Rounds of DiLoCo; 0 where members keep in step.
    pub rounds: u64,
    /// Bytes this member has sent.
    pub bytes_sent: u64,
    /// Messages this member has sent.
    pub messages_sent: u64,
    /// Bytes it has sent per step of the run.
    pub bytes_per_step: f64,
    /// Seconds it has waited for others.
    pub seconds_waiting: f64,
    /// Seconds that reductions of gradients took from their first message to their end; what of it was not waited was used.
    pub seconds_reducing: f64,
}

impl Together {
    pub fn new(group: Box<dyn Group>, options: Option<DilocoOptions>) -> Together {
        let (diloco, saved, seed) = (None, None, None);
        Together { group, options, diloco, since_round: 0, saved, seed, counters: Vec::new() }
    }

    /// Do members train by themselves between rounds?
    pub fn is_diloco(&self) -> bool {
        self.options.is_some()
    }

    /// What has happened since, over so many steps.
    pub fn summary(&self, before: Transmitted, steps: u64) -> GroupSummary {
        let now = self.group.traffic().transmitted();
        let bytes_sent = now.bytes - before.bytes;
        GroupSummary {
            rank: self.group.rank(),
            size: self.group.size(),
            rounds: self.diloco.as_ref().map_or(0, Diloco::rounds),
            bytes_sent,
            messages_sent: now.messages - before.messages,
            bytes_per_step: bytes_sent as f64 / steps.max(1) as f64,
            seconds_waiting: (now.waited - before.waited).as_secs_f64(),
            seconds_reducing: (now.reducing - before.reducing).as_secs_f64(),
        }
    }

    /// The sums of all members, in the order of ranks; or the first step at which one of them had a loss that is not finite.
    pub async fn combine(
        &self,
        own: std::result::Result<Totals, u64>,
    ) -> Result<std::result::Result<Totals, u64>> {
        /// Sums as bits: JSON has no infinity.
        #[derive(Serialize, Deserialize)]
        struct Message {
            bad_step: Option<u64>,
            names: Vec<String>,
            sums: Vec<u64>,
            counts: Vec<u64>,
        }
        let bits = |numbers: &[f64]| numbers.iter().map(|x| x.to_bits()).collect();
        let message = match &own {
            Err(step) => {
                Message { bad_step: Some(*step), names: Vec::new(), sums: Vec::new(), counts: Vec::new() }
            }
            Ok(Totals { names, sums, counts }) => {
                Message { bad_step: None, names: names.clone(), sums: bits(sums), counts: bits(counts) }
            }
        };
        let message = serde_json::to_vec(&message).map_err(|error| Error::State(error.to_string()))?;
        let (mut all, mut bad_step) = (Totals::default(), None);
        for (rank, bytes) in self.group.gather(message).await?.iter().enumerate() {
            let theirs: Message = serde_json::from_slice(bytes)
                .map_err(|error| Error::group("Trainer", rank, format!("sent no sums: {error}")))?;
            bad_step = bad_step.into_iter().chain(theirs.bad_step).min();
            let numbers = |bits: Vec<u64>| bits.into_iter().map(f64::from_bits).collect();
            all.add(&Totals {
                names: theirs.names,
                sums: numbers(theirs.sums),
                counts: numbers(theirs.counts),
            });
        }
        Ok(bad_step.map_or(Ok(all), Err))
    }
}

/// The first byte of what rank 0 tells of a checkpoint.
#[cfg(not(target_arch = "wasm32"))]
const NOTHING: u8 = 0;
#[cfg(not(target_arch = "wasm32"))]
const FOUND: u8 = 1;
#[cfg(not(target_arch = "wasm32"))]
const FAILED: u8 = 2;

/// While it lives, this thread draws random numbers from its member's stream.
#[cfg(not(target_arch = "wasm32"))]
pub(super) struct Stream {
    base: Generator,
    own: Generator,
    before: Option<Generator>,
}

#[cfg(not(target_arch = "wasm32"))]
impl Stream {
    /// Stream number `rank` of the seed in use, from the counter in use.
    fn begin(rank: usize) -> Stream {
        let base = Generator::default_generator();
        let own = base.fork(rank as u64);
        own.set_counter(base.counter());
        let before = Generator::set_default_of_thread(Some(own.clone()));
        Stream { base, own, before }
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Drop for Stream {
    fn drop(&mut self) {
        self.base.set_counter(self.own.counter());
        Generator::set_default_of_thread(self.before.take());
    }
}

impl<M: Module> Trainer<M> {
    /// Trains as a member of a group: every member makes the same model, loaders and settings, and calls
    /// [`fit`](Trainer::fit). Batches are those of a run alone, and every member computes its share; gradients are averaged
    /// before every step. So the same seed and batch size give the same losses for any number of members, but for rounding:
    /// the order of additions differs, by a few units in the last place of a gradient. For one number of members the bits are
    /// always the same.
    ///
    /// What depends on more than single items of a batch is computed on shares. Batch norm normalises by the share, and its
    /// running statistics are averaged over the members before every evaluation and checkpoint. Dropout draws from stream
    /// number `rank` of the seed ([`Generator::fork`](crate::Generator::fork)), and so does augmentation.
    ///
    /// Losses and metrics are those of all members; callbacks are called on each; rank 0 writes the log and the checkpoints,
    /// from which a run with another number of members can go on. Members that are threads of one process should each have a
    /// generator of their own ([`Generator::set_default_of_thread`](crate::Generator::set_default_of_thread)).
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// use flambeau::data::{DataLoader, TensorDataset};
    /// use flambeau::group::{Group, Threads};
    /// use flambeau::{nn::Linear, optim::Sgd, train::{Outcome, Trainer}};
    /// fn train(member: Threads) -> Result<f64> {
    ///     flambeau::block_on(async {
    ///         let device = Device::cpu();
    ///         let x = Tensor::rand([64, 1], &Generator::new(1), &device);
    ///         let data = TensorDataset::new([x.clone(), &x * 2.0])?;
    ///         let mut batches = DataLoader::new(data, &device).with_batch_size(16).with_shuffle(1);
    ///         let model = Linear::new(1, 1, &device);
    ///         let sgd = Sgd::new(model.parameters(), 0.5);
    ///         let mut trainer = Trainer::new(model, sgd).with_epochs(10).with_group(member);
    ///         let summary = trainer.fit(&mut batches, None, |model: &Linear, (x, y): (Tensor, Tensor)| {
    ///             Ok(Outcome::new(model.forward(&x).mse_loss(&y), x.size(0)))
    ///         }).await?;
    ///         Ok(summary.last("loss").unwrap())
    ///     })
    /// }
    /// let members = Threads::group(2).into_iter().map(|member| std::thread::spawn(move || train(member)));
    /// let losses: Vec<f64> = members.collect::<Vec<_>>().into_iter().map(|thread| thread.join().unwrap()).collect::<Result<_>>()?;
    /// assert_eq!(losses[0], losses[1]); // those of the whole group
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn with_group(self, group: impl Group + 'static) -> Self {
        self.with_boxed_group(Box::new(group))
    }

    /// [`with_group`](Trainer::with_group) with a group chosen at run time.
    #[must_use]
    pub fn with_boxed_group(mut self, group: Box<dyn Group>) -> Self {
        let options = self.together.take().and_then(|together| together.options);
        self.together = Some(Together::new(group, options));
        self
    }

    /// Lets the members of a group train by themselves, and meet every [`inner_steps`](DilocoOptions::inner_steps) batches, at
    /// the end of every epoch and before every checkpoint ([`Diloco`]). The optimizer is the inner one; each member has its own
    /// state of it, of which a checkpoint has that of rank 0. Without
    /// [`with_group`](Trainer::with_group) there is one member. No [`Ema`](crate::optim::Ema) is kept: members' averages would
    /// differ.
    ///
    /// # Panics
    /// In a build for wasm32, where there is no group yet.
    #[must_use]
    pub fn with_diloco(mut self, options: DilocoOptions) -> Self {
        match &mut self.together {
            Some(together) => together.options = Some(options),
            #[cfg(not(target_arch = "wasm32"))]
            None => {
                let alone = crate::group::Threads::group(1).pop().expect("a group of one");
                self.together = Some(Together::new(Box::new(alone), Some(options)));
            }
            #[cfg(target_arch = "wasm32")]
            None => panic!("DiLoCo needs a group"),
        }
        self
    }

    /// The group it trains with.
    pub fn group(&self) -> Option<&dyn Group> {
        self.together.as_ref().map(|together| &*together.group)
    }

    /// This member's rank and the number of members.
    pub(super) fn share(&self) -> (usize, usize) {
        self.group().map_or((0, 1), |group| (group.rank(), group.size()))
    }

    /// Brings all members to the same beginning.
    pub(super) async fn begin_together<B: 'static>(
        &mut self,
        batches: &mut DataLoader<B>,
        test: Option<&mut DataLoader<B>>,
    ) -> Result<()> {
        let (rank, size) = self.share();
        let Some(together) = &mut self.together else { return Ok(()) };
        batches.set_share(rank, size);
        test.into_iter().for_each(|test| test.set_share(rank, size));
        if together.is_diloco() && self.options.ema.is_some() {
            let message = "an average of the weights (`with_ema`) cannot be kept with DiLoCo: members' averages would differ";
            return Err(Error::argument("Trainer", message));
        }
        together.group.broadcast_parameters(&self.model.parameters()).await?;
        if let (Some(options), None) = (together.options, &together.diloco) {
            let parameters = self.optimizer.parameters();
            together.diloco = Some(Diloco::start(parameters, options, &*together.group).await?);
        }
        if let (Some(diloco), Some(saved)) = (&mut together.diloco, together.saved.take()) {
            crate::io::Stateful::load_state(diloco, &saved)?;
        }
        Ok(())
    }

    /// From now on this member draws its own random numbers.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn begin_stream(&mut self) -> Option<Stream> {
        let (rank, size) = self.share();
        let together = self.together.as_mut().filter(|_| size > 1)?;
        together.seed = Some(Generator::default_generator().seed());
        Some(Stream::begin(rank))
    }

    /// Averages the gradients, where members keep in step.
    pub(super) async fn reduce_gradients(&mut self) -> Result<()> {
        match &self.together {
            Some(together) if !together.is_diloco() => {
                together.group.reduce_gradients(&*self.optimizer).await
            }
            _ => Ok(()),
        }
    }

    /// Counts a step towards the next round, and makes it where it is due, or where all shall be alike now.
    pub(super) async fn meet(&mut self, steps: u64, now: bool) -> Result<()> {
        let Some(together) = &mut self.together else { return Ok(()) };
        let Some(diloco) = &mut together.diloco else { return Ok(()) };
        together.since_round += steps;
        if together.since_round >= diloco.options().inner_steps || (now && together.since_round > 0) {
            diloco.round(&*together.group).await?;
            together.since_round = 0;
        }
        Ok(())
    }

    /// Averages running statistics, in which members differ until now. They are linear in what batches give, so averaging
    /// them later gives what averaging after every step would.
    pub(super) async fn average_statistics(&self) -> Result<()> {
        let Some(together) = self.together.as_ref().filter(|together| together.group.size() > 1) else {
            return Ok(());
        };
        let buffers: Vec<_> = self.model.named_buffers().into_iter().map(|(_, buffer)| buffer).collect();
        let buffers: Vec<_> = buffers.into_iter().filter(|buffer| buffer.dtype().is_float()).collect();
        if buffers.is_empty() {
            return Ok(());
        }
        let values: Vec<_> = buffers.iter().map(|buffer| buffer.get()).collect();
        let means = FlatTensors::of(&values)?.reduce(&*together.group, 0).await?;
        buffers.iter().zip(&means).try_for_each(|(buffer, mean)| buffer.try_set(mean))
    }

    /// Does any member want it?
    pub(super) async fn any_wants(&self, wanted: bool) -> Result<bool> {
        match &self.together {
            Some(together) if together.group.size() > 1 => {
                let wishes = together.group.gather(vec![u8::from(wanted)]).await?;
                Ok(wishes.iter().any(|wish| wish.contains(&1)))
            }
            _ => Ok(wanted),
        }
    }

    /// What a checkpoint needs of all members: how many random numbers each has drawn, and the mean of what compression has
    /// kept, with which all go on.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) async fn gather_for_checkpoint(&mut self) -> Result<()> {
        let Some(together) = &mut self.together else { return Ok(()) };
        if let Some(diloco) = &mut together.diloco {
            diloco.level(&*together.group).await?;
        }
        let own = Generator::default_generator().counter();
        let all = together.group.gather(own.to_le_bytes().to_vec()).await?;
        let number = |bytes: &Vec<u8>| bytes[..].try_into().map(u64::from_le_bytes).unwrap_or(own);
        together.counters = all.iter().map(number).collect();
        Ok(())
    }

    /// Tells the others from which checkpoint the run goes on, or that it cannot.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) async fn tell_others(&self, found: &Result<Option<Checkpoint>>) -> Result<()> {
        let Some(group) = self.group() else { return Ok(()) };
        let told = match found {
            Ok(None) => vec![NOTHING],
            Err(error) => [&[FAILED][..], error.to_string().as_bytes()].concat(),
            Ok(Some(found)) => {
                let parts: Vec<_> = found.states.iter().map(|(name, state)| (name.as_str(), state)).collect();
                let states = crate::io::write_states(&parts).await?;
                [&[FOUND][..], &found.step.to_le_bytes()[..], &states].concat()
            }
        };
        group.broadcast(0, told).await.map(|_| ())
    }

    /// Goes on from the checkpoint that rank 0 has found.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) async fn resume_as_told<B>(
        &mut self,
        batches: &mut DataLoader<B>,
        device: &Device,
    ) -> Result<Option<u64>> {
        let Some(group) = self.group() else { return Ok(None) };
        let told = group.broadcast(0, Vec::new()).await?;
        let step = |bytes: &[u8]| bytes.first_chunk().map(|step| u64::from_le_bytes(*step));
        match told.split_first() {
            Some((&NOTHING, _)) => Ok(None),
            Some((&FOUND, rest)) if rest.len() >= 8 => {
                let states = crate::io::read_states(&rest[8..], device)?;
                self.load_states(&states, batches)?;
                Ok(step(rest))
            }
            Some((&FAILED, error)) => {
                let message = format!("cannot resume the run: {}", String::from_utf8_lossy(error));
                Err(Error::group("Trainer::resume", 0, message))
            }
            _ => Err(Error::group("Trainer::resume", 0, "sent no checkpoint")),
        }
    }
}
