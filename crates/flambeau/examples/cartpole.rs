//! A pole on a cart learns to stand (REINFORCE): the world is plain Rust, the policy a network, and the loss made of what
//! the policy did and what came of it.
//!
//! `cargo run --release --example cartpole -- [updates]`

use flambeau::data::HostRandom;
use flambeau::nn::models::Mlp;
use flambeau::optim::Adam;
use flambeau::prelude::*;

/// Carts that run at the same time: the policy decides for all of them at once.
const CARTS: usize = 16;
/// A cart that stands for so long is done.
const LIMIT: usize = 200;
const DISCOUNT: f32 = 0.99;

/// Position, speed, angle of the pole from upright, and how fast that changes: metres, radians, seconds.
type State = [f32; 4];

/// The state a fiftieth of a second later, pushed to the right or to the left with 10 N. Barto, Sutton and Anderson, 1983:
/// a cart of 1 kg, a pole of 0.1 kg whose centre is 0.5 m up, no friction.
fn pushed([x, speed, angle, turning]: State, right: bool) -> State {
    let (gravity, pole, half_length, total) = (9.8, 0.1, 0.5, 1.1);
    let force = if right { 10.0 } else { -10.0 };
    let (sin, cos) = angle.sin_cos();
    let shared = (force + pole * half_length * turning * turning * sin) / total;
    let angular = (gravity * sin - cos * shared) / (half_length * (4.0 / 3.0 - pole * cos * cos / total));
    let linear = shared - pole * half_length * angular * cos / total;
    let tick = 0.02;
    [x + tick * speed, speed + tick * linear, angle + tick * turning, turning + tick * angular]
}

fn stands([x, _, angle, _]: State) -> bool {
    x.abs() < 2.4 && angle.abs() < 12f32.to_radians()
}

/// What one cart saw, did (1 is right) and how long it stood.
#[derive(Default)]
struct Episode {
    states: Vec<State>,
    actions: Vec<i32>,
}

fn main() -> Result<()> {
    flambeau::block_on(run())
}

async fn run() -> Result<()> {
    let updates = std::env::args().nth(1).map_or(40, |updates| updates.parse().expect("a number of updates"));
    let device = Device::best().await;
    println!("On {}", device.name());
    flambeau::manual_seed(1);
    let policy = Mlp::new(&[4, 64, 2], &device);
    let mut optimizer = Adam::new(policy.parameters(), 1e-2);
    let mut random = HostRandom::new(&Generator::new(2));
    let mut returns = Vec::new();
    for update in 0..updates {
        let episodes = play(&policy, &mut random, &device).await?;
        let stood: usize = episodes.iter().map(|episode| episode.actions.len()).sum();
        returns.push(stood as f64 / CARTS as f64);
        if update % 5 == 0 || update + 1 == updates {
            println!("update {update:>3}: the pole stands for {:.1} ticks", returns[update]);
        }
        reinforce(&policy, &episodes, &device).backward()?;
        optimizer.step()?;
        optimizer.zero_grad();
    }
    let mean = |returns: &[f64]| returns.iter().sum::<f64>() / returns.len() as f64;
    // Whatever one does, a pole takes some time to fall.
    assert!(returns.iter().all(|&ticks| ticks > 8.0));
    if updates >= 40 {
        let (early, late) = (mean(&returns[..5]), mean(&returns[updates - 5..]));
        println!("From {early:.1} ticks in the first five updates to {late:.1} in the last five");
        assert!(late > 3.0 * early);
    }
    Ok(())
}

/// An episode of every cart, with actions drawn from the policy.
async fn play(policy: &Mlp, random: &mut HostRandom, device: &Device) -> Result<Vec<Episode>> {
    let mut start = || std::array::from_fn(|_| (random.uniform() as f32 - 0.5) * 0.1);
    let mut states: Vec<State> = (0..CARTS).map(|_| start()).collect();
    let mut episodes: Vec<Episode> = (0..CARTS).map(|_| Episode::default()).collect();
    for _ in 0..LIMIT {
        // Those that fell are asked too, and not listened to: the shapes stay, and with them the plan.
        let probabilities = no_grad(|| policy.forward(&Tensor::new(&states[..], device)).softmax(1));
        let probabilities: Vec<f32> = probabilities.to_vec().await?;
        for (cart, state) in states.iter_mut().enumerate().filter(|(_, state)| stands(**state)) {
            let right = random.uniform() < f64::from(probabilities[2 * cart + 1]);
            episodes[cart].states.push(*state);
            episodes[cart].actions.push(i32::from(right));
            *state = pushed(*state, right);
        }
    }
    Ok(episodes)
}

/// −Σ log p(action) · (how much better than usual it went on from there), over all ticks of all carts.
fn reinforce(policy: &Mlp, episodes: &[Episode], device: &Device) -> Tensor {
    let mut ticks: Vec<(State, i32, f32)> = Vec::new();
    for Episode { states, actions } in episodes {
        let mut ahead = 0.0;
        for (&state, &action) in states.iter().zip(actions).rev() {
            ahead = 1.0 + DISCOUNT * ahead;
            ticks.push((state, action, ahead));
        }
    }
    let count = ticks.len() as f32;
    let mean = ticks.iter().map(|tick| tick.2).sum::<f32>() / count;
    let spread = (ticks.iter().map(|tick| (tick.2 - mean).powi(2)).sum::<f32>() / count).sqrt();
    ticks.iter_mut().for_each(|tick| tick.2 = (tick.2 - mean) / (spread + 1e-6) / count);
    // Ticks that count for nothing fill up to the same shape in every update.
    ticks.resize(CARTS * LIMIT, ([0.0; 4], 0, 0.0));
    let states: Vec<State> = ticks.iter().map(|tick| tick.0).collect();
    let actions: Vec<[i32; 1]> = ticks.iter().map(|tick| [tick.1]).collect();
    let advantages: Vec<[f32; 1]> = ticks.iter().map(|tick| [tick.2]).collect();
    let log_probabilities = policy.forward(&Tensor::new(states, device)).log_softmax(1);
    let taken = log_probabilities.gather(1, &Tensor::new(actions, device));
    -(taken * Tensor::new(advantages, device)).sum(..)
}
