//! `integration.cpp`: whole trainings, small enough for every run of the tests.

use crate::common::{start_from, values};
use crate::tools::{each_that_takes_long, number};
use flambeau::data::{HostRandom, Images};
use flambeau::nn::*;
use flambeau::optim::{Adam, Sgd, SgdOptions};
use flambeau::prelude::*;

/// Carts that run at the same time: the network decides for all of them at once.
const CARTS: usize = 16;
/// A cart that stands for so long is done.
const LIMIT: usize = 200;

/// Position, speed, angle of the pole from upright, and how fast that changes.
type State = [f32; 4];

/// The state a fiftieth of a second later (Barto, Sutton and Anderson, 1983): a cart of 1 kg, a pole of 0.1 kg whose centre is
/// 0.5 m up, pushed with 10 N.
fn pushed([x, speed, angle, turning]: State, right: bool) -> State {
    let (force, (sin, cos)) = (if right { 10.0 } else { -10.0 }, angle.sin_cos());
    let shared = (force + 0.05 * turning * turning * sin) / 1.1;
    let angular = (9.8 * sin - cos * shared) / (0.5 * (4.0 / 3.0 - 0.1 * cos * cos / 1.1));
    let linear = shared - 0.05 * angular * cos / 1.1;
    [x + 0.02 * speed, speed + 0.02 * linear, angle + 0.02 * turning, turning + 0.02 * angular]
}

fn stands([x, _, angle, _]: State) -> bool {
    x.abs() < 2.4 && angle.abs() < 12f32.to_radians()
}

/// A policy and an estimate of what is to come, from shared features.
#[derive(Module)]
struct ActorCritic {
    features: Linear,
    actor: Linear,
    critic: Linear,
}

impl ActorCritic {
    fn forward(&self, states: &Tensor) -> (Tensor, Tensor) {
        let features = self.features.forward(states).relu();
        (self.actor.forward(&features).log_softmax(1), self.critic.forward(&features))
    }
}

/// What carts saw and did (1 is right), one after the other, and how good it was from there.
#[derive(Default)]
struct Played {
    states: Vec<State>,
    actions: Vec<i32>,
    returns: Vec<f32>,
}

/// An episode of every cart; also how long they stood on average.
fn play(model: &ActorCritic, random: &mut HostRandom, device: &Device) -> (Played, f64) {
    let mut states: Vec<State> =
        (0..CARTS).map(|_| std::array::from_fn(|_| (random.uniform() as f32 - 0.5) * 0.1)).collect();
    let mut episodes: Vec<Vec<(State, i32)>> = vec![Vec::new(); CARTS];
    for _ in 0..LIMIT {
        if !states.iter().any(|&state| stands(state)) {
            break;
        }
        let chances = no_grad(|| values(&model.forward(&Tensor::new(&states[..], device)).0.exp()));
        for (cart, state) in states.iter_mut().enumerate().filter(|(_, state)| stands(**state)) {
            let right = random.uniform() < chances[2 * cart + 1];
            episodes[cart].push((*state, i32::from(right)));
            *state = pushed(*state, right);
        }
    }
    let mut played = Played::default();
    for episode in &episodes {
        let mut ahead = 0.0;
        for &(state, action) in episode.iter().rev() {
            ahead = 1.0 + 0.99 * ahead;
            played.states.push(state);
            played.actions.push(action);
            played.returns.push(ahead);
        }
    }
    let length = played.states.len() as f64 / CARTS as f64;
    (played, length)
}

/// −log p(action) · advantage, and the critic's error. What fills up to one shape counts for nothing.
fn loss(model: &ActorCritic, mut played: Played, device: &Device) -> Tensor {
    let count = played.states.len();
    let (mean, spread) = {
        let mean = played.returns.iter().sum::<f32>() / count as f32;
        let square = played.returns.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / count as f32;
        (mean, square.sqrt() + 1e-6)
    };
    played.returns.iter_mut().for_each(|value| *value = (*value - mean) / spread);
    let mut counted = vec![1.0f32 / count as f32; count];
    counted.resize(CARTS * LIMIT, 0.0);
    played.states.resize(CARTS * LIMIT, [0.0; 4]);
    played.actions.resize(CARTS * LIMIT, 0);
    played.returns.resize(CARTS * LIMIT, 0.0);
    let column = |numbers: Vec<f32>| Tensor::new(numbers, device).unsqueeze(1);
    let (returns, counted) = (column(played.returns), column(counted));
    let (policy, expected) = model.forward(&Tensor::new(played.states, device));
    let advantage = &returns - expected.detach();
    let taken = policy.gather(1, &Tensor::new(played.actions, device).unsqueeze(1));
    ((-taken * advantage + (expected - returns).square() * 0.5) * counted).sum(..)
}

/// By actor and critic, until the pole stands for more than 150 ticks, within 3,000 episodes.
#[test]
fn cart_pole() {
    each_that_takes_long(|device| {
        let model = ActorCritic {
            features: Linear::new(4, 64, device),
            actor: Linear::new(64, 2, device),
            critic: Linear::new(64, 1, device),
        };
        start_from(1, &model);
        let mut optimizer = Adam::new(model.parameters(), 1e-2);
        let mut random = HostRandom::new(&Generator::new(2));
        let mut running = 10.0;
        for _ in 0..3000 / CARTS {
            let (played, length) = play(&model, &mut random, device);
            running = 0.7 * running + 0.3 * length;
            if running > 150.0 {
                return;
            }
            loss(&model, played, device).backward().unwrap();
            optimizer.step().unwrap();
            optimizer.zero_grad();
        }
        panic!("the pole stands for {running} ticks after 3,000 episodes");
    });
}

/// One of MNIST's two parts, `train` or `t10k`. The files are in the binary: a browser could not open them.
macro_rules! mnist {
    ($part:literal) => {
        Images::from_idx(
            include_bytes!(concat!("../../../../data/mnist/", $part, "-images-idx3-ubyte.gz")),
            include_bytes!(concat!("../../../../data/mnist/", $part, "-labels-idx1-ubyte.gz")),
        )
        .unwrap()
    };
}

/// Trains on the first pictures of MNIST, and gives the share of test pictures that are told right.
fn told_right(model: &Sequential, device: &Device) -> f64 {
    const TRAINED: usize = 1280;
    const TESTED: usize = 320;
    let (train, test) = (mnist!("train"), mnist!("t10k"));
    let take = |images: &Images, first: usize, count: usize| {
        let mut pixels = Vec::with_capacity(count * 784);
        for index in first..first + count {
            pixels.extend(flambeau::data::Dataset::get(images, index).unwrap()[0].values::<f32>().unwrap());
        }
        (
            Tensor::from_vec(pixels, [count, 1, 28, 28], device),
            Tensor::new(&images.labels()[first..first + count], device),
        )
    };
    let options = SgdOptions { learning_rate: 0.05, momentum: 0.9, ..Default::default() };
    let mut optimizer = Sgd::with_options(model.parameters(), options);
    model.train();
    for _epoch in 0..3 {
        for first in (0..TRAINED).step_by(32) {
            let (x, y) = take(&train, first, 32);
            model.forward(&x).cross_entropy(&y).backward().unwrap();
            optimizer.step().unwrap();
            optimizer.zero_grad();
        }
    }
    model.eval();
    let (x, y) = take(&test, 0, TESTED);
    let found = no_grad(|| model.forward(&x).argmax(1));
    number(&found.eq(&y).to_dtype(DType::F32).mean(..))
}

#[test]
fn mnist() {
    each_that_takes_long(|device| {
        let pool = || MaxPool2d::new(2);
        let model = Sequential::new()
            .with(Conv2d::new(1, 8, 5, device))
            .with(pool())
            .with(Relu)
            .with(Conv2d::new(8, 16, 5, device))
            .with(Dropout2d::new(0.1))
            .with(pool())
            .with(Relu)
            .with(Flatten::default())
            .with(Linear::new(256, 50, device))
            .with(Relu)
            .with(Linear::new(50, 10, device));
        start_from(1, &model);
        let share = told_right(&model, device);
        assert!(share > 0.8, "{share}");
    });
}

#[test]
fn mnist_batch_norm() {
    each_that_takes_long(|device| {
        let model = Sequential::new()
            .with(Conv2d::new(1, 8, 5, device))
            .with(BatchNorm2d::new(8, device))
            .with(MaxPool2d::new(2))
            .with(Relu)
            .with(Conv2d::new(8, 16, 5, device))
            .with(MaxPool2d::new(2))
            .with(Relu)
            .with(Flatten::default())
            .with(Linear::new(256, 50, device))
            .with(BatchNorm1d::new(50, device))
            .with(Relu)
            .with(Linear::new(50, 10, device));
        start_from(1, &model);
        let share = told_right(&model, device);
        assert!(share > 0.8, "{share}");
    });
}
