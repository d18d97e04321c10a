//! `rnn.cpp`: recurrent layers: shapes, PyTorch's values, packed sequences, and learning.

use crate::common::recorded::Recorded;
use crate::common::{start_from, values};
use crate::tools::{each, each_that_takes_long, message, normal, number, printed, same};
use flambeau::nn::utils::SequenceLayout::{BatchFirst, StepsFirst};
use flambeau::nn::utils::{pack_padded_sequence, pack_sequence, pad_packed_sequence};
use flambeau::nn::*;
use flambeau::optim::Adam;
use flambeau::prelude::*;

fn lstm_options(layers: usize) -> LstmOptions {
    LstmOptions { num_layers: layers, ..Default::default() }
}

#[test]
fn check_output_sizes() {
    each(|device| {
        let options = LstmOptions { num_layers: 3, dropout: 0.2, ..Default::default() };
        let model = Lstm::with_options(8, 16, options, device);
        let x = normal([10, 4, 8], device);
        let (output, (hidden, cell)) = model.forward(&x, None);
        assert_eq!((output.shape().dims(), hidden.shape().dims()), (&[10, 4, 16][..], &[3, 4, 16][..]));
        let (next, (next_hidden, _)) = model.forward(&x, Some((&hidden, &cell)));
        assert_eq!((next.shape(), next_hidden.shape()), (output.shape(), hidden.shape()));
        // The state matters.
        assert!(number(&(next - output).abs().amax(..)) > 1e-3);
    });
}

#[test]
fn check_output_sizes_proj() {
    each(|device| {
        let options = LstmOptions { num_layers: 3, proj_size: Some(5), ..Default::default() };
        let (output, (hidden, cell)) =
            Lstm::with_options(8, 16, options, device).forward(&normal([10, 4, 8], device), None);
        assert_eq!(output.shape().dims(), [10, 4, 5]);
        assert_eq!((hidden.shape().dims(), cell.shape().dims()), (&[3, 4, 5][..], &[3, 4, 16][..]));
    });
}

/// Outputs, states and all gradients.
#[test]
fn check_output_values_match_pytorch() {
    let recorded = Recorded::open(include_bytes!("../data/cpp_modules.safetensors"));
    let lstm = |(output, (hidden, cell)): (Tensor, (Tensor, Tensor))| vec![output, hidden, cell];
    let both = true;
    recorded.case("lstm").check(
        |device| {
            Lstm::with_options(
                2,
                3,
                LstmOptions { num_layers: 2, bidirectional: both, ..Default::default() },
                device,
            )
        },
        |layer, inputs| lstm(layer.forward(inputs.get("x"), None)),
    );
    recorded.case("lstm_proj").check(
        |device| {
            Lstm::with_options(
                2,
                4,
                LstmOptions { num_layers: 2, proj_size: Some(3), ..Default::default() },
                device,
            )
        },
        |layer, inputs| lstm(layer.forward(inputs.get("x"), None)),
    );
    recorded.case("gru").check(
        |device| {
            Gru::with_options(
                2,
                3,
                GruOptions { num_layers: 2, bidirectional: both, ..Default::default() },
                device,
            )
        },
        |layer, inputs| Vec::from(<[Tensor; 2]>::from(layer.forward(inputs.get("x"), None))),
    );
    recorded.case("rnn_tanh").check(
        |device| Rnn::with_options(2, 3, RnnOptions { num_layers: 2, ..Default::default() }, device),
        |layer, inputs| Vec::from(<[Tensor; 2]>::from(layer.forward(inputs.get("x"), None))),
    );
    let relu = RnnOptions { nonlinearity: RnnNonlinearity::Relu, bidirectional: both, ..Default::default() };
    recorded.case("rnn_relu").check(
        |device| Rnn::with_options(2, 3, relu, device),
        |layer, inputs| Vec::from(<[Tensor; 2]>::from(layer.forward(inputs.get("x"), None))),
    );
}

/// Learns to count the ones of a sequence: the mean square error falls below 0.01 within 1,500 steps.
fn learns_to_count<M: Module>(
    make: impl Fn(&Device) -> M,
    features: usize,
    last: impl Fn(&M, &Tensor) -> Tensor,
) {
    const STEPS: usize = 4;
    const BATCH: usize = 16;
    each_that_takes_long(|device| {
        let (encoder, rnn) = (Linear::new(1, 8, device), make(device));
        let decoder = Linear::new(features, 1, device);
        for (seed, module) in [&encoder as &dyn Module, &rnn, &decoder].into_iter().enumerate() {
            start_from(seed as u64, module);
        }
        let parameters = [encoder.parameters(), rnn.parameters(), decoder.parameters()].concat();
        let mut optimizer = Adam::new(parameters, 1e-2);
        let generator = Generator::new(5);
        let mut running = Tensor::scalar(1.0, device);
        for step in 0..1500 {
            let bits = Tensor::randint(0, 2, [STEPS, BATCH, 1], &generator, (DType::F32, device));
            let counted = decoder.forward(&last(&rnn, &encoder.forward(&bits)));
            let loss = counted.mse_loss(&bits.sum(0));
            loss.backward().unwrap();
            optimizer.step().unwrap();
            optimizer.zero_grad();
            running = running * 0.95 + loss.detach() * 0.05;
            if step % 25 == 24 && number(&running) < 0.01 {
                return;
            }
        }
        panic!("the error is still {}", number(&running));
    });
}

#[test]
fn end_to_end_lstm() {
    learns_to_count(|device| Lstm::new(8, 16, device), 16, |rnn, x| rnn.forward(x, None).0.select(0, -1));
}

#[test]
fn end_to_end_lstm_proj() {
    let make = |device: &Device| {
        Lstm::with_options(8, 16, LstmOptions { proj_size: Some(8), ..Default::default() }, device)
    };
    learns_to_count(make, 8, |rnn, x| rnn.forward(x, None).0.select(0, -1));
}

#[test]
fn end_to_end_gru() {
    learns_to_count(|device| Gru::new(8, 16, device), 16, |rnn, x| rnn.forward(x, None).0.select(0, -1));
}

#[test]
fn end_to_end_rnn_relu() {
    let relu = RnnOptions { nonlinearity: RnnNonlinearity::Relu, ..Default::default() };
    learns_to_count(
        |device| Rnn::with_options(8, 16, relu, device),
        16,
        |rnn, x| rnn.forward(x, None).0.select(0, -1),
    );
}

#[test]
fn end_to_end_rnn_tanh() {
    learns_to_count(|device| Rnn::new(8, 16, device), 16, |rnn, x| rnn.forward(x, None).0.select(0, -1));
}

#[test]
fn pretty_print_rnns() {
    let device = Device::cpu();
    let lstm = LstmOptions {
        num_layers: 3,
        dropout: 0.2,
        bidirectional: true,
        batch_first: true,
        ..Default::default()
    };
    assert_eq!(
        printed(&Lstm::with_options(128, 64, lstm, &device)),
        "LSTM(128, 64, num_layers=3, batch_first=True, dropout=0.2, bidirectional=True)"
    );
    let projected = LstmOptions { num_layers: 3, proj_size: Some(32), ..Default::default() };
    assert_eq!(
        printed(&Lstm::with_options(128, 64, projected, &device)),
        "LSTM(128, 64, proj_size=32, num_layers=3)"
    );
    let gru = GruOptions { bias: false, ..Default::default() };
    assert_eq!(printed(&Gru::with_options(128, 64, gru, &device)), "GRU(128, 64, bias=False)");
    let rnn = RnnOptions { num_layers: 3, dropout: 0.2, ..Default::default() };
    assert_eq!(printed(&Rnn::with_options(128, 64, rnn, &device)), "RNN(128, 64, num_layers=3, dropout=0.2)");
}

/// Parameters of both directions, under PyTorch's names and in its order.
#[test]
fn bidirectional_flatten_parameters() {
    each(|device| {
        let gru = Gru::with_options(
            100,
            256,
            GruOptions { num_layers: 2, bidirectional: true, ..Default::default() },
            device,
        );
        let names: Vec<String> = gru.named_parameters().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), 16);
        assert_eq!(
            names[..5],
            ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0", "weight_ih_l0_reverse"]
        );
        assert_eq!(gru.named_parameters()[8].1.shape().dims(), [768, 512]);
    });
}

/// The backward direction reads the sequence from its end.
#[test]
fn bidirectional_gru_reverse_forward() {
    each(|device| {
        let one = Gru::new(2, 3, device);
        let both = Gru::with_options(2, 3, GruOptions { bidirectional: true, ..Default::default() }, device);
        reverse_weights(&one, &both);
        let x = normal([5, 4, 2], device);
        let reversed = one.forward(&x.flip(0), None).0.flip(0);
        same(&both.forward(&x, None).0.narrow(2, 3, 3).detach(), &reversed.detach());
    });
}

#[test]
fn bidirectional_lstm_reverse_forward() {
    each(|device| {
        let one = Lstm::new(2, 3, device);
        let both =
            Lstm::with_options(2, 3, LstmOptions { bidirectional: true, ..Default::default() }, device);
        reverse_weights(&one, &both);
        let x = normal([5, 4, 2], device);
        let (reversed, (_, cell)) = one.forward(&x.flip(0), None);
        let (output, (_, cells)) = both.forward(&x, None);
        same(&output.narrow(2, 3, 3).detach(), &reversed.flip(0).detach());
        same(&cells.select(0, 1).detach(), &cell.select(0, 0).detach());
    });
}

/// Gives the backward direction of a layer the weights of another, in one direction.
fn reverse_weights(one: &dyn Module, both: &dyn Module) {
    let given = one.named_parameters();
    for (name, parameter) in both.named_parameters() {
        if let Some(plain) = name.strip_suffix("_reverse") {
            parameter.set(&given.iter().find(|(own, _)| own == plain).unwrap().1.value());
        }
    }
}

/// The same weights and inputs give the same on every device.
fn devices_agree(run: impl Fn(&Device) -> Vec<Tensor>) {
    let reference: Vec<Vec<f64>> = run(&Device::cpu()).iter().map(values).collect();
    each(|device| {
        for (tensor, wanted) in run(device).iter().zip(&reference) {
            crate::common::assert_close(&values(tensor), wanted, 1e-4, 1e-4);
        }
    });
}

/// Weights from a fixed sequence, whatever the device.
fn fixed(module: &dyn Module, device: &Device) {
    for (k, parameter) in module.parameters().iter().enumerate() {
        let numbers =
            (0..parameter.numel()).map(|i| (0.3 * i as f64 + k as f64).sin() as f32 * 0.4).collect();
        parameter.set(&Tensor::from_vec::<f32>(numbers, parameter.shape().clone(), device));
    }
}

fn fixed_input(device: &Device) -> Tensor {
    Tensor::from_vec::<f32>((0..40).map(|i| (0.7 * f64::from(i)).cos() as f32).collect(), [5, 4, 2], device)
}

#[test]
fn bidirectional_multilayer_gru_cpu_vs_cuda() {
    devices_agree(|device| {
        let gru = Gru::with_options(
            2,
            3,
            GruOptions { num_layers: 2, bidirectional: true, ..Default::default() },
            device,
        );
        fixed(&gru, device);
        Vec::from(<[Tensor; 2]>::from(gru.forward(&fixed_input(device), None)))
    });
}

#[test]
fn bidirectional_multilayer_lstm_cpu_vs_cuda() {
    devices_agree(|device| {
        let lstm = Lstm::with_options(2, 3, LstmOptions { bidirectional: true, ..lstm_options(2) }, device);
        fixed(&lstm, device);
        let (output, (hidden, cell)) = lstm.forward(&fixed_input(device), None);
        vec![output, hidden, cell]
    });
}

#[test]
fn bidirectional_multilayer_lstm_proj_cpu_vs_cuda() {
    devices_agree(|device| {
        let options = LstmOptions { bidirectional: true, proj_size: Some(2), ..lstm_options(2) };
        let lstm = Lstm::with_options(2, 3, options, device);
        fixed(&lstm, device);
        let (output, (hidden, cell)) = lstm.forward(&fixed_input(device), None);
        vec![output, hidden, cell]
    });
}

/// Each sequence as if it were alone.
#[test]
fn use_packed_sequence_as_input() {
    each(|device| {
        let sequences = [normal([3, 2], device), normal([5, 2], device) * 0.5, normal([1, 2], device)];
        let packed = pack_sequence(&sequences).unwrap();
        let (gru, lstm) = (Gru::new(2, 3, device), Lstm::new(2, 3, device));
        let (output, hidden) = gru.forward_packed(&packed, None);
        let (padded, lengths) = pad_packed_sequence(&output, BatchFirst, 0.0).unwrap();
        assert_eq!(lengths, [3, 5, 1]);
        let (lstm_output, (_, cell)) = lstm.forward_packed(&packed, None);
        let lstm_padded = pad_packed_sequence(&lstm_output, BatchFirst, 0.0).unwrap().0;
        for (k, sequence) in sequences.iter().enumerate() {
            let alone = sequence.unsqueeze(1);
            let (wanted, last) = gru.forward(&alone, None);
            same(&padded.i((k, ..lengths[k])).detach(), &wanted.squeeze(1).detach());
            same(&hidden.i((0, k)).detach(), &last.i((0, 0)).detach());
            let (wanted, (_, last)) = lstm.forward(&alone, None);
            same(&lstm_padded.i((k, ..lengths[k])).detach(), &wanted.squeeze(1).detach());
            same(&cell.i((0, k)).detach(), &last.i((0, 0)).detach());
        }
    });
}

#[test]
fn check_error_infos() {
    each(|device| {
        assert!(
            Gru::try_with_options(0, 3, GruOptions::default(), device)
                .and_then(|gru| gru.try_forward(&normal([2, 2, 1], device), None))
                .is_err()
        );
        let gru = Gru::new(2, 3, device);
        assert!(message(gru.try_forward(&normal([5, 4, 3], device), None)).contains('3'));
        assert!(gru.try_forward(&normal([5, 4, 2], device), Some(&normal([2, 4, 3], device))).is_err());
        let dropped = GruOptions { dropout: 1.5, num_layers: 2, ..Default::default() };
        assert!(Gru::try_with_options(2, 3, dropped, device).is_err());
        let wide = LstmOptions { proj_size: Some(3), ..Default::default() };
        assert!(Lstm::try_with_options(2, 3, wide, device).is_err());
    });
}

#[test]
fn check_pad_packed_sequence_with_cuda_tensors() {
    each(|device| {
        let x = normal([4, 2, 3], device);
        let packed = pack_padded_sequence(&x, &[4, 2], StepsFirst).unwrap();
        let (padded, lengths) = pad_packed_sequence(&packed, StepsFirst, 0.0).unwrap();
        assert_eq!((padded.device(), &lengths[..]), (device, &[4, 2][..]));
        same(&padded.i((.., 0)), &x.i((.., 0)));
        assert_eq!(number(&padded.i((2.., 1)).abs().sum(..)), 0.0);
    });
}
