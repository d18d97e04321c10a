//! A run as it is saved: model, optimizer, schedule, random numbers, place in the data, and how it went so far.

use super::report::EpochReport;
use super::running::Totals;
use super::trainer::Trainer;
use crate::data::DataLoader;
use crate::error::{Error, Result};
use crate::io::{Matching, State, Stateful};
use crate::nn::Module;
use crate::rng::Generator;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

/// The place of the random numbers among the states.
const RANDOM: usize = 2;

/// What the trainer itself remembers.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Past {
    pub step: u64,
    /// Epochs that have ended.
    pub epochs: u64,
    pub seconds: f64,
    pub history: Vec<EpochReport>,
    pub losses: Vec<(u64, f64)>,
    /// Sums of the epoch under way.
    #[serde(skip)]
    pub totals: Totals,
}

impl<M: Module> Trainer<M> {
    /// Everything needed to go on later, part by part, as [`write_states`](crate::io::write_states) and
    /// [`Checkpoints`](crate::io::Checkpoints) take it.
    pub fn states<B>(&self, batches: &DataLoader<B>) -> Vec<(&'static str, State)> {
        let mut model = State::default();
        model.tensors = self.model.state_dict();
        let generator = Generator::default_generator();
        let mut random = State::default();
        let seed = self.together.as_ref().and_then(|together| together.seed).unwrap_or(generator.seed());
        random.set("seed", seed.to_string());
        random.set("counter", generator.counter().to_string());
        let mut states = vec![
            ("model", model),
            ("optimizer", self.optimizer.state()),
            ("random", random),
            ("data", batches.state()),
            ("trainer", self.past_state()),
        ];
        if let Some(together) = &self.together {
            let counters: Vec<String> = together.counters.iter().map(u64::to_string).collect();
            states[RANDOM].1.set("counters", counters);
            states.extend(together.diloco.as_ref().map(|diloco| ("diloco", diloco.state())));
        }
        if let Some((scheduler, _)) = &self.options.scheduler {
            states.push(("scheduler", scheduler.state()));
        }
        if let Some(ema) = &self.options.ema {
            states.push(("ema", ema.state()));
        }
        if let Some(scaler) = &self.options.scaler {
            states.push(("scaler", scaler.state()));
        }
        states
    }

    /// Takes up what [`states`](Trainer::states) gave: the run goes on as if it had never stopped.
    pub fn load_states<B>(
        &mut self,
        states: &BTreeMap<String, State>,
        batches: &mut DataLoader<B>,
    ) -> Result<()> {
        let part = |name: &str| {
            states.get(name).ok_or_else(|| Error::State(format!("the checkpoint has no part `{name}`")))
        };
        self.model.load_state_dict(&part("model")?.tensors, Matching::Strict)?;
        self.optimizer.load_state(part("optimizer")?)?;
        if let Some((scheduler, _)) = &mut self.options.scheduler {
            scheduler.load_state(part("scheduler")?)?;
        }
        if let Some(ema) = &mut self.options.ema {
            ema.load_state(part("ema")?)?;
        }
        if let Some(scaler) = &mut self.options.scaler {
            scaler.load_state(part("scaler")?)?;
        }
        batches.load_state(part("data")?)?;
        self.load_past(part("trainer")?)?;
        let random = part("random")?;
        let number = |name: &str| {
            let text: String = random.value(name)?;
            text.parse::<u64>().map_err(|_| Error::State(format!("`{name}`: {text} is not a number")))
        };
        let generator = Generator::default_generator();
        let mut counter = number("counter")?;
        let (rank, size) = self.share();
        if let Some(together) = &mut self.together {
            together.saved = states.get("diloco").cloned();
            let counters: Vec<String> = random.value("counters").unwrap_or_default();
            if let Some(own) = counters.get(rank).filter(|_| counters.len() == size) {
                counter =
                    own.parse().map_err(|_| Error::State(format!("`counters`: {own} is not a number")))?;
            }
        }
        generator.manual_seed(number("seed")?);
        generator.set_counter(counter);
        Ok(())
    }

    fn past_state(&self) -> State {
        let mut state = State::default();
        let Totals { names, sums, counts } = &self.past.totals;
        state.set("past", serde_json::to_value(&self.past).unwrap_or_default());
        state.set("totals", json!({ "names": names, "sums": sums, "counts": counts }));
        if let Some(stopping) = &self.options.early_stopping {
            state.set("best", stopping.best);
            state.set("epochs_without", stopping.epochs_without);
        }
        state
    }

    fn load_past(&mut self, state: &State) -> Result<()> {
        #[derive(Deserialize)]
        struct Sums {
            names: Vec<String>,
            sums: Vec<f64>,
            counts: Vec<f64>,
        }
        let mut past: Past = state.value("past")?;
        let Sums { names, sums, counts } = state.value("totals")?;
        past.totals = Totals { names, sums, counts };
        if let Some(stopping) = &mut self.options.early_stopping
            && state.values.contains_key("best")
        {
            (stopping.best, stopping.epochs_without) = (state.value("best")?, state.value("epochs_without")?);
        }
        self.past = past;
        Ok(())
    }
}
