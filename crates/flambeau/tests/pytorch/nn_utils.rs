//! `nn_utils.cpp` and `init.cpp`: clipping, sequences of different lengths, first values.

use crate::common::block_on;
use crate::common::{assert_close, values};
use crate::tools::{each, is, message, normal, number, ramp, same};
use flambeau::nn::utils::SequenceLayout::{BatchFirst, StepsFirst};
use flambeau::nn::utils::*;
use flambeau::nn::{Linear, Module, Parameter, init};
use flambeau::prelude::*;

/// Two layers whose gradients are 1, 2, 3, …
fn with_gradients(device: &Device) -> Vec<Parameter> {
    let layers = vec![Linear::new(4, 3, device), Linear::new(3, 2, device)];
    for parameter in layers.parameters() {
        let grad = ramp(parameter.shape().clone(), device) + 1.0;
        parameter.set_grad(Some(&grad)).unwrap();
    }
    layers.parameters()
}

fn gradients(parameters: &[Parameter]) -> Vec<f64> {
    parameters.iter().flat_map(|parameter| values(&parameter.grad().unwrap())).collect()
}

fn norm(numbers: &[f64], p: f64) -> f64 {
    match p.is_infinite() {
        true => numbers.iter().fold(0.0, |largest: f64, number| largest.max(number.abs())),
        false => numbers.iter().map(|number| number.abs().powf(p)).sum::<f64>().powf(1.0 / p),
    }
}

/// All are multiplied by one number, and only where the norm is above the limit.
#[test]
fn clip_grad_norm() {
    each(|device| {
        for p in [0.5, 1.5, 2.0, 4.0, f64::INFINITY] {
            let parameters = with_gradients(device);
            let before = gradients(&parameters);
            let found = number(&flambeau::nn::utils::clip_grad_norm(&parameters, 2.0, p).unwrap());
            assert!((found - norm(&before, p)).abs() < 1e-3 * found, "{p}: {found}");
            let after = gradients(&parameters);
            assert!((norm(&after, p) - 2.0).abs() < 1e-3, "{p}: {}", norm(&after, p));
            let share = after[0] / before[0];
            assert_close(&after, &before.iter().map(|number| number * share).collect::<Vec<_>>(), 1e-5, 1e-4);
            flambeau::nn::utils::clip_grad_norm(&parameters, 100.0, p).unwrap();
            assert_close(&gradients(&parameters), &after, 1e-6, 1e-5);
        }
    });
}

#[test]
fn clip_grad_norm_error_if_nonfinite() {
    each(|device| {
        for bad in [f32::INFINITY, f32::NAN] {
            for p in [0.5, 1.0, 2.0, f64::INFINITY] {
                let parameter = Parameter::new(&Tensor::ones([10], device));
                let mut grad = vec![1.0; 10];
                grad[3] = bad;
                parameter.set_grad(Some(&Tensor::new(grad, device))).unwrap();
                let error =
                    message(block_on(clip_grad_norm_if_finite(std::slice::from_ref(&parameter), 1.0, p)));
                assert!(error.contains("norm"), "{error}");
                assert_eq!(values(&parameter.grad().unwrap())[0], 1.0);
            }
        }
        let parameters = with_gradients(device);
        let found = block_on(clip_grad_norm_if_finite(&parameters, 1.0, 2.0)).unwrap();
        assert!(found > 1.0 && (norm(&gradients(&parameters), 2.0) - 1.0).abs() < 1e-3);
    });
}

#[test]
fn clip_grad_value() {
    each(|device| {
        let parameters = with_gradients(device);
        flambeau::nn::utils::clip_grad_value(&parameters, 2.5).unwrap();
        let clipped = gradients(&parameters);
        assert!(clipped.iter().all(|value| value.abs() <= 2.5));
        assert_eq!(clipped[..4], [1.0, 2.0, 2.5, 2.5]);
    });
}

#[test]
fn convert_parameters() {
    each(|device| {
        let parameters = [Parameter::new(&ramp([9], device)), Parameter::new(&(ramp([3, 3], device) + 9.0))];
        let vector = parameters_to_vector(&parameters).unwrap();
        is(&vector.detach(), [18], &(0..18).map(f64::from).collect::<Vec<_>>());
        vector_to_parameters(&(vector.detach() * 2.0), &parameters).unwrap();
        assert_eq!(values(&parameters[1].value())[..2], [18.0, 20.0]);
        assert_eq!(parameters[1].shape().dims(), [3, 3]);
    });
}

fn sequences(device: &Device) -> Vec<Tensor> {
    [3, 5, 2].map(|length| ramp([length, 2], device) + length as f64 * 100.0).to_vec()
}

/// Sequences may come in any order: they are sorted, and put back.
#[test]
fn wrong_order() {
    each(|device| {
        let packed = pack_sequence(&sequences(device)).unwrap();
        assert_eq!(packed.sorted_indices, [1, 0, 2]);
        let (padded, lengths) = pad_packed_sequence(&packed, BatchFirst, 0.0).unwrap();
        assert_eq!(lengths, [3, 5, 2]);
        same(&padded.i((0, ..3)), &sequences(device)[0]);
    });
}

#[test]
fn total_length() {
    each(|device| {
        let packed = pack_sequence(&sequences(device)).unwrap();
        assert!(message(pad_packed_sequence_to(&packed, BatchFirst, 0.0, 4)).contains('4'));
        for (layout, shape) in [(BatchFirst, [3, 8, 2]), (StepsFirst, [8, 3, 2])] {
            let (padded, lengths) = pad_packed_sequence_to(&packed, layout, -1.0, 8).unwrap();
            assert_eq!((padded.shape().dims(), &lengths[..]), (&shape[..], &[3, 5, 2][..]));
            assert_eq!(number(&padded.i((-1, -1, -1))), -1.0);
        }
    });
}

#[test]
fn to() {
    each(|device| {
        let packed = pack_sequence(&sequences(&Device::cpu())).unwrap();
        let moved = block_on(packed.to(device)).unwrap();
        assert_eq!((moved.data.device(), &moved.batch_sizes), (device, &packed.batch_sizes));
        assert_eq!(values(&moved.data), values(&packed.data));
    });
}

#[test]
fn pack_sequence_test() {
    each(|device| {
        let sequences = sequences(device);
        let packed = pack_sequence(&sequences).unwrap();
        assert_eq!(packed.batch_sizes, [3, 3, 2, 1, 1]);
        assert_eq!(packed.lengths(), [3, 5, 2]);
        // Step after step, the longest sequence first.
        same(
            &packed.data.i(..3),
            &Tensor::stack(&[sequences[1].i(0), sequences[0].i(0), sequences[2].i(0)], 0),
        );
        assert!(pack_sequence(&[]).is_err());
    });
}

/// There and back, with gradients only where there were sequences.
#[test]
fn pack_padded_sequence_test() {
    each(|device| {
        for layout in [BatchFirst, StepsFirst] {
            let padded = pad_sequence(&sequences(device), layout, 0.0).unwrap().requires_grad();
            let packed = pack_padded_sequence(&padded, &[3, 5, 2], layout).unwrap();
            let (back, lengths) = pad_packed_sequence(&packed, layout, 0.0).unwrap();
            assert_eq!(lengths, [3, 5, 2]);
            same(&back.detach(), &padded.detach());
            packed.data.sum(..).backward().unwrap();
            let grad = padded.grad().unwrap();
            assert_eq!(number(&grad.sum(..)), 20.0);
            let batch_first = if layout == BatchFirst { grad } else { grad.transpose(0, 1) };
            assert_eq!(values(&batch_first.i((2, .., 0))), [1.0, 1.0, 0.0, 0.0, 0.0]);
            assert!(pack_padded_sequence(&padded, &[3, 6, 2], layout).is_err());
        }
    });
}

#[test]
fn pad_sequence_test() {
    each(|device| {
        let sequences = sequences(device);
        for (layout, shape) in [(BatchFirst, [3, 5, 2]), (StepsFirst, [5, 3, 2])] {
            let padded = pad_sequence(&sequences, layout, 1.5).unwrap();
            assert_eq!(padded.shape().dims(), shape);
            let rows = if layout == BatchFirst { padded } else { padded.transpose(0, 1) };
            for (k, sequence) in sequences.iter().enumerate() {
                same(&rows.i((k, ..sequence.size(0))), sequence);
            }
            assert_eq!(values(&rows.i((2, 2..)).amin(..)), [1.5]);
        }
    });
}

fn spread(parameter: &Parameter) -> (f64, f64, f64) {
    let value = parameter.value();
    (number(&value.mean(..)), number(&value.std(.., 1)), number(&value.abs().amax(..)))
}

/// The distribution: mean, deviation, and bounds where there are any.
fn first_values(make: impl Fn(&Parameter) -> Result<()>, deviation: f64, uniform: bool) {
    each(|device| {
        let parameter = Parameter::new(&Tensor::zeros([80, 50, 2], device));
        make(&parameter).unwrap();
        let (mean, std, largest) = spread(&parameter);
        assert!(mean.abs() < 0.05 * deviation, "{mean}");
        assert!((std / deviation - 1.0).abs() < 0.03, "{std}, not {deviation}");
        let bound = deviation * 3f64.sqrt();
        assert_eq!(largest <= bound * 1.0001, uniform, "{largest}, {bound}");
        assert!(parameter.requires_grad());
    });
}

// Fans of (80, 50, 2): 100 in, 160 out.
#[test]
fn produces_pytorch_values_xavier_uniform() {
    first_values(|p| init::xavier_uniform(p, 1.0, &Generator::new(1)), (2.0f64 / 260.0).sqrt(), true);
}

#[test]
fn produces_pytorch_values_xavier_normal() {
    first_values(|p| init::xavier_normal(p, 2.0, &Generator::new(1)), 2.0 * (2.0f64 / 260.0).sqrt(), false);
}

#[test]
fn produces_pytorch_values_kaiming_normal() {
    let options = init::KaimingOptions::default();
    let gain = init::calculate_gain(options.nonlinearity);
    first_values(|p| init::kaiming_normal(p, options, &Generator::new(1)), gain / 10.0, false);
}

#[test]
fn produces_pytorch_values_kaiming_uniform() {
    let options = init::KaimingOptions { mode: init::FanMode::FanOut, ..Default::default() };
    let gain = init::calculate_gain(options.nonlinearity);
    first_values(|p| init::kaiming_uniform(p, options, &Generator::new(1)), gain / 160f64.sqrt(), true);
}

#[test]
fn can_initialize_tensor_that_requires_grad() {
    each(|device| {
        let parameter = Parameter::new(&Tensor::zeros([3, 4], device));
        init::constant(&parameter, 5.0).unwrap();
        assert!(parameter.requires_grad());
        assert_eq!(values(&parameter.value()), vec![5.0; 12]);
        parameter.get().sum(..).backward().unwrap();
        assert!(parameter.grad().is_some());
    });
}

#[test]
fn calculate_gain_with_tanh() {
    assert_eq!(init::calculate_gain(init::Nonlinearity::Tanh), 5.0 / 3.0);
}

#[test]
fn calculate_gain_with_relu() {
    assert_eq!(init::calculate_gain(init::Nonlinearity::Relu), 2f64.sqrt());
}

#[test]
fn calculate_gain_with_leaky_relu() {
    assert!(
        (init::calculate_gain(init::Nonlinearity::LeakyRelu(0.01)) - (2.0f64 / 1.0001).sqrt()).abs() < 1e-12
    );
}

#[test]
fn can_initialize_cnn_with_orthogonal() {
    each(|device| {
        for shape in [vec![3, 2, 3, 3], vec![20, 2, 3, 3]] {
            let parameter = Parameter::new(&normal(&shape[..], device));
            init::orthogonal(&parameter, 1.0, &Generator::new(1)).unwrap();
            let matrix = parameter.value().flatten(1, -1);
            let (rows, columns) = (matrix.size(0), matrix.size(1));
            let product =
                if rows <= columns { matrix.matmul(&matrix.t()) } else { matrix.t().matmul(&matrix) };
            let off = (product - Tensor::eye(rows.min(columns), device)).abs().amax(..);
            assert!(number(&off) < 1e-4, "{}", number(&off));
        }
    });
}
