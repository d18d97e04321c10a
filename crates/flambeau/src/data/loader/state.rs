//! A loader's place, saved and taken up again.

use super::DataLoader;
use crate::error::{Error, Result};
use crate::io::{State, Stateful};

impl<B> Stateful for DataLoader<B> {
    /// Seed, epoch and position, with what they refer to. The same batches follow after [`load_state`].
    ///
    /// [`load_state`]: Stateful::load_state
    fn state(&self) -> State {
        let mut state = State::default();
        state.set("seed", self.seed.to_string());
        state.set("epoch", self.epoch.to_string());
        state.set("position", self.position);
        state.set("items", self.items_per_epoch());
        state.set("batch_size", self.cut.batch_size);
        state
    }

    fn load_state(&mut self, state: &State) -> Result<()> {
        let number = |name: &str| {
            let text: String = state.value(name)?;
            text.parse::<u64>().map_err(|_| Error::State(format!("`{name}`: {text} is not a number")))
        };
        let (seed, epoch, position) = (number("seed")?, number("epoch")?, state.value("position")?);
        let expect = |name: &str, here: usize| match state.value::<usize>(name)? {
            saved if saved == here => Ok(()),
            saved => {
                Err(Error::State(format!("the loader was saved with {name} = {saved}, and has {here} now")))
            }
        };
        expect("items", self.items_per_epoch())?;
        expect("batch_size", self.cut.batch_size)?;
        if position > self.len() {
            let message = format!("`position`: {position} is behind the last of {} batches", self.len());
            return Err(Error::State(message));
        }
        (self.seed, self.epoch, self.position, self.piece, self.current) = (seed, epoch, position, 0, None);
        Ok(())
    }
}
