//! Groups of peers: members who are killed and who join, messages that nobody should send, and members who lie. The network is one of
//! `network.rs`, so every run is the same.

mod attacks;
mod network;

use flambeau::group::peers::{Links, PeerId, PeerNews};
use flambeau::group::{Peers, PeersOptions};
use flambeau::nn::Linear;
use flambeau::optim::Sgd;
use flambeau::prelude::*;
use flambeau::train::{Compression, Diloco, DilocoOptions};
use network::{Network, Wire};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

const OUTER: DilocoOptions = DilocoOptions {
    inner_steps: 2,
    outer_rate: 0.7,
    outer_momentum: 0.5,
    compression: Compression::None,
    largest_norm: 10.0,
};

/// What a run has left: for each round the model that members had after it, and losses.
#[derive(Debug, Default)]
struct Log {
    models: BTreeMap<u64, Vec<f32>>,
    losses: Vec<(u64, f64)>,
    news: Vec<(PeerId, PeerNews)>,
    errors: Vec<String>,
    /// The most rounds that a member has made.
    rounds: BTreeMap<PeerId, u64>,
}

type Shared = Rc<RefCell<Log>>;

/// A linear function that all data follow; each member has points of its own.
fn data(seed: u64) -> (Tensor, Tensor) {
    let device = Device::cpu();
    let x = Tensor::rand([16, 3], &Generator::new(seed), &device);
    let weights = Tensor::new([[1.0_f32], [-2.0], [0.5]], &device);
    let y = x.matmul(&weights) + 0.25;
    (x, y)
}

fn network_of(seed: u64) -> Linear {
    Generator::set_default_of_thread(Some(Generator::new(seed)));
    Linear::new(3, 1, &Device::cpu())
}

fn options(model: &Linear, outer: &DilocoOptions) -> PeersOptions {
    PeersOptions::new(Diloco::agreement(&model.parameters(), outer), 512)
}

async fn values(model: &Linear) -> Result<Vec<f32>> {
    let mut all = Vec::new();
    for parameter in model.parameters() {
        all.extend(parameter.value().to_vec::<f32>().await?);
    }
    Ok(all)
}

/// An honest member: trains, and meets the others, for so many rounds of the group.
async fn member(wire: Wire, outer: DilocoOptions, last: u64, log: Shared) -> Result<()> {
    let own = wire.own();
    let model = network_of(own.0 as u64);
    let (x, y) = data(own.0 as u64);
    let peers = Peers::join(Rc::new(wire.clone()), options(&model, &outer)).await?;
    let mut together = Diloco::join(model.parameters(), outer, &peers).await?;
    let mut before = together.rounds();
    while together.rounds() < last {
        for _ in 0..outer.inner_steps {
            let mut sgd = Sgd::new(model.parameters(), 0.1);
            let loss = model.forward(&x).mse_loss(&y);
            loss.backward()?;
            sgd.step()?;
            sgd.zero_grad();
            let loss = loss.item().await?;
            log.borrow_mut().losses.push((before + 1, loss));
            wire.work(Duration::from_millis(20 + own.0 as u64 % 7 * 10)).await;
            peers.tick();
        }
        together.meet(&peers).await?;
        let rounds = together.rounds();
        assert_eq!(rounds, before + 1, "member {own} has made one round after the other");
        before = rounds;
        let now = values(&model).await?;
        let mut log = log.borrow_mut();
        log.news.extend(peers.take_news().into_iter().map(|news| (own, news)));
        let known = log.models.entry(rounds).or_insert_with(|| now.clone()).clone();
        assert_eq!(known, now, "after round {rounds} member {own} has the model that others have");
        log.rounds.insert(own, rounds);
    }
    Ok(())
}

type Task = Pin<Box<dyn Future<Output = Result<()>>>>;

/// Members that run in a network.
struct Run {
    network: Network,
    log: Shared,
    tasks: Vec<(PeerId, Task)>,
    next: u128,
}

impl Run {
    fn new(seed: u64) -> Run {
        Run { network: Network::new(seed), log: Shared::default(), tasks: Vec::new(), next: 1 }
    }

    fn id(&mut self) -> PeerId {
        let id = PeerId(self.next << 96 | self.next);
        self.next += 1;
        id
    }

    fn add(&mut self, outer: DilocoOptions, last: u64) -> PeerId {
        let id = self.id();
        let task = Box::pin(member(self.network.enter(id), outer, last, self.log.clone()));
        self.tasks.push((id, task));
        id
    }

    fn kill(&mut self, id: PeerId, is_silent: bool) {
        self.network.kill(id, is_silent);
        self.tasks.retain(|(other, _)| *other != id);
    }

    /// Lets every member go on as far as it can, and time to the next event; false if nobody is there any more.
    fn turn(&mut self) -> bool {
        let mut ended = Vec::new();
        for (id, task) in &mut self.tasks {
            if let Some(result) = self.network.poll(task) {
                ended.push(*id);
                if let Err(error) = result {
                    self.log.borrow_mut().errors.push(format!("{id}: {error}"));
                }
            }
        }
        ended.iter().for_each(|&id| self.kill(id, false));
        assert!(self.network.now() < Duration::from_secs(100_000), "nobody waits for ever");
        if self.tasks.is_empty() {
            return false;
        }
        assert!(self.network.advance(), "nobody hangs");
        true
    }

    fn rounds(&self) -> u64 {
        self.log.borrow().rounds.values().copied().max().unwrap_or_default()
    }
}

/// The mean of the losses of some rounds.
fn loss(log: &Log, rounds: std::ops::RangeInclusive<u64>) -> f64 {
    let of = log.losses.iter().filter(|(round, _)| rounds.contains(round)).map(|(_, loss)| *loss);
    let losses: Vec<f64> = of.collect();
    losses.iter().sum::<f64>() / losses.len() as f64
}

/// Four members, of whom one is killed or comes every few rounds, for 200 rounds.
fn chaos(seed: u64, outer: DilocoOptions) {
    const ROUNDS: u64 = 200;
    let mut run = Run::new(seed);
    for _ in 0..4 {
        run.add(outer, ROUNDS);
    }
    let (mut killed, mut joined) = (0, 0);
    let mut next = Duration::from_secs(8);
    while run.turn() {
        if run.network.now() < next || run.rounds() >= ROUNDS - 2 {
            continue;
        }
        next = run.network.now() + run.network.chance(|chance| chance.milliseconds(50, 3000));
        let settled: Vec<PeerId> = run.log.borrow().rounds.keys().copied().collect();
        let settled: Vec<PeerId> =
            settled.into_iter().filter(|id| run.tasks.iter().any(|(other, _)| other == id)).collect();
        let there = run.tasks.len() as u64;
        // At least one stays who has what all have learned.
        let kills = settled.len() > 1 && run.network.chance(|chance| chance.below(6)) < there;
        if kills {
            let place = run.network.chance(|chance| chance.below(settled.len() as u64)) as usize;
            let is_silent = run.network.chance(|chance| chance.below(4)) == 0;
            run.kill(settled[place], is_silent);
            killed += 1;
        } else if there < 6 {
            run.add(outer, ROUNDS);
            joined += 1;
        }
    }
    let log = run.log.borrow();
    assert_eq!(log.errors, [] as [&str; 0], "seed {seed}");
    assert_eq!(
        log.models.keys().copied().collect::<Vec<_>>(),
        (1..=ROUNDS).collect::<Vec<_>>(),
        "no round is lost"
    );
    assert!(killed > 10 && joined > 10, "{killed} killed, {joined} joined");
    let (first, last) = (loss(&log, 1..=5), loss(&log, ROUNDS - 5..=ROUNDS));
    assert!(last < 0.01 * first, "seed {seed}: losses fall from {first} to {last}");
    println!(
        "seed {seed}: {killed} killed, {joined} joined, losses {first:.4} to {last:.6}, {:?}",
        run.network.now()
    );
}

#[test]
fn four_members_200_rounds_killed_and_joining() {
    chaos(1, OUTER);
}

#[test]
fn the_same_with_compressed_updates() {
    chaos(2, DilocoOptions { compression: Compression::INT8, ..OUTER });
}

/// A member that does not come in time is left out, and can come again.
#[test]
fn who_agrees_to_something_else_is_not_let_in() {
    let mut run = Run::new(3);
    for _ in 0..2 {
        run.add(OUTER, 8);
    }
    while run.rounds() < 2 {
        assert!(run.turn());
    }
    run.add(DilocoOptions { outer_rate: 0.1, ..OUTER }, 8);
    while run.turn() {}
    let log = run.log.borrow();
    assert_eq!(log.rounds.len(), 2);
    assert!(log.errors.len() == 1 && log.errors[0].contains("agreed on something else"), "{:?}", log.errors);
}

/// One alone trains on, and a second is let in.
#[test]
fn one_alone_is_a_group() {
    let mut run = Run::new(4);
    run.add(OUTER, 12);
    while run.rounds() < 3 {
        assert!(run.turn());
    }
    run.add(OUTER, 12);
    while run.turn() {}
    let log = run.log.borrow();
    assert_eq!((log.errors.len(), log.rounds.len()), (0, 2), "{:?}", log.errors);
    assert!(log.news.iter().any(|(_, news)| matches!(news, PeerNews::Came { .. })));
}
