//! `module.cpp`: what can be done with all parts of a module at once.

use crate::common::{block_on, values};
use crate::tools::{each, printed, ramp};
use flambeau::io::Matching;
use flambeau::nn::*;
use flambeau::prelude::*;
use std::sync::Arc;

#[derive(Module)]
struct Net {
    l1: Linear,
    l2: Linear,
    mean: Buffer,
}

fn net(device: &Device) -> Net {
    Net {
        l1: Linear::new(10, 3, device),
        l2: Linear::new(20, 1, device),
        mean: Buffer::new(&ramp([2], device)),
    }
}

/// Named by place: a list in a list.
fn deep(device: &Device) -> Vec<Sequential> {
    let inner = || Sequential::new().with(Linear::new(2, 2, device)).with_named("act", Relu);
    vec![inner(), inner()]
}

fn names<T>(pairs: Vec<(String, T)>) -> Vec<String> {
    pairs.into_iter().map(|(name, _)| name).collect()
}

#[test]
fn can_enable_and_disable_training_mode() {
    each(|device| {
        let model = Sequential::new().with(Dropout::new(0.5)).with(BatchNorm1d::new(2, device));
        let dropout = || values(&model.get(0).unwrap().forward(&Tensor::ones([1000], device))).contains(&0.0);
        assert!(dropout());
        model.eval();
        assert!(!dropout());
        model.train();
        assert!(dropout());
    });
}

#[test]
fn zero_grad() {
    each(|device| {
        let module = Linear::new(3, 4, device);
        module.forward(&ramp([8, 3], device)).sum(..).backward().unwrap();
        assert!(module.parameters().iter().all(|parameter| parameter.grad().is_some()));
        module.zero_grad();
        assert!(module.parameters().iter().all(|parameter| parameter.grad().is_none()));
    });
}

/// To a device and back; gradients stay behind.
#[test]
fn conversion() {
    each(|device| {
        let module = Linear::new(128, 64, &Device::cpu());
        let before = values(&module.weight.value());
        block_on(module.to(device)).unwrap();
        assert!(module.parameters().iter().all(|parameter| parameter.device() == *device));
        assert_eq!(values(&module.weight.value()), before);
    });
}

/// Parameters that are frozen stay so.
#[test]
fn conversion_no_grad() {
    each(|device| {
        let module = Linear::new(8, 4, &Device::cpu());
        module.weight.set_requires_grad(false);
        block_on(module.to(device)).unwrap();
        assert!(!module.weight.requires_grad() && module.bias.as_ref().unwrap().requires_grad());
    });
}

/// A copy: the same structure, and the values of the first.
fn copied(of: &Net, device: &Device) -> Net {
    let copy = net(device);
    copy.load_state_dict(&of.state_dict(), Matching::Strict).unwrap();
    copy
}

#[test]
fn calling_clone_on_module_that_does_override_clone_does_not_throw() {
    each(|device| {
        let module = net(device);
        assert_eq!(names(copied(&module, device).named_parameters()), names(module.named_parameters()));
    });
}

/// What is no module's state cannot be taken up: names must be the same.
#[test]
fn calling_clone_on_module_that_does_not_override_clone_throws() {
    each(|device| {
        let other = Linear::new(10, 3, device);
        assert!(other.load_state_dict(&net(device).state_dict(), Matching::Strict).is_err());
    });
}

#[test]
fn clone_creates_distinct_parameters() {
    each(|device| {
        let module = net(device);
        let copy = copied(&module, device);
        for (own, other) in module.parameters().iter().zip(copy.parameters()) {
            assert_ne!(own.id(), other.id());
            assert_eq!(values(&own.value()), values(&other.value()));
            own.set(&(own.value() + 1.0));
            assert_ne!(values(&own.value()), values(&other.value()));
        }
        let (own, other) = (&module.named_buffers()[0].1, &copy.named_buffers()[0].1);
        own.set(&Tensor::ones([2], device));
        assert_ne!(values(&own.get()), values(&other.get()));
    });
}

#[test]
fn clone_creates_distinct_parameters_explicit_device() {
    each(|device| {
        let module = net(&Device::cpu());
        let copy = net(device);
        // Values from another device are brought to this one.
        let state = block_on(async {
            let mut state = flambeau::io::StateDict::new();
            for (name, tensor) in module.state_dict().iter() {
                state.insert(name, tensor.to(device).await.unwrap());
            }
            state
        });
        copy.load_state_dict(&state, Matching::Strict).unwrap();
        for (own, other) in module.parameters().iter().zip(copy.parameters()) {
            assert_eq!(other.device(), *device);
            assert_eq!(values(&own.value()), values(&other.value()));
        }
    });
}

/// One parameter in two places is one after loading, too.
#[test]
fn clone_preserves_external_references() {
    #[derive(Module)]
    struct Tied {
        a: Parameter,
        b: Parameter,
    }
    each(|device| {
        let make = |start: f64| {
            let shared = Parameter::new(&Tensor::full([4, 4], start, device));
            Tied { a: shared.clone(), b: shared }
        };
        let (module, copy) = (make(1.0), make(2.0));
        copy.load_state_dict(&module.state_dict(), Matching::Strict).unwrap();
        assert_eq!(
            (copy.a.id(), copy.parameters().len(), copy.named_parameters().len()),
            (copy.b.id(), 1, 2)
        );
        copy.a.set(&Tensor::zeros([4, 4], device));
        assert_eq!(values(&copy.b.value()), vec![0.0; 16]);
        assert_eq!(values(&module.a.value()), vec![1.0; 16]);
    });
}

#[test]
fn clone_copies_the_values_of_variables_of_submodules() {
    each(|device| {
        let module = vec![net(device)];
        let copy = vec![net(device)];
        copy.load_state_dict(&module.state_dict(), Matching::Strict).unwrap();
        assert_eq!(values(&copy[0].l1.weight.value()), values(&module[0].l1.weight.value()));
        assert_eq!(values(&copy[0].mean.get()), values(&module[0].mean.get()));
    });
}

#[test]
fn clone_to_device_preserves_the_device_of_parameters() {
    each(|device| {
        let module = net(device);
        assert!(copied(&module, device).parameters().iter().all(|parameter| parameter.device() == *device));
    });
}

#[test]
fn has_correct_number_of_parameters() {
    each(|device| {
        assert_eq!(net(device).parameters().len(), 4);
        assert_eq!(net(device).parameter_count(), 33 + 21);
    });
}

#[test]
fn contains_parameters_with_the_correct_name() {
    each(|device| {
        assert_eq!(names(net(device).named_parameters()), ["l1.weight", "l1.bias", "l2.weight", "l2.bias"])
    });
}

#[test]
fn has_correct_number_of_buffers() {
    each(|device| assert_eq!(net(device).named_buffers().len(), 1));
}

#[test]
fn contains_buffers_with_the_correct_name() {
    each(|device| assert_eq!(names(net(device).named_buffers()), ["mean"]));
}

#[test]
fn modules_returns_expected_submodules_for_flat_model() {
    each(|device| {
        let net = Sequential::new().with(Relu).with(Tanh).with(Linear::new(1, 1, device));
        let kinds: Vec<_> = named_modules(&net)
            .into_iter()
            .map(|(_, module)| module.type_name().unwrap().to_owned())
            .collect();
        assert_eq!(kinds, ["Sequential", "ReLU", "Tanh", "Linear"]);
    });
}

#[test]
fn modules_excludes_self_when_include_self_set_to_false() {
    each(|device| {
        let net = net(device);
        assert_eq!(
            named_modules(&net).into_iter().skip(1).map(|(name, _)| name).collect::<Vec<_>>(),
            ["l1", "l2"]
        );
    });
}

#[test]
fn named_modules_returns_expected_named_submodules_for_flat_model() {
    each(|device| assert_eq!(names(named_modules(&net(device))), ["", "l1", "l2"]));
}

#[test]
fn named_modules_excludes_self_when_include_self_set_to_false() {
    each(|device| {
        let net = net(device);
        assert!(named_modules(&net).iter().skip(1).all(|(name, _)| !name.is_empty()));
    });
}

#[test]
fn children_returns_expected_submodules_for_flat_model() {
    each(|device| {
        let net = net(device);
        assert!(named_children(&net).iter().all(|(_, child)| child.type_name() == Some("Linear")));
        assert_eq!(named_children(&net).len(), 2);
    });
}

#[test]
fn named_children_returns_expected_named_submodules_for_flat_model() {
    each(|device| assert_eq!(names(named_children(&net(device))), ["l1", "l2"]));
}

#[test]
fn parameters_returns_expected_tensors_for_flat_model() {
    each(|device| {
        let net = net(device);
        let parameters = net.parameters();
        assert_eq!((parameters[0].id(), parameters[2].id()), (net.l1.weight.id(), net.l2.weight.id()));
    });
}

#[test]
fn named_parameters_returns_expected_tensors_for_flat_model() {
    each(|device| {
        let net = net(device);
        let (name, parameter) = net.named_parameters().swap_remove(3);
        assert_eq!((name.as_str(), parameter.id()), ("l2.bias", net.l2.bias.as_ref().unwrap().id()));
    });
}

#[test]
fn buffers_returns_expected_tensors_for_flat_model() {
    each(|device| assert_eq!(values(&net(device).named_buffers()[0].1.get()), [0.0, 1.0]));
}

#[test]
fn named_buffers_returns_expected_tensors_for_flat_model() {
    each(|device| {
        let norms = vec![BatchNorm1d::new(2, device)];
        assert_eq!(
            names(norms.named_buffers()),
            ["0.running_mean", "0.running_var", "0.num_batches_tracked"]
        );
    });
}

#[test]
fn modules_returns_expected_submodules_for_deep_model() {
    each(|device| assert_eq!(named_modules(&deep(device)).len(), 1 + 2 * 3));
}

#[test]
fn named_modules_returns_expected_named_submodules_for_deep_model() {
    each(|device| {
        assert_eq!(names(named_modules(&deep(device))), ["", "0", "0.0", "0.act", "1", "1.0", "1.act"]);
    });
}

#[test]
fn childrens_returns_expected_submodules_for_deep_model() {
    each(|device| {
        let model = deep(device);
        assert!(named_children(&model).iter().all(|(_, child)| child.type_name() == Some("Sequential")));
    });
}

#[test]
fn named_childrens_returns_expected_named_submodules_for_deep_model() {
    each(|device| assert_eq!(names(named_children(&deep(device))), ["0", "1"]));
}

/// Each module once, the outer before the inner.
#[test]
fn module_apply_iterates_correctly() {
    each(|device| {
        let model = deep(device);
        let mut parameters = 0;
        for (_, module) in
            named_modules(&model).into_iter().filter(|(_, module)| module.type_name() == Some("Linear"))
        {
            parameters += module.parameters().len();
        }
        assert_eq!(parameters, model.parameters().len());
    });
}

#[test]
fn named_module_apply_iterates_correctly() {
    each(|device| {
        let model = deep(device);
        for (name, module) in named_modules(&model) {
            assert_eq!(name.ends_with("act"), module.type_name() == Some("ReLU"), "{name}");
        }
    });
}

#[test]
fn pretty_print() {
    #[derive(Module)]
    struct Empty;
    #[derive(Module)]
    struct Outer {
        inner: Empty,
        shared: Arc<Linear>,
    }
    let outer = Outer { inner: Empty, shared: Arc::new(Linear::new(1, 2, &Device::cpu())) };
    assert_eq!(
        printed(&outer),
        "Outer(\n  (inner): Empty()\n  (shared): Linear(in_features=1, out_features=2, bias=True)\n)"
    );
    assert_eq!(printed(&Empty), "Empty()");
}
