//! `parameterdict.cpp`: parameters by name.

use crate::common::values;
use crate::tools::{each, message, ramp};
use flambeau::nn::*;
use flambeau::prelude::*;

fn dict(device: &Device) -> ParameterDict {
    let parameter = |size: usize| Parameter::new(&ramp([size], device));
    ParameterDict::from([("b", parameter(1)), ("a", parameter(2)), ("c", parameter(3))])
}

#[test]
fn construct_from_tensor() {
    each(|device| {
        let mut parameters = ParameterDict::new();
        let tensor = ramp([2], device);
        parameters.insert("x", Parameter::new(&tensor)).unwrap();
        assert!(parameters["x"].requires_grad());
        assert_eq!(values(&parameters["x"].value()), values(&tensor));
    });
}

#[test]
fn construct_from_ordered_dict() {
    each(|device| {
        let names: Vec<String> = dict(device).named_parameters().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["b", "a", "c"]);
    });
}

#[test]
fn insert_and_contains() {
    each(|device| {
        let mut parameters = dict(device);
        parameters.insert("d", Parameter::new(&ramp([1], device))).unwrap();
        assert!(parameters.contains("d") && !parameters.contains("e"));
        assert!(message(parameters.insert("d", Parameter::new(&ramp([1], device)))).contains("'d'"));
    });
}

#[test]
fn insert_and_clear() {
    each(|device| {
        let mut parameters = dict(device);
        assert_eq!(parameters.len(), 3);
        parameters.clear();
        assert!(parameters.is_empty());
    });
}

#[test]
fn insert_and_pop() {
    each(|device| {
        let mut parameters = dict(device);
        assert_eq!(parameters.remove("a").unwrap().numel(), 2);
        assert!(message(parameters.remove("a")).contains("'a'"));
        assert_eq!(parameters.len(), 2);
    });
}

#[test]
fn simple_update() {
    each(|device| {
        let mut parameters = dict(device);
        parameters.replace("a", Parameter::new(&Tensor::full([2], 9.0, device)));
        parameters.replace("d", Parameter::new(&ramp([4], device)));
        assert_eq!((parameters.len(), values(&parameters["a"].value())), (4, vec![9.0, 9.0]));
    });
}

#[test]
fn keys() {
    each(|device| assert_eq!(dict(device).keys().collect::<Vec<_>>(), ["b", "a", "c"]));
}

#[test]
fn values_in_order() {
    each(|device| assert_eq!(dict(device).values().map(Parameter::numel).collect::<Vec<_>>(), [1, 2, 3]));
}

#[test]
fn get() {
    each(|device| {
        assert_eq!(dict(device).get("c").unwrap().numel(), 3);
        assert!(dict(device).get("x").is_none());
    });
}

#[test]
fn pretty_print_parameter_dict() {
    let text = format!("{:?}", dict(&Device::cpu()));
    assert!(text.contains("\"a\"") && text.contains("[2]"), "{text}");
}
