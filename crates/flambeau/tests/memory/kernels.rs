//! Kernels of the CPU that go over rows: how often they allocate does not depend on how many rows there are.

use crate::counting::allocations;
use flambeau::prelude::*;

type Work = fn(&Tensor) -> Tensor;

const LENGTH: usize = 256;
const FEW: usize = 64;
const MANY: usize = 1024;
/// Lists of spare buffers may grow meanwhile.
const SLACK: usize = 8;

fn gradient(x: &Tensor, of: Work) -> Tensor {
    let leaf = x.detach().requires_grad();
    of(&leaf).backward_with(x).unwrap();
    leaf.grad().unwrap()
}

/// Allocations of one evaluation whose plan is known.
fn counted(work: Work, rows: usize) -> usize {
    let device = Device::cpu();
    let x = Tensor::rand([rows, LENGTH], &Generator::new(1), &device);
    x.eval().unwrap();
    for _ in 0..2 {
        work(&x).eval().unwrap();
    }
    let before = allocations();
    work(&x).eval().unwrap();
    allocations() - before
}

#[test]
fn rows_are_gone_through_without_allocating() {
    let works: [(&str, Work); 9] = [
        ("softmax", |x| x.softmax(-1)),
        ("log softmax", |x| x.log_softmax(-1)),
        ("logsumexp", |x| x.logsumexp(-1)),
        ("layer norm", |x| x.layer_norm(&[LENGTH], None, None, 1e-5)),
        ("rms norm", |x| x.rms_norm(&[LENGTH], None, 1e-5)),
        ("variance", |x| x.var(-1, 1.0)),
        ("softmax gradient", |x| gradient(x, |x| x.softmax(-1))),
        ("log softmax gradient", |x| gradient(x, |x| x.log_softmax(-1))),
        ("layer norm gradient", |x| gradient(x, |x| x.layer_norm(&[LENGTH], None, None, 1e-5))),
    ];
    // On one thread, which is the one that counts.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        for (name, work) in works {
            let (few, many) = (counted(work, FEW), counted(work, MANY));
            assert!(few > 0 && many <= few + SLACK, "{name}: {few} for {FEW} rows, {many} for {MANY}");
        }
    });
}
