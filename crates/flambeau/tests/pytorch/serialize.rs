//! `serialize.cpp`: what is saved comes back, and training goes on as if it had never stopped.

use crate::common::{assert_close, block_on, values};
use crate::optim::{xor_batch, xor_network};
use crate::tools::{each, message, normal, number, ramp, same};
use flambeau::io::{
    Matching, StateDict, Stateful, read_safetensors, read_states, write_safetensors, write_states,
};
use flambeau::nn::*;
use flambeau::optim::*;
use flambeau::prelude::*;
use std::collections::BTreeMap;

/// A file of this test's own.
#[cfg(not(target_arch = "wasm32"))]
fn file(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("flambeau-pytorch-suite-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

fn dict(pairs: &[(&str, &Tensor)]) -> StateDict {
    pairs.iter().map(|(name, tensor)| (name.to_string(), (*tensor).clone())).collect()
}

/// Through bytes.
fn there_and_back(tensors: &StateDict, device: &Device) -> StateDict {
    let bytes = block_on(write_safetensors(tensors, &BTreeMap::new())).unwrap();
    read_safetensors(&bytes, device).unwrap().tensors
}

fn comes_back(x: &Tensor, device: &Device) {
    let back = there_and_back(&dict(&[("x", x)]), device);
    assert_eq!(back.get("x").unwrap().dtype(), x.dtype());
    same(back.get("x").unwrap(), x);
}

#[test]
fn keys_func() {
    each(|device| {
        let saved = dict(&[("element/0", &ramp([1], device)), ("element/1", &ramp([2], device))]);
        let back = there_and_back(&saved, device);
        assert_eq!(back.names().collect::<Vec<_>>(), ["element/0", "element/1"]);
    });
}

#[test]
fn try_read_func() {
    each(|device| {
        let back = there_and_back(&dict(&[("x", &ramp([5], device))]), device);
        assert!(back.get("1").is_none());
        same(back.get("x").unwrap(), &ramp([5], device));
    });
}

#[test]
fn basic() {
    each(|device| {
        comes_back(&normal([5, 5], device), device);
        comes_back(&Tensor::new([1, -2], device), device);
        comes_back(&Tensor::new([true, false], device), device);
    });
}

#[test]
#[cfg(not(target_arch = "wasm32"))]
fn basic_to_file() {
    use flambeau::io::{load_safetensors, save_safetensors};
    each(|device| {
        let (x, path) = (normal([5, 5], device), file("basic.safetensors"));
        block_on(save_safetensors(&path, &dict(&[("x", &x)]), &BTreeMap::new())).unwrap();
        same(load_safetensors(&path, device).unwrap().tensors.get("x").unwrap(), &x);
    });
}

/// The writer is one's own: bytes go anywhere.
#[test]
fn basic_via_func() {
    each(|device| {
        let x = ramp([3, 2], device);
        let mut sink: Vec<u8> = vec![42];
        sink.extend(block_on(write_safetensors(&dict(&[("x", &x)]), &BTreeMap::new())).unwrap());
        same(read_safetensors(&sink[1..], device).unwrap().tensors.get("x").unwrap(), &x);
    });
}

#[test]
fn resized() {
    each(|device| comes_back(&normal([11, 5], device).narrow(0, 0, 5), device));
}

#[test]
fn sliced() {
    each(|device| comes_back(&normal([11, 5], device).i((1..5, 2..)), device));
}

#[test]
fn non_contiguous() {
    each(|device| comes_back(&normal([11, 5], device).t().i(Index::step(.., 2)), device));
}

#[test]
fn error_on_missing_key() {
    #[derive(Module)]
    struct A {
        x: Parameter,
    }
    #[derive(Module)]
    struct B {
        inner: A,
    }
    each(|device| {
        let a = || A { x: Parameter::new(&ramp([5], device)) };
        let b = B { inner: a() };
        let error = message(b.load_state_dict(&a().state_dict(), Matching::Strict));
        assert!(error.contains("inner.x"), "{error}");
    });
}

/// Gives a network the values of another: through a file, and where there are none through bytes.
fn reload(from: &Sequential, to: &Sequential, _device: &Device) {
    #[cfg(not(target_arch = "wasm32"))]
    {
        let path = file("xor.safetensors");
        from.save_safetensors(&path).unwrap();
        to.load_weights(&path).unwrap();
    }
    #[cfg(target_arch = "wasm32")]
    to.load_state_dict(&there_and_back(&from.state_dict(), _device), Matching::Strict).unwrap();
}

/// A trained network computes the same after it was saved and loaded.
#[test]
fn xor() {
    each(|device| {
        let model = xor_network(device);
        let mut optimizer = Adam::new(model.parameters(), 0.1);
        let generator = Generator::new(4);
        train(&model, &mut optimizer, &generator, 300, device);
        let other = xor_network(device);
        reload(&model, &other, device);
        let (inputs, labels) = xor_batch(&generator, device);
        let loss = |net: &Sequential| number(&net.forward(&inputs).binary_cross_entropy(&labels));
        assert!(loss(&model) < 0.1, "{}", loss(&model));
        assert!((loss(&model) - loss(&other)).abs() < 1e-6);
    });
}

fn train(
    model: &Sequential,
    optimizer: &mut dyn Optimizer,
    generator: &Generator,
    steps: usize,
    device: &Device,
) {
    for _ in 0..steps {
        let (inputs, labels) = xor_batch(generator, device);
        model.forward(&inputs).binary_cross_entropy(&labels).backward().unwrap();
        optimizer.step().unwrap();
        optimizer.zero_grad();
    }
}

fn parameters(model: &dyn Module) -> Vec<f64> {
    model.parameters().iter().flat_map(|parameter| values(&parameter.value())).collect()
}

/// Trains, saves model and optimizer, goes on; another pair takes up what was saved and arrives at the same place.
fn goes_on<O: Optimizer>(make: impl Fn(Vec<Parameter>) -> O) {
    each(|device| {
        let (model, generator) = (xor_network(device), Generator::new(4));
        let mut optimizer = make(model.parameters());
        train(&model, &mut optimizer, &generator, 5, device);
        let weights = there_and_back(&model.state_dict(), device);
        let state = optimizer.state();
        let bytes = block_on(write_states(&[("optimizer", &state)])).unwrap();
        let at = generator.counter();
        train(&model, &mut optimizer, &generator, 5, device);

        let other = xor_network(device);
        other.load_state_dict(&weights, Matching::Strict).unwrap();
        let mut restored = make(other.parameters());
        restored.load_state(&read_states(&bytes, device).unwrap()["optimizer"]).unwrap();
        generator.set_counter(at);
        train(&other, &mut restored, &generator, 5, device);
        assert_close(&parameters(&other), &parameters(&model), 1e-6, 1e-6);

        // Without the state it would be elsewhere, but for methods that have none.
        let fresh = xor_network(device);
        fresh.load_state_dict(&weights, Matching::Strict).unwrap();
        let mut forgetful = make(fresh.parameters());
        generator.set_counter(at);
        train(&fresh, &mut forgetful, &generator, 5, device);
        let distance: f64 =
            parameters(&fresh).iter().zip(parameters(&model)).map(|(a, b)| (a - b).abs()).sum();
        assert!(distance > 1e-4 || state.tensors.is_empty(), "{distance}");
    });
}

/// With options, groups and all: settings are not a state, rates in force are.
#[test]
fn optim() {
    goes_on(|parameters| {
        let mut groups = parameters.chunks(2);
        let options = |learning_rate| SgdOptions { learning_rate, momentum: 0.9, ..Default::default() };
        let first = Group::new(groups.next().unwrap().to_vec(), options(0.1));
        Sgd::with_groups([first, Group::new(groups.next().unwrap().to_vec(), options(0.05))])
    });
}

#[test]
fn optim_adagrad() {
    goes_on(|parameters| Adagrad::new(parameters, 0.1));
}

#[test]
fn optim_sgd() {
    goes_on(|parameters| {
        Sgd::with_options(parameters, SgdOptions { learning_rate: 0.1, momentum: 0.9, ..Default::default() })
    });
}

#[test]
fn optim_adam() {
    goes_on(|parameters| {
        Adam::with_options(
            parameters,
            AdamOptions { learning_rate: 0.01, amsgrad: true, ..Default::default() },
        )
    });
}

#[test]
fn optim_adamw() {
    goes_on(|parameters| AdamW::new(parameters, 0.01));
}

#[test]
fn optim_rmsprop() {
    goes_on(|parameters| {
        let options =
            RmsPropOptions { learning_rate: 0.01, momentum: 0.9, centered: true, ..Default::default() };
        RmsProp::with_options(parameters, options)
    });
}

#[test]
fn optim_lbfgs() {
    each(|device| {
        let (inputs, labels) = xor_batch(&Generator::new(4), device);
        let run = |model: &Sequential, optimizer: &mut Lbfgs, steps: usize| {
            for _ in 0..steps {
                let closure = || {
                    model.zero_grad();
                    let loss = model.forward(&inputs).binary_cross_entropy(&labels);
                    loss.backward()?;
                    Ok(loss)
                };
                block_on(optimizer.step(closure)).unwrap();
            }
        };
        let options = LbfgsOptions { learning_rate: 0.5, max_iterations: 3, ..Default::default() };
        let make = |model: &Sequential| Lbfgs::with_options(model.parameters(), options);
        let model = xor_network(device);
        let mut optimizer = make(&model);
        run(&model, &mut optimizer, 3);
        let (weights, state) = (there_and_back(&model.state_dict(), device), optimizer.state());
        let bytes = block_on(write_states(&[("optimizer", &state)])).unwrap();
        run(&model, &mut optimizer, 2);
        let other = xor_network(device);
        other.load_state_dict(&weights, Matching::Strict).unwrap();
        let mut restored = make(&other);
        restored.load_state(&read_states(&bytes, device).unwrap()["optimizer"]).unwrap();
        run(&other, &mut restored, 2);
        assert_close(&parameters(&other), &parameters(&model), 1e-4, 1e-4);
    });
}

/// Modules without values between modules with them.
#[test]
fn can_serialize_modules_with_intermediate_modules_without_parameters_or_buffers() {
    #[derive(Module)]
    struct C {
        foo: Parameter,
    }
    #[derive(Module)]
    struct B {
        c: C,
    }
    #[derive(Module)]
    struct A {
        b: B,
        act: Relu,
    }
    each(|device| {
        let make = |start: f64| A {
            b: B { c: C { foo: Parameter::new(&Tensor::full([5], start, device)) } },
            act: Relu,
        };
        let (a, other) = (make(1.0), make(2.0));
        let back = there_and_back(&a.state_dict(), device);
        assert_eq!(back.names().collect::<Vec<_>>(), ["b.c.foo"]);
        other.load_state_dict(&back, Matching::Strict).unwrap();
        assert_eq!(values(&other.b.c.foo.value()), [1.0; 5]);
        assert_eq!(values(&other.act.forward(&Tensor::new([-1.0], device))), [0.0]);
    });
}

#[test]
fn vector_of_tensors() {
    each(|device| {
        let tensors = [normal([1, 5], device), ramp([3], device)];
        let named = tensors.iter().enumerate().map(|(k, tensor)| (k.to_string(), tensor.clone()));
        let back = there_and_back(&named.collect(), device);
        for (k, tensor) in tensors.iter().enumerate() {
            same(back.get(&k.to_string()).unwrap(), tensor);
        }
    });
}
