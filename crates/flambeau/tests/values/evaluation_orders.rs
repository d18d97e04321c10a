//! What is evaluated with what must not change a value: each of these plans once gave wrong numbers.

use crate::common::{assert_values, devices};
use flambeau::autograd::{BackwardOptions, grad};
use flambeau::nn::Parameter;
use flambeau::optim::{Optimizer, Sgd};
use flambeau::prelude::*;

/// Σ (x − sigmoid(g))², whose gradient uses the sigmoid inside a sum and after it.
fn loss_and_leaf(x: &[[f64; 3]], device: &Device) -> (Tensor, Tensor) {
    let g = Tensor::new([0.1, 0.2, 0.3], device).requires_grad();
    let flat: Vec<f32> = x.iter().flatten().map(|&x| x as f32).collect();
    let x = Tensor::from_slice(&flat, [x.len(), 3], device);
    let difference = x.sub(g.sigmoid());
    ((&difference * &difference).sum(..), g)
}

#[test]
fn a_gradient_without_its_loss() {
    for device in devices() {
        let cases: [(&[[f64; 3]], [f64; 3]); 2] = [
            (&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 10.0]], [-5.1995216, -6.608939, -8.446852]),
            (&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [-1.9700915, -2.92086, -3.8385406]),
        ];
        for (x, expected) in cases {
            let (loss, g) = loss_and_leaf(x, &device);
            let grads = grad(&[loss], &[g], BackwardOptions::default()).unwrap();
            assert_values(grads[0].as_ref().unwrap(), &expected);
        }
    }
}

#[test]
fn a_step_without_its_loss() {
    for device in devices() {
        let g = Parameter::new(&Tensor::new([0.1, 0.2, 0.3], &device));
        let mut sgd = Sgd::new([g.clone()], 0.1);
        let x = Tensor::new([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 10.0]], &device);
        let difference = x.sub(g.get().sigmoid());
        (&difference * &difference).sum(..).backward().unwrap();
        drop(difference);
        sgd.step().unwrap();
        assert_values(&g.value(), &[0.1 + 0.51995216, 0.2 + 0.6608939, 0.3 + 0.8446852]);
    }
}

#[test]
fn a_result_that_a_sum_over_one_element_reads_permuted() {
    for device in devices() {
        let g = Tensor::new([[[1.0], [2.0], [3.0]], [[4.0], [5.0], [6.0]]], &device) * 2.0;
        let s = g.permute(&[1, 0, 2]).sum(-1);
        flambeau::eval(&[&g, &s]).unwrap();
        assert_values(&g, &[2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
        assert_values(&s, &[2.0, 8.0, 4.0, 10.0, 6.0, 12.0]);
    }
}

#[test]
fn a_value_of_which_a_sum_sees_only_a_part() {
    for device in devices() {
        // The window reads the first column alone, so the divisor's second element is nowhere in the sum.
        let divisor = Tensor::new([[0.5, 1.5]], &device) + 0.5;
        let x = Tensor::new([[[3.0, 1.0]], [[5.0, 2.0]]], &device);
        let sum = x.div(&divisor).unfold(2, 1, 2).sum(..);
        flambeau::eval(&[&divisor, &sum]).unwrap();
        assert_values(&divisor, &[1.0, 2.0]);
        assert_values(&sum, &[8.0]);
    }
}

#[test]
fn a_result_that_is_permuted_beside_a_sum_over_one_element() {
    for device in devices() {
        let x = Tensor::new([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]], &device);
        let doubled = &x * 2.0;
        let sum = x.sum(0).permute(&[1, 0]).add(doubled.permute(&[0, 2, 1])).sum(0);
        flambeau::eval(&[&sum, &doubled]).unwrap();
        assert_values(&doubled, &[2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
        assert_values(&sum, &[3.0, 12.0, 6.0, 15.0, 9.0, 18.0]);
    }
}
