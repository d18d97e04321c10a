//! `parameterlist.cpp`: lists of parameters.

use crate::common::values;
use crate::tools::{each, ramp};
use flambeau::nn::*;
use flambeau::prelude::*;

fn list(device: &Device) -> ParameterList {
    [1, 2, 3].map(|size| Parameter::new(&ramp([size], device))).to_vec()
}

#[test]
fn is_empty() {
    assert!(ParameterList::new().is_empty());
    each(|device| assert!(!list(device).is_empty()));
}

#[test]
fn push_back_adds_an_element() {
    each(|device| {
        let mut parameters = list(device);
        parameters.push(Parameter::new(&ramp([4], device)));
        assert_eq!((parameters.len(), parameters.named_parameters()[3].0.as_str()), (4, "3"));
    });
}

#[test]
fn for_each_loop() {
    each(|device| {
        for (k, parameter) in list(device).iter().enumerate() {
            assert_eq!(parameter.numel(), k + 1);
        }
    });
}

#[test]
fn access_with_at() {
    each(|device| {
        assert_eq!(values(&list(device)[2].value()), [0.0, 1.0, 2.0]);
        assert!(list(device).get(3).is_none());
    });
}

#[test]
fn extend_pushes_parameters_from_other_parameter_list() {
    each(|device| {
        let mut parameters = list(device);
        parameters.extend(list(device));
        assert_eq!(parameters.len(), 6);
    });
}

#[test]
fn pretty_print_parameter_list() {
    let text = format!("{:?}", list(&Device::cpu())[2]);
    assert!(text.contains("[3]") && text.contains("f32"), "{text}");
}

/// All get gradients, and an optimizer moves them.
#[test]
fn increment_add() {
    each(|device| {
        let mut parameters = list(device);
        parameters.extend(vec![Parameter::new(&ramp([2], device))]);
        let total = parameters.iter().map(|parameter| parameter.get().sum(..)).reduce(|a, b| a + b).unwrap();
        total.backward().unwrap();
        flambeau::optim::Sgd::new(parameters.clone(), 1.0).step().unwrap();
        assert_eq!(values(&parameters[3].value()), [-1.0, 0.0]);
    });
}
