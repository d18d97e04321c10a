//! Counts, in tests, of what kernels do that takes processors long.

use crate::host::tiny::noticed;
use crate::nn::models::Mlp;
use crate::optim::Adam;
use crate::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Of kernels of this name: how often they were asked, and how often the processor had underflowed.
type Counts = BTreeMap<&'static str, (usize, usize)>;

thread_local! {
    static COUNTS: RefCell<Counts> = const { RefCell::new(BTreeMap::new()) };
}

/// Counts a structured kernel, or an instruction of a fused one over a block of values.
pub(super) fn count_underflow(kernel: &'static str) {
    COUNTS.with_borrow_mut(|counts| {
        let (asked, underflowed) = counts.entry(kernel).or_default();
        *asked += 1;
        *underflowed += usize::from(noticed::underflow());
    });
}

const STEPS: usize = 3;

/// Steps of a net so deep that its gradients fall below everything f32 can hold.
#[test]
fn gradients_that_vanish_do_not_pass_through_subnormal_numbers() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let (counts, subnormal, vanished) = pool.install(|| {
        let device = Device::cpu();
        crate::manual_seed(0);
        let sizes: Vec<usize> = std::iter::repeat_n(64, 128).chain([10]).collect();
        let model = Mlp::new(&sizes, &device);
        let mut optimizer = Adam::new(model.parameters(), 1e-3);
        let generator = Generator::new(0);
        let (x, y) =
            (Tensor::rand([32, 64], &generator, &device), Tensor::randint(0, 10, [32], &generator, &device));
        let (mut subnormal, mut vanished) = (0, 0);
        COUNTS.take();
        for _ in 0..STEPS {
            model.forward(&x).cross_entropy(&y).backward().unwrap();
            let grads: Vec<Tensor> = model.parameters().iter().filter_map(|p| p.grad()).collect();
            optimizer.step().unwrap();
            optimizer.zero_grad();
            for grad in grads {
                let values: Vec<f32> = grad.to_vec_blocking().unwrap();
                subnormal += values.iter().filter(|x| x.is_subnormal()).count();
                vanished += usize::from(values.iter().all(|&x| x == 0.0));
            }
        }
        (COUNTS.take(), subnormal, vanished)
    });
    // Kernels have been counted, and gradients have vanished.
    assert!(counts["matmul"].0 >= STEPS * 3 * 127 && counts["mul"].0 > 1000, "{counts:?}");
    let underflowed: Counts = counts.into_iter().filter(|(_, (_, underflowed))| *underflowed > 0).collect();
    assert_eq!((underflowed, subnormal), (Counts::new(), 0));
    assert!(vanished > 0);
}
