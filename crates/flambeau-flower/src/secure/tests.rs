//! Sums, clients that drop out, and servers that ask for too much.

use super::*;
use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};

type Parcels = BTreeMap<u8, BTreeMap<u8, Vec<u8>>>;

/// Clients with fixed randomness that have shared their keys, and what is for each of them.
fn group(size: u8, threshold: usize, seed: u8) -> (Vec<Client>, BTreeMap<u8, Advertised>, Parcels) {
    let client = |id| {
        let random = ChaCha20Rng::from_seed([seed ^ id; 32]);
        Client::with_random(id, threshold, random).unwrap()
    };
    let mut clients: Vec<Client> = (0..size).map(client).collect();
    let all: BTreeMap<u8, Advertised> =
        clients.iter().map(|client| (client.id(), client.advertise())).collect();
    let mut parcels = Parcels::new();
    for client in &mut clients {
        for (to, parcel) in client.share(&all).unwrap() {
            parcels.entry(to).or_default().insert(client.id(), parcel);
        }
    }
    (clients, all, parcels)
}

fn vector(id: u8) -> Vec<u32> {
    let mut random = ChaCha20Rng::from_seed([id; 32]);
    (0..50).map(|_| random.next_u32()).collect()
}

/// The sum by the protocol when these clients drop out before they send, and its error.
fn sum_without(size: u8, threshold: usize, gone: &[u8]) -> crate::Result<Vec<u32>> {
    let (mut clients, all, mut parcels) = group(size, threshold, 0x40);
    let mut server = Server::new(threshold, all)?;
    clients.retain(|client| !gone.contains(&client.id()));
    for client in &mut clients {
        let masked = client.mask(&vector(client.id()), parcels.remove(&client.id()).unwrap())?;
        server.take(client.id(), masked)?;
    }
    let question = server.question()?;
    // A threshold of answers is enough: the last clients do not answer.
    let answers = clients.iter_mut().take(threshold);
    let revealed =
        answers.map(|client| Ok((client.id(), client.reveal(&question)?))).collect::<crate::Result<_>>()?;
    server.sum(&revealed)
}

#[test]
fn sums_are_exact_whoever_drops_out() {
    for (size, threshold, gone) in
        [(2, 2, &[][..]), (5, 3, &[]), (5, 3, &[0]), (5, 3, &[4, 1]), (12, 7, &[0, 3, 5, 8, 11])]
    {
        let mut expected = vec![0u32; 50];
        for id in (0..size).filter(|id| !gone.contains(id)) {
            expected.iter_mut().zip(vector(id)).for_each(|(sum, word)| *sum = sum.wrapping_add(word));
        }
        assert_eq!(sum_without(size, threshold, gone).unwrap(), expected, "{size} {threshold} {gone:?}");
    }
}

#[test]
fn too_few_clients_give_no_sum() {
    let error = sum_without(5, 3, &[0, 1, 2]).unwrap_err().to_string();
    assert!(error.contains("2 of 5 clients are left, and 3 are needed"), "{error}");
    // Enough vectors, but too few answers.
    let (mut clients, all, mut parcels) = group(4, 3, 1);
    let mut server = Server::new(3, all).unwrap();
    for client in &mut clients {
        let masked = client.mask(&vector(client.id()), parcels.remove(&client.id()).unwrap()).unwrap();
        server.take(client.id(), masked).unwrap();
    }
    let question = server.question().unwrap();
    let revealed = clients.iter_mut().take(2).map(|client| (client.id(), client.reveal(&question).unwrap()));
    let error = server.sum(&revealed.collect()).unwrap_err().to_string();
    assert!(error.contains("2 shares where 3 are needed"), "{error}");
}

/// Of one client a server gets the seed or the key, never both: not in one question, and not in two.
#[test]
fn a_server_that_asks_for_both_is_refused() {
    let (mut clients, _, mut parcels) = group(4, 2, 2);
    let client = &mut clients[0];
    let ask = |present: &[u8], dropped: &[u8]| Question {
        present: present.iter().copied().collect(),
        dropped: dropped.iter().copied().collect(),
    };
    let early = client.reveal(&ask(&[0, 1, 2, 3], &[])).unwrap_err().to_string();
    assert!(early.contains("before the vector is masked"), "{early}");
    client.mask(&vector(0), parcels.remove(&0).unwrap()).unwrap();
    for (question, says) in [
        (ask(&[0, 1, 2], &[2, 3]), "key and seed of client 2"),
        (ask(&[0], &[1, 2, 3]), "1 clients are left, and 2 are needed"),
        (ask(&[1, 2], &[3]), "says that it has gone"),
        (ask(&[0, 1, 9], &[]), "client 9 has not shared"),
        (ask(&[0, 1], &[9]), "client 9 has not shared"),
    ] {
        let error = client.reveal(&question).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    let first = ask(&[0, 1, 2], &[3]);
    let revealed = client.reveal(&first).unwrap();
    assert_eq!(revealed.seeds.keys().copied().collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(revealed.keys.keys().copied().collect::<Vec<_>>(), [3]);
    assert_eq!(client.reveal(&first).unwrap(), revealed);
    let error = client.reveal(&ask(&[0, 1, 2, 3], &[])).unwrap_err().to_string();
    assert!(error.contains("another question before"), "{error}");
}

/// A masked vector of zeros has bytes that are as often each value as chance has it: χ² with 255 degrees of freedom has mean 255 and
/// deviation 22.6; four deviations are allowed. (The seed is fixed.)
#[test]
fn a_masked_vector_looks_like_chance() {
    let (mut clients, _, mut parcels) = group(3, 2, 3);
    let words = 100_000;
    let masked = clients[1].mask(&vec![0; words], parcels.remove(&1).unwrap()).unwrap();
    let mut counts = [0u32; 256];
    masked.iter().flat_map(|word| word.to_le_bytes()).for_each(|byte| counts[usize::from(byte)] += 1);
    let expected = (4 * words) as f64 / 256.0;
    let chi: f64 = counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
    assert!((chi - 255.0).abs() < 4.0 * 22.6, "{chi}");
}

/// What is changed, repeated or made up on its way.
#[test]
fn what_does_not_fit_is_refused() {
    let (mut clients, all, mut parcels) = group(3, 2, 4);
    let says = |error: crate::FlowerError, says: &str| assert!(error.to_string().contains(says), "{error}");
    says(clients[0].share(&all).unwrap_err(), "has shared its keys");
    let mut changed = parcels[&0].clone();
    changed.get_mut(&1).unwrap()[5] ^= 1;
    says(clients[0].mask(&[0; 4], changed).unwrap_err(), "was changed on its way");
    // What was meant for another, and of nobody.
    says(clients[0].mask(&[0; 4], parcels[&1].clone()).unwrap_err(), "client 0, which nobody knows");
    let strange = BTreeMap::from([(9, vec![0; 80])]);
    says(clients[0].mask(&[0; 4], strange).unwrap_err(), "client 9, which nobody knows");
    says(clients[0].mask(&[0; 4], BTreeMap::new()).unwrap_err(), "1 clients have shared");
    let masked = clients[0].mask(&[0; 4], parcels.remove(&0).unwrap()).unwrap();
    says(clients[0].mask(&[0; 4], BTreeMap::new()).unwrap_err(), "masks one vector");
    let mut server = Server::new(2, all.clone()).unwrap();
    server.take(0, masked.clone()).unwrap();
    says(server.take(0, masked.clone()).unwrap_err(), "has sent its vector before");
    says(server.take(9, masked).unwrap_err(), "does not take part");
    says(server.take(1, vec![0; 5]).unwrap_err(), "client 1 has 5 numbers, others 4");
    // Keys that are not one's own, that are another's, and one with which every agreement is the same.
    let fresh = || Client::with_random(0, 2, ChaCha20Rng::from_seed([9; 32])).unwrap();
    says(fresh().share(&all).unwrap_err(), "does not have this client's own keys");
    let (mut client, other) = (fresh(), all[&1]);
    let own = client.advertise();
    let twins = BTreeMap::from([(0, own), (1, other), (2, other)]);
    says(client.share(&twins).unwrap_err(), "two clients have the same key");
    let weak = BTreeMap::from([(0, own), (1, Advertised { cipher: [0; 32], mask: other.mask })]);
    says(client.share(&weak).unwrap_err(), "every agreement the same");
    assert!(Client::new(255, 2).is_err() && Client::new(0, 1).is_err());
    assert!(Server::new(3, all.into_iter().take(2).collect()).is_err());
}
