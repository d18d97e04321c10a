//! What optimizers and averages keep: flat memory that others may write beside, states that come back bit for bit.

use crate::common::{assert_values, devices, new_gpu, values};
use flambeau::GpuConfig;
use flambeau::io::{State, Stateful};
use flambeau::nn::Parameter;
use flambeau::optim::scheduler::{CosineAnnealingLr, PlateauOptions, ReduceLrOnPlateau};
use flambeau::optim::*;
use flambeau::prelude::*;

fn parameter(values: &[f32], device: &Device) -> Parameter {
    Parameter::new(&Tensor::from_slice(values, [values.len()], device))
}

fn set_grads(parameters: &[Parameter], step: usize) {
    for (k, parameter) in parameters.iter().enumerate() {
        let push = ((k + 1) as f64 * (step + 1) as f64).sin();
        parameter.set_grad(Some(&(parameter.value() * 0.1 + push))).unwrap();
    }
}

/// A state as it comes back from a file: other tensors with the same values, values through text.
fn saved(state: &State) -> State {
    let copy = |(name, tensor): (&str, &Tensor)| {
        let values: Vec<f32> = tensor.to_vec_blocking().unwrap();
        (name.to_string(), Tensor::from_vec(values, tensor.shape().clone(), tensor.device()))
    };
    let text: String = state.values.iter().map(|(name, value)| format!("{name}\t{value}\n")).collect();
    let parse = |line: &str| {
        let (name, value) = line.split_once('\t').expect("a line has a name and a value");
        (name.to_string(), value.parse().expect("JSON"))
    };
    State { tensors: state.tensors.iter().map(copy).collect(), values: text.lines().map(parse).collect() }
}

fn assert_continues(make: impl Fn(Vec<Parameter>) -> Box<dyn Optimizer>) {
    for device in devices() {
        let whole = [parameter(&[1.0, -2.0, 3.0], &device), parameter(&[0.5], &device)];
        let mut optimizer = make(whole.to_vec());
        let mut half = None;
        for step in 0..8 {
            if step == 4 {
                let values = whole.each_ref().map(|parameter| values(&parameter.value()));
                half = Some((values, saved(&optimizer.state())));
            }
            // Only one of them takes the second step: they have counts of their own.
            set_grads(&whole[..if step == 1 { 1 } else { 2 }], step);
            optimizer.step().unwrap();
            optimizer.zero_grad();
        }
        let (start, state) = half.unwrap();
        let again = start.map(|values| {
            let values: Vec<f32> = values.iter().map(|&x| x as f32).collect();
            parameter(&values, &device)
        });
        let mut optimizer = make(again.to_vec());
        optimizer.set_learning_rate(123.0);
        optimizer.load_state(&state).unwrap();
        for step in 4..8 {
            set_grads(&again, step);
            optimizer.step().unwrap();
            optimizer.zero_grad();
        }
        for (whole, again) in whole.iter().zip(&again) {
            assert_eq!(values(&whole.value()), values(&again.value()));
        }
    }
}

#[test]
fn training_goes_on_bit_for_bit() {
    let amsgrad = AdamOptions { amsgrad: true, learning_rate: 0.1, ..Default::default() };
    assert_continues(|parameters| Box::new(Adam::with_options(parameters, amsgrad)));
    let momentum =
        SgdOptions { momentum: 0.9, dampening: 0.3, learning_rate: 0.1 / 3.0, ..Default::default() };
    assert_continues(|parameters| Box::new(Sgd::with_options(parameters, momentum)));
    let centered = RmsPropOptions { centered: true, momentum: 0.3, ..Default::default() };
    assert_continues(|parameters| Box::new(RmsProp::with_options(parameters, centered)));
    assert_continues(|parameters| Box::new(NAdam::new(parameters, 0.1)));
}

#[test]
fn states_that_do_not_fit_are_refused() {
    let device = Device::cpu();
    let adam = Adam::new([parameter(&[1.0, 2.0], &device)], 0.1);
    let refuse = |optimizer: &mut dyn Optimizer, state: &State, part: &str| {
        let error = optimizer.load_state(state).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    refuse(&mut Sgd::new([parameter(&[1.0], &device)], 0.1), &adam.state(), "a state of Adam, not of Sgd");
    refuse(&mut Adam::new([parameter(&[1.0], &device)], 0.1), &adam.state(), "`0.exp_avg` is f32 [2]");
    let two = [parameter(&[1.0], &device), parameter(&[1.0], &device)];
    refuse(&mut Adam::new(two, 0.1), &adam.state(), "groups of [1] parameters were saved, [2] are here");
    refuse(
        &mut Adam::new([parameter(&[1.0, 2.0], &device)], 0.1),
        &State::default(),
        "`optimizer` is missing",
    );
}

#[test]
fn values_set_from_outside_count() {
    for device in devices() {
        let parameters = [parameter(&[1.0, 2.0], &device), parameter(&[3.0], &device)];
        let mut sgd = Sgd::new(parameters.to_vec(), 0.5);
        let mut step = || {
            for parameter in &parameters {
                parameter.set_grad(Some(&parameter.value().ones_like())).unwrap();
            }
            sgd.step().unwrap();
        };
        step();
        parameters[0].set(&Tensor::new([10.0, 20.0], &device));
        step();
        assert_values(&parameters[0].value(), &[9.5, 19.5]);
        assert_values(&parameters[1].value(), &[2.0]);
        // Reading a value and putting it back changes nothing.
        let before = parameters[0].value();
        parameters[0].set(&Tensor::zeros([2], &device));
        parameters[0].set(&before);
        step();
        assert_values(&parameters[0].value(), &[9.0, 19.0]);
    }
}

#[test]
fn parameters_that_come_and_go_keep_their_own_pace() {
    for device in devices() {
        let start: Vec<Vec<f32>> = (0..5).map(|k| vec![k as f32; 60 + k]).collect();
        let together: Vec<Parameter> = start.iter().map(|values| parameter(values, &device)).collect();
        let alone: Vec<Parameter> = start.iter().map(|values| parameter(values, &device)).collect();
        let mut one = Adam::new(together.clone(), 0.1);
        let mut each: Vec<Adam> = alone.iter().map(|parameter| Adam::new([parameter.clone()], 0.1)).collect();
        for step in 0..12 {
            for (k, (a, b)) in together.iter().zip(&alone).enumerate() {
                // Any pattern will do in which neighbours differ.
                if (step * 3 + k * k) % (k + 2) != 1 {
                    let push = (step as f64 + k as f64).sin();
                    a.set_grad(Some(&(a.value() * 0.2 + push))).unwrap();
                    b.set_grad(Some(&(b.value() * 0.2 + push))).unwrap();
                }
            }
            one.step().unwrap();
            one.zero_grad();
            for optimizer in &mut each {
                optimizer.step().unwrap();
                optimizer.zero_grad();
            }
        }
        for (a, b) in together.iter().zip(&alone) {
            assert_eq!(values(&a.value()), values(&b.value()));
        }
    }
}

#[test]
fn dtypes_and_groups_live_apart() {
    for device in devices() {
        let half = Parameter::new(&Tensor::full([3], 1.0, (DType::F16, &device)));
        let (full, other) = (parameter(&[1.0, 2.0], &device), parameter(&[3.0], &device));
        let slow = SgdOptions { learning_rate: 0.25, ..Default::default() };
        let fast = SgdOptions { learning_rate: 0.5, ..Default::default() };
        let mut sgd = Sgd::with_groups([Group::new([half.clone(), full.clone()], slow)]);
        sgd.add_group(Group::new([other.clone()], fast)).unwrap();
        for parameter in [&half, &full, &other] {
            parameter.set_grad(Some(&parameter.value().ones_like())).unwrap();
        }
        sgd.step().unwrap();
        assert_eq!(half.value().dtype(), DType::F16);
        assert_values(&half.value(), &[0.75; 3]);
        assert_values(&full.value(), &[0.75, 1.75]);
        assert_values(&other.value(), &[2.5]);
        let error = sgd.add_group(Group::new([full.clone()], slow)).unwrap_err().to_string();
        assert!(error.contains("is in two groups"), "{error}");
        assert_eq!(sgd.parameters().len(), 3);
        sgd.set_learning_rate(1.0);
        assert_eq!((sgd.group_learning_rate(0), sgd.group_learning_rate(1)), (1.0, 1.0));
    }
}

#[test]
fn muon_refuses_vectors() {
    let bias = parameter(&[1.0, 2.0], &Device::cpu());
    let error = Muon::try_with_options([bias], MuonOptions::default()).unwrap_err().to_string();
    assert!(error.contains("is no matrix") && error.contains("AdamW"), "{error}");
}

#[test]
fn averages_follow_the_weights() {
    for device in devices() {
        let parameters = [parameter(&[1.0, 2.0], &device), parameter(&[4.0], &device)];
        let mut sgd = Sgd::new(parameters.to_vec(), 1.0);
        let mut ema = Ema::new(parameters.to_vec(), 0.5);
        for _ in 0..2 {
            for parameter in &parameters {
                parameter.set_grad(Some(&parameter.value().ones_like())).unwrap();
            }
            sgd.step().unwrap();
            ema.update().unwrap();
        }
        // 1 → 0 → −1: the average goes from 1 to 0.5 to −0.25.
        assert_values(&ema.averages().unwrap()[0], &[-0.25, 0.75]);
        ema.apply().unwrap();
        assert_values(&parameters[1].value(), &[2.75]);
        assert!(ema.apply().is_err() && ema.update().is_err());
        ema.restore().unwrap();
        assert_values(&parameters[1].value(), &[2.0]);
        assert!(ema.restore().is_err());
        let mut other = Ema::new(parameters.to_vec(), 0.9);
        other.load_state(&saved(&ema.state())).unwrap();
        other.update().unwrap();
        assert_values(&other.averages().unwrap()[1], &[2.375]);
        // The optimizer goes on from the weights, not from the averages.
        parameters[0].set_grad(Some(&Tensor::ones([2], &device))).unwrap();
        sgd.step().unwrap();
        assert_values(&parameters[0].value(), &[-2.0, -1.0]);
    }
}

#[test]
fn averages_warm_up() {
    let w = parameter(&[0.0], &Device::cpu());
    let mut ema = Ema::new([w.clone()], 0.99).with_warm_up();
    w.set(&Tensor::new([10.0], &Device::cpu()));
    ema.update().unwrap();
    assert_values(&ema.averages().unwrap()[0], &[9.0]);
    ema.update().unwrap();
    assert_values(&ema.averages().unwrap()[0], &[9.0 * 2.0 / 11.0 + 10.0 * 9.0 / 11.0]);
    assert!(Ema::try_new([w], 1.5).is_err());
}

#[test]
fn a_fault_leaves_averages_as_they_were() {
    // A GPU of its own: a fault would stop the updates of other tests.
    for device in [Device::cpu(), new_gpu(GpuConfig::default())] {
        let table = Parameter::new(&Tensor::new([[1.0], [2.0], [3.0]], &device));
        let mut sgd = Sgd::new([table.clone()], 1.0);
        let mut ema = Ema::new([table.clone()], 0.5);
        let mut step = |index: i32| {
            ema.update().unwrap();
            let index = Tensor::new([[index]], &device);
            let loss = table.get().gather(0, &index).sum(..);
            loss.backward().unwrap();
            let result = sgd.step();
            sgd.zero_grad();
            result.and_then(|()| loss.item_blocking())
        };
        step(0).unwrap();
        step(7).unwrap_err();
        device.clear_fault().unwrap();
        step(1).unwrap();
        step(1).unwrap();
        assert_values(&table.value(), &[0.0, 0.0, 3.0]);
        let average = values(&ema.averages().unwrap()[0]);
        assert!(average[0] > 0.0 && average[0] < 0.5 && average[2] == 3.0, "{average:?}");
    }
}

#[test]
fn schedulers_go_on_where_they_were() {
    let mut sgd = Sgd::new([parameter(&[1.0], &Device::cpu())], 1.0);
    let mut scheduler = LrScheduler::new(&mut sgd, CosineAnnealingLr::new(10, 0.0));
    (0..3).for_each(|_| scheduler.step(&mut sgd));
    let state = saved(&scheduler.state());
    let mut again = LrScheduler::new(&mut sgd, CosineAnnealingLr::new(10, 0.0));
    again.load_state(&state).unwrap();
    scheduler.step(&mut sgd);
    let expected = sgd.learning_rate();
    again.step(&mut sgd);
    assert_eq!((sgd.learning_rate(), again.steps()), (expected, 4));

    let mut plateau = ReduceLrOnPlateau::new(PlateauOptions { patience: 1, ..Default::default() });
    for metric in [1.0, 2.0] {
        plateau.observe(metric);
        plateau.step(&mut sgd);
    }
    let mut again = ReduceLrOnPlateau::new(PlateauOptions { patience: 1, ..Default::default() });
    again.load_state(&saved(&plateau.state())).unwrap();
    again.observe(3.0);
    again.step(&mut sgd);
    assert_eq!(sgd.learning_rate(), expected * 0.1);
}
