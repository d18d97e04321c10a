//! A round in a model: the server's arrays are put in by name or in order, and what has become of them goes back, protected if that is
//! wished. Natively and in tabs alike; what trains the model in between is the app's own.

use crate::app::{Task, Trained};
use crate::error::{FlowerError, Result};
use crate::privacy::{Noise, Privacy, Protected};
use crate::records::{Array, Named};
use flambeau::io::StateDict;
use flambeau::{DType, Tensor};
use web_time::Instant;

/// The parameters that a round began with.
#[derive(Debug, Clone)]
pub struct Received {
    /// The server's names.
    given: Vec<String>,
    /// The same values under the model's names, in the server's order.
    state: StateDict,
    began: Instant,
}

/// What training has come to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// How many examples there were.
    pub examples: u64,
    /// The mean loss, for the server where updates are not protected: it is of the data themselves.
    pub loss: Option<f64>,
    /// Further numbers for the server.
    pub metrics: Named<f64>,
}

impl Received {
    /// A task's arrays under the names of a model's values: by name or, if they have none of its names, in order. Each must have its
    /// value's shape, and gets its dtype and its device.
    pub fn new(task: &Task, own: &StateDict) -> Result<Received> {
        let wrong = |message: String| Err(FlowerError::Argument { what: "parameters", message });
        let arrays = &task.arrays;
        let by_name = arrays.names().any(|name| own.get(name).is_some());
        if arrays.len() != own.len() {
            return wrong(format!("{} arrays for a model that has {}", arrays.len(), own.len()));
        }
        let mut state = StateDict::new();
        for ((given, array), in_order) in arrays.iter().zip(own.names()) {
            let name = if by_name { given } else { in_order };
            let Some(value) = own.get(name) else { return wrong(format!("the model has no `{name}`")) };
            let tensor = array.to_tensor(value.device())?;
            if tensor.shape() != value.shape() {
                return wrong(format!(
                    "`{name}` has shape {} in the model, and {} here",
                    value.shape(),
                    tensor.shape()
                ));
            }
            state.insert(name, tensor.try_to_dtype(value.dtype())?);
        }
        let given = arrays.names().map(str::to_owned).collect();
        Ok(Received { given, state, began: Instant::now() })
    }

    /// What the model is to begin with.
    pub fn state(&self) -> &StateDict {
        &self.state
    }

    /// The answer to the server: what the model's values are `after` training, as an update that is protected if there is something
    /// to protect it with.
    pub async fn trained(
        &self,
        after: &StateDict,
        outcome: Outcome,
        protection: Option<(&mut Privacy, &mut Noise)>,
    ) -> Result<(Trained, Option<Protected>)> {
        let Outcome { examples, loss, mut metrics } = outcome;
        if let (Some(loss), None) = (loss, &protection) {
            metrics.insert("train_loss", loss);
        }
        let (values, protected) = match protection {
            None => (self.ends(after)?.cloned().collect(), None),
            Some((privacy, noise)) => {
                let (values, protected) = self.protected(after, privacy, noise).await?;
                (values, Some(protected))
            }
        };
        let mut arrays = Vec::new();
        for (given, value) in self.given.iter().zip(&values) {
            arrays.push((given.as_str(), Array::of(value).await?));
        }
        metrics.insert("seconds", self.began.elapsed().as_secs_f64());
        // Flower's metrics are numbers that are averaged: an infinite one would make all of them so.
        if let Some(protected) = protected.filter(|protected| protected.epsilon.is_finite()) {
            metrics.insert("epsilon", protected.epsilon);
        }
        Ok((Trained { arrays: arrays.into_iter().collect(), examples, metrics }, protected))
    }

    /// The values after training, in the server's order.
    fn ends<'a>(&self, after: &'a StateDict) -> Result<impl Iterator<Item = &'a Tensor>> {
        let end = |name| {
            after.get(name).ok_or_else(|| FlowerError::Argument {
                what: "parameters",
                message: format!("the model has no `{name}` any more"),
            })
        };
        Ok(self.state.names().map(end).collect::<Result<Vec<_>>>()?.into_iter())
    }

    /// The parameters received and a protected update of them.
    async fn protected(
        &self,
        after: &StateDict,
        privacy: &mut Privacy,
        noise: &mut Noise,
    ) -> Result<(Vec<Tensor>, Protected)> {
        let mut update = Vec::new();
        for ((name, start), end) in self.state.iter().zip(self.ends(after)?) {
            if end.dtype() != DType::F32 {
                let message = format!("`{name}` is {}; only updates of f32 can be", end.dtype());
                return Err(FlowerError::Argument { what: "protection", message });
            }
            update.push(end.detach().try_sub(start)?.to_vec::<f32>().await?);
        }
        let protected = privacy.protect(&mut update, noise)?;
        let values = self.state.iter().zip(update).map(|((_, start), update)| {
            Ok(start.try_add(&Tensor::try_from_vec(update, start.shape().clone(), start.device())?)?)
        });
        Ok((values.collect::<Result<_>>()?, protected))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flambeau::Device;

    fn model(device: &Device) -> StateDict {
        let mut state = StateDict::new();
        state.insert("a", Tensor::new([1.0f32, 2.0], device));
        state.insert("b", Tensor::new([3.0f32], device));
        state
    }

    fn task(arrays: &[(&str, Tensor)]) -> Task {
        let array = |tensor: &Tensor| flambeau::block_on(Array::of(tensor)).unwrap();
        let arrays = arrays.iter().map(|(name, tensor)| (*name, array(tensor))).collect();
        Task { run_id: 1, arrays, config: Named::default() }
    }

    fn numbers(tensor: &Tensor) -> Vec<f32> {
        flambeau::block_on(tensor.to_vec::<f32>()).unwrap()
    }

    #[test]
    fn arrays_are_taken_by_name_or_in_order() {
        let device = Device::cpu();
        let (a, b) = (Tensor::new([5.0f64, 6.0], &device), Tensor::new([7.0f32], &device));
        for names in [["b", "a"], ["0", "1"]] {
            let values = if names[0] == "b" { [b.clone(), a.clone()] } else { [a.clone(), b.clone()] };
            let task = task(&[(names[0], values[0].clone()), (names[1], values[1].clone())]);
            let received = Received::new(&task, &model(&device)).unwrap();
            assert_eq!(numbers(received.state().get("a").unwrap()), [5.0, 6.0]);
            assert_eq!(numbers(received.state().get("b").unwrap()), [7.0]);
            let outcome = Outcome { examples: 9, loss: Some(0.5), ..Outcome::default() };
            let after = model(&device);
            let (trained, protected) = flambeau::block_on(received.trained(&after, outcome, None)).unwrap();
            assert_eq!((trained.examples, protected), (9, None));
            assert_eq!(trained.arrays.names().collect::<Vec<_>>(), names, "under the server's names");
            let of_a = trained.arrays.get(if names[0] == "b" { "a" } else { "0" }).unwrap();
            assert_eq!(numbers(&of_a.to_tensor(&device).unwrap()), [1.0, 2.0]);
            assert_eq!(trained.metrics.get("train_loss"), Some(&0.5));
        }
    }

    #[test]
    fn arrays_that_do_not_fit_are_refused() {
        let device = Device::cpu();
        let (two, one) = (Tensor::new([5.0f32, 6.0], &device), Tensor::new([7.0f32], &device));
        for (arrays, says) in [
            (&[("a", two.clone())][..], "1 arrays for a model that has 2"),
            (&[("a", two.clone()), ("c", one.clone())], "no `c`"),
            (&[("a", one.clone()), ("b", one.clone())], "`a` has shape"),
            (&[("0", one.clone()), ("1", two.clone())], "`a` has shape"),
        ] {
            let error = Received::new(&task(arrays), &model(&device)).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    /// Without noise, so that what a protected update becomes is known: its length is 5, and 2.5 is left.
    #[test]
    fn updates_are_protected_and_the_loss_stays() {
        let device = Device::cpu();
        let start =
            task(&[("a", Tensor::new([1.0f32, 5.0], &device)), ("b", Tensor::new([-1.0f32], &device))]);
        let received = Received::new(&start, &model(&device)).unwrap();
        let mut privacy = Privacy::new(2.5, 0.0, 1e-5).unwrap();
        let protection = Some((&mut privacy, &mut Noise::of_seed([3; 32])));
        let outcome = Outcome { examples: 1, loss: Some(0.5), ..Outcome::default() };
        let (trained, protected) =
            flambeau::block_on(received.trained(&model(&device), outcome, protection)).unwrap();
        let protected = protected.unwrap();
        assert_eq!((protected.norm, protected.factor), (5.0, 0.5));
        let value = |name| numbers(&trained.arrays.get(name).unwrap().to_tensor(&device).unwrap());
        assert_eq!((value("a"), value("b")), (vec![1.0, 3.5], vec![1.0]));
        assert_eq!(
            trained.metrics.names().collect::<Vec<_>>(),
            ["seconds"],
            "ε is infinite, the loss is told to nobody"
        );
    }
}
