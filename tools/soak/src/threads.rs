//! Eight threads on one device, some of whose evaluations have faults: the others never hear of them, and every result is
//! bit for bit the one that a single thread gets.

use crate::random::Random;
use crate::session::Session;
use flambeau::prelude::*;

const THREADS: u64 = 8;
/// Evaluations of one thread in one case.
const EVALUATIONS: u64 = 25;

pub fn run(session: &mut Session) {
    let device = session.device();
    let (mut evaluations, mut faults) = (0, 0);
    while let Some(case) = session.next() {
        let all = |thread: u64| -> Vec<Outcome> {
            (0..EVALUATIONS)
                .map(|k| evaluate(session.random((case * THREADS + thread) * EVALUATIONS + k), &device))
                .collect()
        };
        let alone: Vec<Vec<Outcome>> = (0..THREADS).map(all).collect();
        let together: Vec<_> = std::thread::scope(|scope| {
            let spawned: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || all(thread))).collect();
            spawned.into_iter().map(|thread| thread.join()).collect()
        });
        for (thread, (alone, together)) in alone.iter().zip(together).enumerate() {
            match together {
                Err(_) => session.fail(case, format!("thread {thread} panicked")),
                Ok(together) => {
                    evaluations += together.len();
                    faults += together.iter().filter(|outcome| outcome.is_err()).count();
                    if let Some(k) = (0..alone.len()).find(|&k| alone[k] != together[k]) {
                        let what = format!(
                            "thread {thread}, evaluation {k}: {:?}, alone {:?}",
                            together[k], alone[k]
                        );
                        session.fail(case, what);
                    }
                }
            }
        }
    }
    session.note(format!("{evaluations} evaluations, {faults} of them with a fault"));
}

/// The bits of a result, or the index that was out of range.
type Outcome = std::result::Result<Vec<u32>, i64>;

fn evaluate(mut random: Random, device: &Device) -> Outcome {
    let (rows, width) = (2 + random.below(3), 3 + random.below(2));
    let values: Vec<f32> = (0..rows * width).map(|_| random.unit() as f32).collect();
    let x = Tensor::from_vec(values, [rows, width], device);
    let result = match random.below(4) {
        0 => x.matmul(&x.t()).softmax(-1),
        1 => (x.exp() * 2.0 - x.mean(0)).sum(1),
        _ => {
            // One of six is out of range.
            let index = if random.below(6) == 0 { 50 + random.below(50) } else { random.below(rows) };
            let picked = x.index_select(0, &Tensor::new([index as i32], device));
            // Sometimes the fault has happened before anybody reads what is made of it.
            if random.chance(50) {
                // On the CPU it shows here already.
                if let Err(Error::IndexOutOfRange { index, .. }) = picked.eval() {
                    return Err(index);
                }
            }
            picked * 3.0 + 1.0
        }
    };
    match result.to_vec_blocking::<f32>() {
        Ok(values) => Ok(values.into_iter().map(f32::to_bits).collect()),
        Err(Error::IndexOutOfRange { index, .. }) => Err(index),
        Err(other) => panic!("{other}"),
    }
}
