//! DiLoCo: what it must equal exactly, compression, and members that leave and join.

use crate::common::{assert_close, start_from, values};
use crate::group::together;
use flambeau::block_on;
use flambeau::data::{DataLoader, TensorDataset};
use flambeau::group::{Group, Threads};
use flambeau::io::{Checkpoints, Stateful};
use flambeau::nn::{Linear, Sequential};
use flambeau::optim::{Adam, Ema, Sgd};
use flambeau::prelude::*;
use flambeau::train::{Compression, Diloco, DilocoOptions, Outcome, Trainer};
use std::sync::Barrier;

fn network() -> Sequential {
    let device = Device::cpu();
    let model = Sequential::new()
        .with(Linear::new(4, 16, &device))
        .with(|x: &Tensor| x.tanh())
        .with(Linear::new(16, 3, &device));
    start_from(3, &model);
    model
}

/// A batch of a seed: (x, labels).
fn batch(seed: u64) -> (Tensor, Tensor) {
    let (device, generator) = (Device::cpu(), Generator::new(seed));
    (Tensor::randn([8, 4], &generator, &device), Tensor::randint(0, 3, [8], &generator, &device))
}

fn step(model: &Sequential, optimizer: &mut dyn Optimizer, (x, y): (Tensor, Tensor)) {
    model.forward(&x).cross_entropy(&y).backward().unwrap();
    optimizer.step().unwrap();
    optimizer.zero_grad();
}

fn weights(model: &Sequential) -> Vec<f64> {
    model.parameters().iter().flat_map(|weight| values(&weight.value())).collect()
}

const AS_ONE: DilocoOptions = DilocoOptions {
    inner_steps: 1,
    outer_rate: 1.0,
    outer_momentum: 0.0,
    compression: Compression::None,
    largest_norm: f64::INFINITY,
};

#[test]
fn one_inner_step_of_sgd_is_a_step_in_step() {
    let members = together(3, |member| {
        let (local, in_step) = (network(), network());
        let mut sgd = Sgd::new(local.parameters(), 0.3);
        let mut reference = Sgd::new(in_step.parameters(), 0.3);
        let mut outer = block_on(Diloco::start(local.parameters(), AS_ONE, &member)).unwrap();
        for k in 0..10 {
            let data = || batch(100 * k + member.rank() as u64);
            step(&local, &mut sgd, data());
            block_on(outer.round(&member)).unwrap();
            let (x, y) = data();
            in_step.forward(&x).cross_entropy(&y).backward().unwrap();
            block_on(member.reduce_gradients(&reference)).unwrap();
            reference.step().unwrap();
            reference.zero_grad();
        }
        assert_eq!(outer.rounds(), 10);
        (weights(&local), weights(&in_step))
    });
    for (local, in_step) in &members {
        assert_eq!(local, &members[0].0, "members differ");
        assert_close(local, in_step, 1e-6, 0.0);
    }
}

/// Weights after rounds of Adam, all members with the same batches.
fn equal_data(member: Threads, options: DilocoOptions) -> Vec<f64> {
    let model = network();
    let mut adam = Adam::new(model.parameters(), 1e-2);
    let mut outer = block_on(Diloco::start(model.parameters(), options, &member)).unwrap();
    for round in 0..5 {
        (0..4).for_each(|k| step(&model, &mut adam, batch(10 * round + k)));
        block_on(outer.round(&member)).unwrap();
    }
    weights(&model)
}

#[test]
fn members_with_equal_data_are_one() {
    for compression in [Compression::None, Compression::INT8, Compression::TopK { share: 0.1 }] {
        let options = DilocoOptions { inner_steps: 4, compression, ..DilocoOptions::default() };
        let alone = together(1, |member| equal_data(member, options));
        let several = together(4, |member| equal_data(member, options));
        several.iter().for_each(|of_member| assert_eq!(of_member, &alone[0], "{compression:?}"));
    }
}

/// By hand with the formula in the docs of `torch.optim.SGD` (lr 0.7, momentum 0.9, nesterov) for the gradients 0.5, −0.25 and 1:
/// v = 0.5, 0.2, 1.18; steps 0.7 · 0.95, 0.7 · −0.07, 0.7 · 2.062.
#[test]
fn the_outer_optimizer_is_sgd_with_nesterovs_momentum() {
    let weight = Parameter::new(&Tensor::new([2.0], &Device::cpu()));
    let member = Threads::group(1).pop().unwrap();
    let options = DilocoOptions::default();
    let mut outer = block_on(Diloco::start(vec![weight.clone()], options, &member)).unwrap();
    for (moved, theta) in [(0.5, 1.335), (-0.25, 1.384), (1.0, -0.0594)] {
        weight.set(&(weight.value() - moved));
        block_on(outer.round(&member)).unwrap();
        assert_close(&values(&weight.value()), &[theta], 1e-6, 0.0);
    }
}

#[test]
fn what_is_sent_and_what_is_kept_are_the_update() {
    for compression in [Compression::INT8, Compression::TopK { share: 0.2 }] {
        let member = Threads::group(1).pop().unwrap();
        let model = network();
        let mut sgd = Sgd::new(model.parameters(), 0.3);
        let options = DilocoOptions { compression, ..AS_ONE };
        let mut outer = block_on(Diloco::start(model.parameters(), options, &member)).unwrap();
        let tensor = |outer: &Diloco, name: &str| values(outer.state().tensors.get(name).unwrap());
        let mut learned = vec![0.0; tensor(&outer, "start").len()];
        let first = tensor(&outer, "start");
        for k in 0..6 {
            let before = tensor(&outer, "start");
            step(&model, &mut sgd, batch(k));
            // θ_H, packed as DiLoCo packs it.
            let now = block_on(Diloco::start(model.parameters(), options, &member)).unwrap();
            let now = tensor(&now, "start");
            learned
                .iter_mut()
                .zip(before.iter().zip(&now))
                .for_each(|(sum, (before, now))| *sum += before - now);
            block_on(outer.round(&member)).unwrap();
        }
        let (last, kept) = (tensor(&outer, "start"), tensor(&outer, "kept"));
        assert!(kept.iter().any(|kept| *kept != 0.0), "{compression:?} loses nothing?");
        // Σ updates = what has moved θ₀ + what is kept still.
        let accounted: Vec<f64> =
            first.iter().zip(&last).zip(&kept).map(|((first, last), kept)| first - last + kept).collect();
        assert_close(&accounted, &learned, 1e-6, 0.0);
    }
}

#[test]
fn compression_sends_fewer_bytes() {
    let sent = |compression: Compression| {
        together(2, |member| {
            let model = network();
            let options = DilocoOptions { compression, ..AS_ONE };
            let mut outer = block_on(Diloco::start(model.parameters(), options, &member)).unwrap();
            let before = member.traffic().transmitted().bytes;
            block_on(outer.round(&member)).unwrap();
            member.traffic().transmitted().bytes - before
        })[0]
    };
    // 388 numbers: parameters begin at multiples of 128, and together they are whole fours.
    assert_eq!(sent(Compression::None), 4 * 388 + 2 * 12);
    assert_eq!(sent(Compression::INT8), 388 + 2 * 4 + 12);
    assert_eq!(sent(Compression::TopK { share: 0.1 }), 39 * 8 + 12);
}

#[test]
fn members_leave_and_join_between_rounds() {
    let mut group = Threads::group(3);
    let room = group[0].room();
    // The new one comes after the other has left.
    let left = Barrier::new(3);
    let left = &left;
    let options = DilocoOptions { inner_steps: 2, ..DilocoOptions::default() };
    let train = move |outer: &mut Diloco, member: &Threads, model: &Sequential, round: u64| {
        let mut sgd = Sgd::new(model.parameters(), 0.1);
        (0..2).for_each(|k| step(model, &mut sgd, batch(100 * round + 10 * k + member.rank() as u64)));
        block_on(outer.round(member))
    };
    let begin = move |member: &Threads| {
        let model = network();
        let outer = block_on(Diloco::start(model.parameters(), options, member)).unwrap();
        (model, outer)
    };
    std::thread::scope(|scope| {
        let leaver = group.remove(1);
        let stayers: Vec<_> = group
            .into_iter()
            .map(|member| {
                scope.spawn(move || {
                    let (model, mut outer) = begin(&member);
                    train(&mut outer, &member, &model, 0).unwrap();
                    // Member 1 leaves after the first round.
                    let membership = block_on(outer.regroup(&member)).unwrap();
                    assert_eq!((membership.size, membership.joined), (2, 0));
                    left.wait();
                    train(&mut outer, &member, &model, 1).unwrap();
                    let joined = loop {
                        // The new one comes when it comes.
                        let membership = block_on(outer.regroup(&member)).unwrap();
                        if membership.joined > 0 {
                            break membership;
                        }
                    };
                    assert_eq!((joined.size, joined.joined), (3, 1));
                    train(&mut outer, &member, &model, 2).unwrap();
                    (outer.rounds(), weights(&model))
                })
            })
            .collect();
        scope
            .spawn(move || {
                let (model, mut outer) = begin(&leaver);
                train(&mut outer, &leaver, &model, 0).unwrap();
            })
            .join()
            .unwrap();
        let joiner = scope.spawn(move || {
            left.wait();
            let member = room.join().unwrap();
            let model = network();
            model.parameters().iter().for_each(|weight| weight.set(&(weight.value() + 1.0)));
            let mut outer = block_on(Diloco::join(model.parameters(), options, &member)).unwrap();
            assert!(outer.rounds() >= 1, "it has what the others have come to");
            train(&mut outer, &member, &model, 2).unwrap();
            (outer.rounds(), weights(&model))
        });
        let new = joiner.join().unwrap();
        for stayer in stayers {
            assert_eq!(stayer.join().unwrap(), new);
        }
        assert_eq!(new.0, 3);
    });
}

#[test]
fn a_member_lost_in_a_round_does_not_end_the_others() {
    let mut group = Threads::group(3);
    std::thread::scope(|scope| {
        let lost = group.pop().unwrap();
        let others: Vec<_> = group
            .into_iter()
            .map(|member| {
                scope.spawn(move || {
                    let model = network();
                    let mut sgd = Sgd::new(model.parameters(), 0.1);
                    let mut outer = block_on(Diloco::start(model.parameters(), AS_ONE, &member)).unwrap();
                    step(&model, &mut sgd, batch(member.rank() as u64));
                    let error = block_on(outer.round(&member)).unwrap_err();
                    assert!(matches!(error, Error::Group { rank: 2, .. }), "{error}");
                    assert_eq!(outer.rounds(), 0);
                    assert_eq!(block_on(outer.regroup(&member)).unwrap().size, 2);
                    block_on(outer.round(&member)).unwrap();
                    weights(&model)
                })
            })
            .collect();
        scope.spawn(move || {
            let model = network();
            block_on(Diloco::start(model.parameters(), AS_ONE, &lost)).unwrap();
        });
        let ends: Vec<_> = others.into_iter().map(|other| other.join().unwrap()).collect();
        assert_eq!(ends[0], ends[1]);
    });
}

#[test]
fn the_trainer_meets_every_few_steps_and_goes_on_from_a_checkpoint() {
    let device = Device::cpu();
    let folder = std::env::temp_dir().join(format!("flambeau-diloco-{}", std::process::id()));
    let train = |member: Threads, name: &str, steps: u64, resume: bool| {
        let x = Tensor::rand([48, 4], &Generator::new(5), &device) * 2.0 - 1.0;
        // Learnable: the class is the largest of three numbers.
        let y = x.narrow(1, 0, 3).argmax(1);
        let data = TensorDataset::new([x, y]).unwrap();
        let mut batches = DataLoader::new(data, &device).with_batch_size(8).with_shuffle(7);
        let model = network();
        let sgd = Sgd::new(model.parameters(), 0.5);
        let options =
            DilocoOptions { inner_steps: 4, compression: Compression::INT8, ..DilocoOptions::default() };
        let mut trainer = Trainer::new(model, sgd)
            .with_epochs(10)
            .with_max_steps(steps)
            .with_checkpoints(Checkpoints::new(folder.join(name), 2).unwrap(), 15)
            .with_group(member)
            .with_diloco(options);
        if resume {
            assert_eq!(block_on(trainer.resume(&mut batches)).unwrap(), Some(30));
        }
        let loss =
            |model: &Sequential, (x, y): (Tensor, Tensor)| Outcome::classify(&model.try_forward(&x)?, &y);
        let summary = block_on(trainer.fit(&mut batches, None, loss)).unwrap();
        let rounds = summary.group.unwrap().rounds;
        (rounds, summary.history.last().unwrap().get("accuracy").unwrap(), weights(trainer.model()))
    };
    let whole = together(2, |member| train(member, "whole", 60, false));
    assert_eq!(whole[0], whole[1]);
    // Two in each epoch of 6 steps: after 4, or before a checkpoint after 3, and at its end.
    assert_eq!(whole[0].0, 20);
    assert!(whole[0].1 > 0.8, "accuracy {}", whole[0].1);
    together(2, |member| train(member, "parts", 30, false));
    // SGD without momentum remembers nothing, so all that is saved of the members is what they have in common.
    let resumed = together(2, |member| train(member, "parts", 60, true));
    assert_eq!(resumed[0].2, whole[0].2);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn settings_without_sense_are_refused() {
    let member = Threads::group(1).pop().unwrap();
    let refused = |options: DilocoOptions| {
        block_on(Diloco::start(network().parameters(), options, &member)).unwrap_err().to_string()
    };
    assert!(refused(DilocoOptions { inner_steps: 0, ..AS_ONE }).contains("0 steps between rounds"));
    assert!(refused(DilocoOptions { outer_rate: f64::NAN, ..AS_ONE }).contains("the outer rate is NaN"));
    let compression = Compression::TopK { share: 0.0 };
    assert!(refused(DilocoOptions { compression, ..AS_ONE }).contains("a share of 0"));
    let model = network();
    let (ema, sgd) = (Ema::new(model.parameters(), 0.9), Sgd::new(model.parameters(), 0.1));
    let mut trainer = Trainer::new(model, sgd).with_ema(ema).with_diloco(AS_ONE);
    let (x, y) = batch(1);
    let mut batches = DataLoader::new(TensorDataset::new([x, y]).unwrap(), &Device::cpu()).with_batch_size(4);
    let loss = |model: &Sequential, (x, y): (Tensor, Tensor)| Outcome::classify(&model.try_forward(&x)?, &y);
    let error = block_on(trainer.fit(&mut batches, None, loss)).unwrap_err().to_string();
    assert!(error.contains("cannot be kept with DiLoCo"), "{error}");
}
