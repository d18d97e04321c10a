//! `modulelist.cpp`: lists of modules.

use crate::common::{block_on, values};
use crate::tools::{each, printed};
use flambeau::io::Matching;
use flambeau::nn::*;
use flambeau::prelude::*;
use std::sync::Arc;

fn list(device: &Device) -> ModuleList<Linear> {
    vec![Linear::new(2, 3, device), Linear::new(3, 4, device)]
}

#[test]
fn constructs_from_concrete_type() {
    each(|device| assert_eq!(list(device).len(), 2));
}

#[test]
fn push_back_adds_an_element() {
    each(|device| {
        let mut layers = list(device);
        layers.push(Linear::new(4, 5, device));
        assert_eq!((layers.len(), layers.named_parameters()[4].0.as_str()), (3, "2.weight"));
    });
}

#[test]
fn insertion() {
    each(|device| {
        let mut layers = list(device);
        layers.insert(0, Linear::new(7, 2, device));
        assert_eq!(layers[0].weight.shape().dims(), [2, 7]);
        let names: Vec<String> = layers.named_parameters().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["0.weight", "0.bias", "1.weight", "1.bias", "2.weight", "2.bias"]);
    });
}

#[test]
fn access_with_at() {
    each(|device| assert_eq!(list(device)[1].weight.shape().dims(), [4, 3]));
}

#[test]
fn access_with_ptr() {
    each(|device| {
        let shared: Vec<Arc<Linear>> = list(device).into_iter().map(Arc::new).collect();
        let layers: ModuleList<Arc<Linear>> = shared.clone();
        assert!(shared.iter().zip(&layers).all(|(a, b)| Arc::ptr_eq(a, b)));
    });
}

/// Different layers, as trait objects.
#[test]
fn sanity_check_for_holding_standard_modules() {
    each(|device| {
        let layers: ModuleList<Box<dyn Forward>> = vec![
            Box::new(Linear::new(10, 3, device)),
            Box::new(Dropout::new(0.5)),
            Box::new(Conv2d::new(1, 2, 3, device)),
        ];
        assert_eq!((layers.len(), layers.parameters().len()), (3, 4));
    });
}

#[test]
fn extend_pushes_modules_from_other_module_list() {
    each(|device| {
        let mut layers = list(device);
        layers.extend(list(device));
        assert_eq!((layers.len(), layers.parameters().len()), (4, 8));
    });
}

#[test]
fn has_reference_semantics() {
    each(|device| {
        let layers = Arc::new(list(device));
        assert_eq!(layers.parameters()[0].id(), layers.clone().parameters()[0].id());
    });
}

#[test]
fn is_cloneable() {
    each(|device| {
        let (layers, copy) = (list(device), list(device));
        copy.load_state_dict(&layers.state_dict(), Matching::Strict).unwrap();
        layers[0].weight.set(&(layers[0].weight.value() + 1.0));
        assert_ne!(values(&layers[0].weight.value()), values(&copy[0].weight.value()));
        assert_eq!(values(&layers[1].weight.value()), values(&copy[1].weight.value()));
    });
}

#[test]
fn registers_elements_as_submodules() {
    each(|device| {
        let mut names = Vec::new();
        list(device).parts(&mut |name, part| {
            assert!(matches!(part, Part::Module(_)));
            names.push(name.to_owned());
        });
        assert_eq!(names, ["0", "1"]);
    });
}

#[test]
fn nesting_is_possible() {
    each(|device| {
        let nested: ModuleList<ModuleList<Linear>> = vec![list(device), list(device)];
        assert_eq!(nested.named_parameters()[4].0, "1.0.weight");
    });
}

#[test]
fn clone_to_device() {
    each(|device| {
        let layers = list(&Device::cpu());
        block_on(layers.to(device)).unwrap();
        assert!(layers.parameters().iter().all(|parameter| parameter.device() == *device));
    });
}

#[test]
fn pretty_print_module_list() {
    let text = printed(&list(&Device::cpu()));
    assert!(
        text.starts_with("ModuleList(\n  (0): Linear(in_features=2, out_features=3, bias=True)\n  (1): "),
        "{text}"
    );
}

#[test]
fn range_based_for_loop() {
    each(|device| {
        let mut count = 0;
        for layer in &list(device) {
            count += layer.parameters().len();
        }
        assert_eq!(count, 4);
    });
}

#[test]
fn invalid_at() {
    each(|device| assert!(list(device).get(2).is_none()));
}
