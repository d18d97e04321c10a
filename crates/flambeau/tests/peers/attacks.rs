//! Members and strangers who send what they must not.

use crate::network::{Chance, Network, Wire};
use crate::{OUTER, Run, Shared, network_of, options};
use flambeau::group::peers::{LinkEvent, Links, PeerId, PeerNews};
use flambeau::group::{Group, Peers};
use flambeau::prelude::*;
use flambeau::train::{Diloco, DilocoOptions};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

const ROUNDS: u64 = 40;

/// The models of three members, of whom nobody is disturbed.
fn undisturbed(rounds: u64) -> BTreeMap<u64, Vec<f32>> {
    let mut run = Run::new(5);
    three(&mut run, rounds);
    while run.turn() {}
    let log = run.log.borrow();
    assert_eq!(log.errors, [] as [&str; 0]);
    log.models.clone()
}

/// Three members, who are all there before the first is done with its first round.
fn three(run: &mut Run, rounds: u64) {
    for _ in 0..3 {
        run.add(OUTER, rounds);
    }
}

/// Bytes that a stranger sends: nonsense, and what honest members have sent, damaged or again.
fn hostile(network: &Network, chance: &mut Chance) -> Vec<u8> {
    let heard = network.overheard().unwrap_or_default();
    let random =
        |chance: &mut Chance, length: u64| (0..length).map(|_| chance.next() as u8).collect::<Vec<u8>>();
    match chance.below(8) {
        0 => {
            let length = chance.below(200);
            random(chance, length)
        }
        1 => vec![chance.below(12) as u8; chance.below(70_000) as usize],
        2 => heard[..chance.below(heard.len() as u64 + 1) as usize].to_vec(),
        3 => [&heard[..], &[0]].concat(),
        4 | 5 => {
            let mut damaged = heard;
            for _ in 0..=chance.below(4) {
                let place = chance.below(damaged.len().max(1) as u64) as usize;
                if let Some(byte) = damaged.get_mut(place) {
                    *byte = chance.next() as u8;
                }
            }
            damaged
        }
        6 => {
            // Parts of any epoch, number, size and place.
            let mut part = vec![7];
            part.extend_from_slice(&chance.below(40).to_le_bytes());
            for _ in 0..3 {
                let largest = [4, 4096, u64::from(u32::MAX)][chance.below(3) as usize];
                part.extend_from_slice(&(chance.below(largest) as u32).to_le_bytes());
            }
            let length = chance.below(300);
            part.extend(random(chance, length));
            part
        }
        _ => heard,
    }
}

/// Strangers send 10,000 messages; who is gone comes again under another name. The members have bit for bit the
/// models that they have without.
#[test]
fn ten_thousand_hostile_messages_change_nothing() {
    const MESSAGES: usize = 10_000;
    let wanted = undisturbed(ROUNDS);
    let mut run = Run::new(5);
    three(&mut run, ROUNDS);
    while run.rounds() < 1 {
        assert!(run.turn());
    }
    let members: Vec<PeerId> = run.tasks.iter().map(|(id, _)| *id).collect();
    let mut chance = Chance::new(77);
    let mut strangers: Vec<(Wire, Duration)> = Vec::new();
    let (mut sent, mut closed) = (0, 0);
    loop {
        let now = run.network.now();
        strangers.retain(|(stranger, end)| {
            let events = std::iter::from_fn(|| stranger.next_event());
            closed += events.filter(|event| matches!(event, LinkEvent::Closed { .. })).count();
            if now >= *end {
                run.network.kill(stranger.own(), false);
            }
            now < *end
        });
        while sent < MESSAGES && strangers.len() < 8 {
            let id = run.id();
            let stranger = run.network.enter(id);
            for _ in 0..40 {
                let to = members[chance.below(3) as usize];
                stranger.send(to, &hostile(&run.network, &mut chance));
                sent += 1;
            }
            strangers.push((stranger, now + Duration::from_millis(150)));
        }
        if !run.turn() {
            break;
        }
    }
    let log = run.log.borrow();
    assert!(sent >= MESSAGES, "{sent} sent");
    assert_eq!(log.errors, [] as [&str; 0]);
    assert_eq!(log.models, wanted);
    let refused = log.news.iter().filter(|(_, news)| matches!(news, PeerNews::Refused { .. })).count();
    assert!(refused > 200 && closed > 200, "{refused} strangers were refused, {closed} links closed");
    println!("{sent} hostile messages, {refused} strangers refused");
}

/// What a member does who was let in.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Lie {
    NotFinite,
    Infinite,
    Huge,
    Short,
    Long,
    Nothing,
    /// Half of a message, and then nothing.
    NoEnd,
    /// Another update to each.
    Different,
    /// What nobody has sent, as if all had.
    WrongDigests,
    /// More rounds than all others, with a model of its own.
    Ahead,
    /// Messages that are out of turn.
    OutOfTurn,
    /// A flood of messages of the right kind.
    Flood,
}

const LIES: [Lie; 12] = [
    Lie::NotFinite,
    Lie::Infinite,
    Lie::Huge,
    Lie::Short,
    Lie::Long,
    Lie::Nothing,
    Lie::NoEnd,
    Lie::Different,
    Lie::WrongDigests,
    Lie::Ahead,
    Lie::OutOfTurn,
    Lie::Flood,
];

/// A message of a gathering, as members write it.
fn gathering(body: &[u8], number: u32) -> Vec<u8> {
    let mut message = body.to_vec();
    [2, number, 0].iter().for_each(|word: &u32| message.extend_from_slice(&word.to_le_bytes()));
    message
}

fn numbers(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Joins as an honest member does, and then lies.
async fn liar(wire: Wire, lie: Lie, _log: Shared) -> Result<()> {
    let model = network_of(1);
    let peers = Peers::join(Rc::new(wire.clone()), options(&model, &OUTER)).await?;
    if lie == Lie::Ahead {
        let claim = [&(1_u64 << 40).to_le_bytes()[..], &[7; 16], &[8; 16]].concat();
        peers.gather(claim).await?;
    } else {
        Diloco::join(model.parameters(), OUTER, &peers).await?;
    }
    // (Flat parameters lie at multiples of 128.)
    let length =
        Diloco::start(model.parameters(), OUTER, &flambeau::group::Threads::group(1)[0]).await?.numbers();
    let mut update = vec![0.01_f32; length];
    match lie {
        Lie::NotFinite => update[length / 2] = f32::NAN,
        Lie::Infinite => update[0] = f32::NEG_INFINITY,
        Lie::Huge => update.fill(1e30),
        Lie::Short => drop(update.pop()),
        Lie::Long => update.extend([0.0; 3]),
        Lie::Nothing => update.clear(),
        _ => {}
    }
    let others = || (0..peers.size()).filter(|&rank| rank != peers.rank());
    match lie {
        Lie::Different => {
            for rank in others() {
                update[0] = rank as f32;
                peers.send(rank, gathering(&numbers(&update), 2))?;
            }
        }
        Lie::OutOfTurn => others().try_for_each(|rank| peers.send(rank, gathering(&numbers(&update), 9)))?,
        Lie::Flood => {
            for _ in 0..200 {
                others().try_for_each(|rank| peers.send(rank, gathering(&numbers(&update), 2)))?;
            }
        }
        Lie::NoEnd => {
            for peer in peers.members() {
                let mut part = vec![7];
                part.extend_from_slice(&3_u64.to_le_bytes());
                [0_u32, 4000, 0].iter().for_each(|word| part.extend_from_slice(&word.to_le_bytes()));
                wire.send(peer, &part);
            }
        }
        _ => drop(peers.gather(numbers(&update)).await),
    }
    if lie == Lie::WrongDigests {
        let claims = vec![9; 16 * (peers.size() + 1)];
        _ = peers.gather(claims).await;
    }
    // It goes on as if nothing had happened.
    loop {
        wire.work(Duration::from_secs(1)).await;
        peers.tick();
    }
}

/// Three honest members and one after the other who lies: no round is lost, all who are honest stay and have one model, and whoever has lied
/// is gone.
#[test]
fn members_who_lie_are_left_out() {
    for (k, lie) in LIES.into_iter().enumerate() {
        let mut run = Run::new(20 + k as u64);
        three(&mut run, ROUNDS);
        while run.rounds() < 4 {
            assert!(run.turn());
        }
        let honest: Vec<PeerId> = run.tasks.iter().map(|(id, _)| *id).collect();
        let id = run.id();
        let task = Box::pin(liar(run.network.enter(id), lie, run.log.clone()));
        run.tasks.push((id, task));
        while run.rounds() < ROUNDS {
            assert!(run.turn(), "{lie:?}");
        }
        // All come to the end.
        for _ in 0..20_000 {
            if honest.iter().all(|id| run.log.borrow().rounds.get(id) == Some(&ROUNDS)) {
                break;
            }
            run.turn();
        }
        let log = run.log.borrow();
        let errors: Vec<&String> =
            log.errors.iter().filter(|error| !error.starts_with(&id.to_string())).collect();
        assert!(errors.is_empty(), "{lie:?}: {errors:?}");
        assert_eq!(log.models.len() as u64, ROUNDS, "{lie:?}");
        for member in &honest {
            assert_eq!(log.rounds.get(member), Some(&ROUNDS), "{lie:?}: {member} has come to the end");
        }
        let said = |(of, news): &(PeerId, PeerNews)| match news {
            PeerNews::Refused { peer, .. } | PeerNews::Left { peer, .. } => {
                honest.contains(of) && *peer == id
            }
            PeerNews::Came { .. } => false,
        };
        assert!(log.news.iter().any(said), "{lie:?}: nobody names the one who lied: {:?}", log.news);
        let wrongly = log.news.iter().any(|(of, news)| {
            honest.contains(of) && matches!(news, PeerNews::Refused { peer, .. } if honest.contains(peer))
        });
        assert!(!wrongly, "{lie:?}: {:?}", log.news);
    }
}

/// A member whose parameters have gone far sends no more than was agreed on.
#[test]
fn a_members_own_update_is_made_shorter() {
    let wild = DilocoOptions { largest_norm: 1e-3, ..OUTER };
    let mut run = Run::new(8);
    for _ in 0..3 {
        run.add(wild, 6);
    }
    while run.turn() {}
    let log = run.log.borrow();
    assert_eq!(log.errors, [] as [&str; 0]);
    assert!(!log.news.iter().any(|(_, news)| matches!(news, PeerNews::Refused { .. })), "{:?}", log.news);
    assert_eq!(log.rounds.len(), 3);
}
