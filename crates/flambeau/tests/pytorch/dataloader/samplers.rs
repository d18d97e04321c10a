//! `dataloader.cpp`, samplers: the order of items, and going on where one stopped.

use super::*;

#[test]
fn sequential_sampler_returns_indices_in_order() {
    each(|device| {
        let mut batches = loader(Numbers::new(10), device).with_batch_size(3);
        assert_eq!(numbers(&mut batches)[..2], [vec![0, 1, 2], vec![3, 4, 5]]);
    });
}

#[test]
fn sequential_sampler_returns_less_values_for_last_batch() {
    each(|device| {
        let mut batches = loader(Numbers::new(5), device).with_batch_size(2);
        assert_eq!(numbers(&mut batches), [vec![0, 1], vec![2, 3], vec![4]]);
    });
}

/// The next epoch begins at the start.
#[test]
fn sequential_sampler_resets_well() {
    each(|device| {
        let mut batches = loader(Numbers::new(5), device).with_batch_size(2);
        assert_eq!(numbers(&mut batches), numbers(&mut batches));
    });
}

#[test]
fn sequential_sampler_resets_with_new_size_well() {
    each(|device| {
        let mut batches = loader(Numbers::new(5), device).with_batch_size(2);
        block_on(batches.next()).unwrap();
        let mut batches =
            batches.with_sampler(Sampler::Subset((0..7).map(|k| k % 5).collect())).with_batch_size(4);
        let found = numbers(&mut batches).concat();
        assert!(found.ends_with(&[0, 1]) && found.len() <= 7, "{found:?}");
    });
}

/// A loader that takes up a state goes on where the other stopped.
fn continues(sampler: Sampler, device: &Device) {
    let make =
        || loader(Numbers::new(10), device).with_sampler(sampler.clone()).with_seed(7).with_batch_size(3);
    let mut first = make();
    block_on(first.next()).unwrap();
    let mut second = make();
    second.load_state(&first.state()).unwrap();
    let rest = numbers(&mut first);
    assert_eq!(rest.concat().len(), first.items_per_epoch() - 3);
    assert_eq!(numbers(&mut second), rest);
    assert_eq!(numbers(&mut second), numbers(&mut first));
}

#[test]
fn can_save_and_load_sequential_sampler() {
    each(|device| continues(Sampler::Sequential, device));
}

#[test]
fn saving_and_loading_random_sampler_yields_same_sequence() {
    each(|device| continues(Sampler::Random, device));
}

#[test]
fn random_sampler_returns_indices_in_correct_range() {
    each(|device| {
        let drawn = sampled(10, Sampler::Random, device);
        assert_eq!(drawn.iter().copied().collect::<BTreeSet<_>>(), (0..10).collect());
        assert_ne!(drawn, (0..10).collect::<Vec<_>>());
    });
}

#[test]
fn random_sampler_returns_less_values_for_last_batch() {
    each(|device| {
        let mut batches = loader(Numbers::new(5), device).with_shuffle(1).with_batch_size(2);
        assert_eq!(numbers(&mut batches).iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 1]);
    });
}

#[test]
fn random_sampler_resets_well() {
    each(|device| {
        let mut batches = loader(Numbers::new(10), device).with_shuffle(1).with_batch_size(10);
        let (first, second) = (numbers(&mut batches).concat(), numbers(&mut batches).concat());
        assert_ne!(first, second);
        assert_eq!(first.iter().collect::<BTreeSet<_>>(), second.iter().collect());
    });
}

#[test]
fn random_sampler_resets_with_new_size_well() {
    each(|device| {
        for length in [3, 10, 7] {
            assert_eq!(
                sampled(length, Sampler::Random, device).into_iter().collect::<BTreeSet<_>>(),
                (0..length).collect()
            );
        }
    });
}

/// The shares of all replicas.
fn shares(
    length: usize,
    replicas: usize,
    shuffled: bool,
    repeated: bool,
    device: &Device,
) -> Vec<Vec<usize>> {
    let share = |rank| sampled(length, Sampler::Distributed { replicas, rank, shuffled, repeated }, device);
    (0..replicas).map(share).collect()
}

#[test]
fn distributed_random_sampler_single_replica_produce_correct_samples() {
    each(|device| {
        let drawn = shares(10, 1, true, true, device).concat();
        assert_eq!((drawn.len(), drawn.into_iter().collect::<BTreeSet<_>>()), (10, (0..10).collect()));
    });
}

#[test]
fn distributed_random_sampler_multi_replica_produce_correct_samples() {
    each(|device| multi_replica(true, device));
}

/// With repetitions everything is drawn; without, nothing twice. Shares are of one size.
fn multi_replica(shuffled: bool, device: &Device) {
    let repeated = shares(10, 3, shuffled, true, device);
    assert!(repeated.iter().all(|share| share.len() == 4));
    assert_eq!(repeated.concat().into_iter().collect::<BTreeSet<_>>(), (0..10).collect());
    let apart = shares(10, 3, shuffled, false, device);
    assert!(apart.iter().all(|share| share.len() == 3));
    assert_eq!(apart.concat().into_iter().collect::<BTreeSet<_>>().len(), 9);
}

#[test]
fn distributed_sequential_sampler_single_replica_produce_correct_samples() {
    each(|device| assert_eq!(shares(10, 1, false, true, device), [(0..10).collect::<Vec<_>>()]));
}

#[test]
fn distributed_sequential_sampler_multi_replica_produce_correct_samples() {
    each(|device| {
        multi_replica(false, device);
        assert_eq!(shares(6, 2, false, true, device), [vec![0, 2, 4], vec![1, 3, 5]]);
        let wrong = loader(Numbers::new(6), device).with_sampler(Sampler::distributed(2, 2));
        let mut wrong = wrong;
        assert!(message(block_on(wrong.next())).contains("replica 2"));
    });
}

#[test]
fn can_save_and_load_distributed_random_sampler() {
    each(|device| {
        continues(Sampler::Distributed { replicas: 2, rank: 1, shuffled: true, repeated: true }, device)
    });
}

#[test]
fn can_save_and_load_distributed_sequential_sampler() {
    each(|device| continues(Sampler::distributed(2, 0), device));
}
