//! Groups of threads: what members do together, training in step against a run alone, and what happens when one is missing.

use crate::common::{assert_close, new_gpu, start_from, values};
use flambeau::data::{DataLoader, Sampler, TensorDataset};
use flambeau::group::{Group, Reduce, Threads};
use flambeau::io::Checkpoints;
use flambeau::nn::{BatchNorm1d, Dropout, Linear, Sequential};
use flambeau::optim::{Adam, Sgd};
use flambeau::prelude::*;
use flambeau::train::{Event, Flow, Outcome, Stop, Summary, Trainer};
use flambeau::{GpuConfig, block_on};
use std::time::Duration;

const SOON: Duration = Duration::from_millis(200);

/// Runs a body as every member of a group, each in a thread of its own; what they give, by rank.
pub fn together<T: Send>(size: usize, body: impl Fn(Threads) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let body = &body;
        let start = |member: Threads| {
            scope.spawn(move || {
                Generator::set_default_of_thread(Some(Generator::new(9)));
                body(member)
            })
        };
        let threads: Vec<_> = Threads::group(size).into_iter().map(start).collect();
        threads.into_iter().map(|thread| thread.join().expect("a member panicked")).collect()
    })
}

/// What member `rank` gives to a sum: numbers whose sum depends on the order of additions in f32.
fn numbers(rank: usize, length: usize) -> Vec<f32> {
    let magnitude = [1.0, 1e7, -1e7, 3e-3, 1e3][rank % 5];
    (0..length).map(|k| ((k * 31 + rank * 17) % 101) as f32 * magnitude / 7.0).collect()
}

#[test]
fn sums_are_those_of_f64_in_the_order_of_ranks() {
    for (size, length) in [(1, 5), (2, 7), (3, 1000), (4, 3), (5, 0), (5, 1)] {
        let sums = together(size, |member| {
            let own = || numbers(member.rank(), length);
            let sum = block_on(member.all_reduce(own(), Reduce::Sum)).unwrap();
            (sum, block_on(member.all_reduce(own(), Reduce::Mean)).unwrap())
        });
        let element = |k: usize| (0..size).map(|rank| f64::from(numbers(rank, length)[k])).sum::<f64>();
        let wanted: Vec<f64> = (0..length).map(element).collect();
        for (sum, mean) in &sums {
            assert!(sum.iter().zip(&wanted).all(|(&got, &want)| got == want as f32), "{size} members");
            assert!(mean.iter().zip(&wanted).all(|(&got, &want)| got == (want / size as f64) as f32));
        }
    }
}

#[test]
fn bytes_come_to_all_members() {
    for size in 1..7 {
        let told = together(size, |member| {
            let mut told = Vec::new();
            for root in 0..size {
                let own = vec![member.rank() as u8; 3 + root];
                told.push(block_on(member.broadcast(root, own)).unwrap());
            }
            block_on(member.barrier()).unwrap();
            (told, block_on(member.gather(vec![member.rank() as u8; member.rank()])).unwrap())
        });
        for (broadcast, gathered) in told {
            assert_eq!(broadcast, (0..size).map(|root| vec![root as u8; 3 + root]).collect::<Vec<_>>());
            assert_eq!(gathered, (0..size).map(|rank| vec![rank as u8; rank]).collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_member_sends_what_a_ring_would() {
    let (size, length) = (4, 1000);
    let sent = together(size, |member| {
        block_on(member.all_reduce(vec![1.0; length], Reduce::Sum)).unwrap();
        member.traffic().transmitted()
    });
    for sent in sent {
        assert_eq!(sent.messages, 6);
        // 2 (n − 1)/n · L numbers, and twelve bytes with each message.
        assert_eq!(sent.bytes, 4 * 2 * 3 * 1000 / 4 + 6 * 12);
    }
}

#[test]
fn a_member_that_is_gone_is_an_error_with_its_rank() {
    let errors = together(3, |member| match member.rank() {
        1 => None,
        _ => Some(block_on(member.all_reduce(vec![1.0; 8], Reduce::Sum)).unwrap_err()),
    });
    for error in [&errors[0], &errors[2]] {
        let error = error.as_ref().unwrap();
        assert!(matches!(error, Error::Group { .. }), "{error}");
        let text = error.to_string();
        // The one that finds out first ends too, and the other may be told of that one.
        assert!(text.contains("member 1 of the group has left") || text.contains("has left"), "{text}");
    }
}

#[test]
fn a_member_that_is_late_is_an_error_and_no_hang() {
    let mut group = Threads::group_with_timeout(2, SOON);
    let late = group.pop().unwrap();
    let error = block_on(group[0].gather(vec![1])).unwrap_err();
    assert_eq!(error.to_string(), "gather: member 1 of the group has sent nothing within 200ms");
    let error = block_on(group[0].regroup()).unwrap_err();
    assert_eq!(error.to_string(), "regroup: member 1 of the group has not come within 200ms");
    drop(late);
    assert_eq!(block_on(group[0].regroup()).unwrap().size, 1);
}

#[test]
fn members_that_do_different_things_are_told() {
    let errors = together(2, |member| match member.rank() {
        0 => block_on(member.barrier()).unwrap_err(),
        _ => block_on(member.all_reduce(vec![1.0], Reduce::Sum)).unwrap_err(),
    });
    let texts: Vec<String> = errors.iter().map(Error::to_string).collect();
    assert!(
        texts[0].contains("member 1 of the group is at another point of the program: it does all_reduce"),
        "{}",
        texts[0]
    );
    assert!(texts[1].contains("member 0"), "{}", texts[1]);
    let errors = together(2, |member| {
        let length = 4 + 2 * member.rank();
        block_on(member.all_reduce(vec![1.0; length], Reduce::Sum)).unwrap_err().to_string()
    });
    assert!(errors.iter().any(|error| error.contains("numbers where")), "{errors:?}");
}

#[test]
fn gradients_of_other_parameters_are_refused() {
    let errors = together(2, |member| {
        let device = Device::cpu();
        let [a, b] = [(); 2].map(|()| Parameter::new(&Tensor::ones([3], &device)));
        let sgd = Sgd::new([a.clone(), b.clone()], 0.1);
        let used = if member.rank() == 0 { &a } else { &b };
        used.get().sum(..).backward().unwrap();
        block_on(member.reduce_gradients(&sgd)).unwrap_err().to_string()
    });
    assert!(errors.iter().any(|error| error.contains("gradients for other parameters")), "{errors:?}");
}

fn network(device: &Device) -> Sequential {
    let model = Sequential::new()
        .with(Linear::new(4, 16, device))
        .with(|x: &Tensor| x.tanh())
        .with(Linear::new(16, 3, device));
    start_from(3, &model);
    model
}

fn batches(items: usize, batch: usize, device: &Device) -> DataLoader {
    let x = Tensor::rand([items, 4], &Generator::new(5), device) * 2.0 - 1.0;
    let y = Tensor::randint(0, 3, [items], &Generator::new(6), device);
    let data = TensorDataset::new([x, y]).unwrap();
    DataLoader::new(data, device).with_batch_size(batch).with_shuffle(7)
}

fn classify(model: &Sequential, (x, y): (Tensor, Tensor)) -> Result<Outcome> {
    Outcome::classify(&model.try_forward(&x)?, &y)
}

fn weights(trainer: &Trainer<Sequential>) -> Vec<f64> {
    trainer.model().parameters().iter().flat_map(|weight| values(&weight.value())).collect()
}

/// What a run gives: losses of every step, metrics of every epoch, weights.
type Run = (Vec<f64>, Vec<f64>, Vec<f64>);

fn figures(summary: &Summary, trainer: &Trainer<Sequential>) -> Run {
    let losses = summary.losses.iter().map(|(_, loss)| *loss).collect();
    let epochs = summary.history.iter().flat_map(|epoch| epoch.metrics.iter().map(|metric| metric.1));
    (losses, epochs.collect(), weights(trainer))
}

/// Three epochs of 26 items in batches of 8, evaluated on 10 in batches of 4: with four members the last batches are too small
/// for all.
fn run(member: Option<Threads>, device: &Device) -> Run {
    let model = network(device);
    let sgd = Sgd::new(model.parameters(), 0.2);
    let mut trainer = Trainer::new(model, sgd).with_epochs(3).with_log_every(1).with_clip_grad_norm(0.5);
    if let Some(member) = member {
        trainer = trainer.with_group(member);
    }
    let (mut train, mut test) = (batches(26, 8, device), batches(10, 4, device));
    let summary = block_on(trainer.fit(&mut train, Some(&mut test), classify)).unwrap();
    figures(&summary, &trainer)
}

#[test]
fn any_number_of_members_trains_as_one() {
    let device = Device::cpu();
    let alone = run(None, &device);
    assert_eq!(alone.0.len(), 12);
    for size in 1..6 {
        let first = together(size, |member| run(Some(member), &device));
        for of_member in &first {
            assert_eq!(of_member, &first[0], "members differ");
        }
        assert_close(&first[0].0, &alone.0, 2e-6, 0.0);
        assert_close(&first[0].1, &alone.1, 2e-6, 0.0);
        assert_close(&first[0].2, &alone.2, 2e-6, 0.0);
        let again = together(size, |member| run(Some(member), &device));
        assert_eq!(first, again, "{size} members: another run, other bits");
    }
}

#[test]
fn several_adapters_train_as_one() {
    let alone = run(None, &Device::cpu());
    let several = together(2, |member| run(Some(member), &new_gpu(GpuConfig::default())));
    assert_eq!(several[0], several[1], "members differ");
    assert_close(&several[0].0, &alone.0, 1e-5, 0.0);
    assert_close(&several[0].2, &alone.2, 1e-4, 0.0);
    let mixed = together(2, |member| {
        let device = if member.rank() == 0 { Device::cpu() } else { new_gpu(GpuConfig::default()) };
        run(Some(member), &device)
    });
    assert_close(&mixed[0].0, &alone.0, 1e-5, 0.0);
}

#[test]
fn gradients_added_up_are_reduced_once() {
    let device = Device::cpu();
    let train = |member: Option<Threads>| {
        let model = network(&device);
        let adam = Adam::new(model.parameters(), 1e-2);
        let mut trainer = Trainer::new(model, adam).with_epochs(2).with_accumulation(2);
        if let Some(member) = member {
            trainer = trainer.with_group(member);
        }
        let summary = block_on(trainer.fit(&mut batches(24, 4, &device), None, classify)).unwrap();
        (figures(&summary, &trainer), summary.group)
    };
    let (alone, none) = train(None);
    assert_eq!(none, None);
    for (of_member, summary) in together(2, |member| train(Some(member))) {
        assert_close(&of_member.0, &alone.0, 2e-6, 0.0);
        // Six steps in each of two epochs, every second of the optimizer: the gradients' windows begin at multiples of 128.
        let elements: u64 = 128 + 128 + 128 + 3;
        let summary = summary.unwrap();
        assert_eq!((summary.size, summary.rounds), (2, 0));
        let gradients = 6 * (4 * elements + 2 * 12);
        assert!(summary.bytes_sent >= gradients && summary.bytes_sent < gradients + 4000, "{summary:?}");
    }
}

#[test]
fn running_statistics_are_those_of_all_members() {
    let device = Device::cpu();
    let train = |member: Option<Threads>| {
        let model = Sequential::new().with(BatchNorm1d::new(4, &device)).with(Linear::new(4, 3, &device));
        start_from(2, &model);
        let sgd = Sgd::new(model.parameters(), 0.1);
        let mut trainer = Trainer::new(model, sgd);
        if let Some(member) = member {
            trainer = trainer.with_group(member);
        }
        block_on(trainer.fit(&mut batches(32, 8, &device), Some(&mut batches(8, 8, &device)), classify))
            .unwrap();
        let buffers = trainer.model().named_buffers();
        let (_, mean) = buffers.iter().find(|(name, _)| name.ends_with("running_mean")).unwrap();
        values(&mean.get())
    };
    let alone = train(None);
    assert!(alone.iter().any(|mean| mean.abs() > 1e-3), "{alone:?}");
    let members = together(4, |member| train(Some(member)));
    members.iter().for_each(|of_member| assert_eq!(of_member, &members[0]));
    // Shares are equal, and the norm comes first: means of means are the means.
    assert_close(&members[0], &alone, 1e-7, 1e-6);
}

#[test]
fn a_loss_that_is_not_finite_at_one_member_ends_the_run_of_all() {
    let device = Device::cpu();
    let errors = together(3, |member| {
        let (model, rank) = (network(&device), member.rank());
        let sgd = Sgd::new(model.parameters(), 0.1);
        let mut trainer = Trainer::new(model, sgd).with_epochs(4).with_log_every(3).with_group(member);
        let mut step = 0;
        let loss = |model: &Sequential, (x, y): (Tensor, Tensor)| {
            step += 1;
            let scale = if (rank, step) == (1, 2) { f64::NAN } else { 1.0 };
            Outcome::classify(&(model.try_forward(&x)? * scale), &y)
        };
        block_on(trainer.fit(&mut batches(24, 6, &device), None, loss)).unwrap_err().to_string()
    });
    for error in errors {
        assert!(error.contains("the loss of step 2 is not finite"), "{error}");
    }
}

#[test]
fn one_member_that_asks_stops_all() {
    let device = Device::cpu();
    let stops = together(3, |member| {
        let (model, rank) = (network(&device), member.rank());
        let sgd = Sgd::new(model.parameters(), 0.1);
        let asks = move |event: &Event| match event {
            Event::Logged(progress) if rank == 2 && progress.step >= 4 => Flow::Stop,
            _ => Flow::Continue,
        };
        let mut trainer =
            Trainer::new(model, sgd).with_epochs(9).with_log_every(2).with_callback(asks).with_group(member);
        let summary = block_on(trainer.fit(&mut batches(24, 6, &device), None, classify)).unwrap();
        (summary.stopped, summary.steps)
    });
    assert!(stops.iter().all(|stop| *stop == stops[0] && stop.0 == Some(Stop::Asked)), "{stops:?}");
}

#[test]
fn dropout_draws_by_rank_and_again_alike() {
    let device = Device::cpu();
    let train = || {
        together(2, |member| {
            let model = Sequential::new().with(Dropout::new(0.5)).with(Linear::new(4, 3, &device));
            start_from(2, &model);
            let sgd = Sgd::new(model.parameters(), 0.1);
            let mut trainer = Trainer::new(model, sgd).with_group(member);
            let mut seen = Vec::new();
            let loss = |model: &Sequential, (x, y): (Tensor, Tensor)| {
                // Which numbers are dropped, whatever the batch.
                let dropped = Dropout::new(0.5).forward(&Tensor::ones([16], &device));
                seen.push(values(&dropped));
                classify(model, (x, y))
            };
            block_on(trainer.fit(&mut batches(8, 4, &device), None, loss)).unwrap();
            (seen, weights(&trainer))
        })
    };
    let (first, again) = (train(), train());
    assert_eq!(first, again);
    assert_ne!(first[0].0, first[1].0, "members drop the same");
    assert_eq!(first[0].1, first[1].1, "and still have the same weights");
}

#[test]
fn a_run_goes_on_with_another_number_of_members() {
    let device = Device::cpu();
    let folder = std::env::temp_dir().join(format!("flambeau-group-{}", std::process::id()));
    let train = |member: Option<Threads>, name: &str, steps: u64, resume: Option<u64>| {
        let model = network(&device);
        let adam = Adam::new(model.parameters(), 1e-2);
        let mut trainer = Trainer::new(model, adam)
            .with_epochs(4)
            .with_max_steps(steps)
            .with_log_every(1)
            .with_checkpoints(Checkpoints::new(folder.join(name), 2).unwrap(), 5);
        if let Some(member) = member {
            trainer = trainer.with_group(member);
        }
        let mut data = batches(30, 6, &device);
        if let Some(step) = resume {
            assert_eq!(block_on(trainer.resume(&mut data)).unwrap(), Some(step));
        }
        let summary = block_on(trainer.fit(&mut data, None, classify)).unwrap();
        figures(&summary, &trainer)
    };
    let alone = train(None, "alone", 20, None);
    let whole = together(2, |member| train(Some(member), "whole", 20, None));
    assert_close(&whole[0].2, &alone.2, 1e-5, 0.0);
    together(2, |member| train(Some(member), "parts", 8, None));
    let resumed = together(2, |member| train(Some(member), "parts", 20, Some(8)));
    // (The part that ends after step 8 ends an epoch there, so epochs are others.)
    assert_eq!(resumed[0].0, whole[0].0, "the same members: the same bits");
    assert_eq!(resumed[0].2, whole[0].2, "the same members: the same bits");
    assert_eq!(resumed[1].2, whole[1].2);
    for size in [1, 3] {
        let name = format!("to-{size}");
        together(2, |member| train(Some(member), &name, 8, None));
        let resumed = together(size, |member| train(Some(member), &name, 20, Some(8)));
        assert_close(&resumed[0].2, &alone.2, 1e-5, 0.0);
        assert_close(&resumed[0].0, &alone.0, 1e-5, 0.0);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_member_learns_that_rank_0_cannot_resume() {
    let device = Device::cpu();
    let errors = together(2, |member| {
        let model = network(&device);
        let sgd = Sgd::new(model.parameters(), 0.1);
        let mut trainer = Trainer::new(model, sgd).with_group(member);
        block_on(trainer.resume(&mut batches(8, 4, &device))).unwrap_err().to_string()
    });
    assert!(errors[0].contains("no checkpoints were set"), "{}", errors[0]);
    assert!(errors[1].contains("member 0 of the group cannot resume the run"), "{}", errors[1]);
}

#[test]
fn shares_make_up_the_batches_of_a_run_alone() {
    let device = Device::cpu();
    let x = Tensor::arange(0, 11, 1, (DType::I32, &device));
    let data = TensorDataset::new([x]).unwrap();
    for workers in [0, 2] {
        let loader = || {
            let loader = DataLoader::<Tensor>::of(data.clone(), &device).with_batch_size(4);
            loader.with_sampler(Sampler::Random).with_seed(3).with_workers(workers)
        };
        let all = |mut loader: DataLoader<Tensor>| {
            let mut batches = Vec::new();
            while let Some(x) = block_on(loader.next()).unwrap() {
                batches.push(if loader.weight() > 0.0 { values(&x) } else { Vec::new() });
            }
            batches
        };
        let whole = all(loader());
        for size in 1..6 {
            let shares: Vec<_> = (0..size).map(|rank| all(loader().with_share(rank, size))).collect();
            for (k, batch) in whole.iter().enumerate() {
                let joined: Vec<f64> = shares.iter().flat_map(|share| share[k].clone()).collect();
                assert_eq!(&joined, batch, "batch {k}, {size} members, {workers} workers");
            }
        }
    }
}
