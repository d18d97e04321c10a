//! `sequential.cpp`: one module after the other.

use crate::common::{block_on, values};
use crate::tools::{each, is, normal, printed, ramp, same};
use flambeau::io::Matching;
use flambeau::nn::*;
use flambeau::prelude::*;
use std::sync::Arc;

fn add(number: f64) -> impl Forward {
    move |x: &Tensor| x + number
}

#[test]
fn constructs_from_concrete_type() {
    each(|device| {
        let net = Sequential::new().with(Linear::new(3, 4, device)).with(Relu);
        assert_eq!(net.len(), 2);
        let named = Sequential::new().with_named("first", Linear::new(3, 4, device));
        assert_eq!(named.named_parameters()[0].0, "first.weight");
    });
}

#[test]
fn push_back_adds_an_element() {
    let mut net = Sequential::new();
    for k in 0..3 {
        assert_eq!((net.len(), net.is_empty()), (k, k == 0));
        net.push(Relu);
    }
    let mut names = Vec::new();
    net.parts(&mut |name, _| names.push(name.to_owned()));
    assert_eq!(names, ["0", "1", "2"]);
}

#[test]
fn access_with_at() {
    each(|device| {
        let net = Sequential::new().with(add(1.0)).with(add(2.0));
        let x = ramp([1], device);
        assert_eq!(values(&net.get(1).unwrap().forward(&x)), [2.0]);
        assert!(net.get(2).is_none());
    });
}

#[test]
fn access_with_ptr() {
    each(|device| {
        let layer = Arc::new(Linear::new(1, 1, device));
        let net = Sequential::new().with(layer.clone());
        // The same parameters, whoever holds the layer.
        layer.weight.set(&Tensor::full([1, 1], 7.0, device));
        assert_eq!(values(&net.parameters()[0].value()), [7.0]);
    });
}

/// Nothing to call: the input is passed on.
#[test]
fn calling_forward_on_empty_sequential_is_disallowed() {
    each(|device| same(&Sequential::new().forward(&ramp([2], device)), &ramp([2], device)));
}

#[test]
fn calling_forward_chains_correctly() {
    each(|device| {
        let net = Sequential::new().with(add(1.0)).with(|x: &Tensor| x * 10.0).with(add(3.0));
        is(&net.forward(&Tensor::new([2.0], device)), [1], &[33.0]);
    });
}

#[test]
fn forward_returns_the_last_value() {
    each(|device| {
        let net = Sequential::new()
            .with(Linear::new(10, 3, device))
            .with(Linear::new(3, 5, device))
            .with(Linear::new(5, 100, device));
        assert_eq!(net.forward(&normal([1000, 10], device)).shape().dims(), [1000, 100]);
    });
}

#[test]
fn sanity_check_for_holding_standard_modules() {
    each(|device| {
        let net = Sequential::new()
            .with(Linear::new(10, 3, device))
            .with(Dropout::new(0.5))
            .with(BatchNorm1d::new(3, device))
            .with(Embedding::new(4, 10, device))
            .with(Conv2d::new(1, 2, 3, device));
        assert_eq!(net.len(), 5);
        assert_eq!(net.parameters().len(), 2 + 2 + 1 + 2);
    });
}

#[test]
fn extend_pushes_modules_from_other_sequential() {
    each(|device| {
        let mut a = Sequential::new().with(add(1.0)).with(add(2.0));
        let b = Sequential::new().with_named("x", add(3.0)).with(add(4.0));
        a.extend(b);
        assert_eq!(a.len(), 4);
        is(&a.forward(&Tensor::new([0.0], device)), [1], &[10.0]);
    });
}

/// Several hold one net; what one changes, the others see.
#[test]
fn has_reference_semantics() {
    each(|device| {
        let net = Arc::new(Sequential::new().with(Linear::new(2, 3, device)).with(Linear::new(4, 4, device)));
        let other = net.clone();
        assert_eq!((net.len(), net.parameters()[0].id()), (other.len(), other.parameters()[0].id()));
    });
}

/// A copy has the same values in parameters of its own.
#[test]
fn is_cloneable() {
    each(|device| {
        let make =
            || Sequential::new().with(Linear::new(3, 4, device)).with(Relu).with(BatchNorm1d::new(4, device));
        let (net, copy) = (make(), make());
        copy.load_state_dict(&net.state_dict(), Matching::Strict).unwrap();
        for ((name, own), (_, other)) in net.named_parameters().into_iter().zip(copy.named_parameters()) {
            assert_ne!(own.id(), other.id(), "{name}");
            assert_eq!(values(&own.value()), values(&other.value()), "{name}");
            own.set(&(own.value() + 2.0));
            assert_ne!(values(&own.value()), values(&other.value()), "{name}");
        }
    });
}

#[test]
fn registers_elements_as_submodules() {
    each(|device| {
        let net = Sequential::new().with(Linear::new(10, 3, device)).with(Dropout::new(0.2));
        let mut kinds = Vec::new();
        net.parts(&mut |_, part| {
            if let Part::Module(module) = part {
                kinds.push(module.type_name().unwrap_or_default().to_owned());
            }
        });
        assert_eq!(kinds, ["Linear", "Dropout"]);
    });
}

#[test]
fn clone_to_device() {
    each(|device| {
        let net = Sequential::new()
            .with(Linear::new(3, 4, &Device::cpu()))
            .with(BatchNorm1d::new(4, &Device::cpu()));
        block_on(net.to(device)).unwrap();
        assert!(net.parameters().iter().all(|parameter| parameter.device() == *device));
        assert!(net.named_buffers().iter().all(|(_, buffer)| buffer.device() == *device));
    });
}

#[test]
fn pretty_print_sequential() {
    let device = Device::cpu();
    let net = Sequential::new().with(Linear::new(10, 3, &device)).with_named("act", Relu);
    assert_eq!(
        printed(&net),
        "Sequential(\n  (0): Linear(in_features=10, out_features=3, bias=True)\n  (act): ReLU()\n)"
    );
}
