//! `inference_mode.cpp`: what is computed without recording.

use crate::common::values;
use crate::tools::{each, is};
use flambeau::autograd::{
    Context, CustomFunction, inference_mode, is_grad_enabled, is_inference_mode, set_inference_mode,
};
use flambeau::prelude::*;

fn leaf(device: &Device) -> Tensor {
    Tensor::new([1.0, 2.0], device).requires_grad()
}

/// The mode is the thread's, it nests, and it ends.
#[test]
fn tls_state() {
    assert!(!is_inference_mode() && is_grad_enabled());
    inference_mode(|| {
        assert!(is_inference_mode() && !is_grad_enabled());
        {
            let _off = set_inference_mode(false);
            assert!(!is_inference_mode() && is_grad_enabled());
        }
        assert!(is_inference_mode());
        #[cfg(not(target_arch = "wasm32"))]
        assert!(!std::thread::spawn(is_inference_mode).join().unwrap());
    });
    assert!(!is_inference_mode() && is_grad_enabled());
}

#[test]
fn inference_tensor_in_inference_mode_functional_op() {
    each(|device| {
        inference_mode(|| {
            let _recording = set_grad_enabled(true);
            for x in [leaf(device), Tensor::ones([2], device)] {
                let y = &x + &x;
                assert!(!y.is_tracked() && y.is_leaf());
            }
        });
    });
}

/// Afterwards such tensors are constants.
#[test]
fn inference_tensor_in_normal_mode_functional_op() {
    each(|device| {
        let y = inference_mode(|| leaf(device) * 3.0);
        assert!(!(&y + &y).is_tracked());
        let x = leaf(device);
        (&y * &x).sum(..).backward().unwrap();
        is(&x.grad().unwrap(), [2], &[3.0, 6.0]);
    });
}

#[test]
fn mix_inference_and_normal_tensor_functional_op() {
    each(|device| {
        let constant = inference_mode(|| Tensor::new([5.0, 7.0], device));
        let x = leaf(device);
        let y = &x * &constant;
        assert!(y.is_tracked());
        y.sum(..).backward().unwrap();
        assert_eq!(values(&x.grad().unwrap()), [5.0, 7.0]);
    });
}

#[test]
fn set_requires_grad_in_normal_mode() {
    each(|device| {
        let mut x = inference_mode(|| Tensor::new([2.0], device));
        x.set_requires_grad(true);
        (&x * &x).sum(..).backward().unwrap();
        is(&x.grad().unwrap(), [1], &[4.0]);
    });
}

/// A function of one's own is called, and not recorded.
#[test]
fn custom_function() {
    struct Twice;
    impl CustomFunction for Twice {
        fn forward(&self, context: &mut Context, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
            context.save(&inputs[0]);
            Ok(vec![&inputs[0] * 2.0])
        }
        fn backward(&self, _: &Context, grads: &[Tensor]) -> Result<Vec<Option<Tensor>>> {
            Ok(vec![Some(&grads[0] * 2.0)])
        }
    }
    each(|device| {
        let y = inference_mode(|| Twice.apply(&[&leaf(device)]).unwrap().remove(0));
        assert!(!y.is_tracked());
        assert_eq!(values(&y), [2.0, 4.0]);
    });
}
