use crate::common::{assert_close, devices, values};
use flambeau::func::{
    functional_call, grad, parameters, stack_states, try_functional_call, try_stack_states, vmap,
};
use flambeau::io::StateDict;
use flambeau::nn::{BatchNorm1d, Linear, Sequential};
use flambeau::prelude::*;

fn input(device: &Device) -> Tensor {
    Tensor::randn([6, 3], &Generator::new(7), device)
}

#[test]
fn a_call_with_other_parameters_leaves_the_module_alone() {
    for device in devices() {
        let (mine, other) = (Linear::new(3, 2, &device), Linear::new(3, 2, &device));
        let x = input(&device);
        let before = values(&mine.forward(&x));
        let called = functional_call(&mine, &parameters(&other), |layer| layer.forward(&x));
        assert_eq!(values(&called), values(&other.forward(&x)));
        assert_eq!(values(&mine.forward(&x)), before);
        assert!(mine.parameters().iter().all(Parameter::requires_grad));
        // One name only.
        let mut weight = StateDict::new();
        weight.insert("weight", Tensor::zeros([2, 3], &device));
        let bias = functional_call(&mine, &weight, |layer| layer.forward(&x));
        assert_close(&values(&bias)[..2], &values(&mine.parameters()[1].value()), 0.0, 0.0);
    }
}

#[test]
fn gradients_are_those_of_backward() {
    for device in devices() {
        let net = Sequential::new()
            .with(Linear::new(3, 4, &device))
            .with(|x: &Tensor| x.tanh())
            .with(Linear::new(4, 1, &device));
        let x = input(&device);
        let found = grad(|p: &StateDict| functional_call(&net, p, |net| net.forward(&x)).pow(2.0).sum(..))(
            &parameters(&net),
        );
        net.forward(&x).pow(2.0).sum(..).backward().unwrap();
        for (name, parameter) in net.named_parameters() {
            assert_close(&values(found.get(&name).unwrap()), &values(&parameter.grad().unwrap()), 1e-6, 1e-5);
        }
    }
}

/// A panic on the way puts the parameters back as well.
#[test]
fn a_panic_puts_the_parameters_back() {
    let device = Device::cpu();
    let layer = Linear::new(3, 2, &device);
    let before = values(&layer.parameters()[0].value());
    let zeros = parameters(&Linear::new(3, 2, &device));
    let call = || functional_call(&layer, &zeros, |_| -> Tensor { panic!("on the way") });
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).is_err());
    assert_eq!(values(&layer.parameters()[0].value()), before);
    assert!(layer.parameters()[0].requires_grad());
}

/// Running statistics that the call writes are those of the call.
#[test]
fn buffers_are_put_back() {
    let device = Device::cpu();
    let norm = BatchNorm1d::new(3, &device);
    let before: Vec<_> = norm.named_buffers().iter().map(|(_, buffer)| values(&buffer.get())).collect();
    let x = Tensor::randn([4, 6, 3], &Generator::new(1), &device);
    let state = parameters(&norm);
    let y = vmap(|x: &Tensor| functional_call(&norm, &state, |norm| norm.forward(x)))(&x);
    let want = Tensor::stack(&(0..4).map(|k| norm.forward(&x.select(0, k))).collect::<Vec<_>>(), 0);
    assert_close(&values(&y), &values(&want), 1e-5, 1e-5);
    let fresh = BatchNorm1d::new(3, &device);
    functional_call(&fresh, &state, |norm| norm.forward(&x.select(0, 0)));
    let after: Vec<_> = fresh.named_buffers().iter().map(|(_, buffer)| values(&buffer.get())).collect();
    assert_eq!(before, after);
}

#[test]
fn an_ensemble_runs_as_one() {
    for device in devices() {
        let models: Vec<Linear> = (0..4).map(|_| Linear::new(3, 2, &device)).collect();
        let (states, x) = (stack_states(&models), input(&device));
        let outputs = vmap(|p: &StateDict| functional_call(&models[0], p, |m| m.forward(&x)).tanh())(&states);
        let each: Vec<Tensor> = models.iter().map(|model| model.forward(&x).tanh()).collect();
        assert_close(&values(&outputs), &values(&Tensor::stack(&each, 0)), 1e-6, 1e-5);
        // The gradients of all members at once are those of each.
        let loss = |p: &StateDict| functional_call(&models[0], p, |m| m.forward(&x)).pow(2.0).mean(..);
        let found = vmap(grad(loss))(&states);
        for (k, model) in models.iter().enumerate() {
            let want = grad(loss)(&parameters(model));
            for (name, want) in want.iter() {
                let got = found.get(name).unwrap().select(0, k as isize);
                assert_close(&values(&got), &values(want), 1e-6, 1e-5);
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let device = Device::cpu();
    let layer = Linear::new(3, 2, &device);
    let call = |name: &str, value: Tensor| {
        let mut state = StateDict::new();
        state.insert(name, value);
        try_functional_call(&layer, &state, |layer| layer.try_forward(&input(&device)))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        call("wieght", Tensor::zeros([2, 3], &device)),
        "functional_call: the module has no parameter or buffer `wieght`"
    );
    let message = call("weight", Tensor::zeros([2, 4], &device));
    assert!(
        message.contains("functional_call: shape [2, 4] was given") && message.contains("[2, 3]"),
        "{message}"
    );
    assert!(layer.parameters()[0].requires_grad());
    let none: [Linear; 0] = [];
    assert_eq!(
        try_stack_states(&none).unwrap_err().to_string(),
        "stack_states: at least one module is needed"
    );
    let different = [Linear::new(3, 2, &device), Linear::new(4, 2, &device)];
    assert!(try_stack_states(&different).unwrap_err().to_string().contains("[2, 3] and [2, 4] differ"));
}
