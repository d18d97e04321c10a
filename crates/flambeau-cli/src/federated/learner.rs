//! What a client does when it is asked: it trains a model from the server's parameters, or tests them.

use super::client::is_asked_to_leave;
use super::share::Share;
use crate::eval;
use crate::output::Output;
use flambeau::bindings::optimizers::by_name;
use flambeau::data::{DataLoader, Sampler, TensorDataset, TrainTest};
use flambeau::io::Matching;
use flambeau::nn::loss::CrossEntropyLoss;
use flambeau::prelude::*;
use flambeau_flower::privacy::{Noise, Privacy, Protected};
use flambeau_flower::{App, Array, Evaluated, FlowerError, Named, Outcome, Received, Task, Trained, Value};
use serde_json::json;

/// Pictures a step of a test.
const TEST_BATCH: usize = 500;
/// The most epochs and the largest batch that a server may ask for.
const MOST: f64 = 1e6;

/// How a round trains where the server says nothing.
#[derive(Debug, Clone, Copy)]
pub struct Recipe {
    pub epochs: u64,
    pub batch: usize,
    pub rate: f64,
    pub momentum: f64,
    pub seed: u64,
    /// Pictures in another order in every epoch?
    pub shuffled: bool,
}

/// What has been done so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Done {
    pub rounds: u64,
    /// The time of training.
    pub seconds: f64,
    /// The mean loss of the last round.
    pub loss: Option<f64>,
    /// The accuracy of the last test.
    pub accuracy: Option<f64>,
}

/// A model, a share of the data, and what protects it.
pub struct Learner {
    model: Box<dyn Forward>,
    device: Device,
    train: TensorDataset,
    test: TensorDataset,
    places: Vec<usize>,
    test_places: Vec<usize>,
    recipe: Recipe,
    privacy: Option<(Privacy, Noise)>,
    output: Output,
    done: Done,
}

/// What a round asks for: the server's words, else the recipe's.
struct Round {
    epochs: u64,
    batch: usize,
    rate: f64,
    /// FedProx's μ.
    proximal: f64,
}

impl Learner {
    /// A learner with its share of the data.
    pub fn new(
        model: Box<dyn Forward>,
        sets: &TrainTest,
        share: Share,
        first: Option<u64>,
        recipe: Recipe,
        output: Output,
        device: &Device,
    ) -> Result<Learner> {
        let mut places = share.places(sets.train.labels());
        places.truncate(first.map_or(usize::MAX, |first| first as usize));
        // Everybody tests with all classes: the mean over clients is then the accuracy on the whole test data.
        let test_places = Share { non_iid: false, ..share }.places(sets.test.labels());
        Ok(Learner {
            model,
            device: device.clone(),
            train: sets.train.to_device(device)?,
            test: sets.test.to_device(device)?,
            places,
            test_places,
            recipe,
            privacy: None,
            output,
            done: Done::default(),
        })
    }

    /// The same, with updates that are clipped and get noise.
    pub fn with_privacy(self, privacy: Privacy, noise: Noise) -> Learner {
        Learner { privacy: Some((privacy, noise)), ..self }
    }

    /// The pictures to train with.
    pub fn pictures(&self) -> usize {
        self.places.len()
    }

    /// The pictures to test with.
    pub fn test_pictures(&self) -> usize {
        self.test_places.len()
    }

    /// What has been done so far.
    pub fn done(&self) -> Done {
        self.done
    }

    /// ε of all updates so far, if they are protected.
    pub fn epsilon(&self) -> std::result::Result<Option<f64>, FlowerError> {
        self.privacy.as_ref().map(|(privacy, _)| privacy.epsilon()).transpose()
    }

    /// Puts the server's parameters into the model.
    fn load(&self, task: &Task) -> std::result::Result<Received, FlowerError> {
        let received = Received::new(task, &self.model.state_dict())?;
        self.model.load_state_dict(received.state(), Matching::Strict)?;
        Ok(received)
    }

    /// What the server asks for; a number that makes no sense is refused.
    fn round(&self, task: &Task) -> std::result::Result<Round, FlowerError> {
        let number = |names: &[&'static str], least: f64, most: f64, default: f64| {
            let asked = names.iter().find_map(|&name| Some((name, task.config.get(name)?)));
            let Some((what, value)) = asked else { return Ok(default) };
            match value.number() {
                Some(number) if number >= least && number <= most => Ok(number),
                _ => {
                    let message = format!("the server says {value:?}; this client takes {least} to {most}");
                    Err(FlowerError::Argument { what, message })
                }
            }
        };
        let recipe = self.recipe;
        Ok(Round {
            epochs: number(&["local-epochs", "local_epochs", "epochs"], 1.0, MOST, recipe.epochs as f64)?
                as u64,
            batch: number(&["batch-size", "batch_size"], 1.0, MOST, recipe.batch as f64)? as usize,
            rate: number(&["lr", "learning-rate", "learning_rate"], f64::MIN_POSITIVE, 1e6, recipe.rate)?,
            proximal: number(&["proximal-mu", "proximal_mu"], 0.0, 1e9, 0.0)?,
        })
    }

    /// Trains from the parameters that are in the model; gives the mean loss.
    async fn descend(&self, round: &Round) -> std::result::Result<f64, FlowerError> {
        let model = &*self.model;
        model.train();
        let settings = json!({ "lr": round.rate, "momentum": self.recipe.momentum });
        let mut optimizer = by_name("sgd", vec![(model.parameters(), settings)])?;
        let start: Vec<_> = model.parameters().into_iter().map(|own| (own.value(), own)).collect();
        let sampler = match self.recipe.shuffled {
            true => Sampler::SubsetRandom(self.places.clone()),
            false => Sampler::Subset(self.places.clone()),
        };
        let mut batches: DataLoader = DataLoader::new(self.train.clone(), &self.device)
            .with_batch_size(round.batch)
            .with_sampler(sampler)
            .with_seed(self.recipe.seed.wrapping_add(self.done.rounds << 32));
        let (mut total, mut items) = (Tensor::zeros([], &self.device), 0);
        for _ in 0..round.epochs {
            while let Some((x, y)) = batches.next().await? {
                if is_asked_to_leave() {
                    let message = "the client leaves before the round is over".into();
                    return Err(FlowerError::Argument { what: "train", message });
                }
                let loss = CrossEntropyLoss::default().try_forward(&model.try_forward(&x)?, &y)?;
                total = total.try_add(&loss.detach().try_mul(y.numel() as f64)?)?;
                items += y.numel();
                let mut objective = loss;
                if round.proximal > 0.0 {
                    for (start, own) in &start {
                        let distance = own.get().try_sub(start)?.try_square()?.try_sum(..)?;
                        objective = objective.try_add(&distance.try_mul(round.proximal / 2.0)?)?;
                    }
                }
                objective.backward()?;
                optimizer.step()?;
                optimizer.zero_grad();
            }
        }
        Ok(f64::from(total.to_dtype(DType::F32).to_vec::<f32>().await?[0]) / items.max(1) as f64)
    }

    async fn try_train(&mut self, task: &Task) -> std::result::Result<Trained, FlowerError> {
        let round = self.round(task)?;
        let received = self.load(task)?;
        let loss = self.descend(&round).await?;
        let examples = self.places.len() as u64;
        let outcome = Outcome { examples, loss: Some(loss), metrics: Named::default() };
        let protection = self.privacy.as_mut().map(|(privacy, noise)| (privacy, noise));
        let (trained, protected) = received.trained(&self.model.state_dict(), outcome, protection).await?;
        let seconds = trained.metrics.get("seconds").copied().unwrap_or_default();
        self.done.rounds += 1;
        self.done.seconds += seconds;
        self.done.loss = Some(loss);
        let mut line = format!(
            "round {}: {examples} pictures, loss {loss:.4}, {seconds:.1} s",
            task.round().unwrap_or(self.done.rounds)
        );
        if let Some(Protected { norm, factor, deviation, epsilon }) = protected {
            let delta = self.privacy.as_ref().map_or(0.0, |(privacy, _)| privacy.delta());
            line += &format!(
                "; update of length {norm:.3} times {factor:.3}, noise of {deviation:.3}; ε {epsilon:.3} spent (δ {delta:e})"
            );
        }
        self.output.say(line);
        Ok(trained)
    }

    async fn try_evaluate(&mut self, task: &Task) -> std::result::Result<Evaluated, FlowerError> {
        self.load(task)?;
        let mut batches: DataLoader = DataLoader::new(self.test.clone(), &self.device)
            .with_batch_size(TEST_BATCH)
            .with_sampler(Sampler::Subset(self.test_places.clone()));
        let score = eval::score(&*self.model, &mut batches, 0, &self.device).await?;
        self.done.accuracy = Some(score.accuracy);
        let metrics = Named::default().with("eval_acc", score.accuracy);
        Ok(Evaluated { loss: score.loss, examples: score.items, metrics })
    }
}

impl App for Learner {
    async fn train(&mut self, task: Task) -> std::result::Result<Trained, String> {
        let end = self.try_train(&task).await;
        end.map_err(|error| self.tell(&error))
    }

    async fn evaluate(&mut self, task: Task) -> std::result::Result<Evaluated, String> {
        let end = self.try_evaluate(&task).await;
        end.map_err(|error| self.tell(&error))
    }

    async fn parameters(&mut self) -> std::result::Result<Named<Array>, String> {
        let mut arrays = Vec::new();
        for (name, tensor) in self.model.state_dict().iter() {
            arrays.push((name.to_owned(), Array::of(tensor).await.map_err(|error| self.tell(&error))?));
        }
        Ok(arrays.into_iter().collect())
    }

    fn properties(&mut self) -> Named<Value> {
        Named::default()
            .with("framework", "flambeau".into())
            .with("version", env!("CARGO_PKG_VERSION").into())
            .with("device", self.device.name().as_str().into())
            .with("examples", Value::Int(self.places.len() as i64))
    }

    fn is_asked_to_stop(&mut self) -> bool {
        is_asked_to_leave()
    }
}

impl Learner {
    /// Tells the user what the server will be told.
    fn tell(&self, error: &FlowerError) -> String {
        let text = error.to_string();
        self.output.say(format!("error: {text}"));
        text
    }
}
