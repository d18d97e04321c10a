//! `moduledict.cpp`: modules by name.

use crate::common::{block_on, values};
use crate::tools::{each, message, printed};
use flambeau::io::Matching;
use flambeau::nn::*;
use flambeau::prelude::*;
use std::sync::Arc;

fn dict(device: &Device) -> ModuleDict<Linear> {
    ModuleDict::from([("linear2", Linear::new(2, 3, device)), ("linear1", Linear::new(3, 4, device))])
}

fn names(module: &dyn Module) -> Vec<String> {
    module.named_parameters().into_iter().map(|(name, _)| name).collect()
}

/// In the order in which they were put in, which need not be that of the alphabet.
#[test]
fn constructs_from_list() {
    each(|device| {
        assert_eq!(
            names(&dict(device)),
            ["linear2.weight", "linear2.bias", "linear1.weight", "linear1.bias"]
        );
    });
}

#[test]
fn constructs_fromordereddict() {
    each(|device| {
        let mut ordered = OrderedDict::new();
        ordered.insert("b", Linear::new(1, 1, device)).unwrap();
        ordered.insert("a", Linear::new(1, 1, device)).unwrap();
        let modules: ModuleDict<Linear> = ordered;
        assert_eq!(names(&modules)[0], "b.weight");
    });
}

#[test]
fn update_pop_clear_contains() {
    each(|device| {
        let mut modules = dict(device);
        assert!(modules.contains("linear1") && !modules.contains("linear3"));
        modules.update(ModuleDict::from([("linear3", Linear::new(1, 1, device))])).unwrap();
        assert_eq!(modules.len(), 3);
        let taken = modules.remove("linear2").unwrap();
        assert_eq!((taken.weight.shape().dims(), modules.len()), (&[3, 2][..], 2));
        assert!(message(modules.remove("linear2")).contains("linear2"));
        modules.clear();
        assert!(modules.is_empty());
    });
}

#[test]
fn update_exist() {
    each(|device| {
        let mut modules = dict(device);
        let before = modules.replace("linear1", Linear::new(7, 7, device)).unwrap();
        assert_eq!(
            (before.weight.shape().dims(), modules["linear1"].weight.shape().dims()),
            (&[4, 3][..], &[7, 7][..])
        );
        assert_eq!(modules.keys().collect::<Vec<_>>(), ["linear2", "linear1"]);
    });
}

#[test]
fn keys() {
    each(|device| assert_eq!(dict(device).keys().collect::<Vec<_>>(), ["linear2", "linear1"]));
}

#[test]
fn values_in_order() {
    each(|device| {
        let modules = dict(device);
        let shapes: Vec<_> = modules.values().map(|layer| layer.weight.shape().dims().to_vec()).collect();
        assert_eq!(shapes, [vec![3, 2], vec![4, 3]]);
    });
}

#[test]
fn sanity_check_for_holding_standard_modules() {
    each(|device| {
        let modules: ModuleDict<Box<dyn Forward>> = ModuleDict::from([
            ("linear", Box::new(Linear::new(10, 3, device)) as Box<dyn Forward>),
            ("dropout", Box::new(Dropout::new(0.5))),
            ("norm", Box::new(BatchNorm1d::new(3, device))),
        ]);
        assert_eq!(modules.parameters().len(), 4);
    });
}

#[test]
fn has_reference_semantics() {
    each(|device| {
        let modules = Arc::new(dict(device));
        assert_eq!(modules.clone().parameters()[0].id(), modules.parameters()[0].id());
    });
}

#[test]
fn is_cloneable() {
    each(|device| {
        let (modules, copy) = (dict(device), dict(device));
        copy.load_state_dict(&modules.state_dict(), Matching::Strict).unwrap();
        modules["linear1"].weight.set(&Tensor::ones([4, 3], device));
        assert_ne!(values(&modules["linear1"].weight.value()), values(&copy["linear1"].weight.value()));
        assert_eq!(values(&modules["linear2"].weight.value()), values(&copy["linear2"].weight.value()));
    });
}

#[test]
fn registers_elements_as_submodules() {
    each(|device| {
        let mut parts = Vec::new();
        dict(device).parts(&mut |name, _| parts.push(name.to_owned()));
        assert_eq!(parts, ["linear2", "linear1"]);
    });
}

#[test]
fn clone_to_device() {
    each(|device| {
        let modules = dict(&Device::cpu());
        block_on(modules.to(device)).unwrap();
        assert!(modules.parameters().iter().all(|parameter| parameter.device() == *device));
    });
}

#[test]
fn pretty_print_module_dict() {
    let text = printed(&dict(&Device::cpu()));
    assert!(text.starts_with("ModuleDict(\n  (linear2): Linear(in_features=2, "), "{text}");
}

#[test]
fn invalid_at() {
    each(|device| {
        assert!(
            dict(device).get("linear3").is_none()
                && message(dict(device).try_get("linear3")).contains("linear3")
        )
    });
}
